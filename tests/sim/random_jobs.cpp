#include "tests/sim/random_jobs.hpp"

#include "launcher/prepare_store.hpp"
#include "runtime/base/executor.hpp"
#include "runtime/data/triples_import.hpp"
#include "runtime/generate/heterogeneous.hpp"
#include "runtime/job/job_file.hpp"
#include "tests/sim/link_files.hpp"
#include "tests/sim/random_settings.hpp"
#include "tests/sim/sim_support.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/folded_cora.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <iterator>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* several_types = R"({
  "classes": 4,
  "node_types": {"customer": {"count": 300, "features": 9, "labels": true},
                 "product": {"count": 120, "features": 6}, "shop": {"count": 20, "features": 4}},
  "edge_types": {
    "buys": {"source": "customer", "destination": "product", "edges": 1500, "features": 3,
             "weights": true, "times": true, "reverse_edges": true},
    "knows": {"source": "customer", "destination": "customer", "edges": 700, "weights": true,
              "times": true, "symmetrize": true},
    "sells": {"source": "shop", "destination": "product", "edges": 200, "features": 2,
              "weights": true, "times": true, "reverse_edges": true}},
  "splits": {"": {"nodes": "customer", "train": 0.4, "val": 0.1, "test": 0.1},
             "other": {"nodes": "customer", "train": 0.1, "val": 0.2, "test": 0.3}}})";
/// Of nodes with so many classes.
std::string one_type(int classes) {
  return fmt::format(R"({{
  "classes": {},
  "node_types": {{"node": {{"count": 500, "features": 10, "labels": true}}}},
  "edge_types": {{"edge": {{"source": "node", "destination": "node", "edges": 2500, "features": 3,
                            "weights": true, "times": true}}}},
  "splits": {{"": {{"nodes": "node", "train": 0.4, "val": 0.1, "test": 0.1}},
             "other": {{"nodes": "node", "train": 0.1, "val": 0.2, "test": 0.3}}}}}})",
                     classes);
}

void write_graph(const fs::path& folder, const std::string& schema) {
  const fs::path file = folder.string() + ".json";
  std::ofstream(file) << schema;
  HeterogeneousOptions options;
  ASSERT_OK_AND_ASSIGN(options.schema, read_heterogeneous_schema(file, options));
  InlineExecutor executor;
  ASSERT_OK(generate_heterogeneous(options, executor, folder));
}

/// One killed actor.
struct Loss {
  std::uint64_t step = 0;   ///< Step of rank 0 after which it is killed
  std::uint32_t which = 0;  ///< Index of the actor, modulo the number of actors
};

/// Kills actors of a running cluster.
class Losses {
 public:
  explicit Losses(std::vector<Loss> losses) : losses_(std::move(losses)) {}

  ClusterHooks hooks() {
    ClusterHooks hooks;
    hooks.say = [this](const std::string& line) {
      const std::lock_guard guard(mutex_);
      said_ += line + "\n";
    };
    hooks.on_start = [this](ProcessId process, const std::string& actor) {
      if (actor != "supervisor") {  // without it the process is lost, and does not come back here
        const std::lock_guard guard(mutex_);
        actors_.insert({raw(process), actor});
      }
    };
    hooks.on_step = [this](const StepReport& report) {
      for (auto& loss : losses_) {
        if (raw(report.rank) == 0 && report.global_step == loss.step) {
          kill_one(loss.which);
          loss.step = 0;
        }
      }
    };
    return hooks;
  }
  void begin_in(SimulatedCluster& cluster) { cluster_ = &cluster; }
  const std::string& text() const { return text_; }  ///< the killed
  const std::string& said() const { return said_; }  ///< by the run

 private:
  void kill_one(std::uint32_t which) {
    const std::lock_guard guard(mutex_);
    const auto at = which % actors_.size();
    const auto victim = std::next(actors_.begin(), static_cast<std::ptrdiff_t>(at));
    text_ += fmt::format(" {} of process {};", victim->second, victim->first);
    static_cast<void>(cluster_->kill(ProcessId{victim->first}, victim->second));
  }

  std::vector<Loss> losses_;
  SimulatedCluster* cluster_ = nullptr;
  std::mutex mutex_;
  std::set<std::pair<std::uint32_t, std::string>> actors_;
  std::string text_;
  std::string said_;
};

/// A run to its end, or from the newest checkpoint in a folder.
struct RunOf {
  fs::path checkpoints = {};  ///< empty: none are kept
  bool resume = false;
  Losses* losses = nullptr;
};
/// \returns nothing: the job is refused
std::optional<Result<RunRecord>> run_of(std::optional<PreparedJob> prepared, const RunOf& how) {
  if (!prepared) {
    return std::nullopt;
  }
  const auto& [job, store] = *prepared;
  auto hooks = how.losses ? how.losses->hooks() : ClusterHooks{};
  hooks.bf16_without_unit = true;
  auto cluster = SimulatedCluster::create(job, store, std::move(hooks));
  if (!cluster) {
    expect_refused(cluster.error(), job);
    return std::nullopt;
  }
  if (how.losses) {
    how.losses->begin_in(**cluster);
  }
  auto ended =
      how.checkpoints.empty()
          ? (*cluster)->run()
          : (*cluster)->run(setup_with_checkpoints(**cluster, how.checkpoints, how.resume));
  if (!ended) {
    return Result<RunRecord>(ended.error());
  }
  return Result<RunRecord>(std::move(ended->record));
}

