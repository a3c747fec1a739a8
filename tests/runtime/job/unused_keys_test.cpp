#include "runtime/job/unused_keys.hpp"

#include "runtime/job/job_file.hpp"
#include "tests/support/expect.hpp"

#include <string>
#include <vector>

namespace troupe {
namespace {

using Texts = std::vector<std::string>;

/// Pointers of what a job with these overrides does not use.
Texts unused_with(const Texts& overrides) {
  const auto reading =
      parse_job(R"({"dataset": {"path": "."}, "sample": {"fanout": [2, 2]}})", ".", overrides);
  EXPECT_OK(reading);
  EXPECT_EQ(to_string(reading->problems), "");
  Texts pointers;
  for (const auto& key : unused_keys(reading->job)) {
    pointers.push_back(key.pointer);
  }
  return pointers;
}

struct Use {
  std::string key;    ///< With a value that is not the default
  Texts by_default;   ///< More overrides, with which nothing reads it
  Texts with_reader;  ///< Overrides with which something does
};

const std::vector<Use> uses = {
    {"partition.passes=9", {}, {"partition.method=fennel"}},
    {"partition.balance=[\"edges\"]", {"partition.method=hash"}, {"partition.method=ldg"}},
    {"partition.imbalance=1.5", {}, {"partition.method=metis"}},
    {"partition.objective=volume", {"partition.method=ldg"}, {"partition.method=multilevel"}},
    {"partition.recursive=true", {}, {"partition.method=metis"}},
    {"partition.tries=3", {"partition.method=fennel"}, {"partition.method=metis"}},
    {"partition.file=p.npy", {}, {"partition.method=file"}},
    {"partition.seed=5", {"partition.method=range"}, {"partition.method=random"}},
    {"features.cache.presample_batches=7",
     {"features.cache.policy=future", "features.cache.ratio=0.1"},
     {"features.cache.policy=presample", "features.cache.ratio=0.1"}},
    {"features.cache.lookahead=7",
     {"features.cache.policy=presample", "features.cache.ratio=0.1"},
     {"features.cache.policy=future", "features.cache.ratio=0.1"}},
    {"features.cache.measure=true",
     {},
     {"features.cache.policy=degree", "features.cache.ratio=0.1"}},
    {"features.cache.device_budget=4GB", {}, {"cluster.device=emulated:1"}},
    {"dataset.seeds.times.train=t.npy",
     {"dataset.seeds.train=s.npy"},
     {"dataset.seeds.train=s.npy", "sample.time.of=split"}},
    {"dataset.seeds.times.val=t.npy",
     {"dataset.seeds.val=s.npy", "task.kind=link"},
     {"dataset.seeds.val=s.npy", "task.kind=link", "sample.time.of=split"}},
    {"features.normalize=row", {"features.collect=false"}, {}},
    {"features.normalize=column", {"task.kind=knowledge", "sample.fanout=[0]"}, {}},
    {"features.cache.policy=degree",
     {"features.collect=false", "features.cache.ratio=0.1"},
     {"features.cache.ratio=0.1"}},
    {"sample.replace=true", {"task.kind=walk", "sample.fanout=[1]"}, {}},
    {"sample.frontier=all", {"task.kind=walk", "sample.fanout=[1]"}, {}},
    {"sample.frontier=all", {"sample.fanout=[2]"}, {}},
    {"sample.fanout=[3, 3]", {"task.kind=walk"}, {}},
    {"sample.choice=labor", {"model.layers=0", "task.kind=link", "sample.fanout=[0]"}, {}},
    {"sample.cache.budget=1MB", {"task.kind=knowledge", "sample.fanout=[0]"}, {}},
    {"model.hidden=9", {"sample.fanout=[2]"}, {"sample.fanout=[2]", "task.kind=link"}},
    {"model.hidden=8", {"task.kind=knowledge", "sample.fanout=[0]"}, {}},
    {"model.activation=elu", {"sample.fanout=[2]"}, {}},
    {"model.norm=batch", {"sample.fanout=[2]"}, {}},
    {"model.dropout=0.5", {"sample.fanout=[2]"}, {}},
    {"model.aggregator=sum",
     {"model.layers=0", "task.kind=link", "sample.fanout=[0]"},
     {"sample.fanout=[2]"}},
    {"train.optimizer.lr=0.5",
     {"model.layers=0", "task.kind=link", "sample.fanout=[0]"},
     {"model.layers=0", "task.kind=link", "sample.fanout=[0]", "task.decoder.kind=mlp"}},
    {"task.reverse=edge", {"task.kind=link", "task.exclude=none"}, {"task.kind=link"}},
    {"sample.device_lists=pinned", {}, {"cluster.device=cuda"}},
    {"cluster.server_of_rank=nearest",
     {"cluster.placement=worker"},
     {"cluster.placement=server_client"}},
    {"cluster.trainers_per_host=2",
     {"cluster.placement=explicit", "cluster.processes=[\"host=0 parts=0 ranks=0\"]"},
     {}},
    {"cluster.prefetch=9", {}, {"cluster.placement=server_client"}},
    {"cluster.network.latency_us=5", {"cluster.launch=local"}, {}},
    {"cluster.ssh.user=me", {}, {"cluster.launch=ssh", "cluster.hosts=[\"a\"]"}},
    {"cluster.slurm.account=us", {"cluster.launch=local"}, {"cluster.launch=slurm"}},
    {"cluster.slurm.nodes=3", {}, {"cluster.launch=slurm"}},
    {"cluster.listen=127.0.0.1:0", {}, {"cluster.launch=local"}},
    {"cluster.transport=tcp", {}, {"cluster.launch=local"}},
    {"cluster.tls=false", {}, {"cluster.launch=local"}},
    {"cluster.trusted_network=true", {}, {"cluster.launch=local"}},
    {"cluster.join_deadline=9", {}, {"cluster.launch=local"}},
    {"cluster.token_file=t", {}, {"cluster.launch=manual", "cluster.listen=127.0.0.1:0"}},
    {"task.decoder.kind=distmult", {}, {"task.kind=link", "task.negatives.kind=binary"}},
    {"task.decoder.hidden=9", {"task.kind=link"}, {"task.kind=link", "task.decoder.kind=mlp"}},
    {"task.negatives.per_positive=3",
     {"task.kind=link"},
     {"task.kind=link", "task.negatives.kind=binary"}},
    {"task.negatives.by=degree", {}, {"task.kind=link", "task.negatives.kind=triplet"}},
    {"task.negatives.strict=true", {}, {"task.kind=link", "task.negatives.kind=triplet"}},
    {"task.negatives.tries=9",
     {"task.kind=link", "task.negatives.kind=binary"},
     {"task.kind=link", "task.negatives.kind=binary", "task.negatives.strict=true"}},
    {"eval.negatives.per_positive=3", {}, {"task.kind=link"}},
    {"eval.negatives.strict=true",
     {"task.kind=link", "eval.negatives.val=n.npy"},
     {"task.kind=link"}},
    {"train.patience=3", {"eval.every=0"}, {"eval.every=2"}},
    {"eval.max_batches=3", {}, {"eval.mode=sampled"}},
    {"eval.max_batches=2", {}, {"task.kind=knowledge", "sample.fanout=[0]"}},
    {"eval.ends=source", {"task.kind=link"}, {"task.kind=link", "eval.ranks=all"}},
};

std::string pointer_of(const std::string& override_text) {
  std::string pointer = "/" + override_text.substr(0, override_text.find('='));
  for (char& c : pointer) {
    c = c == '.' ? '/' : c;
  }
  return pointer;
}

Texts joined(const std::string& key, Texts others) {
  others.push_back(key);
  return others;
}

TEST(UnusedKeys, AreNamedUnlessSomethingReadsThem) {
  for (const auto& use : uses) {
    SCOPED_TRACE(use.key);
    EXPECT_EQ(unused_with(joined(use.key, use.by_default)), Texts{pointer_of(use.key)});
    EXPECT_EQ(unused_with(joined(use.key, use.with_reader)), Texts());
  }
}

TEST(UnusedKeys, ValuesThatAKeyHasAnywayAreNotNamed) {
  EXPECT_EQ(unused_with({}), Texts());
  EXPECT_EQ(unused_with({"partition.passes=3", "task.decoder.kind=dot", "eval.max_batches=0",
                         "cluster.batches_in_flight=7", "cluster.prefetch=7",
                         "features.cache.device_budget=auto"}),
            Texts());
}

TEST(UnusedKeys, OfACompleteJobAreThoseOfTheJobItWasMadeFrom) {
  const auto first = parse_job(R"({"dataset": {"path": "."}, "sample": {"fanout": [2, 2]},
                                   "partition": {"passes": 9}})",
                               ".", {});
  ASSERT_OK(first);
  const auto again = parse_job(first->job.json, ".", {});
  ASSERT_OK(again);
  EXPECT_EQ(unused_keys(again->job), unused_keys(first->job));
  EXPECT_EQ(unused_keys(again->job).size(), 1U);
}

TEST(UnusedKeys, SayWhatWouldReadThem) {
  EXPECT_EQ(to_string(UnusedKey{"/partition/passes", "partition.method ldg, fennel"}),
            "not used: /partition/passes, which is for partition.method ldg, fennel");
}

}  // namespace
}  // namespace troupe
