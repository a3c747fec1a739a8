#include "runtime/wire/codec.hpp"
#include "runtime/wire/codec_support.hpp"
#include "schema/control.capnp.h"

namespace troupe::net {
namespace {

constexpr std::size_t max_role_bytes = 256;
/// Announced for the parameters of a model, whose number the asker does not know. Larger ones are
/// charged when they are there.
constexpr std::uint64_t assumed_parameter_bytes = std::uint64_t{16} << 10;

void write_counters(const EpochCounters& from, wire::EpochCounters::Builder to) {
  to.setBatches(from.batches);
  to.setSeeds(from.seeds);
  to.setNodes(from.nodes);
  to.setEdges(from.edges);
  to.setWaitNs(from.wait_ns);
  to.setSampleNs(from.sample_ns);
  to.setCollectNs(from.collect_ns);
  to.setTrainNs(from.train_ns);
  to.setReduceNs(from.reduce_ns);
  write_frontier(from.frontier, to);
  to.setRows(from.rows);
  to.setRowsRemote(from.rows_remote);
  to.setRowsCached(from.rows_cached);
  to.setRowsCachedAtBest(from.rows_cached_at_best);
}

Result<EpochCounters> read_counters(wire::EpochCounters::Reader from) {
  EpochCounters to;
  to.batches = from.getBatches();
  to.seeds = from.getSeeds();
  to.nodes = from.getNodes();
  to.edges = from.getEdges();
  to.wait_ns = from.getWaitNs();
  to.sample_ns = from.getSampleNs();
  to.collect_ns = from.getCollectNs();
  to.train_ns = from.getTrainNs();
  to.reduce_ns = from.getReduceNs();
  TROUPE_ASSIGN_OR_RETURN(to.frontier, read_frontier("EpochResult", from));
  to.rows = from.getRows();
  to.rows_remote = from.getRowsRemote();
  to.rows_cached = from.getRowsCached();
  to.rows_cached_at_best = from.getRowsCachedAtBest();
  return to;
}

void write_digest(const Digest& from, wire::Digest::Builder to) {
  to.setLow(from.low);
  to.setHigh(from.high);
}

Digest read_digest(wire::Digest::Reader from) {
  return {from.getLow(), from.getHigh()};
}

void write_result(const EpochResult& from, wire::EpochResult::Builder to) {
  to.setRank(raw(from.rank));
  to.setEpoch(from.epoch);
  to.setLossSum(from.loss_sum);
  to.setLossWeight(from.loss_weight);
  to.setWallNs(from.wall_ns);
  write_counters(from.counters, to.initCounters());
  write_digest(from.batches, to.initBatches());
}

Result<EpochResult> read_result(wire::EpochResult::Reader from) {
  EpochResult to;
  to.rank = static_cast<Rank>(from.getRank());
  to.epoch = from.getEpoch();
  to.loss_sum = from.getLossSum();
  to.loss_weight = from.getLossWeight();
  to.wall_ns = from.getWallNs();
  TROUPE_ASSIGN_OR_RETURN(to.counters, read_counters(from.getCounters()));
  to.batches = read_digest(from.getBatches());
  return to;
}

}  // namespace

// ---- epochs ----

void Wire<EpochRequest>::encode(const EpochRequest& message, Frame& frame) {
  write_message<wire::EpochRequest>(frame, [&](wire::EpochRequest::Builder out) {
    out.setGeneration(message.generation);
    out.setEpoch(message.epoch);
  });
  frame.segments.clear();
}

Result<EpochRequest> Wire<EpochRequest>::decode(const Frame& frame) {
  return read_small<EpochRequest, wire::EpochRequest>(
      frame, "EpochRequest", [](wire::EpochRequest::Reader in) -> Result<EpochRequest> {
        return EpochRequest{.generation = in.getGeneration(), .epoch = in.getEpoch()};
      });
}

std::uint64_t Wire<EpochRequest>::reply_bytes(const EpochRequest&) {
  return control_reply_bytes;
}

void Wire<EpochResult>::encode(const EpochResult& message, Frame& frame) {
  write_message<wire::EpochResult>(
      frame, [&](wire::EpochResult::Builder out) { write_result(message, out); });
  frame.segments.clear();
}

Result<EpochResult> Wire<EpochResult>::decode(const Frame& frame) {
  return read_small<EpochResult, wire::EpochResult>(
      frame, "EpochResult", [](wire::EpochResult::Reader in) { return read_result(in); });
}

void Wire<RankEpoch>::encode(const RankEpoch& message, Frame& frame) {
  write_message<wire::RankEpoch>(frame, [&](wire::RankEpoch::Builder out) {
    write_result(message.result, out.initResult());
    out.setGlobalStep(message.global_step);
  });
  frame.segments.clear();
}

Result<RankEpoch> Wire<RankEpoch>::decode(const Frame& frame) {
  return read_small<RankEpoch, wire::RankEpoch>(
      frame, "RankEpoch", [](wire::RankEpoch::Reader in) -> Result<RankEpoch> {
        TROUPE_ASSIGN_OR_RETURN(auto result, read_result(in.getResult()));
        return RankEpoch{std::move(result), in.getGlobalStep()};
      });
}

std::uint64_t Wire<RankEpoch>::reply_bytes(const RankEpoch&) {
  return reply_overhead_bytes;
}

// ---- exact inference ----

void Wire<InferRequest>::encode(const InferRequest& message, Frame& frame) {
  write_message<wire::InferRequest>(frame, [&](wire::InferRequest::Builder out) {
    out.setRound(message.round);
    out.setLayer(message.layer);
    out.setBest(message.best);
  });
  frame.segments.clear();
}

Result<InferRequest> Wire<InferRequest>::decode(const Frame& frame) {
  return read_small<InferRequest, wire::InferRequest>(
      frame, "InferRequest", [](wire::InferRequest::Reader in) -> Result<InferRequest> {
        return InferRequest{.round = in.getRound(), .layer = in.getLayer(), .best = in.getBest()};
      });
}

std::uint64_t Wire<InferRequest>::reply_bytes(const InferRequest&) {
  return control_reply_bytes;
}

void Wire<InferResult>::encode(const InferResult& message, Frame& frame) {
  write_message<wire::InferResult>(frame, [&](wire::InferResult::Builder out) {
    out.setNodes(message.nodes);
    out.setEdges(message.edges);
  });
  frame.segments.clear();
}

Result<InferResult> Wire<InferResult>::decode(const Frame& frame) {
  return read_small<InferResult, wire::InferResult>(
      frame, "InferResult", [](wire::InferResult::Reader in) -> Result<InferResult> {
        return InferResult{.nodes = in.getNodes(), .edges = in.getEdges()};
      });
}

// ---- scores ----

void Wire<ScoreRequest>::encode(const ScoreRequest& message, Frame& frame) {
  write_message<wire::ScoreRequest>(frame, [&](wire::ScoreRequest::Builder out) {
    out.setEpoch(message.epoch);
    out.setRole(message.role.c_str());
    out.setBest(message.best);
  });
  frame.segments.clear();
}

Result<ScoreRequest> Wire<ScoreRequest>::decode(const Frame& frame) {
  return read_small<ScoreRequest, wire::ScoreRequest>(
      frame, "ScoreRequest", [](wire::ScoreRequest::Reader in) -> Result<ScoreRequest> {
        const auto role = in.getRole();
        if (role.size() > max_role_bytes) {
          return corrupt_message("ScoreRequest",
                                 fmt::format("role: expected at most {} bytes, found {}",
                                             max_role_bytes, role.size()));
        }
        return ScoreRequest{.epoch = in.getEpoch(),
                            .role = std::string(role.begin(), role.end()),
                            .best = in.getBest()};
      });
}

std::uint64_t Wire<ScoreRequest>::reply_bytes(const ScoreRequest&) {
  return control_reply_bytes;
}

void Wire<ScoreResult>::encode(const ScoreResult& message, Frame& frame) {
  write_message<wire::ScoreResult>(
      frame, [&](wire::ScoreResult::Builder out) { out.setCols(message.cols); });
  frame.segments = {copy_segment(message.positions), message.outputs, copy_segment(message.labels)};
}

Result<ScoreResult> Wire<ScoreResult>::decode(const Frame& frame) {
  const auto read = [&](wire::ScoreResult::Reader in) -> Result<ScoreResult> {
    const SegmentReader segments(frame, "ScoreResult");
    TROUPE_RETURN_IF_ERROR(segments.at_most(3));
    ScoreResult out;
    out.cols = in.getCols();
    TROUPE_ASSIGN_OR_RETURN(out.positions, segments.vector<std::uint64_t>(0));
    TROUPE_ASSIGN_OR_RETURN(out.outputs, segments.elements(1, sizeof(float)));
    TROUPE_ASSIGN_OR_RETURN(out.labels, segments.vector<std::int64_t>(2));
    TROUPE_RETURN_IF_ERROR(expect_equal("ScoreResult", "outputs, positions x cols",
                                        saturating_mul(out.positions.size(), out.cols),
                                        out.outputs.bytes.size() / sizeof(float)));
    if (out.labels.size() != saturating_mul(out.positions.size(), out.cols)) {  // multi-label
      TROUPE_RETURN_IF_ERROR(expect_equal("ScoreResult", "labels, as many as positions or outputs",
                                          out.positions.size(), out.labels.size()));
    }
    return out;
  };
  return read_message<ScoreResult, wire::ScoreResult>(frame, "ScoreResult", read);
}

// ---- best parameters, end ----

void Wire<KeepBest>::encode(const KeepBest& message, Frame& frame) {
  write_message<wire::KeepBest>(frame,
                                [&](wire::KeepBest::Builder out) { out.setEpoch(message.epoch); });
  frame.segments.clear();
}

Result<KeepBest> Wire<KeepBest>::decode(const Frame& frame) {
  return read_small<KeepBest, wire::KeepBest>(frame, "KeepBest",
                                              [](wire::KeepBest::Reader in) -> Result<KeepBest> {
                                                return KeepBest{.epoch = in.getEpoch()};
                                              });
}

std::uint64_t Wire<KeepBest>::reply_bytes(const KeepBest&) {
  return reply_overhead_bytes;
}

void Wire<Done>::encode(const Done&, Frame& frame) {
  write_message<wire::Done>(frame, [](wire::Done::Builder) {});
  frame.segments.clear();
}

Result<Done> Wire<Done>::decode(const Frame& frame) {
  return read_small<Done, wire::Done>(frame, "Done",
                                      [](wire::Done::Reader) -> Result<Done> { return Done{}; });
}

void Wire<Finish>::encode(const Finish&, Frame& frame) {
  write_message<wire::Finish>(frame, [](wire::Finish::Builder) {});
  frame.segments.clear();
}

Result<Finish> Wire<Finish>::decode(const Frame& frame) {
  return read_small<Finish, wire::Finish>(
      frame, "Finish", [](wire::Finish::Reader) -> Result<Finish> { return Finish{}; });
}

std::uint64_t Wire<Finish>::reply_bytes(const Finish&) {
  return control_reply_bytes;
}

void Wire<FinishResult>::encode(const FinishResult& message, Frame& frame) {
  write_message<wire::FinishResult>(frame, [&](wire::FinishResult::Builder out) {
    out.setRank(raw(message.rank));
    write_digest(message.parameters, out.initParameters());
    write_digest(message.best_parameters, out.initBestParameters());
  });
  frame.segments.clear();
}

Result<FinishResult> Wire<FinishResult>::decode(const Frame& frame) {
  return read_small<FinishResult, wire::FinishResult>(
      frame, "FinishResult", [](wire::FinishResult::Reader in) -> Result<FinishResult> {
        return FinishResult{.rank = static_cast<Rank>(in.getRank()),
                            .parameters = read_digest(in.getParameters()),
                            .best_parameters = read_digest(in.getBestParameters())};
      });
}

// ---- parameters ----

void Wire<ReadParameters>::encode(const ReadParameters& message, Frame& frame) {
  write_message<wire::ReadParameters>(
      frame, [&](wire::ReadParameters::Builder out) { out.setBest(message.best); });
  frame.segments.clear();
}

Result<ReadParameters> Wire<ReadParameters>::decode(const Frame& frame) {
  return read_small<ReadParameters, wire::ReadParameters>(
      frame, "ReadParameters", [](wire::ReadParameters::Reader in) -> Result<ReadParameters> {
        return ReadParameters{.best = in.getBest()};
      });
}

std::uint64_t Wire<ReadParameters>::reply_bytes(const ReadParameters&) {
  return assumed_parameter_bytes;
}

void Wire<ParameterVector>::encode(const ParameterVector& message, Frame& frame) {
  write_message<wire::ParameterVector>(frame, [](wire::ParameterVector::Builder) {});
  frame.segments = {message.values};
}

Result<ParameterVector> Wire<ParameterVector>::decode(const Frame& frame) {
  const auto read = [&](wire::ParameterVector::Reader) -> Result<ParameterVector> {
    const SegmentReader segments(frame, "ParameterVector");
    TROUPE_RETURN_IF_ERROR(segments.at_most(1));
    ParameterVector out;
    TROUPE_ASSIGN_OR_RETURN(out.values, segments.elements(0, sizeof(float)));
    return out;
  };
  return read_message<ParameterVector, wire::ParameterVector>(frame, "ParameterVector", read);
}

}  // namespace troupe::net
