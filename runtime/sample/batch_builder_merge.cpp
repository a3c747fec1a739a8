// Replies of a hop: taken as they come, numbered in frontier order when all are there.
#include "runtime/sample/batch_builder_state.hpp"
#include "runtime/sample/subgraph/bidirectional.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>

namespace troupe {
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

void BatchBuilder::State::add_edge_data(BatchEdges& edges, const HopSectionView& answer,
                                        std::size_t first, std::size_t count) {
  each_edge_datum(
      [first, count]<class T>(PooledVector<T>& to, auto values) {
        if (!values.empty()) {
          std::ranges::transform(values.subspan(first, count), std::back_inserter(to),
                                 [](auto value) { return static_cast<T>(value); });
        }
      },
      edges, answer);
}

/// Numbers the neighbors of a run and adds their edges.
Status BatchBuilder::State::merge_entries(std::size_t edge_type, const Run& run) {
  if (run.count == 0) {
    return ok_status();
  }
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
  add_edge_data(edges, *run.answer, run.first, run.count);
  return ok_status();
}

/// The same for all entries of an answer, in pieces.
Status BatchBuilder::State::merge_answer(std::size_t edge_type, const HopSectionView& answer) {
  for (std::size_t first = 0; first < answer.neighbours.size(); first += longest_run) {
    const auto count = std::min(longest_run, answer.neighbours.size() - first);
    TROUPE_RETURN_IF_ERROR(merge_entries(edge_type, {&answer, first, count, 0}));
  }
  return ok_status();
}

/// Puts the entries of several answers in frontier order, then numbers them in one pass: entries that
/// follow each other in one answer are few.
template <class IdT>
Status BatchBuilder::State::merge_shares(std::size_t edge_type) {
  BatchEdges& edges = batch.edges[edge_type];
  const auto& places = asked[raw(edges.destination_type)];
  const auto at = shares_of(edge_type);
  PooledVector<IdT> neighbours(received[edge_type] - edges.sources.size());
  IdT* out = neighbours.data();
  auto& offsets = edges.offsets.edit();
  std::uint32_t offset = offsets.back();
  offsets.reserve(offsets.size() + places.size());
  for (const auto place : places) {
    shares[at[place]].next_node(
        [&](const HopSectionView& answer, std::size_t first, std::uint32_t count) {
          answer.neighbours.visit([&](auto ids) {
            for (std::uint32_t k = 0; k < count; ++k) {
              out[k] = static_cast<IdT>(ids[first + k]);
            }
          });
          add_edge_data(edges, answer, first, count);
          out += count;
          offset += count;
        });
    offsets.push_back(offset);
  }
  edges.row_begin.push_back(static_cast<std::uint32_t>(offsets.size() - 1));
  HopSectionView ordered;
  ordered.neighbours = std::span<const IdT>(neighbours);
  return merge_answer(edge_type, ordered);
}

/// The answer along an edge type that has the lists of the whole frontier; null: there are several.
const HopSectionView* BatchBuilder::State::whole_answer(std::size_t edge_type) const {
  const auto places = shares_of(edge_type);
  const auto only = std::ranges::find_if(places, [](auto share) { return share != nothing; });
  const auto* const answer = only == places.end() ? nullptr : shares[*only].whole_answer();
  const auto nodes = asked[raw(batch.edges[edge_type].destination_type)].size();
  return answer != nullptr && answer->nodes == nodes ? answer : nullptr;
}

/// The same as merge() if one answer has all lists, without a step for each node.
/// \returns false: nothing was merged
Result<bool> BatchBuilder::State::merge_whole(std::size_t edge_type) {
  const auto* const answer = options->disjoint ? nullptr : whole_answer(edge_type);
  if (answer == nullptr || answer->places) {
    return false;
  }
  BatchEdges& edges = batch.edges[edge_type];
  auto& offsets = edges.offsets.edit();
  const auto before = offsets.size();
  offsets.resize(before + answer->counts.size());
  std::inclusive_scan(answer->counts.begin(), answer->counts.end(),
                      offsets.begin() + static_cast<std::ptrdiff_t>(before), std::plus{},
                      offsets[before - 1]);
  TROUPE_RETURN_IF_ERROR(merge_answer(edge_type, *answer));
  edges.row_begin.push_back(static_cast<std::uint32_t>(offsets.size() - 1));
  return true;
}

/// Puts the answers along one edge type in frontier order and numbers the nodes that are new.
Status BatchBuilder::State::merge(std::size_t edge_type) {
  if (lists_rows[edge_type]) {
    return merge_listed(edge_type);
  }
  TROUPE_ASSIGN_OR_RETURN(const bool merged, merge_whole(edge_type));
  if (merged) {
    return ok_status();
  }
  BatchEdges& edges = batch.edges[edge_type];
  const auto at = shares_of(edge_type);
  if (!options->disjoint && !at.empty()) {
    return book.count(edges.source_type) <= most_local ? merge_shares<std::uint32_t>(edge_type)
                                                       : merge_shares<std::uint64_t>(edge_type);
  }
  const auto& places = asked[raw(edges.destination_type)];
  auto& offsets = edges.offsets.edit();
  offsets.reserve(offsets.size() + places.size());
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
  std::uint32_t offset = offsets.back();
  for (std::size_t i = 0; i < places.size() && !at.empty(); ++i) {
    const std::uint32_t tree = trees[first_node + i];
    shares[at[places[i]]].next_node(
        [&](const HopSectionView& answer, std::size_t first, std::uint32_t count) {
          if (run.answer != &answer || run.count + count > longest_run || run.tree != tree) {
            number_run();
            run = {&answer, first, 0, tree};
          }
          run.count += count;
          offset += count;
        });
    offsets.push_back(offset);
  }
  number_run();
  TROUPE_RETURN_IF_ERROR(status);
  offsets.resize(edges.row_begin.back() + places.size() + 1, offsets.back());
  edges.row_begin.push_back(static_cast<std::uint32_t>(offsets.size() - 1));
  return ok_status();
}

/// Replaces the drawn edges of a type by all edges among the nodes of the batch.
Status BatchBuilder::State::merge_induced(std::size_t edge_type) {
  BatchEdges edges;
  edges.destination_type = batch.edges[edge_type].destination_type;
  edges.source_type = batch.edges[edge_type].source_type;
  const auto rows = static_cast<std::uint32_t>(asked[raw(edges.destination_type)].size());
  const auto& trees = batch.nodes[raw(edges.destination_type)].trees;
  const auto& nodes = induced[raw(edges.source_type)];
  ListedRows with_edges;
  for (const auto& [position, count, first, answer] : lists_of(edge_type)) {
    const auto before = edges.sources.size();
    TROUPE_RETURN_IF_ERROR(add_induced(
        {*answer, first, count, options->disjoint ? trees[position] : 0}, nodes, edges));
    if (const auto added = edges.sources.size() - before; added > 0) {
      with_edges.add(position, static_cast<std::uint32_t>(added));
    }
  }
  edges.offsets = RowOffsets(rows, std::move(with_edges));
  if (!lists_rows[edge_type]) {
    edges.offsets = edges.offsets.dense();
  }
  edges.row_begin = {0, rows};
  batch.edges[edge_type] = std::move(edges);
  return ok_status();
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

}  // namespace troupe
