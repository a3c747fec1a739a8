#include "launcher/commands.hpp"
#include "launcher/early_checks.hpp"
#include "launcher/end_at_signal.hpp"
#include "launcher/predict_names.hpp"
#include "launcher/predict_request.hpp"
#include "launcher/predict_rows.hpp"
#include "launcher/prepare_run.hpp"
#include "launcher/print_error.hpp"
#include "launcher/processes/host_copy.hpp"
#include "launcher/read_job.hpp"
#include "launcher/say_line.hpp"
#include "runtime/job/embedding_rules.hpp"
#include "runtime/nn/catalog.hpp"
#include "runtime/nn/number_losses.hpp"
#include "runtime/run/output_folder.hpp"
#include "runtime/run/outputs.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <span>

namespace troupe {
namespace {

/// Node types that a user may ask for, by name.
Result<NodeTypeId> named_type(const Job& job, const std::string& name,
                              std::span<const NodeTypeId> types, const char* others) {
  std::vector<std::string> names;
  for (const auto type : types) {
    const auto& of_type = job.model.types.nodes[raw(type)].name;
    if (of_type == name) {
      return type;
    }
    names.push_back('"' + of_type + '"');
  }
  return Error(Errc::invalid_argument, fmt::format("--node-type: expected {}, found \"{}\"; {}",
                                                   fmt::join(names, " or "), name, others));
}

/// Node type whose rows are wanted: the seeds' own, or for embeddings any that the last layer reads.
Result<NodeTypeId> node_type_of(const Job& job, const PredictArguments& arguments) {
  const auto& types = job.model.types;
  if (arguments.node_type.empty()) {
    return types.seeds;
  }
  auto has_rows = types.outputs();
  if (arguments.embeddings) {
    TROUPE_ASSIGN_OR_RETURN(const auto network, nn::make_network(job.model));
    has_rows.clear();
    const auto stages = network->embedding_stages();
    std::ranges::transform(stages.back().outputs, std::back_inserter(has_rows),
                           &nn::InferStage::Output::type);
  }
  return named_type(
      job, arguments.node_type, has_rows,
      arguments.embeddings ? "the last layer reads no others" : "others have embeddings at most");
}

/// Of a model without layers all types whose rows it compares; else those with a table.
Result<NodeTypeId> type_of_input_rows(const PreparedRun& run, const PredictArguments& arguments) {
  const auto& job = run.job;
  const auto& all = run.store.info().node_types;
  std::vector<NodeTypeId> types;
  for (std::size_t t = 0; t < all.size(); ++t) {
    const auto type = static_cast<NodeTypeId>(t);
    const auto compared = job.model.types.outputs();
    if (arguments.learned ? embedding_cols(job, all[t]) > 0
                          : std::ranges::find(compared, type) != compared.end()) {
      types.push_back(type);
    }
  }
  const auto& seeds = job.model.types.nodes[raw(job.model.types.seeds)].name;
  const auto& name = arguments.node_type.empty() ? seeds : arguments.node_type;
  return named_type(job, name, types,
                    arguments.learned ? "others have no learned rows" : "others are not compared");
}

/// \param names  of their type; null: they are not asked for
Status write_node_rows(const std::filesystem::path& folder, const SeedList& nodes,
                       const NodeNames* names, ConstMatrix rows) {
  TROUPE_RETURN_IF_ERROR(write_predictions(folder, nodes.original, rows));
  if (names == nullptr) {
    return ok_status();
  }
  const auto name_of = [&](std::size_t row) {
    return std::string(names->of(raw(nodes.original[row])));
  };
  return write_named_rows(folder, "nodes.tsv", name_of, rows);
}

/// Writes rows as they were learned, or as a model without layers compares them.
Status write_input_rows(const PreparedRun& run, const PredictArguments& arguments, const Say& say) {
  const EndAtSignal end_at_signal;
  const auto& job = run.job;
  RunSetup setup;
  TROUPE_RETURN_IF_ERROR(read_setup(run, arguments.model, setup));
  TROUPE_ASSIGN_OR_RETURN(const auto type, type_of_input_rows(run, arguments));
  TROUPE_ASSIGN_OR_RETURN(const auto names, names_of_type(run, arguments, type));
  TROUPE_ASSIGN_OR_RETURN(const auto nodes, nodes_of(run, arguments, type, say, names.get()));
  const auto columns = arguments.learned ? InputColumns::learned : InputColumns::all;
  TROUPE_ASSIGN_OR_RETURN(const auto rows, read_input_rows(run, setup, columns, nodes));
  const auto& of_type = run.store.info().node_types[raw(type)];
  const auto folder = folder_of_predictions(job, arguments);
  TROUPE_RETURN_IF_ERROR(write_node_rows(folder, nodes, names.get(), rows.view()));
  say(fmt::format("{} of {} \"{}\" nodes, {} columns, in {}",
                  rows.cols() == embedding_cols(job, of_type) ? "learned rows" : "rows",
                  rows.rows(), of_type.name, rows.cols(),
                  (folder / (names ? "nodes.tsv" : "predictions.npy")).string()));
  return ok_status();
}

Status predict(const PreparedRun& run, const PredictArguments& arguments, const Say& say) {
  const auto& job = run.job;
  RunSetup setup;
  TROUPE_RETURN_IF_ERROR(read_setup(run, arguments.model, setup));
  TROUPE_ASSIGN_OR_RETURN(const auto type, node_type_of(job, arguments));
  TROUPE_ASSIGN_OR_RETURN(const auto names, names_of_type(run, arguments, type));
  TROUPE_ASSIGN_OR_RETURN(auto found, nodes_of(run, arguments, type, say, names.get()));
  const auto nodes = std::make_shared<const SeedList>(std::move(found));
  const auto began = std::chrono::steady_clock::now();
  TROUPE_ASSIGN_OR_RETURN(const auto result, infer(run, std::move(setup),
                                                   InferenceTask{{nodes}, arguments.embeddings}));
  const EndAtSignal end_at_signal;
  const auto outputs = result.only_outputs();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  const auto folder = folder_of_predictions(job, arguments);
  TROUPE_RETURN_IF_ERROR(write_node_rows(folder, *nodes, names.get(), outputs->view()));
  say(fmt::format("{} of {} nodes, {} columns, in {}\ncomputed in {:.1f} s\nparameters {}",
                  arguments.embeddings || job.task.links() ? "embeddings"
                  : nn::predicts_numbers(job.train.loss)   ? "numbers"
                                                           : "logits",
                  outputs->rows(), outputs->cols(),
                  (folder / (names ? "nodes.tsv" : "predictions.npy")).string(), seconds.count(),
                  to_string(result.record.best_parameters)));
  return ok_status();
}

Result<std::shared_ptr<const TripleNames>> read_names(const PreparedRun& run,
                                                      const PredictArguments& arguments) {
  const EndAtSignal end_at_signal;
  return names_of_triples(run, arguments);
}

/// From the data on. \param asked  the job before it is fitted to them
ExitCode predict_into_folder(const Job& asked, const PredictArguments& arguments, const Say& say) {
  const bool infers = !wants_input_rows(asked, arguments);
  auto metadata = read_model_metadata(arguments.model);
  if (!metadata) {
    return print_error(metadata.error());
  }
  const NamedModel model{arguments.model, *std::move(metadata), arguments.edge_type};
  std::optional<PreparedRun> run;
  const auto place = infers ? PredictionPlace::hosts : PredictionPlace::here;
  const auto code = prepare_prediction(arguments.job, model, place, say, run);
  if (!run) {
    return code;
  }
  if (const auto said = check_edge_type(arguments, run->task); !said) {
    return print_error(said.error());
  }
  const auto names = read_names(*run, arguments);
  if (!names) {
    return print_error(names.error());
  }
  if (infers) {
    const auto copied = copy_if_asked(run->job, run->store, arguments.job.file, {}, say);
    if (!copied) {
      return print_error(copied.error());
    }
  }
  const auto done = arguments.top > 0          ? predict_top(*run, arguments, names->get(), say)
                    : !arguments.links.empty() ? predict_links(*run, arguments, names->get(), say)
                    : infers                   ? predict(*run, arguments, say)
                                               : write_input_rows(*run, arguments, say);
  return done ? ExitCode::done : print_error(done.error());
}

}  // namespace

ExitCode predict_command(const PredictArguments& arguments) {
  const Say say = say_line;
  if (const auto there = check_readable("--model", arguments.model); !there) {
    return print_error(there.error());
  }
  const auto job = read_job_or_print(arguments.job);
  if (!job) {
    return ExitCode::usage;
  }
  if (job->cluster.launch == "local") {  // where it computes the same bits
    say("predict: computes in one process, with the parts and threads of the job");
  }
  if (const auto can = check_request(*job, arguments); !can) {
    return print_error(can.error());
  }
  auto folder = OutputClaim::take_for_predictions(folder_of_predictions(*job, arguments));
  if (!folder) {
    return print_error(folder.error());
  }
  const auto code = predict_into_folder(*job, arguments, say);
  std::move(*folder).remove_lock();
  return code;
}

}  // namespace troupe
