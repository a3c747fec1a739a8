#include "launcher/cluster_plan.hpp"
#include "launcher/end_at_signal.hpp"
#include "launcher/predict_names.hpp"
#include "launcher/predict_rows.hpp"
#include "runtime/base/executor.hpp"
#include "runtime/base/free_memory.hpp"
#include "runtime/nn/catalog.hpp"
#include "runtime/nn/knowledge/known_answers.hpp"
#include "runtime/nn/knowledge/placed_rows.hpp"
#include "runtime/run/edges_as_links.hpp"
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

/// Edge types whose links are of the pairs that are asked for.
class AskedLinks {
 public:
  AskedLinks(const PreparedRun& run, const AskedType& type)
      : graph_(run.store.info()), type_(type) {
    const auto* train = training_links(run.job, graph_);
    on_walks_ = train != nullptr && train->pairs_of;
  }
  /// Pairs on walks are of node types, whichever edges join them.
  bool have(EdgeTypeId type) const {
    const auto& ends = graph_.edge_types[raw(type)];
    return on_walks_
               ? ends.source == type_.ends.source && ends.destination == type_.ends.destination
               : type == type_.edge_type;
  }

 private:
  const GraphInfo& graph_;
  const AskedType& type_;
  bool on_walks_ = false;
};

/// The links of a role; of jobs that learn pairs on walks those to train of the data's own split, or else all edges.
Result<LinkList> known_links(const PreparedRun& run, const std::string& role, const AskedType& type,
                             const AskedLinks& asked) {
  const auto& split = run.job.dataset.split;
  auto links = run.store.links(split, role);
  if (!links || !links->pairs_of()) {
    return links;
  }
  TROUPE_ASSIGN_OR_RETURN(const auto as_imported,
                          PartitionedStore::open(run.store.dir(), {.verify = Verify::sizes}));
  links = as_imported.links(split, role);
  if (!links && links.error().code() == Errc::not_found && asked.have(type.edge_type)) {
    return edges_as_links(as_imported, std::vector{type.edge_type});
  }
  if (links) {
    const auto& types = as_imported.info().find_split(split)->links.at(role).edge_types;
    return types.empty() ? std::move(links) : links_in_groups(*links, types);
  }
  return links;
}

/// Adds links of the roles that are left out, with their relations where they have such.
Status add_known(const PreparedRun& run, const PredictArguments& arguments, const AskedType& type,
                 const SayLine& say, nn::KnownAnswers& known) {
  const bool triples = run.job.task.knowledge();
  const AskedLinks asked(run, type);
  for (const auto& role : arguments.leave_out) {
    if (role == "none") {
      continue;
    }
    const auto links = known_links(run, role, type, asked);
    if (!links && links.error().code() != Errc::not_found) {
      return links.error();
    }
    std::uint64_t added = 0;
    for (std::uint64_t i = 0; links && i < links->size(); ++i) {
      if (asked.have(links->edge_type_at(i))) {
        const auto link = links->at(i);
        known.add(raw(link.original_source),
                  triples ? static_cast<std::uint32_t>(links->labels()[i]) : 0,
                  raw(link.original_destination));
        ++added;
      }
    }
    if (added == 0) {
      say(
          fmt::format("--leave-out {}: the split \"{}\" has no links of these types in that role, "
                      "so none are left out",
                      role, run.job.dataset.split));
    }
  }
  return ok_status();
}

/// Known links of the edge type, and each node itself where both ends are of one type.
Result<nn::KnownRows> left_out_of(const PreparedRun& run, const PredictArguments& arguments,
                                  const AskedType& type, const SeedList& sources,
                                  std::uint64_t destinations, const SayLine& say) {
  nn::KnownAnswers known;  // by original ids
  std::vector<nn::TripleQuery> queries;
  for (const auto id : sources.original) {
    queries.push_back({.known = raw(id)});
    if (type.ends.source == type.ends.destination) {
      known.add(raw(id), 0, raw(id));
    }
  }
  TROUPE_RETURN_IF_ERROR(add_known(run, arguments, type, say, known));
  known.finish();
  return known.rows_among(queries, 0, destinations);
}

