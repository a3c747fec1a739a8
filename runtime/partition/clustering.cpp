#include "runtime/partition/clustering.hpp"

#include "runtime/base/assert.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace troupe {
namespace {

constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

/// Which of two labels with as many edges a vertex takes: no label is favoured by all.
constexpr std::uint64_t draw(std::uint64_t v, std::uint64_t label) noexcept {
  std::uint64_t x = v * 0x9E3779B97F4A7C15U + label * 0xC2B2AE3D27D4EB4FU;
  x = (x ^ (x >> 33U)) * 0xFF51AFD7ED558CCDU;
  return x ^ (x >> 29U);
}

}  // namespace

Clustering::Clustering(const Adjacency& graph, const Constraints& constraints, Executor& executor)
    : graph_(graph),
      constraints_(constraints),
      executor_(executor),
      blocks_(graph.vertices()),
      labels_(graph.vertices()),
      loads_(graph.vertices() * constraints.size()),
      limits_(constraints.size(), 0),
      scratch_(VertexBlocks::streams) {
  TROUPE_ASSERT(graph.vertices() < none, "vertices of a clustering", graph.vertices());
  std::iota(labels_.begin(), labels_.end(), 0U);
  for (std::uint64_t v = 0; v < labels_.size(); ++v) {
    constraints.weights(v, std::span(loads_).subspan(v * constraints.size(), constraints.size()));
  }
  for (auto& scratch : scratch_) {
    scratch.weights.resize(constraints.size());
    scratch.choices.resize(blocks_.chunk);
  }
}

void Clustering::propagate(std::span<const std::uint64_t> limits, std::uint32_t most_passes) {
  limits_.assign(limits.begin(), limits.end());
  const auto few = labels_.size() / 100;
  for (std::uint32_t pass = 0; pass < most_passes; ++pass) {
    std::uint64_t moved = 0;
    for (std::uint64_t block = 0; block < blocks_.count; ++block) {
      executor_.parallel_for(VertexBlocks::streams,
                             [&](std::size_t stream) { score_chunk(block, stream); });
      moved += commit(block);
    }
    if (moved <= few) {
      return;
    }
  }
}

void Clustering::score_chunk(std::uint64_t block, std::uint64_t stream) {
  auto& scratch = scratch_[stream];
  const auto begin = blocks_.begin(block, stream);
  for (auto v = begin; v < blocks_.end(block, stream); ++v) {
    constraints_.weights(v, scratch.weights);
    scratch.choices[v - begin] = best_label(v, scratch, /*with_room=*/true);
  }
}

/// Moves the vertices of a block where there still is room. \returns how many
std::uint64_t Clustering::commit(std::uint64_t block) {
  std::uint64_t moved = 0;
  for (std::uint64_t stream = 0; stream < VertexBlocks::streams; ++stream) {
    auto& scratch = scratch_[stream];
    const auto begin = blocks_.begin(block, stream);
    for (auto v = begin; v < blocks_.end(block, stream); ++v) {
      const auto to = scratch.choices[v - begin];
      if (to == labels_[v]) {
        continue;
      }
      constraints_.weights(v, scratch.weights);
      if (has_room(to, scratch.weights)) {
        move(v, to, scratch.weights);
        ++moved;
      }
    }
  }
  return moved;
}

/// The label that most edges of `v` lead to. \param with_room  its own, or one with room for it
std::uint32_t Clustering::best_label(std::uint64_t v, Scratch& scratch, bool with_room) const {
  scratch.tally.reset(graph_.degree(v));
  graph_.for_each_neighbour(v, [&](std::uint64_t u) { scratch.tally.add(labels_[u]); });
  const auto own = labels_[v];
  auto best = own;
  std::uint64_t most = 0;
  scratch.tally.for_each([&](std::uint64_t label, std::uint64_t count) {
    const auto candidate = static_cast<std::uint32_t>(label);
    if (candidate == own) {
      if (count >= most) {
        best = own;
        most = count;
      }
      return;
    }
    const bool better =
        count > most || (count == most && best != own && draw(v, candidate) > draw(v, best));
    if (better && (!with_room || has_room(candidate, scratch.weights))) {
      best = candidate;
      most = count;
    }
  });
  return best;
}

bool Clustering::has_room(std::uint32_t label, std::span<const std::uint64_t> weights) const {
  for (std::size_t c = 0; c < weights.size(); ++c) {
    if (weights[c] != 0 && loads_[label * weights.size() + c] + weights[c] > limits_[c]) {
      return false;
    }
  }
  return true;
}

void Clustering::move(std::uint64_t v, std::uint32_t to, std::span<const std::uint64_t> weights) {
  for (std::size_t c = 0; c < weights.size(); ++c) {
    loads_[labels_[v] * weights.size() + c] -= weights[c];
    loads_[to * weights.size() + c] += weights[c];
  }
  labels_[v] = to;
}

void Clustering::group_singles() {
  std::vector<std::uint32_t> sizes(labels_.size(), 0);
  for (const auto label : labels_) {
    ++sizes[label];
  }
  // The last group of vertices that lead to a cluster; those without edges lead to their own.
  std::vector<std::uint32_t> group(labels_.size(), none);
  auto isolated = none;
  auto& scratch = scratch_[0];
  for (std::uint64_t v = 0; v < labels_.size(); ++v) {
    if (sizes[labels_[v]] != 1) {
      continue;
    }
    constraints_.weights(v, scratch.weights);
    const auto favourite = best_label(v, scratch, /*with_room=*/false);
    auto& open = favourite == labels_[v] ? isolated : group[favourite];
    if (open != none && has_room(open, scratch.weights)) {
      move(v, open, scratch.weights);
    } else {
      open = labels_[v];
    }
  }
}

}  // namespace troupe
