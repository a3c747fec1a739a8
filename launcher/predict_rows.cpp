#include "launcher/predict_rows.hpp"

#include "launcher/bound_the_end.hpp"
#include "launcher/end_at_signal.hpp"
#include "launcher/end_or_signal.hpp"
#include "launcher/make_cluster.hpp"
#include "launcher/progress.hpp"
#include "launcher/simulated_cluster.hpp"
#include "runtime/base/saturating.hpp"
#include "runtime/job/embedding_rules.hpp"
#include "runtime/job/layout.hpp"
#include "runtime/job/link_rules.hpp"
#include "runtime/job/plan.hpp"
#include "runtime/net/frame.hpp"
#include "runtime/nn/catalog.hpp"
#include "runtime/partition/partition_book.hpp"
#include "runtime/run/exact_inference.hpp"
#include "runtime/run/input_rows.hpp"
#include "runtime/run/node_request.hpp"
#include "runtime/run/outputs.hpp"
#include "runtime/run/pair_outputs.hpp"
#include "runtime/run/table_source.hpp"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <unistd.h>
#include <utility>
#include <vector>

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

/// Rows belong to numbers of nodes, which another store may give to other nodes.
Status check_same_nodes(const SavedModel& model, const std::filesystem::path& file,
                        const PreparedRun& run) {
  const auto written = model.metadata.find(learned_nodes_key);
  TROUPE_ASSIGN_OR_RETURN(const auto nodes, numbered_nodes(run.job, run.store));
  if (written == model.metadata.end() || nodes.empty() || written->second == nodes) {
    return ok_status();
  }
  return Error(Errc::failed_precondition,
               fmt::format("{}: expected learned rows of the nodes of {} ({}), found those of "
                           "another store ({}), where nodes may have other numbers\ntry: the store "
                           "of the run that made the model, or the model of a run on this store",
                           file.string(), run.job.dataset.path.string(), nodes,
                           written->second.substr(0, 80)));
}

}  // namespace

Status read_setup(const PreparedRun& run, const std::filesystem::path& file, RunSetup& setup) {
  const auto& job = run.job;
  TROUPE_ASSIGN_OR_RETURN(const auto model, nn::make_network(job.model));
  TROUPE_ASSIGN_OR_RETURN(auto saved, read_model(file, model->layout(), metadata_of_model(job)));
  if (!job.embedding.empty()) {
    TROUPE_RETURN_IF_ERROR(check_same_nodes(saved, file, run));
    TROUPE_ASSIGN_OR_RETURN(setup.tables, rows_of(saved, file));
  }
  setup.parameters = std::move(saved.parameters);
  return ok_status();
}

Result<Matrix> read_input_rows(const PreparedRun& run, const RunSetup& setup, InputColumns columns,
                               const SeedList& nodes) {
  const auto& of_type = run.store.info().node_types[raw(nodes.node_type)];
  InputRows wanted{.type = nodes.node_type,
                   .features = RowDecoder::plain(0),
                   .learned_cols = embedding_cols(run.job, of_type),
                   .tables = setup.tables.get()};
  if (columns == InputColumns::all && of_type.features) {
    TROUPE_ASSIGN_OR_RETURN(wanted.features,
                            RowDecoder::create(of_type, run.job.features.normalize));
  }
  return input_rows(run.store, wanted, nodes);
}

namespace {

Result<RunResult> infer_here(const PreparedRun& run, ClusterHooks hooks, RunSetup setup) {
  const EndAtSignal end_at_signal;
  TROUPE_ASSIGN_OR_RETURN(auto cluster,
                          SimulatedCluster::create(run.job, run.store, std::move(hooks)));
  return cluster->run(std::move(setup));
}

/// Until the end, or a signal, at which all processes end.
Result<RunResult> infer_on_hosts(const PreparedRun& run, ClusterHooks hooks, RunSetup setup) {
  constexpr std::chrono::seconds longest_stop{10};
  TROUPE_RETURN_IF_ERROR(check_answers(run.job, run.store, *hooks.inference));
  TROUPE_ASSIGN_OR_RETURN(auto cluster,
                          make_cluster(run.job, run.store, std::move(hooks), run.folder));
  const auto end = std::make_shared<EndOrSignal<Result<RunResult>>>();
  cluster->start(std::move(setup),
                 [end](Result<RunResult> result) { end->end(std::move(result)); });
  auto result = end->wait();
  if (!result) {
    cluster->stop();
    end->wait_stopped(longest_stop);
    bound_the_end(time_to_stop, ExitCode::interrupted);
    result = Error(Errc::cancelled, "interrupted");
  }
  cluster->finish();
  return *std::move(result);
}

}  // namespace

