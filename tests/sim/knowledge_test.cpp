// Knowledge graphs: whatever the layout, the same batches, rows, relations and ranks.
#include "launcher/prepare_store.hpp"
#include "launcher/read_job.hpp"
#include "launcher/session_cluster.hpp"
#include "runtime/base/philox.hpp"
#include "runtime/data/stream_store.hpp"
#include "runtime/data/triples_import.hpp"
#include "runtime/job/job_file.hpp"
#include "tests/sim/sim_support.hpp"
#include "tests/support/expect.hpp"

#include <fmt/format.h>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using Settings = std::vector<std::string>;

/// Layouts that must not be seen, of so many ranks.
std::vector<std::pair<std::uint32_t, Settings>> knowledge_layouts() {
  return {{4, {"cluster.hosts=1", "cluster.trainers_per_host=4", "partition.parts=1"}},
          {4, {"cluster.hosts=2", "cluster.trainers_per_host=2", "partition.parts=3"}},
          {4, {"cluster.hosts=4", "partition.parts=4"}},
          {4, {"cluster.hosts=4", "partition.parts=2", "cluster.network.latency_us=300"}},
          {2, {"cluster.hosts=1", "cluster.trainers_per_host=2", "partition.parts=5"}},
          {2, {"cluster.hosts=2", "cluster.replicas=2", "partition.parts=2"}},
          {2, {"cluster.hosts=2", "cluster.placement=worker", "partition.parts=3"}},
          {2, {"cluster.hosts=2", "partition.parts=2", "cluster.threads=1"}},
          {2, {"cluster.hosts=2", "partition.parts=2", "cluster.threads=2"}},
          {2, {"cluster.hosts=2", "cluster.window=65536", "partition.parts=2"}},
          {2, {"cluster.hosts=2", "cluster.placement=server_client", "partition.parts=2"}},
          {1, {"partition.parts=1"}},
          {1, {"partition.parts=2"}},
          {1, {"partition.parts=3"}},
          {1, {"partition.parts=5"}}};
}

class KnowledgeRun : public ::testing::Test {
 protected:
  void SetUp() override {
    InlineExecutor executor;
    const auto family =
        std::filesystem::path(TROUPE_SOURCE_DIR) / "examples" / "knowledge" / "family";
    ASSERT_OK(import_triples({{family}}, scratch_.path() / "graph", {{}, true}, executor));
  }

  Result<JobReading> reading(const Settings& settings) const {
    const auto text =
        fmt::format(R"({{
      "dataset": {{ "path": "{}" }},
      "task": {{ "kind": "knowledge", "chunk": 64, "negatives": {{ "per_chunk": 32 }} }},
      "sample": {{ "batch_size": 150 }},
      "embedding": {{ "entity": {{ "dim": 16, "init": {{ "kind": "uniform", "scale": 0.1 }} }} }},
      "train": {{ "epochs": 2, "optimizer": {{ "kind": "adagrad", "lr": 0.1 }} }},
      "seed": 3,
      "output": "{}"
    }})",
                    (scratch_.path() / "graph").string(), (scratch_.path() / "out").string());
    return parse_job(text, "", settings);
  }

  Result<RunRecord> run(const Settings& settings) const {
    TROUPE_ASSIGN_OR_RETURN(auto read, reading(settings));
    if (!read.problems.empty()) {
      return Error(Errc::invalid_argument, to_string(read.problems));
    }
    return testing::run_job(std::move(read.job));
  }

  void expect_same_in_all_layouts(const Settings& way) const {
    std::optional<Digest> batches;
    std::map<std::uint32_t, RunRecord> by_world;
    for (const auto& [world, layout] : knowledge_layouts()) {
      SCOPED_TRACE(layout.front() + " " + layout.back());
      auto settings = way;
      settings.insert(settings.end(), layout.begin(), layout.end());
      ASSERT_OK_AND_ASSIGN(const auto record, run(settings));
      batches = batches.value_or(*record.batches);
      EXPECT_EQ(to_string(*record.batches), to_string(*batches));
      const auto& first = by_world.emplace(world, record).first->second;
      EXPECT_EQ(to_string(record.parameters), to_string(first.parameters));
      EXPECT_EQ(to_string(record.best_parameters), to_string(first.best_parameters));
      EXPECT_EQ(record.tensors, first.tensors);
      EXPECT_EQ(to_string(record.outputs), to_string(first.outputs)) << "ranks";
      EXPECT_EQ(record.valid->by_name("mrr"), first.valid->by_name("mrr"));
    }
    EXPECT_EQ(by_world.size(), 3U);
  }

  testing::ScratchFolder scratch_;
};

