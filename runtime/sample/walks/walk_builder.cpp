#include "runtime/sample/walks/walk_builder.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/sample/walks/walk_builder_state.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace troupe {

void WalkBuilder::State::number(NodeTypeId type, std::span<const std::uint64_t> ids,
                                std::uint32_t* out) {
  scratch->numbers[raw(type)].number<std::uint64_t>(ids, 0, ids.size(), batch.nodes[raw(type)].ids,
                                                    out);
}

void WalkBuilder::State::begin(NodeTypeId seed_type) {
  const auto per_seed = walks().per_seed;
  TROUPE_ASSERT(walks().length >= 1 && walks().length <= WalkOptions::most_steps, "steps of a walk",
                walks().length);
  TROUPE_ASSERT((seeds.size() * per_seed * (walks().length + std::uint64_t{1})) >> 32 == 0,
                "places of walks", seeds.size(), per_seed, walks().length);
  TROUPE_ASSERT(!walks().second_order || (seeds.size() * per_seed) >> 24 == 0, "walks",
                seeds.size(), per_seed);
  batch.key = key;
  batch.seed_type = seed_type;
  batch.nodes.resize(graph.node_types.size());
  PooledVector<std::uint64_t> ids;
  for (const NodeId seed : seeds) {
    TROUPE_ASSERT(book.contains(seed_type, seed), "seed", raw(seed), book.count(seed_type));
    ids.push_back(raw(seed));
  }
  batch.seed_index.resize(seeds.size());
  number(seed_type, ids, batch.seed_index.data());
  for (auto& nodes : batch.nodes) {
    nodes.hop_end = {static_cast<std::uint32_t>(nodes.ids.size())};
  }
  auto& out = batch.walks.emplace();
  out.steps = walks().length;
  out.column_types = {seed_type};
  for (std::uint32_t s = 0; s < out.steps; ++s) {
    TROUPE_ASSERT(from(edge_type(s)) == out.column_types.back(), "types of steps lead on", s);
    out.column_types.push_back(to(edge_type(s)));
  }
  for (std::uint32_t i = 0; i < seeds.size(); ++i) {
    for (std::uint32_t k = 0; k < per_seed; ++k) {
      walkers.push_back({.at = seeds[i]});
      out.nodes.push_back(batch.seed_index[i]);
      out.nodes.resize(out.nodes.size() + out.steps, BatchWalks::no_node);
    }
  }
  if (walkers.empty()) {
    step = walks().length;
    finish();
  } else {
    begin_step();
  }
}

/// At the beginning of the path of types walks may return to their seeds.
void WalkBuilder::State::return_to_seeds() {
  if (step == 0 || step % walks().along.size() != 0 || walks().restart_below == 0) {
    return;
  }
  for (std::uint32_t w = 0; w < walkers.size(); ++w) {
    if (walkers[w].ended || coin(Coin::restart, w, step) < walks().restart_below) {
      walkers[w] = {.at = seeds[w / walks().per_seed]};
      batch.walks->restarts.push_back(w * batch.walks->columns() + step + 1);
    }
  }
}

void WalkBuilder::State::begin_step() {
  return_to_seeds();
  next.assign(walkers.size(), std::nullopt);
  undecided.clear();
  for (std::uint32_t w = 0; w < walkers.size(); ++w) {
    if (!walkers[w].ended) {
      undecided.push_back(w);
    }
  }
  round = 0;
  if (undecided.empty()) {
    end_step();
  } else {
    ask_for_entries();
  }
}

void WalkBuilder::State::end_step() {
  PooledVector<std::uint64_t> ids;
  PooledVector<std::uint32_t> movers;
  for (std::uint32_t w = 0; w < walkers.size(); ++w) {
    auto& walker = walkers[w];
    if (!walker.ended && next[w]) {
      walker = {.at = *next[w], .before = walker.at};
      ids.push_back(raw(*next[w]));
      movers.push_back(w);
    } else {
      walker.ended = true;
    }
  }
  PooledVector<std::uint32_t> places_of(ids.size());
  number(batch.walks->column_types[step + 1], ids, places_of.data());
  for (std::size_t i = 0; i < movers.size(); ++i) {
    batch.walks->nodes[movers[i] * std::size_t{batch.walks->columns()} + step + 1] = places_of[i];
  }
  ++step;
  if (step == walks().length) {
    finish();
  } else {
    begin_step();
  }
}

/// No edges, but a row for each seed, as in a batch of one hop whose nodes have no neighbors.
void WalkBuilder::State::finish() {
  batch.hops = 1;
  std::ranges::sort(batch.walks->restarts);
  for (auto& nodes : batch.nodes) {
    nodes.hop_end.push_back(static_cast<std::uint32_t>(nodes.ids.size()));
  }
  for (std::size_t e = 0; e < graph.edge_types.size(); ++e) {
    auto& edges = batch.edges.emplace_back();
    edges.destination_type = from(static_cast<EdgeTypeId>(e));
    edges.source_type = to(static_cast<EdgeTypeId>(e));
    const auto rows = batch.nodes[raw(edges.destination_type)].hop_end.front();
    edges.offsets = RowOffsets(rows, {});
    edges.row_begin = {0, rows};
  }
}

WalkBuilder::WalkBuilder(const GraphInfo& graph, const PartitionBook& book,
                         std::shared_ptr<const SampleOptions> options, BatchKey key,
                         NodeTypeId seed_type, PooledVector<NodeId> seeds,
                         std::span<const std::shared_ptr<const Part>> here,
                         std::shared_ptr<BatchScratchPool> scratch,
                         PooledVector<std::int64_t> seed_times)
    : state_(
          std::make_unique<State>(graph, book, std::move(options), key, here, std::move(scratch))) {
  TROUPE_ASSERT(state_->options->walks && !state_->walks().along.empty(), "options of walks");
  state_->seeds = std::move(seeds);
  if (state_->options->time) {
    state_->times = std::move(seed_times);
    state_->times.resize(state_->seeds.size(), state_->options->seed_time);
  }
  state_->begin(seed_type);
}

WalkBuilder::~WalkBuilder() = default;
WalkBuilder::WalkBuilder(WalkBuilder&&) noexcept = default;
WalkBuilder& WalkBuilder::operator=(WalkBuilder&&) noexcept = default;

std::vector<WalkQuestion> WalkBuilder::questions() {
  return std::exchange(state_->pending, {});
}

Status WalkBuilder::answer(std::uint32_t question, const std::shared_ptr<const HopReply>& reply) {
  return state_->take_entries(question, reply);
}

bool WalkBuilder::done() const {
  return state_->step == state_->walks().length;
}
std::uint32_t WalkBuilder::step() const {
  return state_->step;
}

SampledBatch WalkBuilder::take() && {
  TROUPE_ASSERT(done(), "the walks are not complete: step", step());
  for (std::size_t type = 0; type < state_->batch.nodes.size(); ++type) {
    state_->scratch->numbers[type].end(state_->batch.nodes[type].ids.size());
  }
  return std::move(state_->batch);
}

}  // namespace troupe
