// The sampler before scripted holders and a scripted collector: one request per holder and hop, and
// what becomes of a batch when replies come in another order, twice, damaged or not at all.
#include "actors/sampler.hpp"

#include "actors/local_messages.hpp"
#include "tests/actors/scripted_host.hpp"
#include "tests/runtime/sample/drive.hpp"
#include "tests/support/expect.hpp"

namespace troupe {
namespace {

using namespace std::chrono_literals;
using testing::Asked;
using testing::MessageTrace;
using testing::ScriptedActor;

/// A host with part 0 of three. Parts 1 and 2 are behind scripted holders.
class SamplerTest : public ::testing::Test {
 protected:
  SamplerTest() {
    sampler_ = system_.add("sampler", spawn_sampler(*system_, host_, collector_.handle()));
  }

  std::uint64_t begin(std::uint64_t number) {
    const auto asked =
        trainer_.request(sampler_, SampleBatch{{Purpose::train, 0, number},
                                               NodeTypeId{0},
                                               cut_.globals(seeds_),
                                               std::make_shared<const SampleOptions>(sample_),
                                               std::make_shared<const CollectOptions>()});
    system_.run();
    return asked;
  }
  HopReply neighbors(const Asked<HopRequest>& asked, std::size_t part) const {
    auto reply = sample_one_hop(*cut_.parts[part], *asked.what);
    EXPECT_OK(reply);
    return *std::move(reply);
  }
  /// Takes the next request of the holder of a part, and answers it.
  void serve(ScriptedActor& holder, std::size_t part) {
    const auto asked = holder.take<HopRequest>();
    holder.answer(asked, neighbors(asked, part));
    system_.run();
  }
  void serve_all() {
    while (holder_1_.waiting() + holder_2_.waiting() > 0) {
      holder_1_.waiting() > 0 ? serve(holder_1_, 1) : serve(holder_2_, 2);
    }
  }
  /// The next batch that is handed on is the one that a process with all parts samples.
  void expect_handed_on(std::uint64_t number) {
    const auto handed = collector_.take<CollectBatch>();
    EXPECT_EQ(testing::plain(*handed->sampled, cut_),
              testing::drive_plain(cut_, sample_, {Purpose::train, 0, number}, seeds_));
  }

