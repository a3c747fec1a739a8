#pragma once
/// \file drive_walks.hpp
/// Drives a WalkBuilder with parts in memory, and a slow, obvious walker on the edge list to compare it
/// with.
#include "runtime/sample/walks/walk_builder.hpp"
#include "tests/runtime/sample/drive.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/graph_builder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

namespace troupe::testing {

inline constexpr std::uint64_t no_original = ~std::uint64_t{0};

/// Walks by original ids, and the nodes of the batch in order.
struct PlainWalks {
  std::vector<std::uint64_t> nodes;  ///< [walks, steps + 1], or no_original
  std::vector<std::uint32_t> restarts;
  std::uint64_t undecided = 0;
  std::vector<std::vector<std::uint64_t>> originals;  ///< [node type]
  friend bool operator==(const PlainWalks&, const PlainWalks&) = default;
};

inline void PrintTo(const PlainWalks& walks, std::ostream* out) {
  *out << fmt::format("\nwalks {}\nrestarts {}, undecided {}\n", fmt::join(walks.nodes, " "),
                      fmt::join(walks.restarts, " "), walks.undecided);
  for (const auto& originals : walks.originals) {
    *out << fmt::format("nodes {}\n", fmt::join(originals, " "));
  }
}

/// Replies come last first.
inline SampledBatch walk(const CutGraph& cut, const SampleOptions& options, BatchKey key,
                         const std::vector<std::uint64_t>& seeds,
                         const std::vector<std::int64_t>& times = {}) {
  const auto& first = cut.info.edge_types[raw(options.walks->along.front())];
  const auto type = options.dir == EdgeDir::in ? first.destination : first.source;
  WalkBuilder builder(cut.info, *cut.book, std::make_shared<SampleOptions>(options), key, type,
                      cut.globals(seeds, raw(type)), {}, nullptr, times);
  std::vector<WalkQuestion> open;
  while (!builder.done()) {
    for (auto& question : builder.questions()) {
      open.push_back(std::move(question));
    }
    if (open.empty()) {
      ADD_FAILURE() << "the builder waits but asks nothing";
      return {};
    }
    const auto question = std::move(open.back());
    open.pop_back();
    const auto& part = *cut.parts[raw(question.part)];
    Status taken = ok_status();
    if (const auto* hop = std::get_if<HopRequest>(&question.request)) {
      const auto reply = sample_one_hop(part, *hop);
      EXPECT_OK(reply);
      taken = builder.answer(question.id, std::make_shared<const HopReply>(*reply));
    } else {
      const auto there = has_edges(part, std::get<HasEdges>(question.request));
      EXPECT_OK(there);
      taken = builder.answer(question.id, *there);
    }
    EXPECT_OK(taken);
  }
  return std::move(builder).take();
}

inline PlainWalks walk_plain(const CutGraph& cut, const SampleOptions& options, BatchKey key,
                             const std::vector<std::uint64_t>& seeds,
                             const std::vector<std::int64_t>& times = {}) {
  const auto batch = walk(cut, options, key, seeds, times);
  PlainWalks plain;
  for (std::size_t type = 0; type < batch.nodes.size(); ++type) {
    auto& originals = plain.originals.emplace_back();
    for (const auto id : batch.nodes[type].ids) {
      originals.push_back(cut.original(id, type));
    }
  }
  const auto& walks = *batch.walks;
  for (std::size_t place = 0; place < walks.nodes.size(); ++place) {
    const auto node = walks.nodes[place];
    const auto type = raw(walks.column_types[place % walks.columns()]);
    plain.nodes.push_back(node == BatchWalks::no_node ? no_original : plain.originals[type][node]);
  }
  plain.restarts.assign(walks.restarts.begin(), walks.restarts.end());
  plain.undecided = walks.undecided;
  return plain;
}

/// Walks each walk to its end before the next one begins.
class ReferenceWalker {
 public:
  ReferenceWalker(const TestGraph& graph, const SampleOptions& options, BatchKey key)
      : graph_(graph), options_(options), key_(key) {}

  PlainWalks walk(const std::vector<std::uint64_t>& seeds, const std::vector<std::int64_t>& times) {
    const auto& walks = *options_.walks;
    PlainWalks plain;
    for (std::uint32_t w = 0; w < seeds.size() * walks.per_seed; ++w) {
      const auto seed = w / walks.per_seed;
      until_ = times.empty() ? options_.seed_time : times[seed];
      one_walk(w, seeds[seed], plain);
    }
    number(seeds, plain);
    return plain;
  }

