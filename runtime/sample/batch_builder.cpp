#include "runtime/sample/batch_builder.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/sample/id_index.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <limits>
#include <utility>

namespace troupe {
namespace {

constexpr std::uint64_t most_local = std::numeric_limits<std::uint32_t>::max();

/// Nodes of the frontier that one part is asked about along one edge type in the hop under way, and
/// what it has answered so far.
struct FrontierShare {
  PartId part{};
  EdgeTypeId edge_type{};
  std::span<const NodeId> nodes{};  ///< Its part of the frontier, in frontier order

  std::size_t covered = 0;              ///< nodes whose whole answer is in
  std::uint64_t resume_position = 0;    ///< not 0: the answer of nodes[covered] goes on there
  std::vector<std::uint32_t> counts{};  ///< of the covered nodes and the one under way
  std::vector<NodeId> neighbours{};     ///< all so far
  std::vector<EdgeId> edge_ids{};

  std::size_t merged_nodes = 0;
  std::size_t merged_edges = 0;

  bool complete() const { return covered == nodes.size(); }
};

Error corrupt(const FrontierShare& share, const std::string& what) {
  return Error(Errc::data_corruption, fmt::format("neighbours from part {}, edge type {}: {}",
                                                  raw(share.part), raw(share.edge_type), what));
}

/// Sizes against the question.
Status check_sizes(const FrontierShare& share, const HopSectionView& reply, bool with_edge_ids) {
  const std::size_t asked = share.nodes.size() - share.covered;
  if (reply.counts.empty() || reply.counts.size() > asked) {
    return corrupt(share, fmt::format("expected answers for 1 to {} nodes, got {}", asked,
                                      reply.counts.size()));
  }
  const std::uint64_t edge_ids = with_edge_ids ? reply.neighbours.size() : 0;
  if (reply.edge_ids.size() != edge_ids) {
    return corrupt(share,
                   fmt::format("expected {} edge ids, got {}", edge_ids, reply.edge_ids.size()));
  }
  return ok_status();
}

/// Counts against the fanout, and the place to go on against the counts: every reply must bring the
/// question forward.
Status check_counts(const FrontierShare& share, const HopSectionView& reply, std::int32_t fanout) {
  const auto most = std::ranges::max(reply.counts);
  if (fanout != all_neighbours && most > static_cast<std::uint32_t>(fanout)) {
    return corrupt(share, fmt::format("expected at most {} neighbours, got {}", fanout, most));
  }
  if (reply.resume_position == 0) {
    return ok_status();
  }
  const std::uint64_t before = reply.counts.size() == 1 ? share.resume_position : 0;
  const std::uint64_t last = reply.counts.back();
  if (fanout != all_neighbours || last == 0 || reply.resume_position != before + last) {
    return corrupt(share, fmt::format("cannot go on at position {}: {} entries after {}, fanout {}",
                                      reply.resume_position, last, before, fanout));
  }
  return ok_status();
}

Status check_ids(const FrontierShare& share, const HopSectionView& reply, std::uint64_t end) {
  const std::uint64_t most = reply.neighbours.visit([](auto ids) {
    std::uint64_t found = 0;
    for (const auto id : ids) {
      found = std::max<std::uint64_t>(found, id);
    }
    return found;
  });
  if (!reply.neighbours.empty() && most >= end) {
    return corrupt(share, fmt::format("expected ids below {}, got {}", end, most));
  }
  return ok_status();
}

/// Adds a checked reply.
void append(FrontierShare& share, const HopSectionView& reply) {
  auto counts = reply.counts;
  if (share.resume_position != 0) {
    share.counts.back() += counts.front();
    counts = counts.subspan(1);
  }
  share.counts.insert(share.counts.end(), counts.begin(), counts.end());
  reply.neighbours.visit([&](auto ids) {
    const std::size_t before = share.neighbours.size();
    share.neighbours.resize(before + ids.size());
    std::ranges::transform(ids, share.neighbours.begin() + static_cast<std::ptrdiff_t>(before),
                           [](auto id) { return static_cast<NodeId>(id); });
  });
  std::ranges::transform(reply.edge_ids, std::back_inserter(share.edge_ids),
                         [](auto id) { return static_cast<EdgeId>(id); });
  share.resume_position = reply.resume_position;
  share.covered += reply.counts.size() - (reply.resume_position != 0 ? 1 : 0);
}

}  // namespace

struct BatchBuilder::State {
  static constexpr std::size_t nothing = std::numeric_limits<std::size_t>::max();
  /// A question of the hop under way.
  struct Question {
    std::uint32_t place = 0;
    std::vector<std::size_t> shares = {};  ///< In order of edge types; empty once answered
  };

