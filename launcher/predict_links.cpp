#include "launcher/end_at_signal.hpp"
#include "launcher/predict_names.hpp"
#include "launcher/predict_rows.hpp"
#include "runtime/nn/catalog.hpp"
#include "runtime/nn/number_losses.hpp"
#include "runtime/run/original_rows.hpp"
#include "runtime/run/outputs.hpp"
#include "runtime/run/pair_outputs.hpp"

#include <fmt/format.h>
#include <memory>
#include <utility>
#include <vector>

namespace troupe {
namespace {

/// Rows of the ends of pairs.
struct Sides {
  std::shared_ptr<const Matrix> sources;
  std::shared_ptr<const Matrix> destinations;  ///< The same where both ends are of one type
  std::vector<std::uint32_t> of;
  std::vector<std::uint32_t> to;

  RowsOfEnds rows() const {
    return {.sources = sources->view(), .destinations = destinations->view(), .of = of, .to = to};
  }
};

Result<Sides> sides_of(const PreparedRun& run, const RunSetup& setup, const AskedPairs& pairs) {
  Sides sides;
  const auto& ends = pairs.type.ends;
  if (ends.source == ends.destination) {
    auto both = pairs.sources;
    both.insert(both.end(), pairs.destinations.begin(), pairs.destinations.end());
    TROUPE_ASSIGN_OR_RETURN(auto nodes, distinct_nodes(run.store, ends.source, both));
    const auto middle = nodes.places.begin() + static_cast<std::ptrdiff_t>(pairs.sources.size());
    sides.of.assign(nodes.places.begin(), middle);
    sides.to.assign(middle, nodes.places.end());
    TROUPE_ASSIGN_OR_RETURN(const auto rows, compared_rows(run, setup, {nodes.nodes}));
    sides.sources = rows.front();
    sides.destinations = rows.front();
    return sides;
  }
  TROUPE_ASSIGN_OR_RETURN(auto from, distinct_nodes(run.store, ends.source, pairs.sources));
  TROUPE_ASSIGN_OR_RETURN(auto to, distinct_nodes(run.store, ends.destination, pairs.destinations));
  sides.of.assign(from.places.begin(), from.places.end());
  sides.to.assign(to.places.begin(), to.places.end());
  TROUPE_ASSIGN_OR_RETURN(const auto rows, compared_rows(run, setup, {from.nodes, to.nodes}));
  sides.sources = rows[0];
  sides.destinations = rows[1];
  return sides;
}

const char* name_of_outputs(const Job& job) {
  if (job.task.kind != "edge") {
    return "scores";
  }
  return nn::predicts_numbers(job.train.loss) ? "numbers" : "logits";
}

}  // namespace

Status predict_links(const PreparedRun& run, const PredictArguments& arguments,
                     const TripleNames* names, const SayLine& say) {
  const auto& job = run.job;
  NamesOfEnds of_ends;
  if (!job.task.knowledge()) {
    TROUPE_ASSIGN_OR_RETURN(const auto type,
                            learned_type(run.store.info(), job, arguments.edge_type, "--links"));
    TROUPE_ASSIGN_OR_RETURN(of_ends, names_of_ends(run, arguments, type.ends));
  }
  TROUPE_ASSIGN_OR_RETURN(const auto pairs,
                          asked_pairs(run.store, job, arguments.links, arguments.edge_type,
                                      {names, of_ends.sources.get(), of_ends.destinations.get()}));
  if (of_ends.asked && of_ends.types != pairs.type.ends) {  // of a role beside pairs on walks
    TROUPE_ASSIGN_OR_RETURN(of_ends, names_of_ends(run, arguments, pairs.type.ends));
  }
  RunSetup setup;
  TROUPE_RETURN_IF_ERROR(read_setup(run, arguments.model, setup));
  TROUPE_ASSIGN_OR_RETURN(const auto sides, sides_of(run, setup, pairs));
  const EndAtSignal end_at_signal;
  TROUPE_ASSIGN_OR_RETURN(const auto network, nn::make_network(job.model));
  InlineExecutor executor;
  const Matrix outputs =
      pair_outputs(executor, *network, setup.parameters, job.task, pairs, sides.rows());
  const auto folder = folder_of_predictions(job, arguments);
  TROUPE_RETURN_IF_ERROR(write_pair_predictions(folder, ids_of(pairs), outputs.view()));
  if (names) {
    std::vector<NamedTriple> triples;
    for (std::size_t i = 0; i < pairs.sources.size(); ++i) {
      triples.push_back({names->entity(pairs.sources[i]), names->relation(pairs.relations[i]),
                         names->entity(pairs.destinations[i]), outputs.view().row(i)[0]});
    }
    TROUPE_RETURN_IF_ERROR(write_named_triples(folder, triples));
  }
  if (of_ends.asked) {
    const auto names_of_row = [&](std::size_t row) {
      return fmt::format("{}\t{}", word_of(of_ends.sources, pairs.sources[row]),
                         word_of(of_ends.destinations, pairs.destinations[row]));
    };
    TROUPE_RETURN_IF_ERROR(write_named_rows(folder, "links.tsv", names_of_row, outputs.view()));
  }
  say(fmt::format("{} of {} {}, {} column{}, in {}", name_of_outputs(job), outputs.rows(),
                  job.task.knowledge() ? "triples" : "links", outputs.cols(),
                  outputs.cols() == 1 ? "" : "s",
                  (folder / (names           ? "triples.tsv"
                             : of_ends.asked ? "links.tsv"
                                             : "predictions.npy"))
                      .string()));
  return ok_status();
}

}  // namespace troupe
