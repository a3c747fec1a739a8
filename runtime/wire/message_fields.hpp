#pragma once
/// \file message_fields.hpp
/// How the messages of a run travel: the fields of messages.hpp. Only for codecs and tests.
#include "runtime/feature/batch_trace.hpp"
#include "runtime/net/frame_message.hpp"
#include "runtime/wire/codec_support.hpp"
#include "runtime/wire/fields.hpp"
#include "runtime/wire/learned_fields.hpp"
#include "runtime/wire/methods.hpp"
#include "runtime/wire/tensor_fields.hpp"
#include "schema/batches.capnp.h"
#include "schema/control.capnp.h"
#include "schema/gradients.capnp.h"
#include "schema/recovery.capnp.h"
#include "schema/sampling.capnp.h"

#include <algorithm>

namespace troupe::net {

inline constexpr std::size_t max_role_bytes = 256;
inline constexpr std::size_t max_lost_ranks = 65536;
inline constexpr std::size_t max_counted_hops = 255;

// ---- inside messages ----

template <>
struct Fields<Digest> {
  using Root = wire::Digest;
  static constexpr std::tuple fields{field::value("low", &Digest::low),
                                     field::value("high", &Digest::high)};
};

template <>
struct Fields<FrontierCounts> {
  static constexpr std::tuple fields{
      field::list("nodes", &FrontierCounts::nodes, max_counted_hops, "hops"),
      field::list("remote", &FrontierCounts::remote, max_counted_hops, "hops")};

  static Status check(std::string_view message, const FrontierCounts& counts) {
    return expect_equal(message, "hops of remote nodes", counts.nodes.size(), counts.remote.size());
  }
};

template <>
struct Fields<BatchTrace> {
  using Root = wire::BatchTrace;
  static constexpr std::tuple fields{field::counters<BatchTrace>(),
                                     field::spread("frontier", &BatchTrace::frontier)};
};

template <>
struct Fields<EpochCounters> {
  using Root = wire::EpochCounters;
  static constexpr std::tuple fields{field::counters<EpochCounters>(),
                                     field::spread("frontier", &EpochCounters::frontier)};
};

// ---- links ----

template <>
struct Fields<FindNodes> {
  using Root = wire::FindNodes;
  static constexpr std::tuple fields{
      field::value("nodeType", &FindNodes::node_type), field::array(0, &FindNodes::places),
      field::value("flow", &FindNodes::flow),          field::value("byEdge", &FindNodes::by_edge),
      field::value("edgeType", &FindNodes::edge_type), field::value("out", &FindNodes::out)};
};

template <>
struct Fields<NodesFound> {
  using Root = wire::NodesFound;
  static constexpr std::tuple fields{field::array(0, &NodesFound::nodes)};
};

template <>
struct Fields<HasEdges> {
  using Root = wire::HasEdges;
  static constexpr std::tuple fields{
      field::value("edgeType", &HasEdges::edge_type), field::value("out", &HasEdges::out),
      field::array(0, &HasEdges::nodes), field::array(1, &HasEdges::neighbours),
      field::value("flow", &HasEdges::flow)};

  static Status check(std::string_view message, const HasEdges& request) {
    return expect_equal(message, "neighbors", request.nodes.size(), request.neighbours.size());
  }
};

template <>
struct Fields<EdgesThere> {
  using Root = wire::EdgesThere;
  static constexpr std::tuple fields{field::array(0, &EdgesThere::has)};

  static Status check(std::string_view message, const EdgesThere& there) {
    const auto most = there.has.empty() ? 0U : std::ranges::max(there.has);
    return expect_equal(message, "largest answer", std::min(most, 1U), most);
  }
};

// ---- edges ----

template <>
struct Fields<CountEdges> {
  using Root = wire::CountEdges;
  static constexpr std::tuple fields{field::value("edgeType", &CountEdges::edge_type),
                                     field::value("out", &CountEdges::out),
                                     field::array(0, &CountEdges::nodes)};
};

template <>
struct Fields<EdgesCounted> {
  using Root = wire::EdgesCounted;
  static constexpr std::tuple fields{field::array(0, &EdgesCounted::degrees)};
};

template <>
struct Fields<FindEdges> {
  using Root = wire::FindEdges;
  static constexpr std::tuple fields{field::value("edgeType", &FindEdges::edge_type),
                                     field::array(0, &FindEdges::edges)};
};

template <>
struct Fields<EdgesFound> {
  using Root = wire::EdgesFound;
  static constexpr std::tuple fields{
      field::array(0, &EdgesFound::places), field::array(1, &EdgesFound::sources),
      field::array(2, &EdgesFound::destinations), field::array(3, &EdgesFound::entries)};

