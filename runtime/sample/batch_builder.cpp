#include "runtime/sample/batch_builder.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/sample/frontier_share.hpp"
#include "runtime/sample/list_places.hpp"
#include "runtime/sample/subgraph/bidirectional.hpp"
#include "runtime/sample/subgraph/induced_rows.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

namespace troupe {
namespace {

constexpr std::uint64_t most_local = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t longest_run = std::size_t{1} << 20;  // entries

}  // namespace

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
  const auto drawn = drawn_types(options.fanout);
  return {.aliases = kind.needs_weights ? drawn : std::vector<EdgeTypeId>(),
          .original_ids = kind.needs_originals ? drawn : std::vector<EdgeTypeId>()};
}

std::uint64_t BatchSeeds::size() const {
  return std::accumulate(
      groups.begin(), groups.end(), std::uint64_t{0},
      [](std::uint64_t sum, const SeedGroup& group) { return sum + group.nodes.size(); });
}

struct BatchBuilder::State {
  static constexpr std::size_t nothing = std::numeric_limits<std::size_t>::max();
  /// A question of the hop under way.
  struct Question {
    std::uint32_t place = 0;
    std::vector<std::size_t> shares = {};  ///< In order of edge types; empty once answered
  };

  const GraphInfo& graph;
  const PartitionBook& book;
  ListPlaces list_places;
  std::shared_ptr<const SampleOptions> options;
  std::shared_ptr<BatchScratchPool> pool;
  std::unique_ptr<BatchScratch> scratch;
  SampledBatch batch;
  std::uint32_t hop = 0;
  std::vector<HopQuestion> pending;  ///< not handed out yet
  std::uint32_t next_question = 0;
  std::vector<Question> questions;    ///< of the hop under way; the last one is next_question - 1
  std::vector<FrontierShare> shares;  ///< of the hop under way
  std::size_t open = 0;               ///< questions without an answer
  /// Who is asked, as ListPlaces numbers them: [node type][position in the frontier] -> place
  std::vector<PooledVector<std::uint32_t>> asked;
  /// [node type][place]; empty for types that no edge type asks for
  std::vector<std::vector<PooledVector<NodeId>>> nodes_at;
  std::vector<std::vector<PooledVector<std::uint32_t>>> trees_at;  ///< As nodes_at, if disjoint
  PooledVector<std::int64_t> tree_times;           ///< [seeds], or empty without times
  std::vector<std::vector<std::size_t>> share_at;  ///< [edge type][place] -> share, or `nothing`
  std::vector<std::uint64_t> received;             ///< edges so far, by edge type
  std::shared_ptr<const Exclusions> excluded;      ///< Null: no edges
  /// After the last hop: all edges among the nodes are requested.
  bool closing = false;
  std::vector<InducedNodes> induced;  ///< By node type, while closing

