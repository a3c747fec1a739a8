#include "runtime/wire/codec.hpp"
#include "runtime/wire/codec_support.hpp"
#include "schema/gradients.capnp.h"

#include <algorithm>

namespace troupe::net {
namespace {

static_assert(sizeof(Digest) == 16 && std::is_trivially_copyable_v<Digest>,
              "digests travel as (low, high)");

Result<std::vector<Digest>> read_digests(const SegmentReader& segments) {
  TROUPE_ASSIGN_OR_RETURN(const auto words, segments.vector<std::uint64_t>(1));
  if (words.size() % 2 != 0) {
    return corrupt_message(
        "GradientSum",
        fmt::format("digests: expected 16 bytes each, found {} bytes", words.size() * 8));
  }
  std::vector<Digest> digests(words.size() / 2);
  for (std::size_t i = 0; i < digests.size(); ++i) {
    digests[i] = {words[2 * i], words[2 * i + 1]};
  }
  return digests;
}

}  // namespace

void Wire<GradientChunk>::encode(const GradientChunk& message, Frame& frame) {
  write_message<wire::GradientChunk>(frame, [&](wire::GradientChunk::Builder out) {
    out.setGeneration(message.generation);
    out.setStep(message.step);
    out.setRank(raw(message.rank));
    out.setWeight(message.weight);
    out.setLossSum(message.loss_sum);
    out.setHasBatch(message.batch.has_value());
    const Digest batch = message.batch.value_or(Digest{});
    out.setBatchLow(batch.low);
    out.setBatchHigh(batch.high);
  });
  frame.segments = {message.values};
}

Result<GradientChunk> Wire<GradientChunk>::decode(const Frame& frame) {
  const auto read = [&](wire::GradientChunk::Reader in) -> Result<GradientChunk> {
    const SegmentReader segments(frame, "GradientChunk");
    TROUPE_RETURN_IF_ERROR(segments.at_most(1));
    GradientChunk out;
    out.generation = in.getGeneration();
    out.step = in.getStep();
    out.rank = static_cast<Rank>(in.getRank());
    out.weight = in.getWeight();
    out.loss_sum = in.getLossSum();
    if (in.getHasBatch()) {
      out.batch = Digest{in.getBatchLow(), in.getBatchHigh()};
    }
    TROUPE_ASSIGN_OR_RETURN(out.values, segments.elements(0, sizeof(float)));
    if (out.weight == 0) {
      TROUPE_RETURN_IF_ERROR(expect_equal("GradientChunk", "bytes of values with weight 0", 0,
                                          out.values.bytes.size()));
    }
    return out;
  };
  return read_message<GradientChunk, wire::GradientChunk>(frame, "GradientChunk", read);
}

std::uint64_t Wire<GradientChunk>::reply_bytes(const GradientChunk& message) {
  const auto values = std::max<std::uint64_t>(message.values.bytes.size(), message.sum_bytes);
  return saturating_add(values, reply_overhead_bytes);
}

void Wire<GradientSum>::encode(const GradientSum& message, Frame& frame) {
  write_message<wire::GradientSum>(frame, [&](wire::GradientSum::Builder out) {
    out.setStep(message.step);
    out.setWeight(message.weight);
    out.setLossSum(message.loss_sum);
  });
  frame.segments = {message.values, copy_segment(message.batches)};
}

Result<GradientSum> Wire<GradientSum>::decode(const Frame& frame) {
  const auto read = [&](wire::GradientSum::Reader in) -> Result<GradientSum> {
    const SegmentReader segments(frame, "GradientSum");
    TROUPE_RETURN_IF_ERROR(segments.at_most(2));
    GradientSum out;
    out.step = in.getStep();
    out.weight = in.getWeight();
    out.loss_sum = in.getLossSum();
    TROUPE_ASSIGN_OR_RETURN(out.values, segments.elements(0, sizeof(float)));
    TROUPE_ASSIGN_OR_RETURN(out.batches, read_digests(segments));
    return out;
  };
  return read_message<GradientSum, wire::GradientSum>(frame, "GradientSum", read);
}

std::uint64_t gradient_exchange_bytes(std::uint64_t values_bytes, std::uint64_t world) {
  return values_bytes + gradient_sum_bytes(values_bytes, Rank{}, world) + 2 * reply_overhead_bytes;
}

std::uint64_t gradient_sum_bytes(std::uint64_t values_bytes, Rank owner, std::uint64_t world) {
  return values_bytes + (owner == Rank{} ? world * sizeof(Digest) : 0);
}

}  // namespace troupe::net
