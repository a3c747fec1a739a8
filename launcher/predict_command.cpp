#include "launcher/commands.hpp"
#include "launcher/early_checks.hpp"
#include "launcher/end_at_signal.hpp"
#include "launcher/prepare_run.hpp"
#include "launcher/print_error.hpp"
#include "launcher/read_job.hpp"
#include "launcher/say_line.hpp"
#include "launcher/simulated_cluster.hpp"
#include "runtime/nn/catalog.hpp"
#include "runtime/nn/number_losses.hpp"
#include "runtime/run/node_request.hpp"
#include "runtime/run/outputs.hpp"
#include "runtime/run/table_source.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <unistd.h>

namespace troupe {
namespace {

/// The learned rows that belong to a model lie beside it.
Result<std::shared_ptr<const TableSource>> rows_of(const SavedModel& model,
                                                   const std::filesystem::path& file) {
  const auto named = model.metadata.find(learned_rows_key);
  if (named == model.metadata.end()) {
    return Error(Errc::invalid_argument,
                 fmt::format("{}: expected a model that names files of learned rows (\"{}\" in its "
                             "metadata), as the job has \"embedding\", found none\ntry: "
                             "model.safetensors of a run of this job",
                             file.string(), learned_rows_key));
  }
  auto files = files_of_text(named->second);
  if (!files) {
    return std::move(files).error().with(file.string());
  }
  const auto folder = file.parent_path();
  for (const auto& rows : *files) {
    std::error_code error;
    const auto size = std::filesystem::file_size(folder / rows.path, error);
    if (error || size != rows.bytes) {
      return Error(error ? Errc::not_found : Errc::data_corruption,
                   fmt::format("{}: expected {} bytes of learned rows that belong to {}, found {}",
                               (folder / rows.path).string(), rows.bytes, file.string(),
                               error ? error.message() : fmt::to_string(size)));
    }
  }
  std::shared_ptr<const TableSource> tables =
      std::make_shared<const TableFiles>(folder, *std::move(files));
  return tables;
}

Status read_setup(const Job& job, const std::filesystem::path& file, RunSetup& setup) {
  TROUPE_ASSIGN_OR_RETURN(const auto model, nn::make_network(job.model));
  TROUPE_ASSIGN_OR_RETURN(auto saved, read_model(file, model->layout(), model_metadata(job.model)));
  if (!job.embedding.empty()) {
    TROUPE_ASSIGN_OR_RETURN(setup.tables, rows_of(saved, file));
  }
  setup.parameters = std::move(saved.parameters);
  return ok_status();
}

/// All processes of "local" are on this host, where one of them computes the same bits.
Status check_launch(const Job& job, const Say& say) {
  const auto& launch = job.cluster.launch;
  if (launch == "local") {
    say("predict: computes in one process, with the parts and threads of the job");
  } else if (launch != "simulate") {
    return Error(Errc::unimplemented,
                 fmt::format("predict: expected launch \"simulate\" or \"local\", found \"{}\": "
                             "exact inference outside a run is not built yet for other hosts\n"
                             "try: --set cluster.launch=simulate on a host that has memory for the "
                             "whole graph, or predictions.npy of the run, which has the test seeds",
                             launch));
  }
  return ok_status();
}

Status check_exact(const Job& job) {
  if (job.sample.time.given()) {
    return Error(
        Errc::unimplemented,
        "predict: expected a job without sample.time, found one: exact inference reads edges "
        "of all times\ntry: predictions.npy of the run, which has the test seeds");
  }
  if (job.task.knowledge()) {
    return Error(
        Errc::unimplemented,
        "predict: expected a task whose model has layers, found \"knowledge\": scores of "
        "triples outside a run are not built yet\ntry: scores.test of the run, and the rows "
        "in its learned-PART.bin");
  }
  if (job.model.layers == 0) {
    return Error(
        Errc::unimplemented,
        "predict: expected a model with layers, found none\ntry: predictions.npy of the run, "
        "which has the rows of all nodes after \"unsupervised\"");
  }
  if (!job.infers_exactly()) {
    return Error(Errc::unimplemented,
                 "predict: expected a job without model.edge_features, found one: exact inference "
                 "with features of edges is not built yet\ntry: predictions.npy of the run, which "
                 "has the test seeds");
  }
  return ok_status();
}

Status check_embeddings(const Job& job, bool wanted) {
  if (wanted && job.model.layers < 2) {
    return Error(Errc::invalid_argument,
                 fmt::format("--embeddings: expected a model of 2 layers or more, whose last one "
                             "has inputs of its own, found {}",
                             job.model.layers));
  }
  return ok_status();
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
  std::vector<std::string> names;
  for (const auto type : has_rows) {
    const auto& name = types.nodes[raw(type)].name;
    if (name == arguments.node_type) {
      return type;
    }
    names.push_back('"' + name + '"');
  }
  return Error(Errc::invalid_argument,
               fmt::format("--node-type: expected {}, found \"{}\"; {}", fmt::join(names, " or "),
                           arguments.node_type,
                           arguments.embeddings ? "the last layer reads no others"
                                                : "others have embeddings at most"));
}

Status predict(const PreparedRun& run, const PredictArguments& arguments, const Say& say) {
  const auto& job = run.job;
  const auto& store = run.store;
  TROUPE_RETURN_IF_ERROR(check_exact(job));
  TROUPE_RETURN_IF_ERROR(check_embeddings(job, arguments.embeddings));
  RunSetup setup;
  TROUPE_RETURN_IF_ERROR(read_setup(job, arguments.model, setup));
  TROUPE_ASSIGN_OR_RETURN(const auto type, node_type_of(job, arguments));
  TROUPE_ASSIGN_OR_RETURN(auto found, find_nodes(store, {.sources = arguments.nodes,
                                                         .split = job.dataset.split,
                                                         .node_type = type}));
  if (found.repeats > 0) {
    say(fmt::format("{} of the ids were given before and are written once", found.repeats));
  }
  const auto nodes = std::make_shared<const SeedList>(std::move(found.nodes));
  auto progress = std::make_shared<Progress>(
      Progress::Options{.terminal = isatty(STDOUT_FILENO) == 1, .metric = job.eval.metric});
  ClusterHooks hooks;
  hooks.inference = InferenceTask{nodes, arguments.embeddings};
  hooks.say = [progress](const std::string& text) { progress->note(text); };
  hooks.on_infer = [progress](const InferenceReport& report) { progress->infer(report); };
  TROUPE_ASSIGN_OR_RETURN(auto cluster, SimulatedCluster::create(job, store, std::move(hooks)));
  const auto began = std::chrono::steady_clock::now();
  TROUPE_ASSIGN_OR_RETURN(const auto result, cluster->run(std::move(setup)));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  cluster.reset();
  progress.reset();  // with its live line, before other lines
  const auto folder = arguments.out.empty() ? job.output / "predict" : arguments.out;
  TROUPE_RETURN_IF_ERROR(write_predictions(folder, nodes->original, result.outputs->view()));
  say(fmt::format("{} of {} nodes, {} columns, in {}\ncomputed in {:.1f} s\nparameters {}",
                  arguments.embeddings || job.task.links() ? "embeddings"
                  : nn::predicts_numbers(job.train.loss)   ? "numbers"
                                                           : "logits",
                  result.outputs->rows(), result.outputs->cols(),
                  (folder / "predictions.npy").string(), seconds.count(),
                  to_string(result.record.best_parameters)));
  return ok_status();
}

}  // namespace

ExitCode predict_command(const PredictArguments& arguments) {
  const EndAtSignal end_at_signal;
  const Say say = say_line;
  if (const auto there = check_readable("--model", arguments.model); !there) {
    return print_error(there.error());
  }
  const auto job = read_job_or_print(arguments.job);
  if (!job) {
    return ExitCode::usage;
  }
  if (const auto can = check_launch(*job, say); !can) {  // before the data is imported
    return print_error(can.error());
  }
  std::optional<PreparedRun> run;
  if (const auto code = prepare_run(arguments.job, say, run); !run) {
    return code;
  }
  const auto done = predict(*run, arguments, say);
  return done ? ExitCode::done : print_error(done.error());
}

}  // namespace troupe