  const GraphInfo& graph;
  const PartitionBook& book;
  std::span<const std::shared_ptr<const Part>> here;
  std::shared_ptr<const SampleOptions> options;
  SampledBatch batch;
  std::vector<IdIndex> index;  ///< by node type: global id -> batch-local index
  std::uint32_t hop = 0;
  std::vector<HopQuestion> pending;  ///< not handed out yet
  std::uint32_t next_question = 0;
  std::vector<Question> questions;    ///< of the hop under way; the last one is next_question - 1
  std::vector<FrontierShare> shares;  ///< of the hop under way
  std::size_t open = 0;               ///< questions without an answer
  /// Who is asked: a part by its number, or past them the halo of here[place - parts].
  /// [node type][position in the frontier] -> place
  std::vector<std::vector<std::uint32_t>> asked;
  /// [node type][place]; empty for types that no edge type asks for
  std::vector<std::vector<std::vector<NodeId>>> nodes_at;
  std::vector<std::vector<std::size_t>> share_at;  ///< [edge type][place] -> share, or `nothing`
  std::vector<std::uint64_t> received;             ///< edges so far, by edge type

  State(const GraphInfo& g, const PartitionBook& b, std::shared_ptr<const SampleOptions> o,
        std::span<const std::shared_ptr<const Part>> h)
      : graph(g), book(b), here(h), options(std::move(o)) {}

  /// Batch-local indices of the nodes that the hop asks for.
  struct Range {
    std::uint32_t begin;
    std::uint32_t end;
    std::uint32_t size() const { return end - begin; }
  };
  Range frontier(NodeTypeId type) const {
    const auto& ends = batch.nodes[raw(type)].hop_end;
    const bool from_start = batch.frontier == Frontier::all || hop == 0;
    return {from_start ? 0 : ends[hop - 1], ends[hop]};
  }
  std::int32_t fanout(std::size_t edge_type) const { return options->fanout[hop][edge_type]; }
  std::size_t places() const { return book.parts() + here.size(); }