/// All that no layout may change.
std::string results_of(const RunRecord& record) {
  const auto scores = [](const std::optional<Scores>& of) {
    std::string text;
    for (const char* name : {"accuracy", "f1", "auc", "ap", "mrr", "hits@10"}) {
      const auto score = of ? of->by_name(name) : std::nullopt;
      text += score ? fmt::format(" {} {}", name, *score) : "";
    }
    return text;
  };
  std::string text =
      fmt::format("batches {}, parameters {}, best {}, outputs {}, valid{}, test{}",
                  record.batches ? to_string(*record.batches) : "none",
                  to_string(record.parameters), to_string(record.best_parameters),
                  to_string(record.outputs), scores(record.valid), scores(record.test));
  for (const auto& tensor : record.tensors) {
    text += fmt::format(", {} {} {}", tensor.name, to_string(tensor.rows), to_string(tensor.best));
  }
  return text;
}

}  // namespace

Settings together(const Settings& job, const Settings& layout) {
  auto all = job;
  all.insert(all.end(), layout.begin(), layout.end());
  return all;
}

void expect_refused(const Error& why, const Job& job) {
  const auto code = why.code();
  EXPECT_TRUE(code == Errc::invalid_argument || code == Errc::unimplemented ||
              (code == Errc::failed_precondition && job.task.own_candidates))
      << why.what();
}

std::optional<PreparedJob> prepared(const std::string& text, const Settings& settings,
                                    JobTrainer trainer) {
  auto reading = parse_job(text, "", settings);
  EXPECT_OK(reading);
  if (!reading || !reading->problems.empty()) {
    return std::nullopt;
  }
  auto store = prepare_store(reading->job, [](const std::string&) {});
  if (!store) {
    const std::string why = store.error().what();
    // Links, and seeds of files, order no nodes.
    const bool no_seeds =
        why.starts_with("hotness: split") || why.starts_with("partition: balance");
    EXPECT_TRUE(store.error().code() == Errc::invalid_argument || no_seeds) << why;
  }
  if (!store || !check_against_graph(reading->job, store->info(), trainer).empty()) {
    return std::nullopt;
  }
  fit_to_graph(reading->job, store->info());
  return PreparedJob{std::move(reading->job), *std::move(store)};
}

RandomJobs::RandomJobs() {
  write_graph(scratch_.path() / "several", several_types);
  write_graph(scratch_.path() / "one", one_type(4));
  write_graph(scratch_.path() / "two_classes", one_type(2));
  files_.links = write_cora_links(scratch_.path());
  files_.candidates = write_candidates(scratch_.path());
  files_.ids = (scratch_.path() / "ids.npy").string();
  files_.times = (scratch_.path() / "times.npy").string();
  std::vector<std::int64_t> ids, times;
  for (std::int64_t i = 0; i < 90; ++i) {
    ids.push_back(i * i % 290);
    times.push_back(i * 12'000'000);
  }
  write_column(files_.ids, ids);
  write_column(files_.times, times);
  const auto family = fs::path(TROUPE_SOURCE_DIR) / "examples" / "knowledge" / "family";
  InlineExecutor executor;
  EXPECT_OK(import_triples({{family}}, scratch_.path() / "triples", {{}, true}, executor));
  TriplesOptions both_ways{{}, true};
  both_ways.import.edges.reverse_edges = true;
  EXPECT_OK(import_triples({{family}}, scratch_.path() / "relations", both_ways, executor));
}

RandomJobs::Picked RandomJobs::pick(Drawn& drawn) const {
  struct Graph {
    GraphOf graph;
    fs::path path;
  };
  const std::array<Graph, 8> graphs{{{GraphOf::several_types, scratch_.path() / "several"},
                                     {GraphOf::several_types, scratch_.path() / "several"},
                                     {GraphOf::one_type, scratch_.path() / "one"},
                                     {GraphOf::one_type, scratch_.path() / "one"},
                                     {GraphOf::two_classes, scratch_.path() / "two_classes"},
                                     {GraphOf::links, folded_cora()},
                                     {GraphOf::triples, scratch_.path() / "triples"},
                                     {GraphOf::relations, scratch_.path() / "relations"}}};
  const auto& graph = graphs[drawn.below(graphs.size())];
  Picked picked;
  picked.text = fmt::format(R"({{"dataset": {{"path": "{}"}}, "output": "{}"}})",
                            graph.path.string(), (scratch_.path() / "out").string());
  picked.job = draw_job(drawn, graph.graph, files_);
  picked.ranks = drawn.once_in(2) ? 2 : drawn.once_in(2) ? 1 : 4;
  if (drawn.once_in(8)) {
    picked.place = draw_place(drawn, picked.ranks);
    picked.job.emplace_back(graph.graph == GraphOf::triples ? "task.negatives.from=own"
                                                            : "sample.seed_order=local");
  }
  picked.alone = picked.place.value_or(
      Settings{"cluster.hosts=1", fmt::format("cluster.trainers_per_host={}", picked.ranks),
               "partition.parts=1"});
  // One after the other: arguments of a call are drawn in an order that the compiler chooses.
  picked.spread = layout_of(picked, drawn);
  const auto devices = draw_devices(drawn);
  const auto of_devices = drawn.once_in(2) ? picked.alone : layout_of(picked, drawn);
  picked.on_devices = together(of_devices, devices);
  const auto placement = picked.place ? Settings() : draw_placement(drawn, picked.ranks);
  picked.elsewhere = together(layout_of(picked, drawn), placement);
  return picked;
}