  State(const GraphInfo& g, const PartitionBook& b, std::shared_ptr<const SampleOptions> o,
        std::span<const std::shared_ptr<const Part>> h, std::shared_ptr<BatchScratchPool> p)
      : graph(g),
        book(b),
        list_places(b, h),
        options(std::move(o)),
        pool(p ? std::move(p) : std::make_shared<BatchScratchPool>()),
        scratch(pool->take(book, options->disjoint)) {}
  ~State() { pool->give_back(std::move(scratch)); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  /// Batch-local indices of the nodes that the hop asks for.
  struct Range {
    std::uint32_t begin;
    std::uint32_t end;
    std::uint32_t size() const { return end - begin; }
  };
  Range frontier(NodeTypeId type) const {
    const auto& ends = batch.nodes[raw(type)].hop_end;
    return {closing ? 0 : batch.first_row_node(type, hop), ends[hop]};
  }
  std::int32_t fanout(std::size_t edge_type) const {
    if (!closing) {
      return options->fanout[hop][edge_type];
    }
    return is_sampled(options->fanout, edge_type) ? all_neighbours : 0;
  }
  StreamKey key_of(std::size_t edge_type) const;
  EdgeData edge_data(std::size_t edge_type) const {
    auto data = options->edge_data & edge_data_of(graph.edge_types[edge_type]);
    data.entries = data.entries ||
                   std::ranges::find(options->entries_of, static_cast<EdgeTypeId>(edge_type)) !=
                       options->entries_of.end();
    return data;
  }
  /// Whether features of edges are wanted along an edge type of the hop that starts at a node type:
  /// only owners of lists have them.
  bool needs_owners(NodeTypeId type) const {
    for (std::size_t e = 0; e < batch.edges.size(); ++e) {
      if (batch.edges[e].destination_type == type && fanout(e) != 0 && edge_data(e).entries) {
        return true;
      }
    }
    return false;
  }
  std::size_t places() const { return list_places.count(); }

  void begin(BatchKey key, const BatchSeeds& seeds);
  void number_seeds(const BatchSeeds& seeds);
  void find_who_has();
  void share_out(std::size_t edge_type);
  void ask(std::uint32_t place);
  void group_frontier(std::size_t node_type);
  void post(Question question);
  Status take_section(FrontierShare& share, const HopSectionView& answer,
                      std::shared_ptr<const HopReply> reply);
  Status take_reply(std::uint32_t number, const std::shared_ptr<const HopReply>& reply);
  template <class F>
  auto with_numbers(std::size_t type, F&& f) {
    return options->disjoint ? f(scratch->numbers_in_trees[type]) : f(scratch->numbers[type]);
  }
  /// Entries of an answer that lie one after the other, in disjoint batches of one tree.
  struct Run {
    const HopSectionView* answer = nullptr;
    std::size_t first = 0;
    std::size_t count = 0;
    std::uint32_t tree = 0;
  };
  template <class From>
  void number_in_tree(std::size_t type, std::span<const From> ids, std::uint32_t tree,
                      std::uint32_t* out);
  Status merge_entries(std::size_t edge_type, const Run& run);
  Status merge(std::size_t edge_type);
  Status merge_induced(std::size_t edge_type);
  Status merge_hop();
  bool close();
  Status go_on();
};

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
    batch.edges[e].offsets = {0};
    batch.edges[e].row_begin = {0};
  }

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

void BatchBuilder::State::find_who_has() {
  for (std::size_t t = 0; t < asked.size(); ++t) {
    const auto type = static_cast<NodeTypeId>(t);
    const Range range = frontier(type);
    const bool owners = needs_owners(type);
    asked[t].clear();
    asked[t].reserve(range.size());
    for (std::uint32_t i = range.begin; i < range.end; ++i) {
      const auto id = batch.nodes[t].ids[i];
      asked[t].push_back(owners ? raw(book.owner(type, id)) : list_places.of(type, id));
    }
  }
}

/// The frontier of a node type by place, for all edge types that end there.
void BatchBuilder::State::group_frontier(std::size_t node_type) {
  const auto& nodes = batch.nodes[node_type].ids;
  const auto first = frontier(static_cast<NodeTypeId>(node_type)).begin;
  std::vector<std::size_t> sizes(places());
  for (const auto place : asked[node_type]) {
    ++sizes[place];
  }
  auto& at = nodes_at[node_type];
  at.resize(places());
  for (std::size_t place = 0; place < places(); ++place) {
    at[place].reserve(sizes[place]);
  }
  auto& trees = trees_at[node_type];
  trees.resize(places());
  for (std::size_t i = 0; i < asked[node_type].size(); ++i) {
    at[asked[node_type][i]].push_back(nodes[first + i]);
    if (options->disjoint) {
      trees[asked[node_type][i]].push_back(batch.nodes[node_type].trees[first + i]);
    }
  }
}