/// After one epoch, so that the best one is the same for all.
TEST_F(KnowledgeRun, RanksOfOneEndAreThoseAmongBoth) {
  ASSERT_OK_AND_ASSIGN(const auto both, run({"train.epochs=1", "partition.parts=2"}));
  ASSERT_OK_AND_ASSIGN(const auto tails,
                       run({"train.epochs=1", "eval.ends=destination", "partition.parts=2"}));
  ASSERT_OK_AND_ASSIGN(const auto heads, run({"train.epochs=1", "eval.ends=source"}));

  EXPECT_EQ(to_string(*tails.batches), to_string(*both.batches));
  EXPECT_EQ(tails.parameters, both.parameters);
  EXPECT_NE(to_string(tails.outputs), to_string(both.outputs)) << "counts of one end";
  for (const char* score : {"mrr", "mr", "hits@10"}) {
    EXPECT_NEAR((*tails.valid->by_name(score) + *heads.valid->by_name(score)) / 2,
                *both.valid->by_name(score), 1e-9)
        << score;
    EXPECT_NE(*tails.valid->by_name(score), *heads.valid->by_name(score)) << score;
  }
}

/// A program of a user's own gets the triples and candidates of the built-in trainer.
TEST_F(KnowledgeRun, OfAProgramHasTheSameBatches) {
  const Settings way{"cluster.hosts=2", "partition.parts=3"};
  ASSERT_OK_AND_ASSIGN(const auto built_in, run(way));
  ASSERT_OK_AND_ASSIGN(auto read, reading(way));
  ASSERT_OK_AND_ASSIGN(const auto store, prepare_store(read.job, [](const std::string&) {}));
  ASSERT_TRUE(fit_to_graph_or_print(read.job, store.info(), JobTrainer::own));
  ASSERT_OK_AND_ASSIGN(auto cluster, SessionCluster::create(read.job, store, {}));
  cluster->start([](Session& session) -> Status {
    const auto facts = session.triples();
    EXPECT_TRUE(facts);
    EXPECT_GT(facts->relations, 1U);
    EXPECT_EQ(facts->chunks.triples, 64U);
    EXPECT_EQ(facts->chunks.negatives, 32U);
    for (std::uint32_t e = 0; e < session.epochs(); ++e) {
      for (const Batch& batch : session.epoch(e)) {
        const auto& links = *batch.sampled->links;
        EXPECT_EQ(links.candidates.size(), facts->chunks.chunks_of(links.sources.size()) * 32);
        EXPECT_EQ(links.labels.size(), links.sources.size());
        EXPECT_TRUE(links.negative_sources.empty());
        TROUPE_RETURN_IF_ERROR(session.end_step());
      }
    }
    return session.status();
  });
  const auto ran = cluster->wait();
  ASSERT_OK(ran.status);
  EXPECT_EQ(to_string(ran.batches), to_string(*built_in.batches));
}

TEST_F(KnowledgeRun, IsTheSameInAllLayouts) {
  expect_same_in_all_layouts({});
}

TEST_F(KnowledgeRun, OfDistancesIsTheSameInAllLayouts) {
  expect_same_in_all_layouts({"task.score.kind=rotate", "train.margin=6", "train.epochs=1",
                              "task.regularization.kind=l2", "task.regularization.factor=0.001"});
}

/// Ranks of one host wait for rows in one window, where one request fills it: that of a step must not wait
/// behind one for the step after.
TEST_F(KnowledgeRun, RowsThatAreAskedForAheadAreInNobodysWay) {
  const Settings wide{"embedding.entity.dim=512", "cluster.hosts=2", "cluster.trainers_per_host=2",
                      "partition.parts=2", "train.epochs=1"};
  auto narrow = wide;
  narrow.emplace_back("cluster.window=65536");
  ASSERT_OK_AND_ASSIGN(const auto free, run(wide));
  ASSERT_OK_AND_ASSIGN(const auto one_by_one, run(narrow));
  EXPECT_EQ(one_by_one.tensors, free.tensors);
  EXPECT_EQ(to_string(one_by_one.parameters), to_string(free.parameters));
}