  testing::ScriptedSystem system_;
  ScriptedActor trainer_{system_, "trainer"};
  ScriptedActor collector_{system_, "collector"};
  ScriptedActor holder_1_{system_, "holder 1"};
  ScriptedActor holder_2_{system_, "holder 2"};
  testing::CutGraph cut_ = testing::cut_graph(testing::skewed_graph(60, 6), 3);
  SampleOptions sample_ = testing::fanouts({3, 3});
  std::vector<std::uint64_t> seeds_ = {0, 1, 2, 3, 4, 5, 6, 7};
  std::shared_ptr<HostContext> host_ = testing::host_of_first_part(
      cut_, system_, {holder_1_.handle(), holder_1_.handle(), holder_2_.handle()});
  caf::actor sampler_;
};

TEST_F(SamplerTest, EachHopAsksEachHolderOnceAndTheCollectorAnswersTheAsker) {
  const auto asked = begin(7);
  serve(holder_1_, 1);
  serve(holder_2_, 2);
  serve(holder_1_, 1);
  serve(holder_2_, 2);
  const auto handed = collector_.take<CollectBatch>();
  collector_.answer(handed, ReadyBatch{});

  EXPECT_EQ(system_.take_trace(), (MessageTrace{"trainer -> sampler: SampleBatch",  //
                                                "sampler -> holder 1: HopRequest",  //
                                                "sampler -> holder 2: HopRequest",  //
                                                "holder 1 -> sampler: HopReply",    //
                                                "holder 2 -> sampler: HopReply",    //
                                                "sampler -> holder 1: HopRequest",  //
                                                "sampler -> holder 2: HopRequest",  //
                                                "holder 1 -> sampler: HopReply",    //
                                                "holder 2 -> sampler: HopReply",    //
                                                "trainer -> collector: CollectBatch",
                                                "collector -> trainer: ReadyBatch"}));
  EXPECT_OK(trainer_.answer_to<ReadyBatch>(asked));
}

TEST_F(SamplerTest, RepliesInTheOtherOrderGiveTheSameBatch) {
  begin(7);
  serve_all();
  expect_handed_on(7);

  begin(7);
  for (int hop = 0; hop < 2; ++hop) {
    serve(holder_2_, 2);
    EXPECT_EQ(holder_2_.waiting(), 0U) << "the next hop waits for all replies";
    serve(holder_1_, 1);
  }

  expect_handed_on(7);
}

TEST_F(SamplerTest, AReplyThatComesTwiceCountsOnce) {
  begin(7);

  const auto of_1 = holder_1_.take<HopRequest>();
  holder_1_.answer(of_1, neighbors(of_1, 1));
  holder_1_.answer(of_1, neighbors(of_1, 1));
  system_.run();
  EXPECT_EQ(holder_1_.waiting(), 0U);
  serve_all();

  expect_handed_on(7);
  EXPECT_EQ(collector_.waiting(), 0U);
}

TEST_F(SamplerTest, ADamagedReplyFailsItsBatchAlone) {
  const auto damaged = begin(7);
  begin(8);

  holder_1_.answer(holder_1_.take<HopRequest>(), HopReply{});
  system_.run();
  serve_all();

  EXPECT_ERROR(trainer_.answer_to<ReadyBatch>(damaged), Errc::data_corruption,
               "sampling batch 7 of epoch 1");
  expect_handed_on(8);
}

TEST_F(SamplerTest, AFailingHolderFailsTheBatchWithItsStory) {
  const auto asked = begin(7);

  holder_1_.fail(holder_1_.take<HopRequest>(), Error(Errc::data_corruption, "page 3 is torn"));
  system_.run();

  EXPECT_ERROR(trainer_.answer_to<ReadyBatch>(asked), Errc::data_corruption,
               "sampling batch 7 of epoch 1: holder of part 1: page 3 is torn");
}

TEST_F(SamplerTest, ADeadHolderFailsTheBatchAfterTheRecoveryDeadline) {
  const auto asked = begin(7);

  holder_1_.end();
  system_.run_for(999ms);
  EXPECT_FALSE(trainer_.is_answered(asked));
  system_.run_for(1s);

  EXPECT_ERROR(trainer_.answer_to<ReadyBatch>(asked), Errc::deadline_exceeded,
               "holder of part 1: a part: none of 1 holders answered within 1000 ms; the last "
               "one: it ended");
}

TEST_F(SamplerTest, ASilentHolderFailsTheBatchAtTheDeadline) {
  const auto asked = begin(7);
  holder_1_.take<HopRequest>();

  system_.run_for(4999ms);
  EXPECT_FALSE(trainer_.is_answered(asked));
  system_.run_for(1ms);

  EXPECT_ERROR(trainer_.answer_to<ReadyBatch>(asked), Errc::deadline_exceeded, "holder of part 1");
}

TEST_F(SamplerTest, ABatchWhoseCollectorIsGoneIsAnsweredAsLost) {
  const auto asked = begin(7);

  collector_.end();
  serve_all();

  EXPECT_ERROR(trainer_.answer_to<ReadyBatch>(asked), Errc::peer_lost, "");
}

/// A sampler that gets hints.
class SamplerAhead : public SamplerTest {
 protected:
  static constexpr std::uint32_t lookahead = 8;

  SamplerAhead() {
    auto cache = std::make_shared<CacheOptions>();
    cache->policy = CacheOptions::Policy::future;
    cache->lookahead = lookahead;
    host_->cache = cache;
    host_->ahead_bytes = 0;
    sampler_ = system_.add("sampler ahead", spawn_sampler(*system_, host_, collector_.handle()));
    collect_options_ = std::make_shared<const CollectOptions>();
    sample_options_ = std::make_shared<const SampleOptions>(sample_);
  }
  SampleBatch batch(std::uint64_t number) const {
    SampleBatch batch{{Purpose::train, 0, number},
                      NodeTypeId{0},
                      cut_.globals(seeds_),
                      sample_options_,
                      collect_options_};
    batch.turn = number;
    return batch;
  }
  void hint(std::uint64_t number) {
    caf::anon_send(sampler_, Ref<SampleAhead>(
                                 SampleAhead{std::make_shared<const SampleBatch>(batch(number))}));
    system_.run();
  }
  std::uint64_t request(std::uint64_t number) {
    const auto asked = trainer_.request(sampler_, batch(number));
    system_.run();
    return asked;
  }
  void expect_told(std::uint64_t number) {
    const auto told = collector_.take<ReadsAhead>();
    EXPECT_EQ(told->turn, number);
    EXPECT_EQ(testing::plain(*told->sampled, cut_),
              testing::drive_plain(cut_, sample_, {Purpose::train, 0, number}, seeds_));
  }

