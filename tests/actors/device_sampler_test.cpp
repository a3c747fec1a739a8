// The device sampler between samplers, a collector and an emulated device: rows that the device lacks are
// staged by the collector, of many batches at once, and nothing is lost where one of them fails.
#include "actors/device_sampler.hpp"

#include "actors/collector.hpp"
#include "actors/local_messages.hpp"
#include "gpu/run/device_data.hpp"
#include "tests/actors/scripted_host.hpp"
#include "tests/runtime/feature/collect.hpp"
#include "tests/support/expect.hpp"

namespace troupe {
namespace {

using namespace std::chrono_literals;
using testing::Asked;
using testing::MessageTrace;
using testing::ScriptedActor;

/// A process with part 0 of three and an emulated device. Parts 1 and 2 are behind scripted holders.
class DeviceSamplerTest : public ::testing::Test {
 protected:
  DeviceSamplerTest() {
    const auto devices = gpu::open_devices({.kind = DeviceKind::emulated, .count = 1});
    EXPECT_OK(devices);
    const std::vector<Rank> ranks{Rank{0}};
    auto data = gpu::DeviceData::create(*devices, ranks, cut_.info, {cut_.parts[0]},
                                        {.features = {.staged = true}});
    EXPECT_OK(data);
    data_ = *data;
  }

  void start(const caf::actor& collector) {
    auto batches = data_->batches(Rank{0});
    EXPECT_OK(batches);
    sampler_ =
        system_.add("device", spawn_device_sampler(*system_, {.host = host_,
                                                              .batches = *std::move(batches),
                                                              .collect = collect_,
                                                              .slots = data_->slots(),
                                                              .rows_from_host = collector,
                                                              .executor = system_.executor()}));
  }
  void start() { start(system_.add("collector", spawn_collector(*system_, host_))); }

  std::shared_ptr<const SampledBatch> sampled(std::uint64_t number,
                                              Purpose purpose = Purpose::train) const {
    return std::make_shared<const SampledBatch>(
        testing::drive(cut_, testing::fanouts({4, 3}), {purpose, 0, number}, {5, 1, 20, 5, 34}));
  }
  std::uint64_t ask(std::shared_ptr<const SampledBatch> batch) {
    const auto number = trainer_.request(sampler_, CollectBatch{std::move(batch), collect_, {}, 0});
    system_.run();
    return number;
  }
  RowReply rows(const Asked<RowRequest>& asked, std::size_t part) const {
    return testing::rows_of(cut_, asked, part);
  }
  void serve(ScriptedActor& holder, std::size_t part) {
    testing::serve_rows(system_, holder, cut_, part);
  }
  Digest expected(std::uint64_t number) const {
    return digest_batch(testing::collect(cut_, collect_, *sampled(number)), DigestMode::full);
  }