TEST_F(KnowledgeRun, DevicesHaveTheBitsOfTheCpu) {
  const std::vector<Settings> ways = {
      {"task.score.kind=transe", "task.score.norm=1", "train.margin=3"},
      {"task.score.kind=distmult", "train.loss=softmax"},
      {"task.score.kind=complex", "train.loss=softmax", "task.regularization.kind=n3",
       "task.regularization.factor=0.001"},
      {"task.score.kind=rotate", "train.margin=6"}};
  for (const auto& way : ways) {
    SCOPED_TRACE(way.front());
    auto settings = way;
    settings.insert(settings.end(), {"cluster.hosts=2", "partition.parts=2"});
    ASSERT_OK_AND_ASSIGN(const auto on_cpu, run(settings));
    settings.emplace_back("cluster.device=emulated:2");
    ASSERT_OK_AND_ASSIGN(const auto there, run(settings));

    EXPECT_EQ(there.batches, on_cpu.batches);
    EXPECT_EQ(to_string(there.parameters), to_string(on_cpu.parameters));
    EXPECT_EQ(there.tensors, on_cpu.tensors);
    EXPECT_EQ(there.outputs, on_cpu.outputs);
    EXPECT_EQ(there.epochs.back().loss, on_cpu.epochs.back().loss);
  }
}

/// Better than by chance, where a rank is 1 of 334 and the mean of reciprocal ranks is 0.02.
TEST_F(KnowledgeRun, EveryScoreLearns) {
  const std::map<std::string, double> at_least{
      {"transe", 0.15}, {"distmult", 0.15}, {"complex", 0.15}, {"rotate", 0.15}};
  for (const auto& [kind, mrr] : at_least) {
    const bool distance = kind == "transe" || kind == "rotate";
    ASSERT_OK_AND_ASSIGN(
        const auto record,
        run({"task.score.kind=" + kind, "cluster.hosts=2", "partition.parts=2", "train.epochs=30",
             "eval.every=10", distance ? "train.margin=3" : "train.loss=softmax",
             std::string("embedding.entity.init.scale=") + (distance ? "0.5" : "0.1")}));
    EXPECT_GT(*record.test->by_name("mrr"), mrr) << kind;
    EXPECT_LT(record.epochs.back().loss, record.epochs.front().loss) << kind;
    EXPECT_EQ(record.test->labelled, 141U);
    EXPECT_GE(*record.test->by_name("hits@10"), *record.test->by_name("hits@1"));
    EXPECT_GT(record.epochs.front().counters.learned_rows, 0U);
  }
}

TEST_F(KnowledgeRun, OwnCandidatesNeedNobody) {
  const Settings own{"task.negatives.from=own", "cluster.hosts=2", "partition.parts=2"};
  ASSERT_OK_AND_ASSIGN(const auto record, run(own));
  ASSERT_OK_AND_ASSIGN(const auto again, run(own));
  ASSERT_OK_AND_ASSIGN(const auto all, run({"cluster.hosts=2", "partition.parts=2"}));
  EXPECT_EQ(record.tensors, again.tensors);
  EXPECT_NE(*record.batches, *all.batches);
}

TEST_F(KnowledgeRun, BestEpochIsThatOfTheBestRanks) {
  ASSERT_OK_AND_ASSIGN(const auto record, run({"train.epochs=6"}));
  double best = 0;
  std::uint32_t epoch = 0;
  for (const auto& of_epoch : record.epochs) {
    ASSERT_TRUE(of_epoch.valid.has_value());
    const auto mrr = *of_epoch.valid->by_name("mrr");
    if (mrr > best) {
      best = mrr;
      epoch = of_epoch.epoch;
    }
  }
  EXPECT_EQ(record.best_epoch, epoch);
  EXPECT_EQ(record.valid->by_name("mrr"), best) << "ranked with the rows of that epoch";
}

