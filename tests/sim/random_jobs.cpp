#include "tests/sim/random_jobs.hpp"

#include "launcher/prepare_store.hpp"
#include "runtime/base/executor.hpp"
#include "runtime/base/philox.hpp"
#include "runtime/data/triples_import.hpp"
#include "runtime/generate/heterogeneous.hpp"
#include "runtime/job/job_file.hpp"
#include "tests/sim/link_files.hpp"
#include "tests/sim/sim_support.hpp"
#include "tests/support/expect.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr const char* several_types = R"({
  "classes": 4,
  "node_types": {"customer": {"count": 300, "features": 9, "labels": true},
                 "product": {"count": 120, "features": 6}, "shop": {"count": 20, "features": 4}},
  "edge_types": {
    "buys": {"source": "customer", "destination": "product", "edges": 1500, "weights": true,
             "times": true, "reverse_edges": true},
    "knows": {"source": "customer", "destination": "customer", "edges": 700, "weights": true,
              "times": true, "symmetrize": true},
    "sells": {"source": "shop", "destination": "product", "edges": 200, "weights": true,
              "times": true, "reverse_edges": true}},
  "splits": {"": {"nodes": "customer", "train": 0.4, "val": 0.1, "test": 0.1}}})";
constexpr const char* one_type = R"({
  "classes": 4,
  "node_types": {"node": {"count": 500, "features": 10, "labels": true}},
  "edge_types": {"edge": {"source": "node", "destination": "node", "edges": 2500, "weights": true,
                          "times": true}},
  "splits": {"": {"nodes": "node", "train": 0.4, "val": 0.1, "test": 0.1}}})";

void write_graph(const fs::path& folder, const char* schema) {
  const fs::path file = folder.string() + ".json";
  std::ofstream(file) << schema;
  HeterogeneousOptions options;
  ASSERT_OK_AND_ASSIGN(options.schema, read_heterogeneous_schema(file, options));
  InlineExecutor executor;
  ASSERT_OK(generate_heterogeneous(options, executor, folder));
}

/// Draws settings one after the other.
class Drawn {
 public:
  explicit Drawn(std::uint32_t number)
      : draw_(stream_key(20, {.domain = Domain::generators}), number) {}

  std::uint32_t below(std::uint32_t n) { return draw_.below(n); }
  bool once_in(std::uint32_t n) { return below(n) == 0; }
  std::string one_of(std::initializer_list<const char*> choices) {
    return choices.begin()[below(static_cast<std::uint32_t>(choices.size()))];
  }
  void set(const char* key, std::initializer_list<const char*> choices) {
    words_.push_back(fmt::format("{}={}", key, one_of(choices)));
  }
  void maybe(std::uint32_t n, const char* key, std::initializer_list<const char*> choices) {
    if (once_in(n)) {
      set(key, choices);
    }
  }
  void add(const Words& more) { words_.insert(words_.end(), more.begin(), more.end()); }
  Words take() { return std::exchange(words_, {}); }

 private:
  DrawStream draw_;
  Words words_;
};

void draw_sampling(Drawn& drawn, std::string_view graph) {
  drawn.set("sample.batch_size", {"7", "16", "33", "64", "1000"});
  drawn.maybe(4, "sample.choice", {"weighted", "last", "labor"});
  drawn.maybe(4, "sample.replace", {"true"});
  drawn.maybe(5, "sample.edge_dir", {"out"});
  drawn.maybe(3, "sample.frontier", {"all"});
  drawn.maybe(5, "sample.shuffle", {"false"});
  drawn.maybe(4, "sample.drop_last", {"true"});
  drawn.maybe(5, "sample.disjoint", {"true"});
  drawn.maybe(5, "sample.subgraph", {"bidirectional", "induced"});
  drawn.maybe(5, "sample.edge_data", {R"(["ids"])", R"(["weights"])", R"(["times", "ids"])"});
  if (graph != "links" && drawn.once_in(4)) {
    drawn.set("sample.time.at", {"10", "536870912", "1073741824"});
    drawn.maybe(2, "sample.time.window", {"1048576", "268435456"});
    drawn.maybe(3, "sample.time.until", {"at"});
    drawn.add({"eval.mode=sampled"});
  } else {
    drawn.maybe(3, "eval.mode", {"sampled"});
  }
}

