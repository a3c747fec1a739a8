// Rounds of a step: entries of lists, and for walks of second order the candidates among them.
#include "runtime/sample/walks/walk_builder_state.hpp"

#include <fmt/format.h>
#include <map>
#include <optional>
#include <utility>

namespace troupe {

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

}  // namespace troupe