TEST_F(KnowledgeRun, WhatIsNotReadIsRefused) {
  for (const Settings& wrong : std::vector<Settings>{{"sample.fanout=[5]"},
                                                     {"model.layers=2"},
                                                     {"model.dropout=0.5"},
                                                     {"eval.mode=sampled"},
                                                     {"train.loss=bce"},
                                                     {"task.score.unit=true"},
                                                     {"task.score.norm=1"},
                                                     {"task.regularization.kind=n3"},
                                                     {"task.negatives.kind=binary"},
                                                     {"model.kind=gat"},
                                                     {"eval.metric=auc"},
                                                     {"task.exclude=none"}}) {
    ASSERT_OK_AND_ASSIGN(const auto read, reading(wrong));
    EXPECT_EQ(read.problems.size(), 1U) << wrong.front() << "\n" << to_string(read.problems);
  }
  EXPECT_FALSE(run({"embedding.entity.dim=15", "task.score.kind=complex"}).ok());
}

/// 60 entities and four relations as links with labels, drawn at random.
Status write_random_triples(const std::filesystem::path& out, bool times) {
  InlineExecutor executor;
  TROUPE_ASSIGN_OR_RETURN(auto writer, StoreWriter::create(out, {}, executor));
  TROUPE_ASSIGN_OR_RETURN(const auto entity, writer.add_node_type({"entity", 60, {}, {}}));
  TROUPE_ASSIGN_OR_RETURN(const auto related, writer.add_edge_type({"related", entity, entity}));
  DrawStream draw(stream_key(5, {.domain = Domain::generators}), 0);
  for (const auto& [role, count] :
       {std::pair{"train", 400}, std::pair{"val", 40}, std::pair{"test", 40}}) {
    std::vector<std::uint64_t> heads;
    std::vector<std::uint64_t> tails;
    std::vector<float> relations;
    std::vector<std::int64_t> at;
    for (int i = 0; i < count; ++i) {
      heads.push_back(draw.below(60));
      tails.push_back(draw.below(60));
      relations.push_back(static_cast<float>(draw.below(4)));
      at.push_back(static_cast<std::int64_t>(draw.below(1000)));
    }
    if (role == std::string("train")) {
      TROUPE_RETURN_IF_ERROR(writer.add_edges(related, {.sources = heads, .destinations = tails}));
    }
    TROUPE_RETURN_IF_ERROR(writer.open_links(
        "", role, {.type = related, .times = times, .labels = true, .relations = 4}));
    TROUPE_RETURN_IF_ERROR(writer.add_links(
        "", role,
        {.sources = heads,
         .destinations = tails,
         .times = times ? std::span<const std::int64_t>(at) : std::span<const std::int64_t>(),
         .labels = relations}));
  }
  return writer.finish().ok() ? ok_status() : Status(Error(Errc::internal, "the store"));
}

/// Nothing that a knowledge task does depends on when a triple was true.
TEST_F(KnowledgeRun, TimesOfTriplesAreNotRead) {
  ASSERT_OK(write_random_triples(scratch_.path() / "plain", false));
  ASSERT_OK(write_random_triples(scratch_.path() / "timed", true));
  const auto of_store = [&](const char* name) {
    return run({"dataset.path=" + (scratch_.path() / name).string(), "cluster.hosts=2",
                "partition.parts=2"});
  };
  ASSERT_OK_AND_ASSIGN(const auto plain, of_store("plain"));
  ASSERT_OK_AND_ASSIGN(const auto timed, of_store("timed"));

  EXPECT_EQ(timed.batches, plain.batches);
  EXPECT_EQ(to_string(timed.parameters), to_string(plain.parameters));
  EXPECT_EQ(timed.tensors, plain.tensors);
  EXPECT_EQ(to_string(timed.outputs), to_string(plain.outputs)) << "ranks";

  EXPECT_ERROR(run({"sample.time.of=split"}), Errc::invalid_argument,
               "/sample/time/of: expected none with task.kind \"knowledge\"");
  EXPECT_ERROR(run({"sample.time.at=7"}), Errc::invalid_argument, "/sample/time/");
}

}  // namespace
}  // namespace troupe
