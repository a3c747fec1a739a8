#include "runtime/sample/batch_builder.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/sample/id_index.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <utility>

namespace troupe {
namespace {

constexpr std::uint64_t most_local = std::numeric_limits<std::uint32_t>::max();

/// What one part is asked along one edge type in the hop under way, and what it has answered so
/// far.
struct FrontierShare {
  PartId part{};
  ListsOf lists_of = ListsOf::owned;
  EdgeTypeId edge_type{};
  std::vector<NodeId> nodes{};  ///< its part of the frontier, in frontier order

  std::size_t covered = 0;              ///< nodes whose whole answer is in
  std::uint64_t resume_position = 0;    ///< not 0: the answer of nodes[covered] goes on there
  std::vector<std::uint32_t> counts{};  ///< of the covered nodes and the one under way
  std::vector<NodeId> neighbours{};     ///< all so far
  std::vector<EdgeId> edge_ids{};

  std::size_t merged_nodes = 0;
  std::size_t merged_edges = 0;

  bool complete() const { return covered == nodes.size(); }
};

/// The edges that the counts of a reply announce.
std::uint64_t sum_of(std::span<const std::uint32_t> counts) {
  std::uint64_t sum = 0;
  for (const std::uint32_t count : counts) {
    sum += count;
  }
  return sum;
}

Error corrupt(const FrontierShare& share, const std::string& what) {
  return Error(Errc::data_corruption, fmt::format("neighbours from part {}, edge type {}: {}",
                                                  raw(share.part), raw(share.edge_type), what));
}

/// Sizes against each other and against the question.
Status check_sizes(const FrontierShare& share, const HopReply& reply, bool with_edge_ids) {
  const std::size_t asked = share.nodes.size() - share.covered;
  if (reply.counts.empty() || reply.counts.size() > asked) {
    return corrupt(share, fmt::format("expected answers for 1 to {} nodes, got {}", asked,
                                      reply.counts.size()));
  }
  const unsigned width = reply.neighbours.width_bytes;
  const std::size_t bytes = reply.neighbours.segment.bytes.size();
  const std::uint64_t edges = sum_of(reply.counts);
  if ((width != 4 && width != 8) || bytes % width != 0 || bytes / width != edges) {
    return corrupt(share, fmt::format("expected {} ids of 4 or 8 bytes, got {} bytes of width {}",
                                      edges, bytes, width));
  }
  const std::uint64_t edge_id_bytes = with_edge_ids ? edges * sizeof(std::uint64_t) : 0;
  if (reply.edge_ids.bytes.size() != edge_id_bytes) {
    return corrupt(share, fmt::format("expected {} bytes of edge ids, got {}", edge_id_bytes,
                                      reply.edge_ids.bytes.size()));
  }
  return ok_status();
}

/// Counts against the fanout, and the place to go on against the counts: every reply must bring the
/// question forward.
Status check_counts(const FrontierShare& share, const HopReply& reply, std::int32_t fanout) {
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

Status check_ids(const FrontierShare& share, const HopReply& reply, std::uint64_t end) {
  const std::uint64_t most = reply.neighbours.ids().visit([](auto ids) {
    std::uint64_t found = 0;
    for (const auto id : ids) {
      found = std::max<std::uint64_t>(found, id);
    }
    return found;
  });
  if (reply.neighbours.size() > 0 && most >= end) {
    return corrupt(share, fmt::format("expected ids below {}, got {}", end, most));
  }
  return ok_status();
}

/// Adds a checked reply.
void append(FrontierShare& share, const HopReply& reply) {
  auto counts = std::span(reply.counts);
  if (share.resume_position != 0) {
    share.counts.back() += counts.front();
    counts = counts.subspan(1);
  }
  share.counts.insert(share.counts.end(), counts.begin(), counts.end());
  reply.neighbours.ids().visit([&](auto ids) {
    const std::size_t before = share.neighbours.size();
    share.neighbours.resize(before + ids.size());
    std::ranges::transform(ids, share.neighbours.begin() + static_cast<std::ptrdiff_t>(before),
                           [](auto id) { return static_cast<NodeId>(id); });
  });
  const auto edge_ids = reply.edge_ids.as<EdgeId>();
  share.edge_ids.insert(share.edge_ids.end(), edge_ids.begin(), edge_ids.end());
  share.resume_position = reply.resume_position;
  share.covered += reply.counts.size() - (reply.resume_position != 0 ? 1 : 0);
}

}  // namespace

struct BatchBuilder::State {
  static constexpr std::size_t nothing = std::numeric_limits<std::size_t>::max();

