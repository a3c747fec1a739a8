#include "launcher/predict_names.hpp"

#include "runtime/graph/store.hpp"
#include "runtime/job/task_rules.hpp"
#include "runtime/run/pair_outputs.hpp"

#include <fmt/format.h>
#include <utility>

namespace troupe {
namespace {

Error no_names(const std::string& types, const Job& job) {
  return {Errc::not_found,
          fmt::format("--names: expected names of {} nodes in {}, which an import of text ids "
                      "keeps, found none\ntry: without --names",
                      types, job.dataset.path.string())};
}

}  // namespace

Result<std::shared_ptr<const NodeNames>> names_of_type(const PreparedRun& run,
                                                       const PredictArguments& arguments,
                                                       NodeTypeId type) {
  std::shared_ptr<const NodeNames> names;
  if (!arguments.names) {
    return names;
  }
  const auto& of_type = run.store.info().node_types[raw(type)];
  TROUPE_ASSIGN_OR_RETURN(names, NodeNames::read(run.job.dataset.path, of_type));
  if (!names) {
    return no_names(fmt::format("\"{}\"", of_type.name), run.job);
  }
  return names;
}

Result<NamesOfEnds> names_of_ends(const PreparedRun& run, const PredictArguments& arguments,
                                  const EndTypes& ends) {
  NamesOfEnds names{.asked = arguments.names, .types = ends};
  if (!names.asked) {
    return names;
  }
  const auto& store = run.job.dataset.path;
  const auto& types = run.store.info().node_types;
  const auto& source = types[raw(ends.source)];
  const auto& destination = types[raw(ends.destination)];
  TROUPE_ASSIGN_OR_RETURN(names.sources, NodeNames::read(store, source));
  names.destinations = names.sources;
  if (ends.destination != ends.source) {
    TROUPE_ASSIGN_OR_RETURN(names.destinations, NodeNames::read(store, destination));
  }
  if (!names.sources && !names.destinations) {
    return no_names(fmt::format("\"{}\" or \"{}\"", source.name, destination.name), run.job);
  }
  return names;
}

std::string word_of(const std::shared_ptr<const NodeNames>& names, std::uint64_t node) {
  return names ? std::string(names->of(node)) : fmt::to_string(node);
}

Result<std::shared_ptr<const TripleNames>> names_of_triples(const PreparedRun& run,
                                                            const PredictArguments& arguments) {
  std::shared_ptr<const TripleNames> names;
  if (!arguments.names || arguments.links.empty() || !run.job.task.knowledge()) {
    return names;
  }
  const auto& job = run.job;
  const auto& graph = run.store.info();
  TROUPE_ASSIGN_OR_RETURN(const auto type, learned_type(graph, job, {}, "--names"));
  const auto& store = job.dataset.path;
  auto found = TripleNames::read(store, graph.node_types[raw(type.ends.source)],
                                 training_links(job, graph)->relations);
  if (!found && store_kind(store) == StoreKind::partitioned && names_files(graph).empty()) {
    return Error(
        Errc::not_found,
        fmt::format("--names: expected a store with the names of its import, found none in "
                    "{}, which an older program has partitioned\ntry: partition the "
                    "imported store again, or name that one in dataset.path",
                    store.string()));
  }
  TROUPE_ASSIGN_OR_RETURN(names, std::move(found));
  return names;
}

}  // namespace troupe
