#include "runtime/base/cut_text.hpp"
#include "runtime/wire/codec.hpp"
#include "runtime/wire/codec_support.hpp"
#include "schema/recovery.capnp.h"

namespace troupe::net {
namespace {

constexpr std::uint32_t max_arrays = 64;
constexpr std::uint32_t max_blobs = 65536;
constexpr std::uint32_t max_ranks = 65536;
constexpr std::size_t max_name_bytes = 256;
/// Announced for a state, whose size the asker does not know and which may come only after a step. A
/// larger one is charged when it is there.
constexpr std::uint64_t state_reply_bytes = std::uint64_t{16} << 10;

// ---- states ----

/// Fills the message and gives its segments.
std::vector<Segment> write_state(const std::shared_ptr<const TrainingState>& state,
                                 wire::TrainingState::Builder out) {
  out.setEpoch(state->epoch);
  out.setStep(state->step);
  out.setGlobalStep(state->global_step);
  out.setLossSum(state->loss_sum);
  out.setLossWeight(state->loss_weight);
  out.setBatchesLow(state->batches.low);
  out.setBatchesHigh(state->batches.high);
  out.setOptimizerSteps(state->optimizer.steps);
  const auto shared = [&](std::span<const float> values) {
    return Segment{state, std::as_bytes(values)};
  };
  std::vector<float> arrays;
  auto pieces = out.initArrays(static_cast<unsigned>(state->optimizer.arrays.size()));
  for (unsigned i = 0; i < pieces.size(); ++i) {
    const auto& [name, values] = state->optimizer.arrays[i];
    pieces[i].setName(name.c_str());
    pieces[i].setSize(values.size());
    arrays.insert(arrays.end(), values.begin(), values.end());
  }
  std::vector<std::byte> blobs;
  auto names = out.initBlobs(static_cast<unsigned>(state->blobs.size()));
  unsigned next = 0;
  for (const auto& [name, bytes] : state->blobs) {
    names[next].setName(name.c_str());
    names[next].setSize(bytes.size());
    blobs.insert(blobs.end(), bytes.begin(), bytes.end());
    ++next;
  }
  return {shared(state->parameters), copy_segment(arrays), shared(state->best),
          copy_segment(blobs)};
}

/// Cuts `values` as the pieces say; `take(name, first, size)` gets each.
template <class Take>
Status cut(std::string_view message, capnp::List<wire::TrainingState::Piece>::Reader pieces,
           std::uint32_t most, std::uint64_t total, Take take) {
  if (pieces.size() > most) {
    return corrupt_message(
        message, fmt::format("pieces: expected at most {}, found {}", most, pieces.size()));
  }
  std::uint64_t first = 0;
  for (const auto piece : pieces) {
    TROUPE_ASSIGN_OR_RETURN(auto name, read_text(message, piece.getName(), max_name_bytes));
    if (piece.getSize() > total - first) {
      return corrupt_message(message, fmt::format("{}: expected at most {} elements, found {}",
                                                  name, total - first, piece.getSize()));
    }
    take(std::move(name), first, piece.getSize());
    first += piece.getSize();
  }
  return expect_equal(message, "elements of the pieces", total, first);
}

Result<std::shared_ptr<const TrainingState>> read_state(std::string_view message,
                                                        const Frame& frame,
                                                        wire::TrainingState::Reader in) {
  const SegmentReader segments(frame, message);
  auto out = std::make_shared<TrainingState>();
  out->epoch = in.getEpoch();
  out->step = in.getStep();
  out->global_step = in.getGlobalStep();
  out->loss_sum = in.getLossSum();
  out->loss_weight = in.getLossWeight();
  out->batches = {in.getBatchesLow(), in.getBatchesHigh()};
  out->optimizer.steps = in.getOptimizerSteps();
  TROUPE_ASSIGN_OR_RETURN(out->parameters, segments.vector<float>(0));
  TROUPE_ASSIGN_OR_RETURN(const auto arrays, segments.elements(1, sizeof(float)));
  TROUPE_ASSIGN_OR_RETURN(out->best, segments.vector<float>(2));
  TROUPE_ASSIGN_OR_RETURN(const auto blobs, segments.elements(3, 1));
  const auto numbers = arrays.as<float>();
  TROUPE_RETURN_IF_ERROR(cut(message, in.getArrays(), max_arrays, numbers.size(),
                             [&](std::string name, std::uint64_t first, std::uint64_t size) {
                               const auto part = numbers.subspan(first, size);
                               out->optimizer.arrays.emplace_back(
                                   std::move(name), std::vector<float>(part.begin(), part.end()));
                             }));
  TROUPE_RETURN_IF_ERROR(cut(message, in.getBlobs(), max_blobs, blobs.bytes.size(),
                             [&](std::string name, std::uint64_t first, std::uint64_t size) {
                               const auto part = blobs.bytes.subspan(first, size);
                               out->blobs[std::move(name)] = {part.begin(), part.end()};
                             }));
  return std::shared_ptr<const TrainingState>(std::move(out));
}

}  // namespace

void Wire<TakeState>::encode(const TakeState& message, Frame& frame) {
  write_message<wire::TakeState>(frame, [&](wire::TakeState::Builder out) {
    out.setGeneration(message.generation);
    out.setMultipleOf(message.multiple_of);
    out.setAfterStep(message.after_step);
  });
  frame.segments.clear();
}

Result<TakeState> Wire<TakeState>::decode(const Frame& frame) {
  return read_small<TakeState, wire::TakeState>(
      frame, "TakeState", [](wire::TakeState::Reader in) -> Result<TakeState> {
        return TakeState{.generation = in.getGeneration(),
                         .multiple_of = in.getMultipleOf(),
                         .after_step = in.getAfterStep()};
      });
}

std::uint64_t Wire<TakeState>::reply_bytes(const TakeState&) {
  return state_reply_bytes;
}

void Wire<StateReply>::encode(const StateReply& message, Frame& frame) {
  std::vector<Segment> segments;
  write_message<wire::TrainingState>(
      frame, [&](wire::TrainingState::Builder out) { segments = write_state(message.state, out); });
  frame.segments = std::move(segments);
}

Result<StateReply> Wire<StateReply>::decode(const Frame& frame) {
  return read_message<StateReply, wire::TrainingState>(
      frame, "StateReply", [&](wire::TrainingState::Reader in) -> Result<StateReply> {
        TROUPE_ASSIGN_OR_RETURN(auto state, read_state("StateReply", frame, in));
        return StateReply{std::move(state)};
      });
}

// ---- recovering ----

void Wire<Restore>::encode(const Restore& message, Frame& frame) {
  std::vector<Segment> segments;
  write_message<wire::Restore>(frame, [&](wire::Restore::Builder out) {
    out.setGeneration(message.generation);
    segments = write_state(message.state, out.initState());
  });
  frame.segments = std::move(segments);
}

Result<Restore> Wire<Restore>::decode(const Frame& frame) {
  return read_message<Restore, wire::Restore>(
      frame, "Restore", [&](wire::Restore::Reader in) -> Result<Restore> {
        TROUPE_ASSIGN_OR_RETURN(auto state, read_state("Restore", frame, in.getState()));
        return Restore{in.getGeneration(), std::move(state)};
      });
}

std::uint64_t Wire<Restore>::reply_bytes(const Restore&) {
  return reply_overhead_bytes;
}

void Wire<ReadStart>::encode(const ReadStart& message, Frame& frame) {
  write_message<wire::ReadStart>(frame, [&](wire::ReadStart::Builder out) {
    out.setProcess(raw(message.process));
    out.setPiece(message.piece);
  });
  frame.segments.clear();
}

Result<ReadStart> Wire<ReadStart>::decode(const Frame& frame) {
  return read_small<ReadStart, wire::ReadStart>(
      frame, "ReadStart", [](wire::ReadStart::Reader in) -> Result<ReadStart> {
        return ReadStart{static_cast<ProcessId>(in.getProcess()), in.getPiece()};
      });
}

std::uint64_t Wire<ReadStart>::reply_bytes(const ReadStart&) {
  return state_reply_bytes;
}

void Wire<KeepState>::encode(const KeepState& message, Frame& frame) {
  std::vector<Segment> segments;
  write_message<wire::KeepState>(frame, [&](wire::KeepState::Builder out) {
    out.setPiece(message.piece);
    out.setLast(message.last);
    segments = write_state(message.state, out.initState());
  });
  frame.segments = std::move(segments);
}

Result<KeepState> Wire<KeepState>::decode(const Frame& frame) {
  return read_message<KeepState, wire::KeepState>(
      frame, "KeepState", [&](wire::KeepState::Reader in) -> Result<KeepState> {
        TROUPE_ASSIGN_OR_RETURN(auto state, read_state("KeepState", frame, in.getState()));
        return KeepState{in.getPiece(), in.getLast(), std::move(state)};
      });
}

std::uint64_t Wire<KeepState>::reply_bytes(const KeepState&) {
  return reply_overhead_bytes;
}

void Wire<Regroup>::encode(const Regroup& message, Frame& frame) {
  write_message<wire::Regroup>(frame, [&](wire::Regroup::Builder out) {
    out.setGeneration(message.generation);
    auto ranks = out.initLostRanks(static_cast<unsigned>(message.lost_ranks.size()));
    for (unsigned i = 0; i < ranks.size(); ++i) {
      ranks.set(i, raw(message.lost_ranks[i]));
    }
  });
  frame.segments.clear();
}

Result<Regroup> Wire<Regroup>::decode(const Frame& frame) {
  return read_small<Regroup, wire::Regroup>(
      frame, "Regroup", [](wire::Regroup::Reader in) -> Result<Regroup> {
        Regroup out{.generation = in.getGeneration(), .lost_ranks = {}};
        const auto ranks = in.getLostRanks();
        if (ranks.size() > max_ranks) {
          return corrupt_message("Regroup", fmt::format("ranks: expected at most {}, found {}",
                                                        max_ranks, ranks.size()));
        }
        for (const auto rank : ranks) {
          out.lost_ranks.push_back(static_cast<Rank>(rank));
        }
        return out;
      });
}

std::uint64_t Wire<Regroup>::reply_bytes(const Regroup&) {
  return reply_overhead_bytes;
}

void Wire<Introduce>::encode(const Introduce& message, Frame& frame) {
  write_message<wire::Introduce>(
      frame, [&](wire::Introduce::Builder out) { out.setGeneration(message.generation); });
  frame.segments.clear();
}

Result<Introduce> Wire<Introduce>::decode(const Frame& frame) {
  return read_small<Introduce, wire::Introduce>(
      frame, "Introduce", [](wire::Introduce::Reader in) -> Result<Introduce> {
        return Introduce{.generation = in.getGeneration()};
      });
}

std::uint64_t Wire<Introduce>::reply_bytes(const Introduce&) {
  return reply_overhead_bytes;
}

// ---- signs of life ----

void Wire<Ping>::encode(const Ping&, Frame& frame) {
  write_message<wire::Ping>(frame, [](wire::Ping::Builder) {});
  frame.segments.clear();
}

Result<Ping> Wire<Ping>::decode(const Frame& frame) {
  return read_small<Ping, wire::Ping>(frame, "Ping",
                                      [](wire::Ping::Reader) -> Result<Ping> { return Ping{}; });
}

std::uint64_t Wire<Ping>::reply_bytes(const Ping&) {
  return reply_overhead_bytes;
}

void Wire<Pong>::encode(const Pong& message, Frame& frame) {
  write_message<wire::Pong>(frame, [&](wire::Pong::Builder out) {
    out.setGlobalStep(message.global_step);
    out.setWaits(message.waits);
    out.setWork(message.work);
  });
  frame.segments.clear();
}

Result<Pong> Wire<Pong>::decode(const Frame& frame) {
  return read_small<Pong, wire::Pong>(frame, "Pong", [](wire::Pong::Reader in) -> Result<Pong> {
    return Pong{.global_step = in.getGlobalStep(), .waits = in.getWaits(), .work = in.getWork()};
  });
}

void Wire<ActorDown>::encode(const ActorDown& message, Frame& frame) {
  write_message<wire::ActorDown>(frame, [&](wire::ActorDown::Builder out) {
    out.setTarget(message.target);
    out.setIncarnation(message.incarnation);
    out.setWhy(std::string(cut_text(message.why, max_text_bytes)).c_str());
  });
  frame.segments.clear();
}

Result<ActorDown> Wire<ActorDown>::decode(const Frame& frame) {
  return read_small<ActorDown, wire::ActorDown>(
      frame, "ActorDown", [](wire::ActorDown::Reader in) -> Result<ActorDown> {
        TROUPE_ASSIGN_OR_RETURN(auto why, read_text("ActorDown", in.getWhy(), max_text_bytes));
        return ActorDown{in.getTarget(), in.getIncarnation(), std::move(why)};
      });
}

std::uint64_t Wire<ActorDown>::reply_bytes(const ActorDown&) {
  return reply_overhead_bytes;
}

}  // namespace troupe::net