/// Says what each place is to be asked along an edge type.
void BatchBuilder::State::share_out(std::size_t edge_type) {
  if (fanout(edge_type) == 0) {
    return;
  }
  const auto node_type = raw(batch.edges[edge_type].destination_type);
  const auto& nodes = nodes_at[node_type];
  if (nodes.empty()) {
    group_frontier(node_type);
  }
  auto& at = share_at[edge_type];
  at.assign(places(), nothing);
  for (std::size_t place = 0; place < places(); ++place) {
    if (!nodes[place].empty()) {
      at[place] = shares.size();
      shares.emplace_back(list_places.part(static_cast<std::uint32_t>(place)),
                          static_cast<EdgeTypeId>(edge_type), nodes[place],
                          trees_at[node_type][place]);
    }
  }
}

/// Asks a place for its shares along all edge types.
void BatchBuilder::State::ask(std::uint32_t place) {
  Question question{.place = place};
  for (const auto& at : share_at) {
    if (!at.empty() && at[place] != nothing) {
      question.shares.push_back(at[place]);
    }
  }
  if (!question.shares.empty()) {
    post(std::move(question));
  }
}

/// Asks for what is still missing of shares. Shares of one node type of which nothing is there yet
/// have their frontier in common.
void BatchBuilder::State::post(Question question) {
  HopQuestion posted{.id = next_question++,
                     .part = shares[question.shares.front()].part(),
                     .lists_of = list_places.lists_of(question.place),
                     .request = {}};
  HopRequest& request = posted.request;
  request.dir = options->dir;
  request.choice = options->choice;
  request.replace = options->replace;
  request.time = options->time.value_or(TimeRule{});
  request.max_edges = options->max_edges_per_reply;
  std::vector<std::size_t> whole_frontier(batch.nodes.size(), nothing);
  std::vector<std::optional<std::uint32_t>> sets(batch.nodes.size());  // places in the frontiers
  for (const auto number : question.shares) {
    const FrontierShare& share = shares[number];
    const auto edge_type = raw(share.edge_type());
    const auto node_type = batch.edges[edge_type].destination_type;
    std::size_t at = share.untouched() ? whole_frontier[raw(node_type)] : nothing;
    if (at == nothing) {
      at = request.frontiers.size();
      const auto missing = share.missing();
      const auto trees = share.missing_trees();
      request.frontiers.push_back(
          {node_type, {missing.begin(), missing.end()}, {trees.begin(), trees.end()}});
      if (options->time) {
        std::ranges::transform(trees, std::back_inserter(request.frontiers.back().times),
                               [&](std::uint32_t tree) { return tree_times[tree]; });
      }
      if (share.untouched()) {
        whole_frontier[raw(node_type)] = at;
      }
    }
    request.sections.push_back({.edge_type = share.edge_type(),
                                .frontier = static_cast<std::uint32_t>(at),
                                .fanout = fanout(edge_type),
                                .key = key_of(edge_type),
                                .first_position = share.resume_position(),
                                .edge_data = edge_data(edge_type),
                                .excluded = excluded
                                                ? excluded->of(share.edge_type(), share.missing())
                                                : PooledVector<ExcludedEdges>()});
    if (closing) {
      const auto type = raw(batch.edges[edge_type].source_type);
      if (!sets[type]) {
        sets[type] = static_cast<std::uint32_t>(request.frontiers.size());
        request.frontiers.push_back({static_cast<NodeTypeId>(type), induced[type].distinct()});
      }
      request.sections.back().within = sets[type];
    }
  }
  pending.push_back(std::move(posted));
  questions.push_back(std::move(question));
  ++open;
}

StreamKey BatchBuilder::State::key_of(std::size_t edge_type) const {
  return stream_key(options->job_seed,
                    {.domain = choice_kinds()[options->choice].domain,
                     .type = static_cast<std::uint16_t>(edge_type),
                     .hop = options->shared ? std::uint8_t{0} : static_cast<std::uint8_t>(hop),
                     .epoch = batch.key.stream_epoch(),
                     .batch = batch.key.number});
}

