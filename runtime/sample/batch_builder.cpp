#include "runtime/sample/batch_builder.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/graph/list_index.hpp"
#include "runtime/sample/batch_builder_state.hpp"
#include "runtime/sample/subgraph/bidirectional.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace troupe {

std::vector<EdgeTypeId> drawn_types(const std::vector<std::vector<std::int32_t>>& fanout) {
  std::vector<EdgeTypeId> types;
  for (std::size_t type = 0; !fanout.empty() && type < fanout.front().size(); ++type) {
    if (std::ranges::any_of(fanout, [type](const auto& hop) { return hop[type] > 0; })) {
      types.push_back(static_cast<EdgeTypeId>(type));
    }
  }
  return types;
}

bool is_sampled(const std::vector<std::vector<std::int32_t>>& fanout, std::size_t edge_type) {
  return std::ranges::any_of(fanout, [edge_type](const auto& hop) { return hop[edge_type] != 0; });
}

ListTables list_tables(const SampleOptions& options) {
  const auto& kind = choice_kinds()[options.choice];
  auto drawn = drawn_types(options.fanout);
  for (const EdgeTypeId type : options.walks ? options.walks->along : std::vector<EdgeTypeId>()) {
    if (std::ranges::find(drawn, type) == drawn.end()) {
      drawn.push_back(type);
    }
  }
  return {.aliases = kind.needs_weights ? drawn : std::vector<EdgeTypeId>(),
          .original_ids = kind.needs_originals ? drawn : std::vector<EdgeTypeId>()};
}

std::uint64_t BatchSeeds::size() const {
  return std::accumulate(
      groups.begin(), groups.end(), std::uint64_t{0},
      [](std::uint64_t sum, const SeedGroup& group) { return sum + group.nodes.size(); });
}

void BatchBuilder::State::begin(BatchKey key, const BatchSeeds& seeds) {
  TROUPE_ASSERT(options->fanout.size() <= 255, "hops", options->fanout.size());
  for (const auto& of_hop : options->fanout) {
    TROUPE_ASSERT(of_hop.size() == graph.edge_types.size(), "fanouts", of_hop.size(),
                  graph.edge_types.size());
  }
  TROUPE_ASSERT(seeds.size() <= most_local, "seeds", seeds.size());
  for (std::size_t type = 0; options->disjoint && type < graph.node_types.size(); ++type) {
    const auto nodes = book.count(static_cast<NodeTypeId>(type));
    TROUPE_ASSERT(nodes == 0 || seeds.size() < ~std::uint64_t{0} / nodes, "seeds times nodes",
                  seeds.size(), nodes);
  }
  batch.key = key;
  batch.frontier = options->frontier;
  batch.disjoint = options->disjoint;
  batch.seed_type = seeds.groups.front().type;
  batch.hops = static_cast<std::uint32_t>(options->fanout.size());
  batch.nodes.resize(graph.node_types.size());
  batch.edges.resize(graph.edge_types.size());
  asked.resize(graph.node_types.size());
  received.resize(graph.edge_types.size());
  for (std::size_t e = 0; e < batch.edges.size(); ++e) {
    const auto& type = graph.edge_types[e];
    const bool in = options->dir == EdgeDir::in;
    batch.edges[e].destination_type = in ? type.destination : type.source;
    batch.edges[e].source_type = in ? type.source : type.destination;
    batch.edges[e].row_begin.reserve(options->fanout.size() + 1);
    batch.edges[e].row_begin.push_back(0);
  }
  choose_listed();

  for (std::size_t type = 0; type < batch.nodes.size(); ++type) {
    const auto expected = with_numbers(type, [](auto& numbers) { return numbers.expected(); });
    batch.nodes[type].ids.reserve(expected);
    batch.nodes[type].trees.reserve(options->disjoint ? expected : 0);
  }
  number_seeds(seeds);
  for (auto& nodes : batch.nodes) {
    nodes.hop_end = {static_cast<std::uint32_t>(nodes.ids.size())};
  }
}

void BatchBuilder::State::number_seeds(const BatchSeeds& seeds) {
  batch.seed_index.resize(seeds.size());
  std::uint32_t first = 0;  // place of the group's first seed in the batch
  for (const auto& [type, nodes] : seeds.groups) {
    PooledVector<std::uint64_t> ids;
    ids.reserve(nodes.size());
    for (const NodeId seed : nodes) {
      TROUPE_ASSERT(book.contains(type, seed), "seed", raw(seed), book.count(type));
      ids.push_back(raw(seed));
    }
    auto* const index = batch.seed_index.data() + first;
    for (std::uint32_t i = 0; options->disjoint && i < ids.size(); ++i) {
      number_in_tree<std::uint64_t>(raw(type), std::span(ids).subspan(i, 1), first + i, index + i);
    }
    if (!options->disjoint) {
      scratch->numbers[raw(type)].number<std::uint64_t>(ids, 0, ids.size(),
                                                        batch.nodes[raw(type)].ids, index);
    }
    first += static_cast<std::uint32_t>(ids.size());
  }
}

/// Where many edge types end at a node type, most of its nodes have edges of few of them.
void BatchBuilder::State::choose_listed() {
  std::vector<std::size_t> followed(batch.nodes.size());
  for (std::size_t e = 0; e < batch.edges.size(); ++e) {
    followed[raw(batch.edges[e].destination_type)] += is_sampled(options->fanout, e) ? 1U : 0U;
  }
  for (auto& edges : batch.edges) {
    const bool many = followed[raw(edges.destination_type)] >= many_edge_types;
    lists_rows.push_back(many);
    if (!many) {
      edges.offsets = {0};
    }
  }
}

