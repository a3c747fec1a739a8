#include "launcher/cluster_plan.hpp"
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
#include <utility>
#include <vector>

namespace troupe {
namespace {

Status check_task(const Job& job) {
  if (job.task.knowledge()) {
    return Error(
        Errc::unimplemented,
        "--top: expected a job that learns links, found \"knowledge\": partners of triples "
        "are not built yet\ntry: --links with a file of triples");
  }
  if (job.task.links() && job.model.decoder.outputs > 1) {
    return Error(Errc::invalid_argument,
                 fmt::format("--top: expected a decoder with one score, found {} classes",
                             job.model.decoder.outputs));
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
  for (const auto& role : arguments.leave_out) {
    const auto links = run.store.links(run.job.dataset.split, role);
    if (!links && links.error().code() != Errc::not_found) {
      return links.error();
    }
    for (std::uint64_t i = 0; links && !links->pairs_of() && i < links->size(); ++i) {
      if (links->edge_type_at(i) == type.edge_type) {
        const auto link = links->at(i);
        known.add(raw(link.original_source), 0, raw(link.original_destination));
      }
    }
  }
  known.finish();
  return known.rows_among(queries, 0, destinations);
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

}  // namespace

Status predict_top(const PreparedRun& run, const PredictArguments& arguments, const SayLine& say) {
  const auto& job = run.job;
  const auto& graph = run.store.info();
  TROUPE_ASSIGN_OR_RETURN(const auto type, learned_type(graph, job, arguments.edge_type, "--top"));
  TROUPE_RETURN_IF_ERROR(check_compared(run, arguments, "--top"));
  TROUPE_RETURN_IF_ERROR(check_task(job));
  const auto& types = type.ends;
  const auto& destination = graph.node_types[raw(types.destination)];
  if (destination.count > std::numeric_limits<std::uint32_t>::max()) {
    return Error(Errc::unimplemented,
                 fmt::format("--top: expected fewer than 2^32 nodes to choose from, found {}; more "
                             "are not built yet",
                             destination.count));
  }
  TROUPE_ASSIGN_OR_RETURN(const auto sources, nodes_of(run, arguments, types.source, say));
  TROUPE_ASSIGN_OR_RETURN(auto found, find_nodes(run.store, {.sources = {"all"},
                                                             .split = job.dataset.split,
                                                             .node_type = types.destination}));
  RunSetup setup;
  TROUPE_RETURN_IF_ERROR(read_setup(job, arguments.model, setup));
  TROUPE_ASSIGN_OR_RETURN(const auto destinations,
                          compared_rows(run, setup, std::move(found.nodes)));
  std::shared_ptr<const Matrix> of_sources;
  if (types.source == types.destination) {
    of_sources = std::make_shared<const Matrix>(rows_among(destinations->view(), sources));
  } else {
    TROUPE_ASSIGN_OR_RETURN(of_sources, compared_rows(run, setup, sources));
  }
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