/// Takes what a reply says along one edge type.
Status BatchBuilder::State::take_section(FrontierShare& share, const HopSectionView& answer,
                                         std::shared_ptr<const HopReply> reply) {
  const auto edge_type = raw(share.edge_type());
  received[edge_type] += answer.neighbours.size();
  if (received[edge_type] > most_local) {
    return Error(
        Errc::invalid_argument,
        fmt::format("sampling: a batch holds fewer than 2^32 edges of a type, edge type {} "
                    "has {}\ntry: a smaller batch size or fanout",
                    edge_type, received[edge_type]));
  }
  return share.take(
      answer, std::move(reply),
      {.fanout = choice_kinds()[options->choice].on_average ? all_neighbours : fanout(edge_type),
       .edge_data = edge_data(edge_type),
       .end = book.count(batch.edges[edge_type].source_type),
       .entries = graph.edge_types[edge_type].count});
}

Status BatchBuilder::State::take_reply(std::uint32_t number,
                                       const std::shared_ptr<const HopReply>& reply) {
  const std::size_t first = next_question - questions.size();
  if (number >= next_question || number < first || questions[number - first].shares.empty()) {
    return Error(Errc::invalid_argument,
                 fmt::format("sampling: no reply is awaited for question {}; {} were asked", number,
                             next_question));
  }
  Question question{.place = questions[number - first].place,
                    .shares = std::exchange(questions[number - first].shares, {})};
  const PartId part = shares[question.shares.front()].part();
  auto sections = sections_of(*reply);
  if (!sections) {
    return std::move(sections).error().with(fmt::format("neighbours from part {}", raw(part)));
  }
  if (sections->empty() || sections->size() > question.shares.size()) {
    return Error(Errc::data_corruption,
                 fmt::format("neighbours from part {}: expected answers for 1 to {} edge types, "
                             "got {}",
                             raw(part), question.shares.size(), sections->size()));
  }
  for (std::size_t i = 0; i < sections->size(); ++i) {
    TROUPE_RETURN_IF_ERROR(take_section(shares[question.shares[i]], (*sections)[i], reply));
  }
  std::erase_if(question.shares, [&](std::size_t share) { return shares[share].complete(); });
  --open;
  if (!question.shares.empty()) {
    post(std::move(question));
    return ok_status();
  }
  return open == 0 ? merge_hop() : ok_status();
}

/// Numbers nodes of one tree.
template <class From>
void BatchBuilder::State::number_in_tree(std::size_t type, std::span<const From> ids,
                                         std::uint32_t tree, std::uint32_t* out) {
  auto& nodes = batch.nodes[type];
  scratch->numbers_in_trees[type].number(tree, ids, nodes.ids, out);
  nodes.trees.resize(nodes.ids.size(), tree);
}

/// Numbers the neighbors of a run and adds their edges.
Status BatchBuilder::State::merge_entries(std::size_t edge_type, const Run& run) {
  BatchEdges& edges = batch.edges[edge_type];
  const auto node_type = raw(edges.source_type);
  auto& ids = batch.nodes[node_type].ids;
  if (ids.size() + run.count > most_local) {
    return Error(Errc::invalid_argument,
                 fmt::format("sampling: a batch holds fewer than 2^32 nodes of a type, node type "
                             "{} has {}\ntry: a smaller batch size or fanout",
                             node_type, ids.size() + run.count));
  }
  const std::size_t before = edges.sources.size();
  edges.sources.resize(before + run.count);
  auto* const out = edges.sources.data() + before;
  run.answer->neighbours.visit([&](auto neighbours) {
    if (options->disjoint) {
      number_in_tree(node_type, neighbours.subspan(run.first, run.count), run.tree, out);
    } else {
      scratch->numbers[node_type].number(neighbours, run.first, run.count, ids, out);
    }
  });
  each_edge_datum(
      [&run]<class T>(PooledVector<T>& to, auto values) {
        if (!values.empty()) {
          std::ranges::transform(values.subspan(run.first, run.count), std::back_inserter(to),
                                 [](auto value) { return static_cast<T>(value); });
        }
      },
      edges, *run.answer);
  return ok_status();
}

