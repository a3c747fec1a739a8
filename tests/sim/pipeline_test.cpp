// Asynchronous for real: many batches are in flight, in different hops, and a slow holder delays
// only who needs it.
#include "actors/error.hpp"
#include "actors/message.hpp"
#include "launcher/prepare_store.hpp"
#include "launcher/simulated_cluster.hpp"
#include "runtime/feature/row_request.hpp"
#include "runtime/sample/one_hop.hpp"
#include "runtime/sample/seed_order.hpp"
#include "tests/sim/sim_support.hpp"
#include "tests/support/expect.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <numeric>
#include <set>

namespace troupe {
namespace {

using namespace std::chrono_literals;

struct HopEvent {
  BatchKey key;
  std::uint64_t batch;
  std::uint32_t hop;
  std::chrono::steady_clock::time_point at;
};

/// What samplers did, in order.
class EventLog {
 public:
  void add(const BatchKey& key, std::uint32_t hop) {
    const std::lock_guard guard(mutex_);
    events_.push_back({key, key.number, hop, std::chrono::steady_clock::now()});
  }
  std::vector<HopEvent> events() const {
    const std::lock_guard guard(mutex_);
    return events_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<HopEvent> events_;
};

class Pipeline : public ::testing::Test {
 protected:
  /// Two hosts with one part, one trainer and one sampler each; 8 seeds per batch, fanout [5, 5,
  /// 5], 5 ms each way.
  RunRecord run(const std::string& in_flight, ClusterHooks hooks,
                const std::string& batch_size = "8") {
    hooks.take_only = true;
    auto job = testing::cora_job(
        scratch_.path(),
        {"dataset.path=" + narrow_cora().string(), "cluster.hosts=2", "partition.parts=2",
         "sample.fanout=[5,5,5]", "model.layers=3", "sample.batch_size=" + batch_size,
         "cluster.network.latency_us=5000", "train.epochs=1", "features.normalize=none",
         "digest=ids", "cluster.batches_in_flight=" + in_flight});
    EXPECT_OK(job);
    auto record = testing::run_job(*job, std::move(hooks));
    EXPECT_OK(record);
    return record ? *record : RunRecord{};
  }

  /// Cora with 16 feature columns, its first 2,048 nodes as training seeds.
  std::filesystem::path narrow_cora();

