#pragma once
/// \file walk_builder_state.hpp
/// The walks of a batch while they grow. For walk_builder*.cpp only.
#include "runtime/base/philox.hpp"
#include "runtime/sample/frontier_share.hpp"
#include "runtime/sample/list_places.hpp"
#include "runtime/sample/walks/candidates.hpp"
#include "runtime/sample/walks/walk_builder.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace troupe {

struct WalkBuilder::State {
  static constexpr std::uint8_t coin_hop = 255;  ///< Of the streams of coins; no step has it
  enum class Coin : std::uint16_t { restart = 0, candidate = 1 };
  /// Where a walk is.
  struct Walker {
    NodeId at{};
    std::optional<NodeId> before = std::nullopt;  ///< Nothing: no step was made from the seed
    bool ended = false;
  };
  /// Entries requested of one place.
  struct Entries {
    std::uint32_t place = 0;
    PooledVector<NodeId> nodes = {};
    PooledVector<std::uint32_t> trees = {};
    PooledVector<std::uint32_t> walkers = {};  ///< [nodes]
    std::optional<FrontierShare> share = std::nullopt;
  };
  /// Pairs asked of one part: candidates by walker and number in the round.
  struct Pairs {
    PooledVector<std::pair<std::uint32_t, std::size_t>> candidates = {};
  };
  struct Asked {
    PartId part{};
    std::variant<std::monostate, std::unique_ptr<Entries>, Pairs> what;  ///< Nothing once answered
  };

  const GraphInfo& graph;
  const PartitionBook& book;
  ListPlaces places;
  std::shared_ptr<const SampleOptions> options;
  BatchKey key;
  std::shared_ptr<BatchScratchPool> pool;
  std::unique_ptr<BatchScratch> scratch;
  PooledVector<NodeId> seeds;
  PooledVector<std::int64_t> times;  ///< [seeds], or empty without times
  SampledBatch batch;
  PooledVector<Walker> walkers;
  std::uint32_t step = 0;
  std::uint32_t round = 0;
  PooledVector<std::optional<NodeId>> next;          ///< [walkers] of the step under way
  PooledVector<std::uint32_t> undecided;             ///< Walkers without a next node yet, ascending
  std::map<std::uint32_t, CandidateChoice> choices;  ///< Of the round, by walker
  std::vector<std::unique_ptr<Entries>> answered;    ///< Of the round
  std::vector<WalkQuestion> pending;
  std::vector<Asked> asked;  ///< By question
  std::size_t open = 0;

  State(const GraphInfo& g, const PartitionBook& b, std::shared_ptr<const SampleOptions> o,
        BatchKey k, std::span<const std::shared_ptr<const Part>> here,
        std::shared_ptr<BatchScratchPool> p)
      : graph(g),
        book(b),
        places(b, here),
        options(std::move(o)),
        key(k),
        pool(p ? std::move(p) : std::make_shared<BatchScratchPool>()),
        scratch(pool->take(book)) {}
  ~State() { pool->give_back(std::move(scratch)); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  const WalkOptions& walks() const { return *options->walks; }
  EdgeTypeId edge_type(std::uint32_t of_step) const {
    return walks().along[of_step % walks().along.size()];
  }
  NodeTypeId from(EdgeTypeId type) const {
    return graph.edge_types[raw(type)].list_type(options->dir);
  }
  NodeTypeId to(EdgeTypeId type) const {
    return graph.edge_types[raw(type)].neighbour_type(options->dir);
  }
  StreamKey stream(Domain domain, std::uint16_t type, std::uint8_t hop) const {
    return stream_key(options->job_seed, {.domain = domain,
                                          .type = type,
                                          .hop = hop,
                                          .epoch = key.stream_epoch(),
                                          .batch = key.number});
  }
  std::uint32_t coin(Coin kind, std::uint32_t walker, std::uint32_t of) const {
    return DrawStream(stream(Domain::walks, static_cast<std::uint16_t>(kind), coin_hop), walker, of)
        .next();
  }

  void begin(NodeTypeId seed_type);
  void number(NodeTypeId type, std::span<const std::uint64_t> ids, std::uint32_t* out);
  void begin_step();
  void return_to_seeds();
  void ask_for_entries();
  void post(std::unique_ptr<Entries> entries);
  Status take_entries(std::uint32_t question, const std::shared_ptr<const HopReply>& reply);
  void read_entries();
  void choose_candidates();
  void ask_for_edges();
  void end_round();
  void end_step();
  void finish();
};

}  // namespace troupe