  testing::ScriptedSystem system_;
  ScriptedActor trainer_{system_, "trainer"};
  ScriptedActor holder_0_{system_, "holder 0"};
  ScriptedActor holder_1_{system_, "holder 1"};
  ScriptedActor holder_2_{system_, "holder 2"};
  testing::CutGraph cut_ = testing::cut_graph(testing::featured_graph(), 3);
  std::shared_ptr<const CollectOptions> collect_ = testing::collect_options(cut_);
  std::shared_ptr<HostContext> host_ = testing::host_of_first_part(
      cut_, system_, {holder_0_.handle(), holder_1_.handle(), holder_2_.handle()});
  std::shared_ptr<const gpu::DeviceData> data_;
  caf::actor sampler_;
};

TEST_F(DeviceSamplerTest, HasTheCollectorStageWhatTheDeviceLacks) {
  start();

  const auto asked = ask(sampled(7));
  serve(holder_2_, 2);
  serve(holder_1_, 1);

  EXPECT_EQ(system_.take_trace(), (MessageTrace{"trainer -> device: CollectBatch",    //
                                                "device -> collector: CollectBatch",  //
                                                "collector -> holder 1: RowRequest",  //
                                                "collector -> holder 2: RowRequest",  //
                                                "holder 2 -> collector: RowReply",    //
                                                "holder 1 -> collector: RowReply",    //
                                                "collector -> device: StagedBatch",   //
                                                "device -> trainer: ReadyBatch"}));
  ASSERT_OK_AND_ASSIGN(const auto ready, trainer_.answer_to<ReadyBatch>(asked));
  EXPECT_EQ(ready->batch.digest.value, expected(7));
  EXPECT_NE(ready->batch.on_device, nullptr);
  const auto& trace = ready->trace;
  EXPECT_EQ(trace.rows, sampled(7)->num_nodes());
  EXPECT_GT(trace.rows_remote, 0U);
  EXPECT_EQ(trace.rows_device + trace.rows_pinned + trace.rows_remote, trace.rows);
}

/// While the first one waits.
TEST_F(DeviceSamplerTest, RowsOfManyBatchesAreStagedAtOnce) {
  start();
  std::vector<std::uint64_t> asked;
  for (std::uint64_t number = 0; number < 4; ++number) {
    asked.push_back(ask(sampled(number)));
  }
  EXPECT_EQ(holder_1_.waiting(), 4U);
  EXPECT_EQ(holder_2_.waiting(), 4U);
  for (int i = 0; i < 4; ++i) {
    serve(holder_1_, 1);
  }
  while (holder_2_.waiting() > 0) {
    serve(holder_2_, 2);
  }
  for (std::uint64_t number = 0; number < 4; ++number) {
    ASSERT_OK_AND_ASSIGN(const auto ready, trainer_.answer_to<ReadyBatch>(asked[number]));
    EXPECT_EQ(ready->batch.digest.value, expected(number));
  }
}

TEST_F(DeviceSamplerTest, AReplyOfTheWrongSizeFailsItsBatchAlone) {
  start();
  const auto damaged = ask(sampled(7));
  const auto sound = ask(sampled(8));
  const auto of_damaged = holder_1_.take<RowRequest>();
  auto reply = rows(of_damaged, 1);
  reply.sections[0].row_bytes += 4;
  holder_1_.answer(of_damaged, reply);
  system_.run();
  serve(holder_1_, 1);
  serve(holder_2_, 2);
  serve(holder_2_, 2);

  EXPECT_ERROR(trainer_.answer_to<ReadyBatch>(damaged), Errc::data_corruption,
               "collecting batch 7 of epoch 1: rows from part 1");
  ASSERT_OK_AND_ASSIGN(const auto ready, trainer_.answer_to<ReadyBatch>(sound));
  EXPECT_EQ(ready->batch.digest.value, expected(8));
}

TEST_F(DeviceSamplerTest, AHolderThatIsLostForGoodFailsTheBatch) {
  start();
  const auto asked = ask(sampled(7));
  holder_1_.end();
  system_.run_for(3s);
  EXPECT_ERROR(trainer_.answer_to<ReadyBatch>(asked), Errc::deadline_exceeded, "holder of part 1");
}

TEST_F(DeviceSamplerTest, BatchesThatAreEvaluatedHaveNoDigest) {
  start();
  const auto asked = ask(sampled(7, Purpose::evaluate));
  serve(holder_1_, 1);
  serve(holder_2_, 2);
  ASSERT_OK_AND_ASSIGN(const auto ready, trainer_.answer_to<ReadyBatch>(asked));
  EXPECT_EQ(ready->batch.digest.mode, DigestMode::off);
}

TEST_F(DeviceSamplerTest, WhatHasOtherOptionsIsTheCollectors) {
  start();
  const auto other = testing::collect_options(cut_);
  const auto asked = trainer_.request(sampler_, CollectBatch{sampled(7), other, {}, 0});
  system_.run();
  serve(holder_1_, 1);
  serve(holder_2_, 2);
  ASSERT_OK_AND_ASSIGN(const auto ready, trainer_.answer_to<ReadyBatch>(asked));
  EXPECT_EQ(ready->batch.on_device, nullptr);
  EXPECT_EQ(digest_batch(ready->batch, DigestMode::full), expected(7));
}

TEST_F(DeviceSamplerTest, HintsGoToTheCollector) {
  ScriptedActor collector(system_, "collector");
  start(collector.handle());
  caf::anon_send(sampler_, Ref<ReadsAhead>(ReadsAhead{sampled(7), collect_, 3}));
  system_.run();
  EXPECT_EQ(collector.take<ReadsAhead>()->turn, 3U);
}

TEST_F(DeviceSamplerTest, TakesItsFillOfBatchesAndThenRefuses) {
  ScriptedActor collector(system_, "collector");
  start(collector.handle());
  const auto batch = sampled(7);
  std::vector<std::uint64_t> asked;
  for (std::size_t i = 0; i < max_batches_in_progress; ++i) {
    asked.push_back(ask(batch));
  }
  const auto refused = ask(batch);
  EXPECT_ERROR(trainer_.answer_to<ReadyBatch>(refused), Errc::overloaded,
               "batches on a device: 2048 wait");
  EXPECT_EQ(collector.waiting(), max_batches_in_progress);

  collector.fail(collector.take<CollectBatch>(), Error(Errc::internal, "torn"));
  system_.run();
  EXPECT_ERROR(trainer_.answer_to<ReadyBatch>(asked.front()), Errc::internal, "torn");
  const auto taken = ask(batch);
  EXPECT_FALSE(trainer_.is_answered(taken)) << "there is room again";
}

}  // namespace
}  // namespace troupe
