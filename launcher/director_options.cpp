#include "launcher/director_options.hpp"

#include "actors/holder_tables.hpp"
#include "launcher/seconds.hpp"

#include <caf/all.hpp>

#include <fmt/format.h>

namespace troupe {
namespace {

using std::chrono::milliseconds;

ConductorOptions conductor_options(const ClusterPlan& plan) {
  const auto& job = plan.job;
  const auto& task = plan.inference;
  const auto stages = plan.network ? stages_of(*plan.network, task && task->embeddings).size() : 0;
  // Where rows are learned, what the first layer reads is a layer before it.
  const std::uint32_t inputs = plan.embedding && stages > 0 ? 1 : 0;
  ConductorOptions options{
      .epochs = task ? 0 : job.train.epochs,
      .world = plan.world(),
      .stages = static_cast<std::uint32_t>(stages) + inputs,
      .patience = job.train.patience,
      .eval_every = job.eval.every,
      .eval_exact = !job.scores_batches() && !job.task.knowledge(),
      .eval_partial = job.eval.max_batches > 0,
      .metric = job.eval.metric,
      .digest = job.digest != DigestMode::off,
      .train_only = plan.take_only(),
      .weightless_epochs = job.train.class_weights.given(),
      .final_exact = stages > 0 && job.infers_exactly() && !job.task.knowledge(),
      .final_roles = {"val", "test"},
      .tables = {},
      .keep_outputs = {},
      .seeds = plan.seeds,
      .links = plan.scoring};
  for (const auto& table :
       plan.embedding ? plan.embedding->tables : std::vector<EmbeddingOptions>()) {
    options.tables.push_back(table.name);
  }
  if (job.eval.predictions && !job.task.links()) {
    options.keep_outputs = {"test"};
  }
  if (plan.seeds.contains(embedded_role)) {
    options.final_roles.push_back(embedded_role);
    options.keep_outputs = {embedded_role};
  }
  if (task) {
    options.final_roles.clear();
    for (std::size_t list = 0; list < task->nodes.size(); ++list) {
      options.final_roles.push_back(inference_role(list));
    }
    options.keep_outputs = options.final_roles;
  }
  return options;
}

/// The actors that the director leads, as `home` knows them.
void add_members(const ClusterPlan& plan, const std::shared_ptr<ClusterProcess>& home,
                 DirectorOptions& options) {
  options.world = plan.world();
  options.trainer = [home](Rank rank) { return home->trainer(rank); };
  const auto evaluators = plan.take_only() ? std::vector<ProcessId>() : plan.layout.evaluators();
  for (const auto id : evaluators) {
    options.evaluators.names.push_back("evaluator of " + plan.layout.at(id).name);
  }
  options.evaluators.handle = [home, evaluators](std::size_t i) {
    return home->evaluator(evaluators[i]);
  };
  const auto workers = plan.layout.workers();
  for (const auto id : workers) {
    options.supervisors.names.push_back(plan.layout.at(id).name);
  }
  options.supervisors.handle = [home, workers](std::size_t i) {
    return home->supervisor(workers[i]);
  };
}

/// Learned rows go from the holders into checkpoints, and back.
void add_tables(const ClusterPlan& plan, const std::shared_ptr<ClusterProcess>& home,
                RunSetup& setup, DirectorOptions& options) {
  const auto links = [home, tables = plan.embedding, book = plan.book] {
    return LearnedRowsLinks{tables, book, home->holders()};
  };
  if (options.write_checkpoint) {
    options.write_checkpoint = [home, links,
                                write = options.write_checkpoint](const Checkpoint& checkpoint) {
      auto with_tables = checkpoint;
      with_tables.tables = std::make_shared<const HolderTables>(home->system(), links(),
                                                                checkpoint.training.global_step);
      return write(with_tables);
    };
  }
  options.newest_checkpoint = std::move(setup.newest_checkpoint);
  if (setup.write_tables) {
    options.write_tables = [home, links,
                            write = std::move(setup.write_tables)](std::uint64_t step) {
      const HolderTables last(home->system(), links(), step);
      return write(BestRows(last));
    };
  }
  options.load_tables = [home, links](const Checkpoint& checkpoint) -> Status {
    if (!checkpoint.tables) {
      return Error(Errc::failed_precondition,
                   fmt::format("checkpoint of step {}: expected learned rows, found none",
                               checkpoint.training.global_step));
    }
    return load_tables(home->system(), links(), *checkpoint.tables,
                       checkpoint.training.global_step);
  };
}

Result<std::shared_ptr<const Checkpoint>> start_of(const ClusterPlan& plan, RunSetup& setup) {
  TROUPE_ASSIGN_OR_RETURN(auto initial, plan.initial_state());
  initial.tables = setup.tables;
  if (!setup.parameters.empty()) {
    initial.training.best = setup.parameters;
    initial.training.parameters = std::move(setup.parameters);
  }
  return std::make_shared<const Checkpoint>(std::move(initial));
}

}  // namespace

std::optional<DirectorOptions> director_options(const ClusterPlan& plan,
                                                const std::shared_ptr<ClusterProcess>& home,
                                                const ClusterHooks& hooks, RunSetup setup,
                                                std::function<void(Result<RunResult>)> on_end) {
  const auto& job = plan.job;
  DirectorOptions options;
  add_members(plan, home, options);
  options.conductor = conductor_options(plan);
  options.progress = std::move(setup.progress);
  options.start = std::move(setup.resume);
  if (!options.start) {
    auto start = start_of(plan, setup);
    if (!start) {
      on_end(start.error());
      return std::nullopt;
    }
    options.start = *std::move(start);
  }
  options.checkpoints = {job.checkpoint.epochs, job.checkpoint.steps, job.checkpoint.seconds};
  options.write_checkpoint = std::move(setup.write_checkpoint);
  if (plan.embedding) {
    add_tables(plan, home, setup, options);
  }
  options.heartbeat = seconds_as<milliseconds>(job.cluster.heartbeat_s);
  options.lost_after = seconds_as<milliseconds>(job.cluster.lost_after_s);
  options.step_deadline = seconds_as<milliseconds>(job.cluster.step_deadline_s);
  options.on_generation = [generation = home->generation()](std::uint32_t now) {
    *generation = now;
  };
  options.say = hooks.say;
  options.trace = TraceTrack(hooks.tracer, raw(home->plan().host), "director");
  options.on_end = [on_end = std::move(on_end)](Result<RunEnd> ended) {
    if (ended) {
      on_end(
          RunResult{std::move(ended->record), std::move(ended->state), std::move(ended->outputs)});
    } else {
      on_end(ended.error());
    }
  };
  return options;
}

}  // namespace troupe