/// Puts the answers along one edge type in frontier order and numbers the nodes that are new.
Status BatchBuilder::State::merge(std::size_t edge_type) {
  BatchEdges& edges = batch.edges[edge_type];
  const auto& places = asked[raw(edges.destination_type)];
  const auto& at = share_at[edge_type];
  edges.offsets.reserve(edges.offsets.size() + places.size());
  edges.sources.reserve(received[edge_type]);
  const auto& trees = batch.nodes[raw(edges.destination_type)].trees;
  const auto first_node = frontier(edges.destination_type).begin;
  Run run;  // numbered together
  Status status = ok_status();
  const auto number_run = [&] {
    if (run.count > 0 && status.ok()) {
      status = merge_entries(edge_type, run);
    }
  };
  std::uint32_t offset = edges.offsets.back();
  for (std::size_t i = 0; i < places.size() && !at.empty(); ++i) {
    const std::uint32_t tree = options->disjoint ? trees[first_node + i] : 0;
    shares[at[places[i]]].next_node(
        [&](const HopSectionView& answer, std::size_t first, std::uint32_t count) {
          if (run.answer != &answer || run.count + count > longest_run || run.tree != tree) {
            number_run();
            run = {&answer, first, 0, tree};
          }
          run.count += count;
          offset += count;
        });
    edges.offsets.push_back(offset);
  }
  number_run();
  TROUPE_RETURN_IF_ERROR(status);
  edges.offsets.resize(edges.row_begin.back() + places.size() + 1, edges.offsets.back());
  edges.row_begin.push_back(static_cast<std::uint32_t>(edges.offsets.size() - 1));
  return ok_status();
}

/// Replaces the drawn edges of a type by all edges among the nodes of the batch.
Status BatchBuilder::State::merge_induced(std::size_t edge_type) {
  BatchEdges edges;
  edges.destination_type = batch.edges[edge_type].destination_type;
  edges.source_type = batch.edges[edge_type].source_type;
  const auto& places = asked[raw(edges.destination_type)];
  const auto& trees = batch.nodes[raw(edges.destination_type)].trees;
  const auto& at = share_at[edge_type];
  const auto& nodes = induced[raw(edges.source_type)];
  edges.offsets.reserve(places.size() + 1);
  edges.offsets.push_back(0);
  Status status = ok_status();
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!at.empty()) {
      shares[at[places[i]]].next_node([&](const HopSectionView& answer, std::size_t first,
                                          std::uint32_t count) {
        if (status.ok()) {
          status =
              add_induced({answer, first, count, options->disjoint ? trees[i] : 0}, nodes, edges);
        }
      });
    }
    edges.offsets.push_back(static_cast<std::uint32_t>(edges.sources.size()));
  }
  edges.row_begin = {0, static_cast<std::uint32_t>(places.size())};
  batch.edges[edge_type] = std::move(edges);
  return status;
}

Status BatchBuilder::State::merge_hop() {
  for (std::size_t e = 0; e < batch.edges.size(); ++e) {
    TROUPE_RETURN_IF_ERROR(closing ? merge_induced(e) : merge(e));
  }
  if (std::exchange(closing, false)) {
    batch.subgraph = Subgraph::induced;
    induced.clear();
    close_hops(batch);
    hop = batch.hops;
    return ok_status();
  }
  for (auto& nodes : batch.nodes) {
    nodes.hop_end.push_back(static_cast<std::uint32_t>(nodes.ids.size()));
  }
  ++hop;
  return go_on();
}

/// All hops are over.
/// \returns whether edges among the nodes are to be requested
bool BatchBuilder::State::close() {
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
  share_at.assign(batch.edges.size(), {});
  if (hop == batch.hops && !close()) {
    return ok_status();
  }
  find_who_has();
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
