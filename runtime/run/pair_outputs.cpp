#include "runtime/run/pair_outputs.hpp"

#include "runtime/data/named_rows.hpp"
#include "runtime/nn/decoder.hpp"
#include "runtime/nn/knowledge/chunk_scorer.hpp"
#include "runtime/nn/ops/cpu_block_ops.hpp"
#include "runtime/run/edges_as_links.hpp"
#include "runtime/run/node_request.hpp"
#include "runtime/run/original_rows.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <utility>

namespace troupe {
namespace fs = std::filesystem;
namespace {

/// Pairs that a decoder gets at once, so that what it needs between its products stays small.
constexpr std::size_t pairs_at_once = 8192;

Status take_role(const LinkList& links, AskedPairs& pairs, bool triples) {
  for (std::uint64_t i = 0; i < links.size(); ++i) {
    if (links.edge_type_at(i) != pairs.type.edge_type) {
      continue;
    }
    const auto link = links.at(i);
    pairs.sources.push_back(raw(link.original_source));
    pairs.destinations.push_back(raw(link.original_destination));
    if (triples) {
      pairs.relations.push_back(static_cast<std::uint32_t>(links.labels()[i]));
    }
  }
  return pairs.sources.empty() ? Status(Error(Errc::not_found,
                                              "--links: expected links of that edge type, found "
                                              "none"))
                               : ok_status();
}

/// Pairs whose ends have names, or numbers where a type has none.
Result<std::vector<std::uint64_t>> named_pairs(const GraphInfo& graph, const fs::path& file,
                                               const AskedNames& names, const EndTypes& ends) {
  const auto column = [&](const NodeNames* of, NodeTypeId type) {
    const auto& node = graph.node_types[raw(type)];
    return NameColumn{
        of != nullptr ? &of->lines() : nullptr,
        fmt::format("the {} of a \"{}\" node", of != nullptr ? "name" : "number", node.name),
        node.count};
  };
  return read_named_rows(file, std::array{column(names.sources, ends.source),
                                          column(names.destinations, ends.destination)});
}

/// \param relations  number of them; 0: the file has pairs
Status take_file(const GraphInfo& graph, const fs::path& file, std::uint64_t relations,
                 const AskedNames& names, AskedPairs& pairs) {
  const auto nodes = [&](NodeTypeId type) { return graph.node_types[raw(type)].count; };
  RowIds ends{nodes(pairs.type.ends.source)};
  if (relations > 0) {
    ends.push_back(relations);
  }
  ends.push_back(nodes(pairs.type.ends.destination));
  constexpr std::array triple{NamedThing::entity, NamedThing::relation, NamedThing::entity};
  const bool named = names.sources != nullptr || names.destinations != nullptr;
  TROUPE_ASSIGN_OR_RETURN(const auto ids, names.triples != nullptr
                                              ? names.triples->numbers_in(file, triple)
                                          : named ? named_pairs(graph, file, names, pairs.type.ends)
                                                  : read_rows(file, ends));
  for (std::size_t at = 0; at < ids.size(); at += ends.size()) {
    pairs.sources.push_back(ids[at]);
    pairs.destinations.push_back(ids[at + ends.size() - 1]);
    if (relations > 0) {
      pairs.relations.push_back(static_cast<std::uint32_t>(ids[at + 1]));
    }
  }
  return ok_status();
}

}  // namespace

Status check_all_links(const Job& job) {
  if (job.task.knowledge() || job.task.from_walks) {
    return Error(Errc::invalid_argument,
                 fmt::format("--links all: expected a job whose links are edges of one type, found "
                             "{}\ntry: train, val, test, or a file",
                             job.task.knowledge() ? "triples" : "pairs on walks"));
  }
  return ok_status();
}

Result<AskedType> learned_type(const GraphInfo& graph, const Job& job, const std::string& name,
                               const char* option) {
  const auto* train = training_links(job, graph);
  if (train == nullptr) {
    return Error(Errc::invalid_argument,
                 fmt::format("{}: expected a job that learns links, found task.kind \"{}\"", option,
                             job.task.kind));
  }
  const auto learned = edge_types_of(*train);
  std::vector<std::string> names;
  for (const auto type : learned) {
    const auto& of_type = graph.edge_types[raw(type)].name;
    if (of_type == name || (name.empty() && learned.size() == 1)) {
      const auto pairs_of = job.task.walk.all_pairs ? std::nullopt : train->pairs_of;
      return AskedType{type, end_types_of(graph, {.edge_type = type, .pairs_of = pairs_of})};
    }
    names.push_back('"' + of_type + '"');
  }
  return Error(Errc::invalid_argument,
               fmt::format("--edge-type: expected {}, whose links are learned, found \"{}\"",
                           fmt::join(names, " or "), name));
}

Result<AskedPairs> asked_pairs(const PartitionedStore& store, const Job& job,
                               const std::string& from, const std::string& edge_type,
                               const AskedNames& names) {
  const auto& graph = store.info();
  AskedPairs pairs;
  TROUPE_ASSIGN_OR_RETURN(pairs.type, learned_type(graph, job, edge_type, "--links"));
  const auto* train = training_links(job, graph);
  const bool triples = job.task.knowledge();
  if (from == all_links) {
    TROUPE_RETURN_IF_ERROR(check_all_links(job));
    TROUPE_ASSIGN_OR_RETURN(const auto links,
                            edges_as_links(store, std::vector{pairs.type.edge_type}));
    TROUPE_RETURN_IF_ERROR(take_role(links, pairs, false));
    return pairs;
  }
  if (!is_role(from)) {
    TROUPE_RETURN_IF_ERROR(take_file(graph, from, triples ? train->relations : 0, names, pairs));
    return pairs;
  }
  TROUPE_ASSIGN_OR_RETURN(const auto links, store.links(job.dataset.split, from));
  if (links.pairs_of()) {
    return Error(Errc::invalid_argument,
                 fmt::format("--links {}: expected a role with links, found nodes that walks begin "
                             "at, as task.positives is \"walks\"\ntry: val, test, or a file of "
                             "pairs",
                             from));
  }
  if (train->pairs_of) {  // these may be of an edge type that no walk takes
    pairs.type = {links.edge_type(), end_types_of(graph, {.edge_type = links.edge_type()})};
  }
  TROUPE_RETURN_IF_ERROR(take_role(links, pairs, triples));
  return pairs;
}

Result<AskedCompletions> asked_completions(const PartitionedStore& store, const Job& job,
                                           const std::string& from, ReplacedEnd replaced,
                                           const TripleNames* names) {
  const bool tail = replaced == ReplacedEnd::tail;
  AskedCompletions asked;
  asked.replaced = replaced;
  if (is_role(from)) {
    TROUPE_ASSIGN_OR_RETURN(auto triples, asked_pairs(store, job, from, {}));
    asked.type = triples.type;
    asked.known = std::move(tail ? triples.sources : triples.destinations);
    asked.relations = std::move(triples.relations);
    return asked;
  }
  const auto& graph = store.info();
  TROUPE_ASSIGN_OR_RETURN(asked.type, learned_type(graph, job, {}, "--top"));
  const auto nodes = graph.node_types[raw(asked.type.ends.source)].count;
  const auto relations = training_links(job, graph)->relations;
  const auto columns = tail ? std::array{NamedThing::entity, NamedThing::relation}
                            : std::array{NamedThing::relation, NamedThing::entity};
  TROUPE_ASSIGN_OR_RETURN(
      const auto ids,
      names ? names->numbers_in(from, columns)
            : read_rows(from, tail ? RowIds{nodes, relations} : RowIds{relations, nodes},
                        tail ? "head and relation per row, [triples, 2]"
                             : "relation and tail per row, [triples, 2], as heads are asked for"));
  for (std::size_t at = 0; at < ids.size(); at += 2) {
    asked.known.push_back(ids[tail ? at : at + 1]);
    asked.relations.push_back(static_cast<std::uint32_t>(ids[tail ? at + 1 : at]));
  }
  return asked;
}

Matrix pair_outputs(Executor& executor, const nn::Network& network,
                    std::span<const float> parameters, const TaskJob& task, const AskedPairs& pairs,
                    const RowsOfEnds& rows) {
  const auto& model = network.options();
  const auto own = network.decoder_slice(parameters);
  const bool triples = task.knowledge();
  Matrix all(rows.of.size(), triples ? 1 : model.decoder.outputs);
  nn::CpuBlockOps ops;
  nn::ChunkScorer scorer(task.completes.score);
  const auto decoder = triples ? nullptr : nn::make_decoder(model.decoder, model.out_dim, ops);
  const auto range = triples
                         ? nn::ParameterRange{}
                         : nn::parameters_of(model.decoder, model.out_dim, pairs.type.edge_type);
  for (std::size_t first = 0; first < rows.of.size(); first += pairs_at_once) {
    const auto count = std::min(pairs_at_once, rows.of.size() - first);
    const auto of = rows.of.subspan(first, count);
    const auto to = rows.to.subspan(first, count);
    const auto out = all.view().slice(first, count).flat();
    if (triples) {
      const ConstMatrix relations{own.data(), model.relations.rows, model.relations.cols};
      const auto relation = std::span(pairs.relations).subspan(first, count);
      const auto scores = scorer.forward(ReplacedEnd::tail,
                                         {.known = {rows.sources, of},
                                          .relation = {relations, relation},
                                          .answer = {rows.destinations, to},
                                          .negative = ConstMatrix{nullptr, 0, rows.sources.cols}});
      std::ranges::copy(scores.positive, out.begin());
    } else {
      const auto made = decoder->forward(
          executor, own.subspan(range.first, range.count),
          {.sources = rows.sources, .destinations = rows.destinations, .of = of, .to = to});
      std::ranges::copy(made.flat(), out.begin());
    }
  }
  return all;
}

std::vector<std::int64_t> ids_of(const AskedPairs& pairs) {
  std::vector<std::int64_t> ids;
  for (std::size_t i = 0; i < pairs.sources.size(); ++i) {
    ids.push_back(static_cast<std::int64_t>(pairs.sources[i]));
    if (!pairs.relations.empty()) {
      ids.push_back(pairs.relations[i]);
    }
    ids.push_back(static_cast<std::int64_t>(pairs.destinations[i]));
  }
  return ids;
}

std::vector<std::int64_t> ids_of(const AskedCompletions& asked) {
  std::vector<std::int64_t> ids;
  for (std::size_t i = 0; i < asked.known.size(); ++i) {
    const auto known = static_cast<std::int64_t>(asked.known[i]);
    if (asked.replaced == ReplacedEnd::tail) {
      ids.insert(ids.end(), {known, asked.relations[i]});
    } else {
      ids.insert(ids.end(), {asked.relations[i], known});
    }
  }
  return ids;
}

}  // namespace troupe