  testing::ScratchFolder scratch_;
};

void write_npy(const std::filesystem::path& file, const std::string& descr,
               const std::string& shape, std::span<const std::byte> data) {
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", descr, shape);
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  std::FILE* out = std::fopen(file.c_str(), "wb");
  ASSERT_NE(out, nullptr);
  const auto length = static_cast<std::uint16_t>(header.size());
  std::fwrite("\x93NUMPY\x01\x00", 1, 8, out);
  std::fwrite(&length, 2, 1, out);
  std::fwrite(header.data(), 1, header.size(), out);
  std::fwrite(data.data(), 1, data.size(), out);
  std::fclose(out);
}

std::vector<std::int32_t> first_numbers(std::size_t n) {
  std::vector<std::int32_t> numbers(n);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// `n` nodes with one self loop each, all of them training seeds.
void write_loops(const std::filesystem::path& dir, std::size_t n) {
  std::filesystem::create_directories(dir);
  const auto nodes = first_numbers(n);
  auto edges = nodes;
  edges.insert(edges.end(), nodes.begin(), nodes.end());
  const std::vector<float> x(n, 1.0F);
  const std::vector<std::int64_t> y(n, 0);
  const auto one = fmt::format("({},)", n);
  write_npy(dir / "edge_index.npy", "<i4", fmt::format("(2, {})", n),
            std::as_bytes(std::span(edges)));
  write_npy(dir / "x.npy", "<f4", fmt::format("({}, 1)", n), std::as_bytes(std::span(x)));
  write_npy(dir / "y.npy", "<i8", one, std::as_bytes(std::span(y)));
  write_npy(dir / "train_idx.npy", "<i4", one, std::as_bytes(std::span(nodes)));
}

std::filesystem::path Pipeline::narrow_cora() {
  const auto dir = scratch_.path() / "narrow";
  if (std::filesystem::exists(dir)) {
    return dir;
  }
  std::filesystem::create_directories(dir);
  const auto cora = std::filesystem::path(TROUPE_SOURCE_DIR) / "examples/data/cora";
  std::filesystem::copy(cora / "edge_index.npy", dir / "edge_index.npy");
  std::filesystem::copy(cora / "y.npy", dir / "y.npy");
  std::vector<float> x(2708 * 16);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i % 97);
  }
  write_npy(dir / "x.npy", "<f4", "(2708, 16)", std::as_bytes(std::span(x)));
  const auto train = first_numbers(2048);
  write_npy(dir / "train_idx.npy", "<i4", "(2048,)", std::as_bytes(std::span(train)));
  return dir;
}

TEST_F(Pipeline, SixteenBatchesInFlightAreEightTimesAsFastAsOne) {
  const auto one = run("1", {});
  const auto sixteen = run("16", {});

  ASSERT_EQ(one.epochs.size(), 1U);
  ASSERT_EQ(sixteen.epochs.size(), 1U);
  EXPECT_EQ(sixteen.epochs[0].counters.batches, 256U);
  EXPECT_EQ(one.batches, sixteen.batches);
  const double gain = one.epochs[0].seconds / sixteen.epochs[0].seconds;
  RecordProperty("gain", fmt::format("{:.1f}", gain));
  fmt::print("256 batches at 5 ms latency: {:.2f} s with 1 in flight, {:.2f} s with 16: {:.1f} x\n",
             one.epochs[0].seconds, sixteen.epochs[0].seconds, gain);
  EXPECT_GE(gain, 8.0);
}

TEST_F(Pipeline, BatchesInFlightGrowWhileRanksWaitForThem) {
  const auto four = run("4", {});
  // It grows by times of steps, which other programs on the machine may spoil.
  constexpr int tries = 3;
  auto grown = run("auto", {});
  for (int i = 1; i < tries && grown.epochs.at(0).counters.batches_in_flight <= 8; ++i) {
    grown = run("auto", {});
  }

  ASSERT_EQ(four.epochs.size(), 1U);
  ASSERT_EQ(grown.epochs.size(), 1U);
  EXPECT_EQ(four.epochs[0].counters.batches_in_flight, 4U);
  EXPECT_GT(grown.epochs[0].counters.batches_in_flight, 8U);
  EXPECT_LE(grown.epochs[0].counters.batches_in_flight, 32U);
  EXPECT_EQ(four.batches, grown.batches);
  fmt::print("128 steps at 5 ms latency: {:.2f} s with 4 in flight, {:.2f} s with 4 to {}\n",
             four.epochs[0].seconds, grown.epochs[0].seconds,
             grown.epochs[0].counters.batches_in_flight);
}

TEST_F(Pipeline, AllThatAJobMayAskForIsInFlightAtOnce) {
  const auto record = run("1024", {}, "1");  // 1024 batches per rank

  ASSERT_EQ(record.epochs.size(), 1U);
  EXPECT_EQ(record.epochs[0].counters.batches, 2048U);
}

TEST_F(Pipeline, OneSamplerHasBatchesInDifferentHopsAtOnce) {
  EventLog log;

  run("16", {.on_hop = [&log](const BatchKey& key, std::uint32_t hop) { log.add(key, hop); }});

  // Rank 0 has the even batches and one sampler. Replay: which hop is each of its batches in?
  std::map<std::uint64_t, std::uint32_t> hop_of;
  std::size_t most_hops_at_once = 0;
  std::size_t most_batches_at_once = 0;
  for (const auto& event : log.events()) {
    if (event.batch % 2 != 0) {
      continue;
    }
    if (event.hop == 3) {
      hop_of.erase(event.batch);
    } else {
      hop_of[event.batch] = event.hop;
    }
    std::set<std::uint32_t> hops;
    for (const auto& [batch, hop] : hop_of) {
      hops.insert(hop);
    }
    most_hops_at_once = std::max(most_hops_at_once, hops.size());
    most_batches_at_once = std::max(most_batches_at_once, hop_of.size());
  }
  EXPECT_GE(most_hops_at_once, 2U);
  EXPECT_GE(most_batches_at_once, 8U);
}

/// Passes requests on to `holder`, each after `delay`.
struct SlowHolderState {
  std::map<std::uint64_t, std::pair<Ref<HopRequest>, caf::response_promise>> waiting;
  std::uint64_t next = 0;
};
caf::behavior slow_holder(caf::stateful_actor<SlowHolderState>* self, const caf::actor& holder,
                          std::chrono::milliseconds delay) {
  return {
      [=](const Ref<HopRequest>& request) {
        const auto id = self->state.next++;
        self->state.waiting[id] = {request, self->make_response_promise()};
        self->delayed_send(self, delay, id);
      },
      [=](std::uint64_t id) {
        auto node = self->state.waiting.extract(id);
        auto& [request, promise] = node.mapped();
        promise.delegate(holder, request);
      },
      [=](const Ref<RowRequest>& request) { return self->delegate(holder, request); },
  };
}

TEST_F(Pipeline, TheNextEpochBeginsBeforeTheOneUnderWayIsOver) {
  auto job = testing::cora_job(
      scratch_.path(),
      {"dataset.path=" + narrow_cora().string(), "cluster.hosts=2", "partition.parts=2",
       "sample.batch_size=64", "cluster.network.latency_us=5000", "train.epochs=3",
       "features.normalize=none", "digest=ids", "cluster.batches_in_flight=4"});
  ASSERT_OK(job);
  EventLog log;
  std::mutex mutex;
  std::map<std::uint32_t, std::chrono::steady_clock::time_point> ended;  // rank 0's last step
  ClusterHooks hooks;
  hooks.take_only = true;
  hooks.pause = [](Rank, std::uint64_t) { return 10ms; };  // as if a step took so long
  hooks.on_hop = [&log](const BatchKey& key, std::uint32_t hop) { log.add(key, hop); };
  hooks.on_step = [&](const StepReport& step) {
    const std::lock_guard guard(mutex);
    if (step.rank == Rank{0} && step.step == step.steps) {
      ended[step.epoch] = std::chrono::steady_clock::now();
    }
  };

  ASSERT_OK_AND_ASSIGN(const auto record, testing::run_job(*job, std::move(hooks)));

  ASSERT_EQ(record.epochs.size(), 3U);
  std::map<std::uint32_t, std::size_t> early;  // batches of rank 0 whose sampling began too early
  for (const auto& event : log.events()) {
    EXPECT_LT(event.key.epoch, 3U) << "the last epoch asks for no other";
    if (event.hop == 0 && event.batch % 2 == 0 && event.key.epoch > 0 &&
        event.at < ended.at(event.key.epoch - 1)) {
      ++early[event.key.epoch];
    }
  }
  for (const std::uint32_t epoch : {1U, 2U}) {
    EXPECT_GE(early[epoch], 1U) << epoch;
    EXPECT_LE(early[epoch], 3U) << "with the batch under way, at most four are in flight";
  }
  for (const auto& epoch : record.epochs) {
    EXPECT_EQ(epoch.counters.batches, 32U) << epoch.epoch;
    EXPECT_EQ(epoch.counters.seeds, 2048U) << epoch.epoch;
  }
}

TEST_F(Pipeline, ASlowHolderDelaysOnlyTheBatchesThatNeedIt) {
  // 256 nodes whose only neighbour is the node itself, one seed per batch: a batch needs only the
  // part of its seed.
  const auto dir = scratch_.path() / "loops";
  write_loops(dir, 256);
  auto job = testing::cora_job(
      scratch_.path(), {"dataset.path=" + dir.string(), "cluster.hosts=2", "partition.parts=4",
                        "sample.fanout=[1]", "model.layers=1", "model.input_dropout=0",
                        "sample.batch_size=1", "cluster.network.latency_us=5000", "train.epochs=1",
                        "features.normalize=none", "digest=ids", "cluster.batches_in_flight=16"});
  ASSERT_OK(job);
  ASSERT_OK_AND_ASSIGN(const auto store, prepare_store(*job, [](const std::string&) {}));
  ASSERT_OK_AND_ASSIGN(auto seeds, store.seeds("", "train"));
  const PartitionBook book(store.partition().ranges);
  const SeedOrder order(std::make_shared<const SeedList>(std::move(seeds)), 1, job->seed, true);
  EventLog log;
  ClusterHooks hooks;
  hooks.on_hop = [&log](const BatchKey& key, std::uint32_t hop) { log.add(key, hop); };
  hooks.wrap_holder = [](caf::actor_system& system, PartId part, caf::actor holder) {
    return part == PartId{3} ? system.spawn(slow_holder, holder, 100ms) : holder;
  };

  hooks.take_only = true;
  ASSERT_OK(testing::run_job(*job, std::move(hooks)));

  // Rank 0 is on host 0 with parts 0 and 2; parts 1 and 3 are a round trip of 10 ms away; part 3 is
  // ten times slower.
  std::map<std::uint64_t, std::chrono::steady_clock::time_point> began;
  std::map<std::uint32_t, std::vector<double>> ms_by_part;
  for (const auto& event : log.events()) {
    if (event.hop == 0) {
      began[event.batch] = event.at;
    } else if (event.batch % 2 == 0) {
      const auto part = raw(book.owner(NodeTypeId{0}, order.batch(0, event.batch).front()));
      ms_by_part[part].push_back(
          std::chrono::duration<double, std::milli>(event.at - began.at(event.batch)).count());
    }
  }
  ASSERT_EQ(ms_by_part.size(), 4U);
  for (auto& [part, times] : ms_by_part) {
    std::ranges::sort(times);
    fmt::print("part {}: {} batches, sampled in {:.1f} to {:.1f} ms, median {:.1f}\n", part,
               times.size(), times.front(), times.back(), times[times.size() / 2]);
  }
  EXPECT_GE(ms_by_part[3].front(), 100);
  EXPECT_GE(ms_by_part[1].front(), 10);
  for (const std::uint32_t part : {0U, 1U, 2U}) {
    EXPECT_LT(ms_by_part[part].back(), 100) << "part " << part;
  }
}

}  // namespace
}  // namespace troupe
