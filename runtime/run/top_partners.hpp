#pragma once
/// \file top_partners.hpp
/// Which nodes a decoder scores highest with a node: what a trained model of links recommends.
#include "runtime/base/executor.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/matrix.hpp"
#include "runtime/nn/network.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

/// Of each source ascending rows of destinations that are not named.
struct LeftOutRows {
  std::vector<std::uint64_t> offsets{0};  ///< [sources + 1]
  std::vector<std::uint32_t> rows;

  std::span<const std::uint32_t> of(std::size_t source) const {
    return std::span(rows).subspan(offsets[source], offsets[source + 1] - offsets[source]);
  }
};

struct TopPartners {
  static constexpr std::int64_t none = -1;

  std::vector<std::int64_t>
      rows;       ///< [sources, k] of destinations, best first, level ones in ascending order
  Matrix scores;  ///< [sources, k]; NaN where there is none
};

struct TopRequest {
  EdgeTypeId edge_type{};  ///< whose parameters of the decoder score
  ConstMatrix sources;
  ConstMatrix destinations;
  std::size_t k = 10;
};
/// Scores are those of pair_outputs(), bit for bit, for any executor.
/// \requires a decoder with one output, as many lists as sources, at most 2^32 destinations
TopPartners top_partners(Executor& executor, const nn::Network& network,
                         std::span<const float> parameters, const TopRequest& request,
                         const LeftOutRows& left_out);

}  // namespace troupe
