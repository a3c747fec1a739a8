#include "launcher/cluster_plan.hpp"
#include "launcher/end_at_signal.hpp"
#include "launcher/predict_rows.hpp"
#include "runtime/base/executor.hpp"
#include "runtime/nn/catalog.hpp"
#include "runtime/nn/knowledge/known_answers.hpp"
#include "runtime/nn/knowledge/placed_rows.hpp"
#include "runtime/run/node_request.hpp"
#include "runtime/run/outputs.hpp"
#include "runtime/run/pair_outputs.hpp"
#include "runtime/run/top_partners.hpp"

#include <fmt/format.h>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace troupe {
namespace {

Status check_links(const Job& job, const PredictArguments& arguments) {
  if (!arguments.links.empty() || arguments.complete == "head") {
    return Error(Errc::invalid_argument,
                 fmt::format("--top: expected --nodes with task.kind \"{}\", found {}, which "
                             "\"knowledge\" takes",
                             job.task.kind, arguments.links.empty() ? "--complete" : "--links"));
  }
  if (job.task.links() && job.model.decoder.outputs > 1) {
    return Error(Errc::invalid_argument,
                 fmt::format("--top: expected a decoder with one score, found {} classes",
                             job.model.decoder.outputs));
  }
  return ok_status();
}

/// Adds the links of an edge type, with their relations where they have such, of the roles that are left out.
Status add_known(const PreparedRun& run, const PredictArguments& arguments, EdgeTypeId edge_type,
                 nn::KnownAnswers& known) {
  const bool triples = run.job.task.knowledge();
  for (const auto& role : arguments.leave_out) {
    const auto links = run.store.links(run.job.dataset.split, role);
    if (!links && links.error().code() != Errc::not_found) {
      return links.error();
    }
    for (std::uint64_t i = 0; links && !links->pairs_of() && i < links->size(); ++i) {
      if (links->edge_type_at(i) == edge_type) {
        const auto link = links->at(i);
        known.add(raw(link.original_source),
                  triples ? static_cast<std::uint32_t>(links->labels()[i]) : 0,
                  raw(link.original_destination));
      }
    }
  }
  return ok_status();
}

/// Known links of the edge type, and each node itself where both ends are of one type.
Result<nn::KnownRows> left_out_of(const PreparedRun& run, const PredictArguments& arguments,
                                  const AskedType& type, const SeedList& sources,
                                  std::uint64_t destinations) {
  nn::KnownAnswers known;  // by original ids
  std::vector<nn::TripleQuery> queries;
  for (const auto id : sources.original) {
    queries.push_back({.known = raw(id)});
    if (type.ends.source == type.ends.destination) {
      known.add(raw(id), 0, raw(id));
    }
  }
  TROUPE_RETURN_IF_ERROR(add_known(run, arguments, type.edge_type, known));
  known.finish();
  return known.rows_among(queries, 0, destinations);
}

/// Known triples.
Result<nn::KnownRows> left_out_of(const PreparedRun& run, const PredictArguments& arguments,
                                  const AskedCompletions& asked, std::uint64_t entities) {
  nn::KnownAnswers known;  // by original ids
  std::vector<nn::TripleQuery> queries;
  for (std::size_t i = 0; i < asked.known.size(); ++i) {
    queries.push_back({asked.known[i], asked.relations[i], asked.replaced});
  }
  TROUPE_RETURN_IF_ERROR(add_known(run, arguments, asked.type.edge_type, known));
  known.finish();
  return known.rows_among(queries, 0, entities);
}

/// Places of those that are chosen from have 32 bits.
Status check_count(const NodeTypeInfo& type) {
  if (type.count > std::numeric_limits<std::uint32_t>::max()) {
    return Error(Errc::unimplemented,
                 fmt::format("--top: expected fewer than 2^32 nodes to choose from, found {}; more "
                             "are not built yet",
                             type.count));
  }
  return ok_status();
}

Result<SeedList> all_nodes(const PreparedRun& run, NodeTypeId type) {
  TROUPE_ASSIGN_OR_RETURN(auto found, find_nodes(run.store, {.sources = {"all"},
                                                             .split = run.job.dataset.split,
                                                             .node_type = type}));
  return std::move(found.nodes);
}

/// Rows of some nodes among those of all of their type.
Matrix rows_among(ConstMatrix all, const SeedList& nodes) {
  std::vector<std::uint32_t> places;
  for (const auto id : nodes.original) {
    places.push_back(static_cast<std::uint32_t>(raw(id)));
  }
  Matrix rows(places.size(), all.cols);
  nn::gather_rows({all, places}, rows.view());
  return rows;
}

/// Completed triples, those of each query best first.
std::vector<NamedTriple> named_triples(const TripleNames& names, const AskedCompletions& asked,
                                       std::span<const std::int64_t> partners, ConstMatrix scores) {
  std::vector<NamedTriple> triples;
  for (std::size_t i = 0; i < asked.known.size(); ++i) {
    const auto known = names.entity(asked.known[i]);
    const auto relation = names.relation(asked.relations[i]);
    for (std::size_t place = 0; place < scores.cols; ++place) {
      const auto partner = partners[i * scores.cols + place];
      if (partner < 0) {
        break;
      }
      const auto found = names.entity(static_cast<std::uint64_t>(partner));
      const bool tail = asked.replaced == ReplacedEnd::tail;
      triples.push_back(
          {tail ? known : found, relation, tail ? found : known, scores.row(i)[place]});
    }
  }
  return triples;
}

Status predict_top_entities(const PreparedRun& run, const PredictArguments& arguments,
                            const TripleNames* names, const SayLine& say) {
  const auto& job = run.job;
  const auto& graph = run.store.info();
  if (arguments.links.empty()) {
    return Error(Errc::invalid_argument,
                 "--top: expected --links with \"knowledge\": the triples whose one end is asked "
                 "for\ntry: --links test, or a file of heads and relations");
  }
  const auto replaced = arguments.complete == "head" ? ReplacedEnd::head : ReplacedEnd::tail;
  TROUPE_ASSIGN_OR_RETURN(const auto asked,
                          asked_completions(run.store, job, arguments.links, replaced, names));
  const auto& type = graph.node_types[raw(asked.type.ends.source)];
  TROUPE_RETURN_IF_ERROR(check_count(type));
  RunSetup setup;
  TROUPE_RETURN_IF_ERROR(read_setup(job, arguments.model, setup));
  TROUPE_ASSIGN_OR_RETURN(const auto all, all_nodes(run, asked.type.ends.source));
  TROUPE_ASSIGN_OR_RETURN(const auto rows, compared_rows(run, setup, {all}));
  const auto& entities = rows.front();
  const EndAtSignal end_at_signal;
  const std::vector<std::uint32_t> known(asked.known.begin(), asked.known.end());
  TROUPE_ASSIGN_OR_RETURN(const auto network, nn::make_network(job.model));
  TROUPE_ASSIGN_OR_RETURN(const auto left_out,
                          left_out_of(run, arguments, asked, entities->rows()));
  ComputePool pool(compute_threads(job.cluster));
  const auto top = top_entities(pool, *network, setup.parameters, job.task.completes.score,
                                {.replaced = replaced,
                                 .known = known,
                                 .relations = asked.relations,
                                 .entities = entities->view(),
                                 .k = arguments.top},
                                left_out);
  const auto folder = folder_of_predictions(job, arguments);
  TROUPE_RETURN_IF_ERROR(write_top_entities(folder, ids_of(asked), top.rows, top.scores.view()));
  if (names) {
    TROUPE_RETURN_IF_ERROR(
        write_named_triples(folder, named_triples(*names, asked, top.rows, top.scores.view())));
  }
  say(fmt::format("the {} best {}s of {} \"{}\" nodes for each of {} triples, in {}", arguments.top,
                  arguments.complete, entities->rows(), type.name, asked.known.size(),
                  (folder / (names ? "triples.tsv" : "partners.npy")).string()));
  return ok_status();
}

}  // namespace