void draw_model(Drawn& drawn, bool several) {
  const auto kind =
      several ? drawn.one_of({"graphsage", "rgcn", "rgat", "hgt"})
              : drawn.one_of({"graphsage", "gcn", "gat", "gatv2", "gin", "rgcn", "rgat", "hgt"});
  drawn.add({"model.kind=" + kind});
  drawn.set("sample.fanout", {"[5]", "[3,0]", "[-1,2]", "[10,5]", "[2,3,1]"});
  drawn.set("model.hidden", {"4", "8", "12"});
  if (kind == "graphsage") {
    drawn.set("model.aggregator", {"mean", "max", "sum"});
  }
  if (kind == "gat" || kind == "gatv2" || kind == "rgat" || kind == "hgt") {
    drawn.set("model.heads", {"1", "2", "4"});
  }
  if (kind == "gat" || kind == "gatv2") {
    drawn.maybe(3, "model.loops", {"false"});
    drawn.maybe(3, "model.concat", {"false"});
  }
  if (kind == "gin") {
    drawn.maybe(2, "model.train_eps", {"true"});
  }
  if (kind != "gcn" && kind != "hgt") {
    drawn.maybe(3, "model.residual", {"true"});
  }
  drawn.maybe(3, "model.norm", {"layer", "batch"});
  drawn.maybe(3, "model.activation", {"elu", "leaky_relu"});
  drawn.maybe(5, "model.l2", {"true"});
  drawn.maybe(4, "model.input", {"linear"});
  drawn.maybe(2, "model.dropout", {"0.3"});
  drawn.maybe(3, "model.input_dropout", {"0.2"});
}

/// \param keys  of a job that learns the links in files
void draw_links(Drawn& drawn, const Words& keys) {
  if (drawn.once_in(3)) {
    drawn.add({"task.kind=unsupervised", "task.exclude=none"});
    if (drawn.once_in(2)) {
      drawn.add({"task.positives=walks"});
      drawn.set("task.walk.length", {"2", "4"});
    }
    for (const auto& key : keys) {
      if (key.starts_with("dataset.seeds.val") || key.starts_with("dataset.seeds.test")) {
        drawn.add({key});
      }
    }
  } else {
    drawn.add(keys);
  }
  drawn.set("task.negatives.kind", {"triplet", "binary"});
  drawn.set("task.negatives.per_positive", {"1", "3"});
  drawn.maybe(4, "task.negatives.by", {"degree"});
  drawn.maybe(4, "task.negatives.strict", {"true"});
  drawn.set("task.decoder.kind", {"dot", "distmult", "mlp"});
  drawn.set("train.loss", {"bce", "balanced", "margin", "self_adversarial", "softmax"});
  drawn.maybe(3, "eval.ranks", {"all"});
  drawn.set("model.out_dim", {"4", "8"});
}

void draw_triples(Drawn& drawn) {
  drawn.add({"task.kind=knowledge"});
  drawn.set("task.score.kind", {"transe", "distmult", "complex", "rotate"});
  drawn.set("task.chunk", {"4", "16", "33"});
  drawn.set("task.negatives.per_chunk", {"3", "16"});
  drawn.set("sample.batch_size", {"20", "128", "700"});
  drawn.set("embedding.entity.dim", {"4", "8", "10"});
}

void draw_training(Drawn& drawn) {
  drawn.set("seed", {"0", "1", "77"});
  drawn.set("train.epochs", {"1", "2", "3"});
  drawn.set("train.optimizer.kind", {"adam", "adamw", "sgd", "adagrad"});
  drawn.maybe(5, "train.clip", {"1"});
  drawn.maybe(4, "eval.every", {"0", "2"});
  drawn.maybe(3, "features.normalize", {"row", "column"});
}

Words drawn_layout(Drawn& drawn) {
  drawn.add({"cluster.hosts=2"});
  drawn.set("partition.parts", {"1", "2", "3", "5"});
  drawn.set("partition.method", {"random", "hash", "range", "ldg"});
  drawn.set("cluster.batches_in_flight", {"auto", "1", "7"});
  drawn.maybe(3, "cluster.samplers_per_trainer", {"2"});
  drawn.maybe(3, "cluster.network.latency_us", {"10", "300"});
  drawn.maybe(3, "cluster.window", {"64KiB"});
  drawn.maybe(3, "partition.topology", {"replicated"});
  drawn.maybe(3, "partition.halo", {"1"});
  drawn.maybe(3, "partition.halo_features", {"true"});
  drawn.maybe(5, "sample.cache.budget", {"20KB"});
  if (drawn.once_in(3)) {
    drawn.set("features.cache.policy", {"degree", "presample", "future"});
    drawn.add({"features.cache.ratio=0.1"});
  }
  return drawn.take();
}

Words together(const Words& job, const Words& layout) {
  auto all = job;
  all.insert(all.end(), layout.begin(), layout.end());
  return all;
}

/// \returns nothing: the settings do not go together
std::optional<Job> job_of(const std::string& text, const Words& settings) {
  const auto reading = parse_job(text, "", settings);
  EXPECT_OK(reading);
  if (!reading || !reading->problems.empty()) {
    return std::nullopt;
  }
  return reading->job;
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
  const std::string& text() const { return text_; }

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
};

