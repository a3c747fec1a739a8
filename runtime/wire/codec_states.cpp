#include "runtime/wire/codec_by_hand.hpp"
#include "runtime/wire/codec_support.hpp"
#include "schema/recovery.capnp.h"

namespace troupe::net {
namespace {

constexpr std::uint32_t max_arrays = 64;
constexpr std::uint32_t max_blobs = 65536;
constexpr std::size_t max_name_bytes = 256;

// ---- states ----

/// Fills the message and gives its segments.
Segments write_state(const std::shared_ptr<const TrainingState>& state,
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

void encode_by_hand(const StateReply& message, Frame& frame) {
  Segments segments;
  write_message<wire::TrainingState>(
      frame, [&](wire::TrainingState::Builder out) { segments = write_state(message.state, out); });
  frame.segments = std::move(segments);
}

Result<StateReply> decode_by_hand(const Frame& frame, ReadAs<StateReply>) {
  return read_message<StateReply, wire::TrainingState>(
      frame, "StateReply", [&](wire::TrainingState::Reader in) -> Result<StateReply> {
        TROUPE_ASSIGN_OR_RETURN(auto state, read_state("StateReply", frame, in));
        return StateReply{std::move(state)};
      });
}

void encode_by_hand(const Restore& message, Frame& frame) {
  Segments segments;
  write_message<wire::Restore>(frame, [&](wire::Restore::Builder out) {
    out.setGeneration(message.generation);
    segments = write_state(message.state, out.initState());
  });
  frame.segments = std::move(segments);
}

Result<Restore> decode_by_hand(const Frame& frame, ReadAs<Restore>) {
  return read_message<Restore, wire::Restore>(
      frame, "Restore", [&](wire::Restore::Reader in) -> Result<Restore> {
        TROUPE_ASSIGN_OR_RETURN(auto state, read_state("Restore", frame, in.getState()));
        return Restore{in.getGeneration(), std::move(state)};
      });
}

void encode_by_hand(const KeepState& message, Frame& frame) {
  Segments segments;
  write_message<wire::KeepState>(frame, [&](wire::KeepState::Builder out) {
    out.setPiece(message.piece);
    out.setLast(message.last);
    segments = write_state(message.state, out.initState());
  });
  frame.segments = std::move(segments);
}

Result<KeepState> decode_by_hand(const Frame& frame, ReadAs<KeepState>) {
  return read_message<KeepState, wire::KeepState>(
      frame, "KeepState", [&](wire::KeepState::Reader in) -> Result<KeepState> {
        TROUPE_ASSIGN_OR_RETURN(auto state, read_state("KeepState", frame, in.getState()));
        return KeepState{in.getPiece(), in.getLast(), std::move(state)};
      });
}

}  // namespace troupe::net