Status predict_top(const PreparedRun& run, const PredictArguments& arguments,
                   const TripleNames* names, const SayLine& say) {
  const auto& job = run.job;
  const auto& graph = run.store.info();
  TROUPE_ASSIGN_OR_RETURN(const auto type, learned_type(graph, job, arguments.edge_type, "--top"));
  TROUPE_RETURN_IF_ERROR(check_compared(run, arguments, "--top"));
  if (job.task.knowledge()) {
    return predict_top_entities(run, arguments, names, say);
  }
  TROUPE_RETURN_IF_ERROR(check_links(job, arguments));
  const auto& types = type.ends;
  const auto& destination = graph.node_types[raw(types.destination)];
  TROUPE_RETURN_IF_ERROR(check_count(destination));
  TROUPE_ASSIGN_OR_RETURN(const auto sources, nodes_of(run, arguments, types.source, say));
  RunSetup setup;
  TROUPE_RETURN_IF_ERROR(read_setup(job, arguments.model, setup));
  TROUPE_ASSIGN_OR_RETURN(const auto all, all_nodes(run, types.destination));
  const bool one_type = types.source == types.destination;
  TROUPE_ASSIGN_OR_RETURN(
      const auto rows,
      compared_rows(run, setup, one_type ? std::vector{all} : std::vector{all, sources}));
  const auto& destinations = rows.front();
  const auto of_sources =
      one_type ? std::make_shared<const Matrix>(rows_among(destinations->view(), sources))
               : rows[1];
  const EndAtSignal end_at_signal;
  TROUPE_ASSIGN_OR_RETURN(const auto network, nn::make_network(job.model));
  TROUPE_ASSIGN_OR_RETURN(const auto left_out,
                          left_out_of(run, arguments, type, sources, destinations->rows()));
  ComputePool pool(compute_threads(job.cluster));
  const auto top = top_partners(pool, *network, setup.parameters,
                                {.edge_type = type.edge_type,
                                 .sources = of_sources->view(),
                                 .destinations = destinations->view(),
                                 .k = arguments.top},
                                left_out);
  const auto folder = folder_of_predictions(job, arguments);
  TROUPE_RETURN_IF_ERROR(
      write_top_predictions(folder, sources.original, top.rows, top.scores.view()));
  say(fmt::format("the {} best of {} \"{}\" nodes for each of {} \"{}\" nodes, in {}",
                  arguments.top, destinations->rows(), destination.name, sources.original.size(),
                  graph.node_types[raw(types.source)].name, (folder / "partners.npy").string()));
  return ok_status();
}

}  // namespace troupe