  static Status check(std::string_view message, const EdgesFound& found) {
    TROUPE_RETURN_IF_ERROR(
        expect_equal(message, "sources", found.places.size(), found.sources.size()));
    TROUPE_RETURN_IF_ERROR(
        expect_equal(message, "destinations", found.places.size(), found.destinations.size()));
    return found.entries.empty()
               ? ok_status()  // of an older holder
               : expect_equal(message, "entries", found.places.size(), found.entries.size());
  }
};

// ---- gradients ----

template <>
struct Fields<DeviceOffer> {
  static constexpr std::tuple fields{
      field::text("network", &DeviceOffer::network, most_offer_bytes),
      field::text("device", &DeviceOffer::device, most_offer_bytes),
      field::value("joined", &DeviceOffer::joined)};
};

template <>
struct Fields<GradientChunk> {
  using Root = wire::GradientChunk;
  static constexpr std::tuple fields{field::value("generation", &GradientChunk::generation),
                                     field::value("step", &GradientChunk::step),
                                     field::value("rank", &GradientChunk::rank),
                                     field::value("weight", &GradientChunk::weight),
                                     field::array<float>(0, &GradientChunk::values),
                                     field::value("lossSum", &GradientChunk::loss_sum),
                                     field::optional_spread("batch", &GradientChunk::batch),
                                     field::spread("offer", &GradientChunk::offer)};

  static Status check(std::string_view message, const GradientChunk& chunk) {
    return chunk.weight == 0 ? expect_equal(message, "bytes of values with weight 0", 0,
                                            chunk.values.bytes.size())
                             : ok_status();
  }
};

static_assert(sizeof(Digest) == 16 && std::is_trivially_copyable_v<Digest>,
              "arrays of digests travel as (low, high)");

template <>
struct Fields<GradientSum> {
  using Root = wire::GradientSum;
  static constexpr std::tuple fields{
      field::value("step", &GradientSum::step),
      field::value("weight", &GradientSum::weight),
      field::array<float>(0, &GradientSum::values),
      field::value("lossSum", &GradientSum::loss_sum),
      field::array(1, &GradientSum::batches),
      field::list("communicator", &GradientSum::communicator, most_communicator_words, "words"),
      field::value("byDevices", &GradientSum::by_devices)};
};

// ---- epochs ----

template <>
struct Fields<EpochRequest> {
  using Root = wire::EpochRequest;
  static constexpr std::tuple fields{field::value("generation", &EpochRequest::generation),
                                     field::value("epoch", &EpochRequest::epoch),
                                     field::value("nextFollows", &EpochRequest::next_follows)};
};

template <>
struct Fields<EpochResult> {
  using Root = wire::EpochResult;
  static constexpr std::tuple fields{field::value("rank", &EpochResult::rank),
                                     field::value("epoch", &EpochResult::epoch),
                                     field::value("lossSum", &EpochResult::loss_sum),
                                     field::value("lossWeight", &EpochResult::loss_weight),
                                     field::value("wallNs", &EpochResult::wall_ns),
                                     field::value("counters", &EpochResult::counters),
                                     field::value("batches", &EpochResult::batches)};
};

template <>
struct Fields<RankEpoch> {
  using Root = wire::RankEpoch;
  static constexpr std::tuple fields{field::value("result", &RankEpoch::result),
                                     field::value("globalStep", &RankEpoch::global_step)};
};

// ---- evaluation ----

template <>
struct Fields<InferRequest> {
  using Root = wire::InferRequest;
  static constexpr std::tuple fields{field::value("round", &InferRequest::round),
                                     field::value("layer", &InferRequest::layer),
                                     field::value("best", &InferRequest::best)};
};

template <>
struct Fields<InferResult> {
  using Root = wire::InferResult;
  static constexpr std::tuple fields{field::value("nodes", &InferResult::nodes),
                                     field::value("edges", &InferResult::edges)};
};

template <>
struct Fields<ScoreRequest> {
  using Root = wire::ScoreRequest;
  static constexpr std::tuple fields{field::value("epoch", &ScoreRequest::epoch),
                                     field::text("role", &ScoreRequest::role, max_role_bytes),
                                     field::value("best", &ScoreRequest::best),
                                     field::value("nextFollows", &ScoreRequest::next_follows)};
};

template <>
struct Fields<ScoreResult> {
  using Root = wire::ScoreResult;
  static constexpr std::tuple fields{
      field::array(0, &ScoreResult::positions), field::value("cols", &ScoreResult::cols),
      field::array<float>(1, &ScoreResult::outputs), field::array(2, &ScoreResult::labels),
      field::array(3, &ScoreResult::numbers)};