 private:
  void one_walk(std::uint32_t w, std::uint64_t seed, PlainWalks& plain) {
    const auto& walks = *options_.walks;
    std::optional<std::uint64_t> at = seed;
    std::optional<std::uint64_t> before;
    plain.nodes.push_back(seed);
    for (std::uint32_t step = 0; step < walks.length; ++step) {
      const bool may_return = step > 0 && step % walks.along.size() == 0 && walks.restart_below > 0;
      if (may_return && (!at || coin(0, w, step) < walks.restart_below)) {
        at = seed;
        before.reset();
        plain.restarts.push_back(static_cast<std::uint32_t>(plain.nodes.size()));
      }
      std::optional<std::uint64_t> next;
      if (at) {
        next = next_node(w, step, *at, before, plain.undecided);
        before = at;
      }
      at = next;
      plain.nodes.push_back(next.value_or(no_original));
    }
  }

  std::optional<std::uint64_t> next_node(std::uint32_t w, std::uint32_t step, std::uint64_t at,
                                         std::optional<std::uint64_t> before,
                                         std::uint64_t& undecided) const {
    const auto& walks = *options_.walks;
    const auto type = raw(walks.along[step % walks.along.size()]);
    const auto list = list_of(type, at);
    if (list.empty()) {
      return std::nullopt;
    }
    const auto key = key_of(Domain::walks, type, step);
    const auto draw = [&](std::uint32_t tree) {
      return list[DrawStream(key, at, tree).below(static_cast<std::uint32_t>(list.size()))];
    };
    if (!walks.second_order) {
      return draw(w);
    }
    if (!before) {
      return draw(w * 256);
    }
    const auto near = list_of(type, *before);
    for (std::uint32_t c = 0; c < 252; ++c) {
      const auto candidate = draw(w * 256 + c);
      const auto below = candidate == *before ? walks.second_order->back
                         : std::ranges::find(near, candidate) != near.end()
                             ? walks.second_order->near
                             : walks.second_order->far;
      if (coin(1, w, step * 256 + c) < below) {
        return candidate;
      }
    }
    ++undecided;
    return draw(w * 256 + 251);
  }

  StreamKey key_of(Domain domain, std::uint16_t type, std::uint32_t hop) const {
    return stream_key(options_.job_seed, {.domain = domain,
                                          .type = type,
                                          .hop = static_cast<std::uint8_t>(hop),
                                          .epoch = key_.stream_epoch(),
                                          .batch = key_.number});
  }
  std::uint32_t coin(std::uint16_t kind, std::uint32_t w, std::uint32_t of) const {
    return DrawStream(key_of(Domain::walks, kind, 255), w, of).next();
  }

  std::vector<std::uint64_t> list_of(std::size_t type, std::uint64_t node) const {
    const auto& edges = graph_.edges[type];
    const bool in = options_.dir == EdgeDir::in;
    std::vector<std::tuple<std::int64_t, std::uint64_t, std::size_t>> entries;
    for (std::size_t e = 0; e < edges.edges.size(); ++e) {
      const auto [source, destination] = edges.edges[e];
      const auto time = edges.times.empty() ? 0 : edges.times[e];
      const bool allowed = !options_.time || edges.times.empty() || time < until_;
      if ((in ? destination : source) == node && allowed) {
        entries.emplace_back(time, in ? source : destination, e);
      }
    }
    std::ranges::sort(entries);
    std::vector<std::uint64_t> list;
    for (const auto& entry : entries) {
      list.push_back(std::get<1>(entry));
    }
    return list;
  }

  /// Seeds, then step by step, walk by walk.
  void number(const std::vector<std::uint64_t>& seeds, PlainWalks& plain) const {
    const auto& walks = *options_.walks;
    plain.originals.resize(graph_.nodes.size());
    const auto add = [&](std::size_t type, std::uint64_t node) {
      auto& of_type = plain.originals[type];
      if (node != no_original && std::ranges::find(of_type, node) == of_type.end()) {
        of_type.push_back(node);
      }
    };
    const bool in = options_.dir == EdgeDir::in;
    const auto& first = graph_.edges[raw(walks.along.front())];
    for (const auto seed : seeds) {
      add(in ? first.destination : first.source, seed);
    }
    const auto columns = walks.length + std::size_t{1};
    for (std::size_t column = 1; column < columns; ++column) {
      const auto& type = graph_.edges[raw(walks.along[(column - 1) % walks.along.size()])];
      for (std::size_t at = column; at < plain.nodes.size(); at += columns) {
        add(in ? type.source : type.destination, plain.nodes[at]);
      }
    }
  }

  const TestGraph& graph_;
  const SampleOptions& options_;
  BatchKey key_;
  std::int64_t until_ = 0;
};

inline PlainWalks reference_walks(const TestGraph& graph, const SampleOptions& options,
                                  BatchKey key, const std::vector<std::uint64_t>& seeds,
                                  const std::vector<std::int64_t>& times = {}) {
  return ReferenceWalker(graph, options, key).walk(seeds, times);
}

}  // namespace troupe::testing
