// What a run leaves besides scores: outputs of nodes, from exact inference, and the trace.
#include "launcher/prepare_store.hpp"
#include "launcher/read_job.hpp"
#include "runtime/base/files.hpp"
#include "runtime/nn/scores.hpp"
#include "runtime/run/node_request.hpp"
#include "tests/runtime/run/documented_keys.hpp"
#include "tests/sim/sim_support.hpp"
#include "tests/support/expect.hpp"

#include <nlohmann/json.hpp>

#include <atomic>
#include <map>
#include <mutex>
#include <set>

namespace troupe {
namespace {

using nlohmann::json;
using Settings = std::vector<std::string>;

class SimOutputs : public ::testing::Test {
 protected:
  struct Prepared {
    Job job;
    PartitionedStore store;
  };
  Result<Prepared> prepare(Settings settings) const {
    TROUPE_ASSIGN_OR_RETURN(auto job, testing::cora_job(scratch_.path(), std::move(settings)));
    TROUPE_ASSIGN_OR_RETURN(auto store, prepare_store(job, [](const std::string&) {}));
    if (!fit_to_graph_or_print(job, store.info())) {
      return Error(Errc::invalid_argument, "the job does not fit its data");
    }
    return Prepared{std::move(job), std::move(store)};
  }
  Result<RunResult> train(Settings settings, ClusterHooks hooks = {}) const {
    TROUPE_ASSIGN_OR_RETURN(const auto ready, prepare(std::move(settings)));
    TROUPE_ASSIGN_OR_RETURN(const auto cluster,
                            SimulatedCluster::create(ready.job, ready.store, std::move(hooks)));
    return cluster->run();
  }
  Result<RunResult> infer(Settings settings, std::vector<float> parameters, bool embeddings,
                          std::vector<std::string> sources) const {
    TROUPE_ASSIGN_OR_RETURN(const auto ready, prepare(std::move(settings)));
    TROUPE_ASSIGN_OR_RETURN(auto found,
                            find_nodes(ready.store, {.sources = std::move(sources), .split = ""}));
    ClusterHooks hooks;
    hooks.inference =
        InferenceTask{{std::make_shared<const SeedList>(std::move(found.nodes))}, embeddings};
    TROUPE_ASSIGN_OR_RETURN(const auto cluster,
                            SimulatedCluster::create(ready.job, ready.store, std::move(hooks)));
    return cluster->run({.parameters = std::move(parameters)});
  }
  static std::vector<float> numbers(const RunResult& result) {
    const auto flat = result.only_outputs()->view().flat();
    return {flat.begin(), flat.end()};
  }
  testing::ScratchFolder scratch_;
};

TEST_F(SimOutputs, ExactInferenceReportsItsProgressUntilAllIsDone) {
  std::mutex mutex;
  std::map<std::uint32_t, std::vector<InferenceReport>> reports;  // by process
  ClusterHooks hooks;
  hooks.on_infer = [&](const InferenceReport& report) {
    const std::lock_guard guard(mutex);
    reports[raw(report.process)].push_back(report);
  };
  ASSERT_OK(train({"cluster.hosts=2", "train.epochs=1"}, std::move(hooks)));

  const std::lock_guard guard(mutex);
  ASSERT_EQ(reports.size(), 2U);
  for (const auto& [process, of_process] : reports) {
    ASSERT_GE(of_process.size(), 2U);
    std::uint64_t before = 0;
    for (const auto& report : of_process) {
      EXPECT_EQ(report.layers, 2U);
      EXPECT_GT(report.done, before);
      before = report.done < report.total ? report.done : 0;  // after the epoch, and at the end
    }
    EXPECT_EQ(of_process.front().layer, 0U);
    EXPECT_EQ(of_process.back().layer, 1U);
    EXPECT_EQ(of_process.back().done, of_process.back().total);
  }
}

TEST_F(SimOutputs, TheTestSeedsOutputsAreThoseBehindTheReportedScore) {
  ASSERT_OK_AND_ASSIGN(const auto ready, prepare({"cluster.hosts=2"}));
  ASSERT_OK_AND_ASSIGN(const auto result, train({"cluster.hosts=2"}));

  ASSERT_NE(result.only_outputs(), nullptr);
  EXPECT_EQ(result.only_outputs()->rows(), 1000U);
  EXPECT_EQ(result.only_outputs()->cols(), 7U);
  ASSERT_OK_AND_ASSIGN(const auto graph, ready.store.load_part(PartId{0}));
  ASSERT_OK_AND_ASSIGN(const auto other, ready.store.load_part(PartId{1}));
  ASSERT_OK_AND_ASSIGN(const auto seeds, ready.store.seeds("", "test"));
  std::vector<std::int64_t> labels;
  for (const auto node : seeds.global) {
    const auto& nodes = (graph->nodes[0].owns(node) ? graph : other)->nodes[0];
    labels.push_back(nodes.labels[nodes.local(node)]);
  }
  const auto predicted = nn::predict_classes(result.only_outputs()->view());
  EXPECT_EQ(nn::accuracy(predicted, labels), result.record.test->accuracy);
}

TEST_F(SimOutputs, OutputsAreKeptOnlyIfTheJobWantsThem) {
  ASSERT_OK_AND_ASSIGN(const auto result, train({"eval.predictions=false", "train.epochs=1"}));

  EXPECT_EQ(result.only_outputs(), nullptr);
  EXPECT_TRUE(result.record.test);
}

TEST_F(SimOutputs, InferenceGivesTheBitsOfTheRunOnAnyCluster) {
  for (const char* kind : {"graphsage", "gcn"}) {
    SCOPED_TRACE(kind);
    const auto model = std::string("model.kind=") + kind;
    ASSERT_OK_AND_ASSIGN(const auto trained, train({"cluster.hosts=2", model}));
    const auto& best = trained.state->best;
    std::optional<std::vector<float>> embedded;
    for (const Settings& layout :
         {Settings{model}, Settings{model, "cluster.hosts=2"},
          Settings{model, "cluster.hosts=2", "partition.parts=4", "cluster.threads=1"},
          Settings{model, "cluster.hosts=3", "partition.parts=1", "cluster.trainers_per_host=2"}}) {
      SCOPED_TRACE(layout.back());
      ASSERT_OK_AND_ASSIGN(const auto logits, infer(layout, best, false, {"test"}));
      ASSERT_OK_AND_ASSIGN(const auto embeddings, infer(layout, best, true, {"test"}));

      EXPECT_EQ(numbers(logits), numbers(trained));
      EXPECT_EQ(logits.record.best_parameters, trained.record.best_parameters);
      EXPECT_TRUE(logits.record.epochs.empty());
      EXPECT_EQ(embeddings.only_outputs()->cols(), 16U);
      embedded = embedded.value_or(numbers(embeddings));
      EXPECT_EQ(numbers(embeddings), *embedded);
    }
    EXPECT_TRUE(std::ranges::all_of(*embedded, [](float x) { return x >= 0; })) << "after ReLU";
    EXPECT_TRUE(std::ranges::any_of(*embedded, [](float x) { return x > 0; }));
  }
}

TEST_F(SimOutputs, RowsAreInTheOrderOfTheRequest) {
  ASSERT_OK_AND_ASSIGN(const auto trained, train({"train.epochs=1"}));
  const auto file = scratch_.path() / "nodes.txt";
  ASSERT_OK(write_file_atomically(file, std::as_bytes(std::span("2707\n5\n1300\n", 12))));

  ASSERT_OK_AND_ASSIGN(const auto all, infer({}, trained.state->best, false, {"all"}));
  ASSERT_OK_AND_ASSIGN(const auto some,
                       infer({"cluster.hosts=2"}, trained.state->best, false, {file.string()}));

  ASSERT_EQ(some.only_outputs()->rows(), 3U);
  const std::vector<std::size_t> rows = {2707, 5, 1300};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(std::ranges::equal(some.only_outputs()->view().row(i),
                                   all.only_outputs()->view().row(rows[i])));
  }
}

/// It makes no batches there: a device needs no room for the rows of batches.
TEST_F(SimOutputs, InferenceAloneKeepsNoRowsOnDevices) {
  ASSERT_OK_AND_ASSIGN(const auto trained, train({"train.epochs=1"}));
  ASSERT_OK_AND_ASSIGN(const auto all, infer({}, trained.state->best, false, {"all"}));
  for (const char* const parts : {"partition.parts=1", "partition.parts=2"}) {
    ASSERT_OK_AND_ASSIGN(const auto there, infer({parts, "cluster.device=emulated:1,4MB",
                                                  "features.cache.device_budget=100%"},
                                                 trained.state->best, false, {"all"}));
    EXPECT_EQ(numbers(there), numbers(all)) << parts;
  }
}

TEST_F(SimOutputs, ParametersOfAnotherModelAreRefused) {
  EXPECT_FALSE(infer({}, std::vector<float>(3), false, {"test"}).ok());
}

// ---- the trace ----

/// What a trace holds, by the names of its lines.
struct Picture {
  std::map<std::string, std::set<std::string>> slices;         ///< by line, without " (2)"
  std::map<std::string, std::set<std::string>> lines_of_flow;  ///< by args.flow
  std::set<std::string> marks;
};

/// Reads a trace and checks what a viewer needs of every event.
Picture read_trace(const std::filesystem::path& file) {
  Picture picture;
  const auto text = read_text_file(file, 1U << 30);
  const auto trace = text.ok() ? json::parse(*text, nullptr, false) : json();
  EXPECT_TRUE(trace.is_object());
  std::map<std::pair<int, int>, std::string> lines;
  std::set<int> processes;
  for (const auto& event : trace["traceEvents"]) {
    if (event["name"] == "thread_name") {
      const auto name = event["args"]["name"].get<std::string>();
      lines[{event["pid"], event["tid"]}] = name.substr(0, name.find(" ("));
    } else if (event["name"] == "process_name") {
      processes.insert(event["pid"].get<int>());
    }
  }
  std::map<int, std::string> phases;  // of the flows
  for (const auto& event : trace["traceEvents"]) {
    const auto phase = event["ph"].get<std::string>();
    if (phase == "M") {
      continue;
    }
    EXPECT_TRUE(processes.contains(event["pid"].get<int>())) << event;
    const auto line = lines.find({event["pid"], event["tid"]});
    if (line == lines.end() || !event["ts"].is_number() || event["ts"] < 0) {
      ADD_FAILURE() << event;
      continue;
    }
    if (phase == "X") {
      EXPECT_GE(event["dur"], 0) << event;
      picture.slices[line->second].insert(event["name"].get<std::string>());
      if (event.contains("args")) {
        picture.lines_of_flow[event["args"]["flow"]].insert(line->second);
      }
    } else if (phase == "i") {
      picture.marks.insert(event["name"].get<std::string>());
    } else {
      phases[event["id"].get<int>()] += phase;
    }
  }
  for (const auto& [id, text_of] : phases) {
    EXPECT_EQ(text_of, "s" + std::string(text_of.size() - 2, 't') + "f") << id;
  }
  return picture;
}

bool has_kind(const std::set<std::string>& lines, const std::string& kind) {
  return std::ranges::any_of(lines, [&](const auto& line) { return line.starts_with(kind); });
}

TEST_F(SimOutputs, ATraceHasEveryActorAndFollowsEachBatchAndChangesNothing) {
  const Settings settings = {"cluster.hosts=2", "cluster.samplers_per_trainer=2",
                             "eval.mode=sampled", "checkpoint.every.epochs=1"};
  const auto tracer = std::make_shared<Tracer>();
  ASSERT_OK_AND_ASSIGN(const auto plain, train(settings));
  ASSERT_OK_AND_ASSIGN(const auto traced, train(settings, {.tracer = tracer}));
  const auto file = scratch_.path() / "trace.json";
  ASSERT_OK(tracer->write(file));

  EXPECT_EQ(traced.record.batches, plain.record.batches);
  EXPECT_EQ(traced.record.parameters, plain.record.parameters);
  EXPECT_EQ(traced.record.outputs, plain.record.outputs);
  const auto picture = read_trace(file);
  using Names = std::set<std::string>;
  const Names trainer = {"wait for a batch", "train", "score", "reduce gradients",
                         "update parameters"};
  for (const std::string rank : {"0", "1"}) {
    const auto name = "trainer of rank " + rank;
    EXPECT_EQ(picture.slices.at(name), trainer);
    EXPECT_EQ(picture.slices.at("collector of " + name), Names{"collect"});
    for (const std::string sampler : {"0", "1"}) {
      EXPECT_EQ(picture.slices.at("sampler " + sampler + " of " + name), (Names{"hop", "sample"}));
    }
    EXPECT_EQ(picture.slices.at("holder of part " + rank),
              (Names{"read rows", "sample neighbours"}));
  }
  EXPECT_EQ(picture.slices.at("evaluator"), (Names{"compute a block", "infer a layer"}));
  EXPECT_EQ(picture.slices.at("director"), (Names{"begin", "train an epoch", "infer a layer",
                                                  "score", "keep the best parameters", "finish"}));

  auto documented = testing::documented_keys("Slices");
  EXPECT_EQ(documented.erase("recover"), 1U);  // nothing was lost
  Names seen;
  for (const auto& [line, names] : picture.slices) {
    seen.insert(names.begin(), names.end());
  }
  EXPECT_EQ(seen, documented);

  std::uint64_t batches = 0;
  for (const auto& [flow, lines] : picture.lines_of_flow) {
    EXPECT_TRUE(has_kind(lines, "sampler") && has_kind(lines, "collector")) << flow;
    EXPECT_NE(has_kind(lines, "trainer"), has_kind(lines, "evaluator")) << flow;
    EXPECT_TRUE(has_kind(lines, "holder") || has_kind(lines, "trainer")) << flow;
    batches += has_kind(lines, "trainer") ? 1U : 0U;
  }
  // Cora's 140 training seeds in 5 batches of 32, its 500 for validation in 16, twice each.
  EXPECT_EQ(batches, 2U * (5 + 16));
}

TEST_F(SimOutputs, LossesAndWhatIsDoneAboutThemAreMarked) {
  const auto tracer = std::make_shared<Tracer>();
  ASSERT_OK_AND_ASSIGN(const auto ready, prepare({"cluster.hosts=2", "train.epochs=4"}));
  ClusterHooks hooks;
  hooks.tracer = tracer;
  SimulatedCluster* running = nullptr;
  std::atomic<bool> killed{false};
  hooks.on_step = [&](const StepReport& step) {
    if (raw(step.rank) == 0 && step.global_step == 3 && !killed.exchange(true)) {
      running->kill(ProcessId{1}, "trainer of rank 1");
    }
  };
  ASSERT_OK_AND_ASSIGN(const auto cluster,
                       SimulatedCluster::create(ready.job, ready.store, std::move(hooks)));
  running = cluster.get();

  ASSERT_OK(cluster->run({.write_checkpoint = [](const Checkpoint&) { return ok_status(); }}));

  ASSERT_OK(tracer->write(scratch_.path() / "trace.json"));
  const auto picture = read_trace(scratch_.path() / "trace.json");
  // The director's watch sees the loss, or else the evaluator that reads the trainer's parameters.
  EXPECT_TRUE(std::ranges::any_of(picture.marks, [](const std::string& mark) {
    return (mark.find("trainer 1") != std::string::npos ||
            mark.find("evaluator of host 1: exact inference on host 1: reading the parameters of "
                      "this host's trainer") != std::string::npos) &&
           mark.find("go back to step") != std::string::npos;
  })) << ::testing::PrintToString(picture.marks);
  EXPECT_TRUE(picture.slices.at("director").contains("recover"));
}

}  // namespace
}  // namespace troupe