  static Status check(std::string_view message, const ScoreResult& result) {
    const auto positions = result.positions.size();
    const auto outputs = saturating_mul(positions, result.cols);
    TROUPE_RETURN_IF_ERROR(expect_equal(message, "outputs, positions x cols", outputs,
                                        result.outputs.bytes.size() / sizeof(float)));
    if (!result.numbers.empty()) {
      TROUPE_RETURN_IF_ERROR(
          expect_equal(message, "numbers, positions x cols", outputs, result.numbers.size()));
    }
    return result.labels.size() == outputs  // multi-label
               ? ok_status()
               : expect_equal(message, "labels, as many as positions or outputs", positions,
                              result.labels.size());
  }
};

template <>
struct Fields<KeepBest> {
  using Root = wire::KeepBest;
  static constexpr std::tuple fields{field::value("epoch", &KeepBest::epoch)};
};

template <>
struct Fields<Done> {
  using Root = wire::Done;
  static constexpr std::tuple<> fields{};
};

template <>
struct Fields<Finish> {
  using Root = wire::Finish;
  static constexpr std::tuple<> fields{};
};

template <>
struct Fields<FinishResult> {
  using Root = wire::FinishResult;
  static constexpr std::tuple fields{
      field::value("rank", &FinishResult::rank),
      field::value("parameters", &FinishResult::parameters),
      field::value("bestParameters", &FinishResult::best_parameters),
      field::list("tables", &FinishResult::tables, max_tables, "tables")};
};

template <>
struct Fields<ReadParameters> {
  using Root = wire::ReadParameters;
  static constexpr std::tuple fields{field::value("best", &ReadParameters::best)};
};

template <>
struct Fields<ParameterVector> {
  using Root = wire::ParameterVector;
  static constexpr std::tuple fields{field::array<float>(0, &ParameterVector::values),
                                     field::value("generation", &ParameterVector::generation),
                                     field::value("step", &ParameterVector::step)};
};

// ---- states and recovery ----

template <>
struct Fields<TakeState> {
  using Root = wire::TakeState;
  static constexpr std::tuple fields{field::value("generation", &TakeState::generation),
                                     field::value("multipleOf", &TakeState::multiple_of),
                                     field::value("afterStep", &TakeState::after_step),
                                     field::value("oldest", &TakeState::oldest)};
};

template <>
struct Fields<LoadStart> {
  using Root = wire::LoadStart;
  static constexpr std::tuple fields{field::value("process", &LoadStart::process),
                                     field::value("tensors", &LoadStart::tensors)};
};

template <>
struct Fields<ReadStart> {
  using Root = wire::ReadStart;
  static constexpr std::tuple fields{field::value("process", &ReadStart::process),
                                     field::value("piece", &ReadStart::piece)};
};

template <>
struct Fields<Regroup> {
  using Root = wire::Regroup;
  static constexpr std::tuple fields{
      field::value("generation", &Regroup::generation),
      field::list("lostRanks", &Regroup::lost_ranks, max_lost_ranks)};
};

template <>
struct Fields<Introduce> {
  using Root = wire::Introduce;
  static constexpr std::tuple fields{field::value("generation", &Introduce::generation)};
};

template <>
struct Fields<Ping> {
  using Root = wire::Ping;
  static constexpr std::tuple<> fields{};
};

template <>
struct Fields<Pong> {
  using Root = wire::Pong;
  static constexpr std::tuple fields{field::value("globalStep", &Pong::global_step),
                                     field::value("waits", &Pong::waits),
                                     field::value("work", &Pong::work)};
};

template <>
struct Fields<ActorDown> {
  using Root = wire::ActorDown;
  static constexpr std::tuple fields{field::value("target", &ActorDown::target),
                                     field::value("incarnation", &ActorDown::incarnation),
                                     field::cut_text("why", &ActorDown::why, max_text_bytes)};
};

}  // namespace troupe::net