/// Known triples.
Result<nn::KnownRows> left_out_of(const PreparedRun& run, const PredictArguments& arguments,
                                  const AskedCompletions& asked, std::uint64_t entities,
                                  const SayLine& say) {
  nn::KnownAnswers known;  // by original ids
  std::vector<nn::TripleQuery> queries;
  for (std::size_t i = 0; i < asked.known.size(); ++i) {
    queries.push_back({asked.known[i], asked.relations[i], asked.replaced});
  }
  TROUPE_RETURN_IF_ERROR(add_known(run, arguments, asked.type, say, known));
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
  const auto replaced = arguments.complete == "head" ? ReplacedEnd::head : ReplacedEnd::tail;
  TROUPE_ASSIGN_OR_RETURN(const auto asked,
                          asked_completions(run.store, job, arguments.links, replaced, names));
  const auto& type = graph.node_types[raw(asked.type.ends.source)];
  TROUPE_RETURN_IF_ERROR(check_count(type));
  TROUPE_RETURN_IF_ERROR(check_top_fits(asked.known.size(), arguments.top, free_memory_bytes()));
  RunSetup setup;
  TROUPE_RETURN_IF_ERROR(read_setup(run, arguments.model, setup));
  TROUPE_ASSIGN_OR_RETURN(const auto all, all_nodes(run, asked.type.ends.source));
  TROUPE_ASSIGN_OR_RETURN(const auto rows, compared_rows(run, setup, {all}));
  const auto& entities = rows.front();
  const EndAtSignal end_at_signal;
  const std::vector<std::uint32_t> known(asked.known.begin(), asked.known.end());
  TROUPE_ASSIGN_OR_RETURN(const auto network, nn::make_network(job.model));
  TROUPE_ASSIGN_OR_RETURN(const auto left_out,
                          left_out_of(run, arguments, asked, entities->rows(), say));
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

/// The partners of each source, best first.
std::vector<NamedPartner> named_partners(const NamesOfEnds& names, const SeedList& sources,
                                         std::span<const std::int64_t> partners,
                                         ConstMatrix scores) {
  std::vector<NamedPartner> named;
  for (std::size_t i = 0; i < sources.original.size(); ++i) {
    for (std::size_t place = 0; place < scores.cols; ++place) {
      const auto partner = partners[i * scores.cols + place];
      if (partner < 0) {
        break;
      }
      named.push_back({word_of(names.sources, raw(sources.original[i])),
                       word_of(names.destinations, static_cast<std::uint64_t>(partner)),
                       scores.row(i)[place]});
    }
  }
  return named;
}

}  // namespace

Status predict_top(const PreparedRun& run, const PredictArguments& arguments,
                   const TripleNames* names, const SayLine& say) {
  const auto& job = run.job;
  const auto& graph = run.store.info();
  TROUPE_ASSIGN_OR_RETURN(const auto type, learned_type(graph, job, arguments.edge_type, "--top"));
  if (job.task.knowledge()) {
    return predict_top_entities(run, arguments, names, say);
  }
  const auto& types = type.ends;
  const auto& destination = graph.node_types[raw(types.destination)];
  TROUPE_RETURN_IF_ERROR(check_count(destination));
  TROUPE_ASSIGN_OR_RETURN(const auto names_of_both, names_of_ends(run, arguments, types));
  TROUPE_ASSIGN_OR_RETURN(const auto sources,
                          nodes_of(run, arguments, types.source, say, names_of_both.sources.get()));
  TROUPE_RETURN_IF_ERROR(
      check_top_fits(sources.original.size(), arguments.top, free_memory_bytes()));
  RunSetup setup;
  TROUPE_RETURN_IF_ERROR(read_setup(run, arguments.model, setup));
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
                          left_out_of(run, arguments, type, sources, destinations->rows(), say));
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
  if (names_of_both.asked) {
    TROUPE_RETURN_IF_ERROR(write_named_partners(
        folder, named_partners(names_of_both, sources, top.rows, top.scores.view())));
  }
  say(fmt::format("the {} best of {} \"{}\" nodes for each of {} \"{}\" nodes, in {}",
                  arguments.top, destinations->rows(), destination.name, sources.original.size(),
                  graph.node_types[raw(types.source)].name,
                  (folder / (names_of_both.asked ? "partners.tsv" : "partners.npy")).string()));
  return ok_status();
}

}  // namespace troupe