Status check_answers(const Job& job, const PartitionedStore& store, const InferenceTask& task) {
  constexpr std::uint64_t most = net::FrameLimits{}.max_frame_bytes - (std::uint64_t{1} << 20);
  constexpr std::uint64_t beside_row =
      sizeof(std::uint64_t) + sizeof(std::int64_t);  // place, label
  TROUPE_ASSIGN_OR_RETURN(const auto network, nn::make_network(job.model));
  const auto stages = stages_of(*network, task.embeddings);
  const auto layout = make_layout(job);
  const PartitionBook book(store.partition().ranges);
  std::vector<ProcessId> of_part;
  for (std::uint32_t part = 0; part < book.parts(); ++part) {
    of_part.push_back(layout.servers_of(PartId{part}).front());
  }
  for (const auto& list : task.nodes) {
    const auto type = list->node_type;
    const auto cols =
        std::ranges::find(stages.back().outputs, type, &nn::InferStage::Output::type)->cols;
    std::map<ProcessId, std::uint64_t> rows;
    for (const auto node : list->global) {
      ++rows[of_part[raw(book.owner(type, node))]];
    }
    for (const auto& [process, count] : rows) {
      const auto wanted = times(count, plus(beside_row, times(cols, sizeof(float))));
      if (wanted > most) {
        return Error(
            Errc::invalid_argument,
            fmt::format("outputs of {}: expected at most {} in one answer, found {} in "
                        "{} columns\ntry: more parts or hosts, so that each process has fewer "
                        "nodes, or without --top fewer nodes at a time, by --nodes with files",
                        layout.name_of(process), bytes_text(most), bytes_text(wanted), cols));
      }
    }
  }
  return ok_status();
}

Result<RunResult> infer(const PreparedRun& run, RunSetup setup, InferenceTask task) {
  auto progress = std::make_shared<Progress>(
      Progress::Options{.terminal = isatty(STDOUT_FILENO) == 1, .metric = run.job.eval.metric});
  ClusterHooks hooks;
  hooks.inference = std::move(task);
  hooks.inference->task = run.task;
  hooks.say = [progress](const std::string& text) { progress->note(text); };
  hooks.on_infer = [progress](const InferenceReport& report) { progress->infer(report); };
  const auto& launch = run.job.cluster.launch;
  auto result = launch == "simulate" || launch == "local"
                    ? infer_here(run, std::move(hooks), std::move(setup))
                    : infer_on_hosts(run, std::move(hooks), std::move(setup));
  progress.reset();  // with its live line, before other lines
  return result;
}

Result<SeedList> nodes_of(const PreparedRun& run, const PredictArguments& arguments,
                          NodeTypeId type, const SayLine& say, const NodeNames* names) {
  auto found = find_nodes(run.store, {.sources = arguments.nodes,
                                      .split = run.job.dataset.split,
                                      .node_type = type,
                                      .names = names});
  if (!found && !arguments.nodes_given) {
    const auto what = found.error().what();
    return Error(
        found.error().code(),
        fmt::format("{}\n--nodes is not given, and by default test\ntry: --nodes all{}",
                    what.substr(0, what.find("\ntry:")),
                    run.job.task.links() && arguments.top == 0 ? ", or --links test" : ""));
  }
  if (!found) {
    return found.error();
  }
  if (found->repeats > 0) {
    say(fmt::format("{} of the ids were given before and are written once", found->repeats));
  }
  return std::move(found->nodes);
}

Result<std::vector<std::shared_ptr<const Matrix>>> compared_rows(const PreparedRun& run,
                                                                 const RunSetup& setup,
                                                                 std::vector<SeedList> lists) {
  std::vector<std::shared_ptr<const Matrix>> all;
  if (run.job.model.layers == 0) {
    const EndAtSignal end_at_signal;
    for (const auto& nodes : lists) {
      TROUPE_ASSIGN_OR_RETURN(auto rows, read_input_rows(run, setup, InputColumns::all, nodes));
      all.push_back(std::make_shared<const Matrix>(std::move(rows)));
    }
    return all;
  }
  InferenceTask task;
  for (auto& nodes : lists) {
    task.nodes.push_back(std::make_shared<const SeedList>(std::move(nodes)));
  }
  TROUPE_ASSIGN_OR_RETURN(const auto result, infer(run, setup, std::move(task)));
  for (std::size_t list = 0; list < lists.size(); ++list) {
    all.push_back(result.outputs.at(inference_role(list)));
  }
  return all;
}

std::filesystem::path folder_of_predictions(const Job& job, const PredictArguments& arguments) {
  return arguments.out.empty() ? job.output / "predict" : arguments.out;
}

}  // namespace troupe