/// All hops are over: the rows of edge types are complete.
void BatchBuilder::State::end_rows() {
  if (std::ranges::find(lists_rows, true) == lists_rows.end()) {
    return;
  }
  const auto [rows, owner] = listed.take(batch.edges.size());
  for (std::size_t e = 0; e < batch.edges.size(); ++e) {
    if (lists_rows[e]) {
      auto& edges = batch.edges[e];
      edges.offsets = RowOffsets(edges.row_begin.back(), rows[e], owner);
    }
  }
}

/// All hops are over.
/// \returns whether edges among the nodes are to be requested
bool BatchBuilder::State::close() {
  end_rows();
  if (options->subgraph == Subgraph::bidirectional) {
    add_reverse_edges(batch, graph, options->reverse_of);
    hop = batch.hops;
  }
  if (options->subgraph != Subgraph::induced) {
    return false;
  }
  closing = true;
  std::ranges::fill(received, 0);
  for (std::size_t type = 0; type < batch.nodes.size(); ++type) {
    induced.emplace_back(batch.nodes[type], book.count(static_cast<NodeTypeId>(type)));
  }
  return true;
}

/// Starts the next hop; one that asks nothing is over at once.
Status BatchBuilder::State::go_on() {
  shares.clear();
  questions.clear();
  nodes_at.assign(batch.nodes.size(), {});
  trees_at.assign(batch.nodes.size(), {});
  positions_at.assign(batch.nodes.size(), {});
  share_at.assign(batch.edges.size() * places(), nothing);
  if (hop == batch.hops && !close()) {
    return ok_status();
  }
  find_who_has();
  shares.reserve(batch.edges.size());
  for (std::size_t e = 0; e < batch.edges.size(); ++e) {
    share_out(e);
  }
  for (std::uint32_t place = 0; place < places(); ++place) {
    ask(place);
  }
  return open == 0 ? merge_hop() : ok_status();
}

BatchBuilder::BatchBuilder(const GraphInfo& graph, const PartitionBook& book,
                           std::shared_ptr<const SampleOptions> options, BatchKey key,
                           NodeTypeId seed_type, std::span<const NodeId> seeds,
                           std::span<const std::shared_ptr<const Part>> here,
                           std::shared_ptr<BatchScratchPool> scratch,
                           std::span<const std::int64_t> seed_times)
    : BatchBuilder(graph, book, std::move(options), key,
                   BatchSeeds{.groups = {{seed_type, {seeds.begin(), seeds.end()}}},
                              .times = {seed_times.begin(), seed_times.end()}},
                   here, std::move(scratch)) {}

BatchBuilder::BatchBuilder(const GraphInfo& graph, const PartitionBook& book,
                           std::shared_ptr<const SampleOptions> options, BatchKey key,
                           const BatchSeeds& seeds,
                           std::span<const std::shared_ptr<const Part>> here,
                           std::shared_ptr<BatchScratchPool> scratch)
    : state_(std::make_unique<State>(graph, book, std::move(options), here, std::move(scratch))) {
  TROUPE_ASSERT(!seeds.groups.empty(), "seeds have a type");
  if (state_->options->time) {
    TROUPE_ASSERT(state_->options->disjoint, "trees with times are disjoint");
    TROUPE_ASSERT(seeds.times.empty() || seeds.times.size() == seeds.size(), "times of seeds",
                  seeds.times.size(), seeds.size());
    state_->tree_times.assign(seeds.times.begin(), seeds.times.end());
    state_->tree_times.resize(seeds.size(), state_->options->seed_time);
  }
  state_->excluded = seeds.excluded;
  state_->begin(key, seeds);
  const auto started = state_->go_on();
  TROUPE_ASSERT(started.ok(), "a batch without edges cannot overflow");
}

BatchBuilder::~BatchBuilder() = default;
BatchBuilder::BatchBuilder(BatchBuilder&&) noexcept = default;
BatchBuilder& BatchBuilder::operator=(BatchBuilder&&) noexcept = default;

std::vector<HopQuestion> BatchBuilder::questions() {
  return std::exchange(state_->pending, {});
}

Status BatchBuilder::answer(std::uint32_t question, const std::shared_ptr<const HopReply>& reply) {
  return state_->take_reply(question, reply);
}
Status BatchBuilder::answer(std::uint32_t question, HopReply reply) {
  return state_->take_reply(question, std::make_shared<const HopReply>(std::move(reply)));
}

bool BatchBuilder::done() const {
  return state_->hop == state_->batch.hops && !state_->closing;
}
std::uint32_t BatchBuilder::hop() const {
  return state_->hop;
}
const BatchKey& BatchBuilder::key() const {
  return state_->batch.key;
}

SampledBatch BatchBuilder::take() && {
  TROUPE_ASSERT(done(), "the batch is not complete: hop", hop());
  for (std::size_t type = 0; type < state_->batch.nodes.size(); ++type) {
    state_->with_numbers(type, [nodes = state_->batch.nodes[type].ids.size()](auto& numbers) {
      numbers.end(nodes);
    });
  }
  return std::move(state_->batch);
}

}  // namespace troupe
