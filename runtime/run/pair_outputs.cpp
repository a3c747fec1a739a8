#include "runtime/run/pair_outputs.hpp"

#include "runtime/base/files.hpp"
#include "runtime/graph/npy.hpp"
#include "runtime/nn/decoder.hpp"
#include "runtime/nn/knowledge/pair_scores.hpp"
#include "runtime/nn/ops/cpu_block_ops.hpp"
#include "runtime/run/original_rows.hpp"
#include "runtime/run/outputs.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

namespace troupe {
namespace fs = std::filesystem;
namespace {

/// Pairs that a decoder gets at once, so that what it needs between its products stays small.
constexpr std::size_t pairs_at_once = 8192;

Status take_role(const LinkList& links, AskedPairs& pairs, bool triples) {
  for (std::uint64_t i = 0; i < links.size(); ++i) {
    if (links.edge_type_at(i) != pairs.edge_type) {
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
                                              "--links: expected links of that edge type in the "
                                              "role, found none"))
                               : ok_status();
}

/// \param relations  number of them; 0: the file has pairs
Status take_file(const GraphInfo& graph, const fs::path& file, std::uint64_t relations,
                 AskedPairs& pairs) {
  const auto nodes = [&](NodeTypeId type) { return graph.node_types[raw(type)].count; };
  RowIds ends{nodes(pairs.types.source)};
  if (relations > 0) {
    ends.push_back(relations);
  }
  ends.push_back(nodes(pairs.types.destination));
  TROUPE_ASSIGN_OR_RETURN(const auto ids, read_rows(file, ends));
  for (std::size_t at = 0; at < ids.size(); at += ends.size()) {
    pairs.sources.push_back(ids[at]);
    pairs.destinations.push_back(ids[at + ends.size() - 1]);
    if (relations > 0) {
      pairs.relations.push_back(static_cast<std::uint32_t>(ids[at + 1]));
    }
  }
  return ok_status();
}

/// Some of the rows of a table, one after the other; those of entities divided by their length where the score asks.
Matrix rows_at(ConstMatrix table, std::span<const std::uint32_t> places,
               const nn::TripleScore* unit_of = nullptr) {
  Matrix rows(places.size(), table.cols);
  nn::gather_rows({table, places}, rows.view());
  if (unit_of == nullptr || !unit_of->unit) {
    return rows;
  }
  std::vector<float> lengths(rows.rows());
  Matrix units(rows.rows(), rows.cols());
  nn::unit_rows(unit_of->norm, std::as_const(rows).view(), units.view(), lengths);
  return units;
}

/// \param rows  of these triples
void score_triples(const nn::TripleScore& score, ConstMatrix relations,
                   std::span<const std::uint32_t> relation, const RowsOfEnds& rows,
                   std::span<float> scores) {
  const Matrix heads = rows_at(rows.sources, rows.of, &score);
  const Matrix tails = rows_at(rows.destinations, rows.to, &score);
  const Matrix of_relations = rows_at(relations, relation);
  Matrix factors(heads.rows(), heads.cols());
  Matrix queries(heads.rows(), heads.cols());
  nn::relation_factors(score, of_relations.view(), factors.view());
  nn::query_rows(score, ReplacedEnd::tail, heads.view(), std::as_const(factors).view(),
                 queries.view());
  nn::scores_in_pairs(score.comparison(), std::as_const(queries).view(), tails.view(), scores);
}

}  // namespace

Result<EdgeTypeId> learned_edge_type(const GraphInfo& graph, const SplitInfo::LinkRole& train,
                                     const std::string& name) {
  const auto learned = edge_types_of(train);
  std::vector<std::string> names;
  for (const auto type : learned) {
    const auto& of_type = graph.edge_types[raw(type)].name;
    if (of_type == name || (name.empty() && learned.size() == 1)) {
      return type;
    }
    names.push_back('"' + of_type + '"');
  }
  return Error(Errc::invalid_argument,
               fmt::format("--edge-type: expected {}, whose links are learned, found \"{}\"",
                           fmt::join(names, " or "), name));
}

EndTypes learned_end_types(const GraphInfo& graph, const Job& job, const SplitInfo::LinkRole& train,
                           EdgeTypeId edge_type) {
  SplitInfo::LinkRole of_type{.edge_type = edge_type};
  if (!job.task.walk.all_pairs) {
    of_type.pairs_of = train.pairs_of;
  }
  return end_types_of(graph, of_type);
}

Result<AskedPairs> asked_pairs(const PartitionedStore& store, const Job& job,
                               const std::string& from, const std::string& edge_type) {
  const auto& graph = store.info();
  const auto* train = training_links(job, graph);
  if (train == nullptr) {
    return Error(Errc::invalid_argument,
                 fmt::format("--links: expected a job that learns links, found task.kind \"{}\"",
                             job.task.kind));
  }
  AskedPairs pairs;
  TROUPE_ASSIGN_OR_RETURN(pairs.edge_type, learned_edge_type(graph, *train, edge_type));
  pairs.types = learned_end_types(graph, job, *train, pairs.edge_type);
  const bool triples = job.task.knowledge();
  if (from != "train" && from != "val" && from != "test") {
    TROUPE_RETURN_IF_ERROR(take_file(graph, from, triples ? train->relations : 0, pairs));
    return pairs;
  }
  TROUPE_ASSIGN_OR_RETURN(const auto links, store.links(job.dataset.split, from));
  if (train->pairs_of) {  // these may be of an edge type that no walk takes
    pairs.edge_type = links.edge_type();
    pairs.types = end_types_of(graph, {.edge_type = pairs.edge_type});
  }
  TROUPE_RETURN_IF_ERROR(take_role(links, pairs, triples));
  return pairs;
}

Result<DistinctEnds> distinct_ends(const PartitionedStore& store, NodeTypeId type,
                                   const std::vector<std::uint64_t>& originals) {
  auto distinct = originals;
  std::ranges::sort(distinct);
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  DistinctEnds ends;
  ends.nodes.node_type = type;
  TROUPE_ASSIGN_OR_RETURN(ends.nodes.global, global_ids(store, type, distinct));
  for (const auto id : distinct) {
    ends.nodes.original.push_back(static_cast<OriginalId>(id));
  }
  ends.places.reserve(originals.size());
  for (const auto id : originals) {
    ends.places.push_back(
        static_cast<std::uint32_t>(std::ranges::lower_bound(distinct, id) - distinct.begin()));
  }
  return ends;
}

Matrix pair_outputs(Executor& executor, const nn::Network& network,
                    std::span<const float> parameters, const TaskJob& task, const AskedPairs& pairs,
                    const RowsOfEnds& rows) {
  const auto& model = network.options();
  const auto own = network.decoder_slice(parameters);
  const bool triples = task.knowledge();
  Matrix all(rows.of.size(), triples ? 1 : model.decoder.outputs);
  nn::CpuBlockOps ops;
  const auto decoder = triples ? nullptr : nn::make_decoder(model.decoder, model.out_dim, ops);
  const auto range = triples ? nn::ParameterRange{}
                             : nn::parameters_of(model.decoder, model.out_dim, pairs.edge_type);
  for (std::size_t first = 0; first < rows.of.size(); first += pairs_at_once) {
    const auto count = std::min(pairs_at_once, rows.of.size() - first);
    const auto out = all.view().slice(first, count);
    RowsOfEnds some = rows;
    some.of = rows.of.subspan(first, count);
    some.to = rows.to.subspan(first, count);
    if (triples) {
      score_triples(task.completes.score, {own.data(), model.relations.rows, model.relations.cols},
                    std::span(pairs.relations).subspan(first, count), some, out.flat());
    } else {
      const auto made = decoder->forward(executor, own.subspan(range.first, range.count),
                                         {.sources = some.sources,
                                          .destinations = some.destinations,
                                          .of = some.of,
                                          .to = some.to});
      std::ranges::copy(made.flat(), out.data);
    }
  }
  return all;
}

namespace {

Status begin_predictions(const fs::path& dir) {
  std::error_code error;
  fs::create_directories(dir, error);
  if (error) {
    return file_error(dir, "cannot create the folder", error.value());
  }
  return remove_predictions(dir);  // not to be seen beside other ids
}

/// Writes an array of `rows` rows.
template <class T>
Status write_array(const fs::path& file, NpyType type, std::uint64_t rows,
                   std::span<const T> values) {
  const std::array<std::uint64_t, 2> shape{rows, rows == 0 ? 1 : values.size() / rows};
  const auto header = npy_header(type, shape);
  const std::array pieces{std::as_bytes(std::span(header)), std::as_bytes(values)};
  return write_file_atomically(file, pieces);
}

}  // namespace

Status write_top_predictions(const fs::path& dir, std::span<const OriginalId> node_ids,
                             std::span<const std::int64_t> partners, ConstMatrix scores) {
  TROUPE_RETURN_IF_ERROR(write_predictions(dir, node_ids, scores));
  return write_array(dir / "partners.npy", {'i', 8}, node_ids.size(), partners);
}

Status write_pair_predictions(const fs::path& dir, const AskedPairs& pairs, ConstMatrix outputs) {
  TROUPE_RETURN_IF_ERROR(begin_predictions(dir));
  std::vector<std::int64_t> ids;
  for (std::size_t i = 0; i < pairs.sources.size(); ++i) {
    ids.push_back(static_cast<std::int64_t>(pairs.sources[i]));
    if (!pairs.relations.empty()) {
      ids.push_back(pairs.relations[i]);
    }
    ids.push_back(static_cast<std::int64_t>(pairs.destinations[i]));
  }
  TROUPE_RETURN_IF_ERROR(write_array(dir / "links.npy", {'i', 8}, pairs.sources.size(),
                                     std::span(std::as_const(ids))));
  return write_array(dir / "predictions.npy", {'f', 4}, outputs.rows, outputs.flat());
}

}  // namespace troupe