  void begin(BatchKey key, NodeTypeId seed_type, std::span<const NodeId> seeds);
  std::uint32_t who_has(NodeTypeId type, NodeId id) const;
  void find_who_has();
  void share_out(std::size_t edge_type);
  void ask(std::uint32_t place);
  void group_frontier(std::size_t node_type);
  void post(Question question);
  Status take_section(FrontierShare& share, const HopSectionView& reply);
  Status take_reply(std::uint32_t number, const HopReply& reply);
  Status merge(std::size_t edge_type);
  Status merge_hop();
  Status go_on();
};

void BatchBuilder::State::begin(BatchKey key, NodeTypeId seed_type, std::span<const NodeId> seeds) {
  TROUPE_ASSERT(options->fanout.size() <= 255, "hops", options->fanout.size());
  for (const auto& of_hop : options->fanout) {
    TROUPE_ASSERT(of_hop.size() == graph.edge_types.size(), "fanouts", of_hop.size(),
                  graph.edge_types.size());
  }
  TROUPE_ASSERT(seeds.size() <= most_local, "seeds", seeds.size());
  batch.key = key;
  batch.frontier = options->frontier;
  batch.seed_type = seed_type;
  batch.hops = static_cast<std::uint32_t>(options->fanout.size());
  batch.nodes.resize(graph.node_types.size());
  batch.edges.resize(graph.edge_types.size());
  index.resize(graph.node_types.size());
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

  auto& ids = batch.nodes[raw(seed_type)].ids;
  batch.seed_index.reserve(seeds.size());
  index[raw(seed_type)].reserve(seeds.size());
  for (const NodeId seed : seeds) {
    TROUPE_ASSERT(book.contains(seed_type, seed), "seed", raw(seed), book.count(seed_type));
    const auto next = static_cast<std::uint32_t>(ids.size());
    batch.seed_index.push_back(index[raw(seed_type)].find_or_insert(raw(seed), next));
    if (batch.seed_index.back() == next) {
      ids.push_back(seed);
    }
  }
  for (auto& nodes : batch.nodes) {
    nodes.hop_end = {static_cast<std::uint32_t>(nodes.ids.size())};
  }
}

/// The owner; or the halo of a part that lies here, if the owner does not.
std::uint32_t BatchBuilder::State::who_has(NodeTypeId type, NodeId id) const {
  const auto owner = book.owner(type, id);
  auto found = raw(owner);
  for (std::uint32_t h = 0; h < here.size(); ++h) {
    if (here[h]->id == owner) {
      return raw(owner);
    }
    if (here[h]->nodes_of(type).halo_listed.contains(raw(id))) {
      found = book.parts() + h;
    }
  }
  return found;
}

void BatchBuilder::State::find_who_has() {
  for (std::size_t t = 0; t < asked.size(); ++t) {
    const auto type = static_cast<NodeTypeId>(t);
    const Range range = frontier(type);
    asked[t].clear();
    asked[t].reserve(range.size());
    for (std::uint32_t i = range.begin; i < range.end; ++i) {
      asked[t].push_back(who_has(type, batch.nodes[t].ids[i]));
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
  for (std::size_t i = 0; i < asked[node_type].size(); ++i) {
    at[asked[node_type][i]].push_back(nodes[first + i]);
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
      shares.push_back({.part = place < book.parts() ? static_cast<PartId>(place)
                                                     : here[place - book.parts()]->id,
                        .edge_type = static_cast<EdgeTypeId>(edge_type),
                        .nodes = nodes[place]});
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
                     .part = shares[question.shares.front()].part,
                     .lists_of = question.place < book.parts() ? ListsOf::owned : ListsOf::halo,
                     .request = {}};
  HopRequest& request = posted.request;
  request.dir = options->dir;
  request.choice = options->choice;
  request.replace = options->replace;
  request.with_edge_ids = options->with_edge_ids;
  request.max_edges = options->max_edges_per_reply;
  std::vector<std::size_t> whole_frontier(batch.nodes.size(), nothing);
  for (const auto number : question.shares) {
    const FrontierShare& share = shares[number];
    const auto edge_type = raw(share.edge_type);
    const auto node_type = batch.edges[edge_type].destination_type;
    const bool untouched = share.covered == 0 && share.resume_position == 0;
    std::size_t at = untouched ? whole_frontier[raw(node_type)] : nothing;
    if (at == nothing) {
      at = request.frontiers.size();
      const auto missing = share.nodes.subspan(share.covered);
      request.frontiers.push_back({node_type, {missing.begin(), missing.end()}});
      if (untouched) {
        whole_frontier[raw(node_type)] = at;
      }
    }
    request.sections.push_back(
        {.edge_type = share.edge_type,
         .frontier = static_cast<std::uint32_t>(at),
         .fanout = fanout(edge_type),
         .key = stream_key(options->job_seed, {.domain = Domain::neighbours,
                                               .type = edge_type,
                                               .hop = static_cast<std::uint8_t>(hop),
                                               .epoch = batch.key.stream_epoch(),
                                               .batch = batch.key.number}),
         .first_position = share.resume_position});
  }
  pending.push_back(std::move(posted));
  questions.push_back(std::move(question));
  ++open;
}

/// Takes what a reply says along one edge type.
Status BatchBuilder::State::take_section(FrontierShare& share, const HopSectionView& reply) {
  const auto edge_type = raw(share.edge_type);
  TROUPE_RETURN_IF_ERROR(check_sizes(share, reply, options->with_edge_ids));
  TROUPE_RETURN_IF_ERROR(check_counts(share, reply, fanout(edge_type)));
  received[edge_type] += reply.neighbours.size();
  if (received[edge_type] > most_local) {
    return Error(
        Errc::invalid_argument,
        fmt::format("sampling: a batch holds fewer than 2^32 edges of a type, edge type {} "
                    "has {}\ntry: a smaller batch size or fanout",
                    edge_type, received[edge_type]));
  }
  const NodeTypeId source_type = batch.edges[edge_type].source_type;
  TROUPE_RETURN_IF_ERROR(check_ids(share, reply, book.count(source_type)));
  append(share, reply);
  return ok_status();
}

Status BatchBuilder::State::take_reply(std::uint32_t number, const HopReply& reply) {
  const std::size_t first = next_question - questions.size();
  if (number >= next_question || number < first || questions[number - first].shares.empty()) {
    return Error(Errc::invalid_argument,
                 fmt::format("sampling: no reply is awaited for question {}; {} were asked", number,
                             next_question));
  }
  Question question{.place = questions[number - first].place,
                    .shares = std::exchange(questions[number - first].shares, {})};
  const PartId part = shares[question.shares.front()].part;
  auto sections = sections_of(reply);
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
    TROUPE_RETURN_IF_ERROR(take_section(shares[question.shares[i]], (*sections)[i]));
  }
  std::erase_if(question.shares, [&](std::size_t share) { return shares[share].complete(); });
  --open;
  if (!question.shares.empty()) {
    post(std::move(question));
    return ok_status();
  }
  return open == 0 ? merge_hop() : ok_status();
}

/// Puts the answers along one edge type in frontier order and numbers the nodes that are new.
Status BatchBuilder::State::merge(std::size_t edge_type) {
  constexpr std::size_t ahead = 8;
  BatchEdges& edges = batch.edges[edge_type];
  auto& ids = batch.nodes[raw(edges.source_type)].ids;
  IdIndex& known = index[raw(edges.source_type)];
  const auto& places = asked[raw(edges.destination_type)];
  const auto& at = share_at[edge_type];
  edges.offsets.reserve(edges.offsets.size() + places.size());
  edges.sources.reserve(received[edge_type]);
  for (std::size_t i = 0; i < places.size() && !at.empty(); ++i) {
    FrontierShare& share = shares[at[places[i]]];
    const std::uint32_t count = share.counts[share.merged_nodes++];
    if (ids.size() + count > most_local) {
      return Error(Errc::invalid_argument,
                   fmt::format("sampling: a batch holds fewer than 2^32 nodes of a type, node type "
                               "{} has {}\ntry: a smaller batch size or fanout",
                               raw(edges.source_type), ids.size() + count));
    }
    const std::size_t end = share.merged_edges + count;
    for (std::size_t k = share.merged_edges; k < end; ++k) {
      if (k + ahead < share.neighbours.size()) {
        known.prefetch(raw(share.neighbours[k + ahead]));
      }
      const auto next = static_cast<std::uint32_t>(ids.size());
      edges.sources.push_back(known.find_or_insert(raw(share.neighbours[k]), next));
      if (edges.sources.back() == next) {
        ids.push_back(share.neighbours[k]);
      }
    }
    if (options->with_edge_ids) {
      const auto* first = share.edge_ids.data();
      edges.edge_ids.insert(edges.edge_ids.end(), first + share.merged_edges, first + end);
    }
    share.merged_edges = end;
    edges.offsets.push_back(static_cast<std::uint32_t>(edges.sources.size()));
  }
  edges.offsets.resize(edges.row_begin.back() + places.size() + 1, edges.offsets.back());
  edges.row_begin.push_back(static_cast<std::uint32_t>(edges.offsets.size() - 1));
  return ok_status();
}

Status BatchBuilder::State::merge_hop() {
  for (std::size_t e = 0; e < batch.edges.size(); ++e) {
    TROUPE_RETURN_IF_ERROR(merge(e));
  }
  for (auto& nodes : batch.nodes) {
    nodes.hop_end.push_back(static_cast<std::uint32_t>(nodes.ids.size()));
  }
  ++hop;
  return go_on();
}

/// Starts the next hop; one that asks nothing is over at once.
Status BatchBuilder::State::go_on() {
  shares.clear();
  questions.clear();
  nodes_at.assign(batch.nodes.size(), {});
  share_at.assign(batch.edges.size(), {});
  if (hop == batch.hops) {
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
                           std::span<const std::shared_ptr<const Part>> here)
    : state_(std::make_unique<State>(graph, book, std::move(options), here)) {
  state_->begin(key, seed_type, seeds);
  const auto started = state_->go_on();
  TROUPE_ASSERT(started.ok(), "a batch without edges cannot overflow");
}

BatchBuilder::~BatchBuilder() = default;
BatchBuilder::BatchBuilder(BatchBuilder&&) noexcept = default;
BatchBuilder& BatchBuilder::operator=(BatchBuilder&&) noexcept = default;

std::vector<HopQuestion> BatchBuilder::questions() {
  return std::exchange(state_->pending, {});
}

Status BatchBuilder::answer(std::uint32_t question, const HopReply& reply) {
  return state_->take_reply(question, reply);
}

bool BatchBuilder::done() const {
  return state_->hop == state_->batch.hops;
}
std::uint32_t BatchBuilder::hop() const {
  return state_->hop;
}
const BatchKey& BatchBuilder::key() const {
  return state_->batch.key;
}

SampledBatch BatchBuilder::take() && {
  TROUPE_ASSERT(done(), "the batch is not complete: hop", hop());
  return std::move(state_->batch);
}

}  // namespace troupe
