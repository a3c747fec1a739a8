#include "runtime/sample/walks/walk_builder.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/base/philox.hpp"
#include "runtime/sample/frontier_share.hpp"
#include "runtime/sample/list_places.hpp"
#include "runtime/sample/walks/candidates.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <utility>

namespace troupe {
namespace {

constexpr std::uint8_t coin_hop = 255;  // of the streams of coins, which no step has
enum class Coin : std::uint16_t { restart = 0, candidate = 1 };

}  // namespace

struct WalkBuilder::State {
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

/// An entry for each walk, or the round's candidates where a walk is of second order.
void WalkBuilder::State::ask_for_entries() {
  const auto type = from(edge_type(step));
  std::map<std::uint32_t, std::unique_ptr<Entries>> at;
  for (const auto w : undecided) {
    const auto& walker = walkers[w];
    const auto place = places.of(type, walker.at);
    auto& entries = at[place];
    if (!entries) {
      entries = std::make_unique<Entries>(Entries{.place = place});
    }
    const bool chooses = walks().second_order && walker.before;
    const auto end = chooses ? CandidateRounds::end(round) : 1;
    for (auto c = chooses ? CandidateRounds::begin(round) : 0; c < end; ++c) {
      entries->nodes.push_back(walker.at);
      entries->trees.push_back(walks().second_order ? w << 8 | c : w);
      entries->walkers.push_back(w);
    }
  }
  for (auto& [place, entries] : at) {
    entries->share.emplace(places.part(place), edge_type(step), entries->nodes, entries->trees);
    post(std::move(entries));
  }
}

/// Asks for the entries that are still missing.
void WalkBuilder::State::post(std::unique_ptr<Entries> entries) {
  const auto type = edge_type(step);
  const auto& share = *entries->share;
  HopRequest request;
  request.dir = options->dir;
  request.choice = options->choice;
  request.replace = true;
  request.max_edges = options->max_edges_per_reply;
  request.time = options->time.value_or(TimeRule{});
  const auto missing = share.missing();
  const auto trees = share.missing_trees();
  auto& frontier = request.frontiers.emplace_back();
  frontier.node_type = from(type);
  frontier.nodes.assign(missing.begin(), missing.end());
  frontier.trees.assign(trees.begin(), trees.end());
  for (std::size_t i = 0; options->time && i < missing.size(); ++i) {
    const auto w = walks().second_order ? trees[i] >> 8 : trees[i];
    frontier.times.push_back(times[w / walks().per_seed]);
  }
  auto& section = request.sections.emplace_back();
  section.edge_type = type;
  section.fanout = 1;
  section.key = stream(Domain::walks, raw(type), static_cast<std::uint8_t>(step));
  pending.push_back({static_cast<std::uint32_t>(asked.size()), share.part(),
                     places.lists_of(entries->place), std::move(request)});
  asked.push_back({share.part(), std::move(entries)});
  ++open;
}

Status WalkBuilder::State::take_entries(std::uint32_t question,
                                        const std::shared_ptr<const HopReply>& reply) {
  auto* const waiting = question < asked.size()
                            ? std::get_if<std::unique_ptr<Entries>>(&asked[question].what)
                            : nullptr;
  if (waiting == nullptr) {
    return Error(Errc::invalid_argument,
                 fmt::format("walks: no neighbors are awaited for question {}; {} were asked",
                             question, asked.size()));
  }
  auto entries = std::move(*waiting);
  asked[question].what = std::monostate();
  --open;
  auto sections = sections_of(*reply);
  if (!sections || sections->size() != 1) {
    return sections ? Error(Errc::data_corruption,
                            fmt::format("walks: expected neighbors along 1 edge type from part {}, "
                                        "got {}",
                                        raw(asked[question].part), sections->size()))
                    : std::move(sections).error();
  }
  const auto type = edge_type(step);
  TROUPE_RETURN_IF_ERROR(entries->share->take(
      sections->front(), reply,
      {.fanout = 1, .edge_data = {}, .end = book.count(to(type)), .entries = 0}));
  if (!entries->share->complete()) {
    post(std::move(entries));
    return ok_status();
  }
  answered.push_back(std::move(entries));
  if (open == 0) {
    read_entries();
  }
  return ok_status();
}

/// All entries of the round are there.
void WalkBuilder::State::read_entries() {
  PooledVector<std::uint32_t> drawn(walkers.size());  // candidates of the round so far
  for (const auto& entries : std::exchange(answered, {})) {
    for (const auto w : entries->walkers) {
      std::optional<NodeId> node;
      entries->share->next_node(
          [&](const HopSectionView& answer, std::size_t first, std::uint32_t count) {
            if (count > 0) {
              node = answer.neighbours[first];
            }
          });
      const auto& before = walkers[w].before;
      if (!walks().second_order || !before) {
        next[w] = node;
      } else if (node) {
        const auto number = CandidateRounds::begin(round) + drawn[w]++;
        choices[w].add(*node, coin(Coin::candidate, w, step << 8 | number), *before,
                       *walks().second_order);
      }
    }
  }
  choose_candidates();
}

void WalkBuilder::State::choose_candidates() {
  ask_for_edges();
  if (open == 0) {
    end_round();
  }
}

/// Which candidates are neighbors of the nodes before.
void WalkBuilder::State::ask_for_edges() {
  const auto type = edge_type(step);
  std::map<PartId, std::pair<HasEdges, Pairs>> by_part;
  for (const auto& [w, choice] : choices) {
    for (const auto candidate : choice.open()) {
      const NodeId before = *walkers[w].before;
      auto& [request, pairs] = by_part[book.owner(from(type), before)];
      request.nodes.push_back(before);
      request.neighbours.push_back(choice.candidates()[candidate].node);
      pairs.candidates.emplace_back(w, candidate);
    }
  }
  for (auto& [part, of_part] : by_part) {
    of_part.first.edge_type = type;
    of_part.first.out = options->dir == EdgeDir::out;
    pending.push_back(
        {static_cast<std::uint32_t>(asked.size()), part, ListsOf::owned, std::move(of_part.first)});
    asked.push_back({part, std::move(of_part.second)});
    ++open;
  }
}

/// Walks whose candidates were all rejected draw more, until the last round.
void WalkBuilder::State::end_round() {
  PooledVector<std::uint32_t> rejected;
  const bool last = round + 1 == CandidateRounds::count;
  for (const auto& [w, choice] : std::exchange(choices, {})) {
    next[w] = choice.taken();
    if (!next[w] && last) {
      next[w] = choice.candidates().back().node;
      ++batch.walks->undecided;
    }
    if (!next[w]) {
      rejected.push_back(w);
    }
  }
  undecided = std::move(rejected);
  ++round;
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
    edges.offsets.assign(rows + std::size_t{1}, 0);
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

Status WalkBuilder::answer(std::uint32_t question, const EdgesThere& there) {
  auto& asked = state_->asked;
  auto* const pairs =
      question < asked.size() ? std::get_if<State::Pairs>(&asked[question].what) : nullptr;
  if (pairs == nullptr) {
    return Error(Errc::invalid_argument,
                 fmt::format("walks: no edges are awaited for question {}; {} were asked", question,
                             asked.size()));
  }
  if (there.has.size() != pairs->candidates.size()) {
    return Error(Errc::data_corruption, fmt::format("walks, part {}: expected {} answers, got {}",
                                                    raw(asked[question].part),
                                                    pairs->candidates.size(), there.has.size()));
  }
  for (std::size_t i = 0; i < there.has.size(); ++i) {
    const auto& [walker, candidate] = pairs->candidates[i];
    state_->choices.at(walker).decide(candidate, there.has[i] != 0);
  }
  asked[question].what = std::monostate();
  if (--state_->open == 0) {
    state_->end_round();
  }
  return ok_status();
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