/// A run to its end, or from the newest checkpoint in a folder.
struct RunOf {
  fs::path checkpoints = {};  ///< empty: none are kept
  bool resume = false;
  Losses* losses = nullptr;
};
/// \returns nothing: the job is refused
std::optional<Result<RunRecord>> run_of(std::optional<Job> job, const RunOf& how) {
  if (!job) {
    return std::nullopt;
  }
  const auto store = prepare_store(*job, [](const std::string&) {});
  EXPECT_OK(store);
  if (!store || !check_against_graph(*job, store->info()).empty()) {
    return std::nullopt;
  }
  fit_to_graph(*job, store->info());
  auto cluster =
      SimulatedCluster::create(*job, *store, how.losses ? how.losses->hooks() : ClusterHooks{});
  if (!cluster) {
    const auto code = cluster.error().code();
    EXPECT_TRUE(code == Errc::invalid_argument || code == Errc::unimplemented)
        << cluster.error().what();
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

RandomJobs::RandomJobs() {
  write_graph(scratch_.path() / "several", several_types);
  write_graph(scratch_.path() / "one", one_type);
  fs::create_directory(scratch_.path() / "of_links");
  link_keys_ = write_cora_links(scratch_.path() / "of_links");
  const auto family = fs::path(TROUPE_SOURCE_DIR) / "examples" / "knowledge" / "family";
  InlineExecutor executor;
  EXPECT_OK(import_triples({{family}}, scratch_.path() / "triples", {{}, true}, executor));
}

RandomJobs::Outcome RandomJobs::run(std::uint32_t number, std::string& why) const {
  Drawn drawn(number);
  const auto graph = drawn.one_of({"several", "several", "one", "one", "links", "triples"});
  const auto text =
      fmt::format(R"({{"dataset": {{"path": "{}"}}, "output": "{}"}})",
                  (graph == "links" ? folded_cora() : scratch_.path() / graph).string(),
                  (scratch_.path() / "out").string());
  draw_training(drawn);
  if (graph == "triples") {
    draw_triples(drawn);
  } else {
    draw_sampling(drawn, graph);
    draw_model(drawn, graph == "several");
    const char* const type = graph == "several" ? "customer" : "node";
    if (drawn.once_in(3)) {
      drawn.set(fmt::format("embedding.{}.dim", type).c_str(), {"3", "8"});
      drawn.set(fmt::format("embedding.{}.optimizer.kind", type).c_str(),
                {"sgd", "adagrad", "row_adagrad", "adam"});
    }
  }
  if (graph == "links") {
    draw_links(drawn, link_keys_);
  }
  const auto job = drawn.take();
  const Words alone{"cluster.hosts=1", "cluster.trainers_per_host=2", "partition.parts=1"};
  const auto spread = drawn_layout(drawn);
  const auto on_devices =
      together(drawn.once_in(2) ? alone : drawn_layout(drawn),
               {drawn.one_of({"cluster.device=emulated:1", "cluster.device=emulated:2"})});
  auto elsewhere =
      together(drawn_layout(drawn),
               {drawn.one_of({"cluster.placement=worker", "cluster.placement=server_client"})});
  if (elsewhere.back() == "cluster.placement=server_client") {
    elsewhere.push_back(drawn.one_of({"cluster.servers=1", "cluster.servers=3"}));
  }

  const auto first = run_of(job_of(text, together(job, alone)), {});
  if (!first) {
    return Outcome::refused;
  }
  const auto expected = *first ? results_of(**first) : (*first).error().what();
  const auto check = [&](const Words& layout, const std::optional<Result<RunRecord>>& run,
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
  for (const auto& layout : {spread, on_devices, elsewhere}) {
    same = check(layout, run_of(job_of(text, together(job, layout)), {}), "in") && same;
  }
  // Actors are lost, and the state to go back to is in memory, on the disk or the start.
  std::vector<Loss> drawn_losses(1 + drawn.below(3));
  for (auto& loss : drawn_losses) {
    loss = {1 + drawn.below(8), drawn.below(1000)};
  }
  const auto with_losses = together(
      drawn_layout(drawn),
      {fmt::format("checkpoint.every.steps={}", drawn.below(4)),
       fmt::format("cluster.replicas={}", 1 + drawn.below(2)),
       drawn.one_of({"cluster.device=cpu", "cluster.device=cpu", "cluster.device=emulated:1"})});
  Losses losses(std::move(drawn_losses));
  const auto disturbed = run_of(
      job_of(text, together(job, with_losses)),
      {.checkpoints = scratch_.path() / fmt::format("disturbed-{}", number), .losses = &losses});
  same = check(with_losses, disturbed, ("without" + losses.text() + " in").c_str()) && same;
  // A run of one epoch keeps its last checkpoint, of any step that is even. The whole run starts there, in another layout.
  const auto kept = scratch_.path() / fmt::format("checkpoints-{}", number);
  const auto begun =
      together(job, together(spread, {"checkpoint.every.steps=2", "train.epochs=1"}));
  // Without eval.every the end of that run is evaluated, but not that epoch of the whole one.
  const bool evaluates_alike = std::ranges::find(job, "eval.every=0") == job.end();
  if (*first && evaluates_alike && run_of(job_of(text, begun), {.checkpoints = kept}) &&
      fs::exists(kept)) {
    const auto layout = drawn.once_in(2) ? alone : elsewhere;
    same = check(layout,
                 run_of(job_of(text, together(job, layout)), {.checkpoints = kept, .resume = true}),
                 "resumed in") &&
           same;
  }
  return same ? Outcome::same : Outcome::differs;
}

}  // namespace troupe::testing