  const GraphInfo& graph;
  const PartitionBook& book;
  std::span<const std::shared_ptr<const Part>> here;
  std::shared_ptr<const SampleOptions> options;
  SampledBatch batch;
  std::vector<IdIndex> index;  ///< by node type: global id -> batch-local index
  std::uint32_t hop = 0;
  std::vector<HopQuestion> pending;  ///< not handed out yet
  std::uint32_t next_question = 0;
  std::vector<std::size_t> share_of;  ///< the hop's questions -> share; `nothing` once answered
  std::vector<FrontierShare> shares;  ///< of the hop under way
  std::size_t incomplete = 0;         ///< shares that wait for replies
  /// [node type][place in the frontier] -> who is asked: a part by its number, or past them the halo
  /// of here[place - parts]
  std::vector<std::vector<std::uint32_t>> asked;
  std::vector<std::vector<std::size_t>> share_at;  ///< [edge type][asked] -> share, or `nothing`
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

  void begin(BatchKey key, NodeTypeId seed_type, std::span<const NodeId> seeds);
  std::uint32_t who_has(NodeTypeId type, NodeId id) const;
  void find_who_has();
  void ask(std::size_t edge_type);
  void post_question(std::size_t share);
  Status take_reply(std::uint32_t question, const HopReply& reply);
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

void BatchBuilder::State::ask(std::size_t edge_type) {
  const NodeTypeId type = batch.edges[edge_type].destination_type;
  const Range range = frontier(type);
  if (fanout(edge_type) == 0 || range.size() == 0) {
    return;
  }
  const auto parts = book.parts();
  std::vector<std::size_t> sizes(parts + here.size());
  for (const auto place : asked[raw(type)]) {
    ++sizes[place];
  }
  auto& at = share_at[edge_type];
  at.assign(sizes.size(), nothing);
  const std::size_t first_share = shares.size();
  for (std::uint32_t place = 0; place < sizes.size(); ++place) {
    if (sizes[place] > 0) {
      at[place] = shares.size();
      const bool halo = place >= parts;
      shares.push_back({.part = halo ? here[place - parts]->id : static_cast<PartId>(place),
                        .lists_of = halo ? ListsOf::halo : ListsOf::owned,
                        .edge_type = static_cast<EdgeTypeId>(edge_type)});
      shares.back().nodes.reserve(sizes[place]);
    }
  }
  for (std::uint32_t i = 0; i < range.size(); ++i) {
    shares[at[asked[raw(type)][i]]].nodes.push_back(batch.nodes[raw(type)].ids[range.begin + i]);
  }
  for (std::size_t share = first_share; share < shares.size(); ++share) {
    ++incomplete;
    post_question(share);
  }
}

/// Asks for what is still missing of a share.
void BatchBuilder::State::post_question(std::size_t share) {
  const FrontierShare& of = shares[share];
  const auto edge_type = raw(of.edge_type);
  HopQuestion question{
      .id = next_question++, .part = of.part, .lists_of = of.lists_of, .request = {}};
  HopRequest& request = question.request;
  request.edge_type = of.edge_type;
  request.node_type = batch.edges[edge_type].destination_type;
  request.dir = options->dir;
  request.fanout = fanout(edge_type);
  request.replace = options->replace;
  request.with_edge_ids = options->with_edge_ids;
  request.key = stream_key(options->job_seed, {.domain = Domain::neighbours,
                                               .type = edge_type,
                                               .hop = static_cast<std::uint8_t>(hop),
                                               .epoch = batch.key.stream_epoch(),
                                               .batch = batch.key.number});
  request.frontier.assign(of.nodes.begin() + static_cast<std::ptrdiff_t>(of.covered),
                          of.nodes.end());
  request.first_position = of.resume_position;
  request.max_edges = options->max_edges_per_reply;
  pending.push_back(std::move(question));
  share_of.push_back(share);
}

Status BatchBuilder::State::take_reply(std::uint32_t question, const HopReply& reply) {
  const std::size_t first = next_question - share_of.size();
  if (question >= next_question || question < first || share_of[question - first] == nothing) {
    return Error(Errc::invalid_argument,
                 fmt::format("sampling: no reply is awaited for question {}; {} were asked",
                             question, next_question));
  }
  const std::size_t at = share_of[question - first];
  FrontierShare& share = shares[at];
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
  share_of[question - first] = nothing;
  if (!share.complete()) {
    post_question(at);
    return ok_status();
  }
  --incomplete;
  return incomplete == 0 ? merge_hop() : ok_status();
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
  share_of.clear();
  share_at.assign(batch.edges.size(), {});
  if (hop == batch.hops) {
    return ok_status();
  }
  find_who_has();
  for (std::size_t e = 0; e < batch.edges.size(); ++e) {
    ask(e);
  }
  return incomplete == 0 ? merge_hop() : ok_status();
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