Settings RandomJobs::layout_of(const Picked& picked, Drawn& drawn) {
  const auto place = picked.place ? *picked.place : draw_place(drawn, picked.ranks);
  return together(place, draw_tuning(drawn));
}

std::string RandomJobs::replicas_of(const Picked& picked, Drawn& drawn) {
  return fmt::format("cluster.replicas={}", picked.place ? 1 : 1 + drawn.below(2));
}

std::string RandomJobs::checkpoints_of(Drawn& drawn) {
  const auto steps = drawn.below(4);
  return steps == 0 ? "checkpoint.every.epochs=1" : fmt::format("checkpoint.every.steps={}", steps);
}

RandomJobs::Outcome RandomJobs::run(std::uint32_t number, std::string& why) const {
  Drawn drawn(number);
  const auto picked = pick(drawn);
  const auto& job = picked.job;
  const auto& text = picked.text;
  const auto first = run_of(prepared(text, together(job, picked.alone)), {});
  if (!first) {
    return Outcome::refused;
  }
  const auto expected = *first ? results_of(**first) : (*first).error().what();
  const auto check = [&](const Settings& layout, const std::optional<Result<RunRecord>>& run,
                         const char* how) {
    if (!run || (*run && *first && results_of(**run) == expected)) {
      return true;
    }
    if (!*run && !*first && (*run).error().code() == (*first).error().code()) {
      return true;  // such as scores that are not defined
    }
    why += fmt::format("job {}, {} {}\n  {}\n  {} found\n  {} expected\n", number, how,
                       fmt::join(layout, " "), fmt::join(job, " "),
                       *run ? results_of(**run) : (*run).error().what(), expected);
    return false;
  };
  bool same = true;
  for (const auto& layout : {picked.spread, picked.on_devices, picked.elsewhere}) {
    same = check(layout, run_of(prepared(text, together(job, layout)), {}), "in") && same;
  }
  // Actors are lost, and the state to go back to is in memory, on the disk or the start.
  std::vector<Loss> drawn_losses(1 + drawn.below(3));
  for (auto& loss : drawn_losses) {
    loss = {1 + drawn.below(8), drawn.below(1000)};
  }
  const auto checkpoints = checkpoints_of(drawn);
  const auto replicas = replicas_of(picked, drawn);
  const Settings recovery{
      checkpoints, replicas,
      drawn.one_of({"cluster.device=cpu", "cluster.device=cpu", "cluster.device=emulated:1"})};
  const auto place = drawn.once_in(3) ? picked.elsewhere : layout_of(picked, drawn);
  const auto with_losses = together(place, recovery);
  Losses losses(std::move(drawn_losses));
  const auto disturbed = run_of(
      prepared(text, together(job, with_losses)),
      {.checkpoints = scratch_.path() / fmt::format("disturbed-{}", number), .losses = &losses});
  if (!check(with_losses, disturbed, ("without" + losses.text() + " in").c_str())) {
    why += losses.said();
    same = false;
  }
  // A run of one epoch keeps its last checkpoint, of any step that is even. The whole run starts there, in another layout.
  const auto kept = scratch_.path() / fmt::format("checkpoints-{}", number);
  const auto begun =
      together(job, together(picked.spread, {"checkpoint.every.steps=2", "train.epochs=1"}));
  // Without eval.every the end of that run is evaluated, but not that epoch of the whole one.
  const bool evaluates_alike = std::ranges::find(job, "eval.every=0") == job.end();
  if (*first && evaluates_alike && run_of(prepared(text, begun), {.checkpoints = kept}) &&
      fs::exists(kept)) {
    const auto layout = drawn.once_in(2) ? picked.alone : picked.elsewhere;
    same =
        check(layout,
              run_of(prepared(text, together(job, layout)), {.checkpoints = kept, .resume = true}),
              "resumed in") &&
        same;
  }
  return same ? Outcome::same : Outcome::differs;
}

void expect_the_same(RandomJobs::Outcome (RandomJobs::*run)(std::uint32_t, std::string&) const,
                     std::uint32_t first, std::uint32_t count) {
  const RandomJobs jobs;
  std::string why;
  std::uint32_t ran = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    ran += (jobs.*run)(first + i, why) == RandomJobs::Outcome::refused ? 0U : 1U;
  }
  EXPECT_EQ(why, "");
  EXPECT_GE(2 * ran, count) << "the others are refused";
}

}  // namespace troupe::testing
