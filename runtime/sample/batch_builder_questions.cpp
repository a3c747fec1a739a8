// What a hop asks which part.
#include "runtime/sample/batch_builder_state.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace troupe {

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
  auto& positions = positions_at[node_type];
  const bool shared = std::ranges::count(sizes, std::size_t{0}) + 1 < std::ssize(sizes);
  positions.resize(shared && (closing || lists_rows_at(node_type)) ? places() : 0);
  for (std::size_t i = 0; i < asked[node_type].size(); ++i) {
    at[asked[node_type][i]].push_back(nodes[first + i]);
    if (options->disjoint) {
      trees[asked[node_type][i]].push_back(batch.nodes[node_type].trees[first + i]);
    }
    if (!positions.empty()) {
      positions[asked[node_type][i]].push_back(static_cast<std::uint32_t>(i));
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
  const auto at = std::span(share_at).subspan(edge_type * places(), places());
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
  question.shares.reserve(batch.edges.size());
  for (std::size_t at = place; at < share_at.size(); at += places()) {
    if (share_at[at] != nothing) {
      question.shares.push_back(share_at[at]);
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
  request.sections.reserve(question.shares.size());
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

}  // namespace troupe
