#pragma once
/// \file top_partners.hpp
/// Which nodes a decoder scores highest with a node: what a trained model of links recommends.
#include "runtime/base/executor.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/matrix.hpp"
#include "runtime/nn/knowledge/known_answers.hpp"
#include "runtime/nn/network.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

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
/// \param left_out  of each source rows of destinations that are not named
/// \requires a decoder with one output, as many lists as sources, fewer than 2^32 destinations
TopPartners top_partners(Executor& executor, const nn::Network& network,
                         std::span<const float> parameters, const TopRequest& request,
                         const nn::KnownRows& left_out);

}  // namespace troupe