  std::shared_ptr<const CollectOptions> collect_options_;
  std::shared_ptr<const SampleOptions> sample_options_;
};

TEST_F(SamplerAhead, SamplesAtAHintTellsTheCollectorAndHandsOnAtTheRequest) {
  hint(7);
  serve_all();
  expect_told(7);
  EXPECT_EQ(collector_.waiting(), 0U);

  const auto asked = request(7);

  EXPECT_EQ(holder_1_.waiting() + holder_2_.waiting(), 0U) << "nothing is sampled again";
  const auto handed = collector_.take<CollectBatch>();
  EXPECT_EQ(handed->turn, 7U);
  EXPECT_GT(handed->trace.frontier.nodes.size(), 0U);
  EXPECT_EQ(testing::plain(*handed->sampled, cut_),
            testing::drive_plain(cut_, sample_, {Purpose::train, 0, 7}, seeds_));
  collector_.answer(handed, ReadyBatch{});
  system_.run();
  EXPECT_OK(trainer_.answer_to<ReadyBatch>(asked));

  request(7);
  serve_all();
  expect_handed_on(7);
}

TEST_F(SamplerAhead, ARequestThatComesWhileItsHintIsSampledWaitsForThat) {
  hint(7);
  request(7);

  serve_all();

  expect_handed_on(7);
  EXPECT_EQ(collector_.waiting(), 0U) << "and nobody else is told";
}

TEST_F(SamplerAhead, HintsAreSampledAtOnceAndARequestBesideThem) {
  for (const std::uint64_t number : {4U, 5U, 6U, 7U}) {
    hint(number);
  }
  EXPECT_EQ(holder_1_.waiting(), 4U);

  request(3);
  EXPECT_EQ(holder_1_.waiting(), 5U);
  serve_all();

  for (const std::uint64_t number : {4U, 5U, 6U, 7U}) {
    expect_told(number);
  }
  expect_handed_on(3);
}

TEST_F(SamplerAhead, HintsBeyondTheLookAheadAreDropped) {
  for (std::uint64_t number = 4; number < 4 + 2 * lookahead; ++number) {
    hint(number);
  }
  EXPECT_EQ(holder_1_.waiting(), lookahead);
  serve_all();
  EXPECT_EQ(collector_.waiting(), lookahead);
}

TEST_F(SamplerAhead, AHintThatFailsIsSampledAgainAtItsRequest) {
  hint(7);
  holder_1_.fail(holder_1_.take<HopRequest>(), Error(Errc::data_corruption, "page 3 is torn"));
  system_.run();
  serve_all();
  EXPECT_EQ(collector_.waiting(), 0U);

  request(7);
  serve_all();
  expect_handed_on(7);

  hint(8);
  const auto asked = request(8);
  holder_1_.fail(holder_1_.take<HopRequest>(), Error(Errc::data_corruption, "page 3 is torn"));
  system_.run();
  EXPECT_FALSE(trainer_.is_answered(asked));
  holder_2_.take<HopRequest>();  // of the first attempt
  serve_all();
  expect_handed_on(8);
}

TEST_F(SamplerAhead, AHintWithSeedsThatAreNoneIsIgnored) {
  auto bad = batch(7);
  bad.seeds.push_back(static_cast<NodeId>(1'000'000));
  caf::anon_send(sampler_, Ref<SampleAhead>(SampleAhead{std::make_shared<const SampleBatch>(bad)}));
  hint(8);

  serve_all();

  expect_told(8);
  EXPECT_ERROR(trainer_.answer_to<ReadyBatch>([&] {
    const auto asked = trainer_.request(sampler_, bad);
    system_.run();
    return asked;
  }()),
               Errc::invalid_argument, "expected ids below 60");
}

TEST_F(SamplerTest, WithoutALookAheadHintsAreIgnored) {
  SampleBatch batch{{Purpose::train, 0, 7},
                    NodeTypeId{0},
                    cut_.globals(seeds_),
                    std::make_shared<const SampleOptions>(sample_),
                    std::make_shared<const CollectOptions>()};
  batch.turn = 7;
  caf::anon_send(sampler_,
                 Ref<SampleAhead>(SampleAhead{std::make_shared<const SampleBatch>(batch)}));
  system_.run();

  EXPECT_EQ(holder_1_.waiting() + holder_2_.waiting() + collector_.waiting(), 0U);
  begin(7);
  serve_all();
  expect_handed_on(7);
}

}  // namespace
}  // namespace troupe
