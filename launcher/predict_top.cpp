#include "launcher/cluster_plan.hpp"
#include "launcher/predict_rows.hpp"
#include "runtime/base/executor.hpp"
#include "runtime/job/link_rules.hpp"
#include "runtime/nn/catalog.hpp"
#include "runtime/run/node_request.hpp"
#include "runtime/run/outputs.hpp"
#include "runtime/run/pair_outputs.hpp"
#include "runtime/run/top_partners.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <memory>
#include <unordered_map>
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
class KnownLinks {
 public:
  /// \param one_type  of both ends
  KnownLinks(const SeedList& sources, bool one_type) : lists_(sources.original.size()) {
    for (std::size_t i = 0; i < sources.original.size(); ++i) {
      places_.emplace(raw(sources.original[i]), i);
      if (one_type) {
        lists_[i].push_back(static_cast<std::uint32_t>(raw(sources.original[i])));
      }
    }
  }
  void add(const LinkList& links, EdgeTypeId type) {
    for (std::uint64_t i = 0; i < links.size(); ++i) {
      const auto link = links.at(i);
      const auto source = places_.find(raw(link.original_source));
      if (source != places_.end() && links.edge_type_at(i) == type) {
        lists_[source->second].push_back(
            static_cast<std::uint32_t>(raw(link.original_destination)));
      }
    }
  }
  LeftOutRows finish() {
    LeftOutRows all;
    for (auto& list : lists_) {
      std::ranges::sort(list);
      list.erase(std::unique(list.begin(), list.end()), list.end());
      all.rows.insert(all.rows.end(), list.begin(), list.end());
      all.offsets.push_back(all.rows.size());
    }
    return all;
  }

 private:
  std::unordered_map<std::uint64_t, std::size_t> places_;  ///< by original id
  std::vector<std::vector<std::uint32_t>> lists_;  ///< original ids, which are rows of all nodes
};

Result<LeftOutRows> left_out_of(const PreparedRun& run, const PredictArguments& arguments,
                                EdgeTypeId type, const SeedList& sources, bool one_type) {
  KnownLinks known(sources, one_type);
  for (const auto& role : arguments.leave_out) {
    auto links = run.store.links(run.job.dataset.split, role);
    if (links && !links->pairs_of()) {
      known.add(*links, type);
    } else if (!links && links.error().code() != Errc::not_found && role != "none") {
      return std::move(links).error();
    }
  }
  return known.finish();
}

/// Rows of some nodes among those of all of their type.
Matrix rows_among(ConstMatrix all, const SeedList& nodes) {
  Matrix rows(nodes.original.size(), all.cols);
  for (std::size_t i = 0; i < nodes.original.size(); ++i) {
    std::ranges::copy(all.row(raw(nodes.original[i])), rows.view().row(i).begin());
  }
  return rows;
}

}  // namespace

Status predict_top(const PreparedRun& run, const PredictArguments& arguments, const SayLine& say) {
  const auto& job = run.job;
  const auto& graph = run.store.info();
  const auto* train = training_links(job, graph);
  if (train == nullptr) {
    return Error(Errc::invalid_argument,
                 fmt::format("--top: expected a job that learns links, found task.kind \"{}\"",
                             job.task.kind));
  }
  TROUPE_RETURN_IF_ERROR(check_compared(run, arguments, "--top"));
  TROUPE_RETURN_IF_ERROR(check_task(job));
  TROUPE_ASSIGN_OR_RETURN(const auto edge_type,
                          learned_edge_type(graph, *train, arguments.edge_type));
  const auto types = learned_end_types(graph, job, *train, edge_type);
  const auto& destination = graph.node_types[raw(types.destination)];
  if (destination.count > std::numeric_limits<std::uint32_t>::max()) {
    return Error(Errc::unimplemented,
                 fmt::format("--top: expected fewer than 2^32 nodes to choose from, found {}; more "
                             "are not built yet",
                             destination.count));
  }
  const bool one_type = types.source == types.destination;
  TROUPE_ASSIGN_OR_RETURN(const auto sources, nodes_of(run, arguments, types.source, say));
  TROUPE_ASSIGN_OR_RETURN(auto found, find_nodes(run.store, {.sources = {"all"},
                                                             .split = job.dataset.split,
                                                             .node_type = types.destination}));
  TROUPE_ASSIGN_OR_RETURN(const auto destinations,
                          compared_rows(run, arguments, std::move(found.nodes)));
  std::shared_ptr<const Matrix> of_sources;
  if (one_type) {
    of_sources = std::make_shared<const Matrix>(rows_among(destinations->view(), sources));
  } else {
    TROUPE_ASSIGN_OR_RETURN(of_sources, compared_rows(run, arguments, sources));
  }
  TROUPE_ASSIGN_OR_RETURN(const auto network, nn::make_network(job.model));
  TROUPE_ASSIGN_OR_RETURN(
      const auto saved, read_model(arguments.model, network->layout(), model_metadata(job.model)));
  TROUPE_ASSIGN_OR_RETURN(const auto left_out,
                          left_out_of(run, arguments, edge_type, sources, one_type));
  ComputePool pool(compute_threads(job.cluster));
  const auto top = top_partners(pool, *network, saved.parameters,
                                {.edge_type = edge_type,
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
