// The collector before scripted holders: what it requests of them, and what becomes of a batch when
// replies come late, twice, damaged or not at all.
#include "actors/collector.hpp"

#include "actors/local_messages.hpp"
#include "tests/actors/scripted_host.hpp"
#include "tests/runtime/feature/collect.hpp"
#include "tests/support/expect.hpp"

namespace troupe {
namespace {

using namespace std::chrono_literals;
using testing::Asked;
using testing::MessageTrace;
using testing::ScriptedActor;

/// Papers and authors with rows of different widths; papers cite papers, authors write them.
testing::TestGraph papers_and_authors() {
  testing::TestGraph graph;
  graph.nodes.push_back({.name = "paper", .count = 24});
  graph.nodes.push_back({.name = "author", .count = 16});
  testing::add_features(graph.nodes[0], 3);
  testing::add_features(graph.nodes[1], 2);
  graph.edges.push_back({.name = "cites"});
  graph.edges.push_back({.name = "writes", .source = 1});
  for (std::uint64_t paper = 0; paper < 24; ++paper) {
    graph.edges[0].edges.push_back({(paper * 5 + 1) % 24, paper});
    graph.edges[0].edges.push_back({(paper * 7 + 3) % 24, paper});
    graph.edges[1].edges.push_back({paper * 3 % 16, paper});
    graph.edges[1].edges.push_back({(paper * 11 + 2) % 16, paper});
  }
  return graph;
}

/// A host with part 0 of three. Parts 1 and 2 are behind scripted holders.
class CollectorTest : public ::testing::Test {
 protected:
  static std::shared_ptr<const Replicas> replicas(const std::vector<caf::actor>& holders) {
    return testing::replicas_of(holders, 100ms);
  }
  void start() { collector_ = system_.add("collector", spawn_collector(*system_, host_)); }

  std::shared_ptr<const SampledBatch> sampled(std::uint64_t number,
                                              const std::vector<std::uint64_t>& seeds) const {
    return std::make_shared<const SampledBatch>(
        testing::drive(cut_, sample_, {Purpose::train, 0, number}, seeds));
  }
  /// A batch with rows of all parts and both types.
  std::shared_ptr<const SampledBatch> wide(std::uint64_t number) const {
    return sampled(number, {0, 5, 9, 13, 20});
  }
  /// Seeds that part 0 and `part` own, without neighbors.
  std::shared_ptr<const SampledBatch> narrow(std::uint64_t number, std::size_t part) const {
    SampledBatch batch;
    batch.key = {Purpose::train, 0, number};
    batch.seed_index = {0, 1};
    batch.nodes.resize(2);
    batch.nodes[0].ids = {cut_.parts[0]->nodes[0].first, cut_.parts[part]->nodes[0].first};
    if (part == 0) {
      batch.nodes[0].ids[1] = advance(batch.nodes[0].ids[0], 1);
    }
    batch.nodes[0].hop_end = {2};
    batch.nodes[1].hop_end = {0};
    batch.edges.resize(2);
    return std::make_shared<const SampledBatch>(std::move(batch));
  }
  std::uint64_t ask(std::shared_ptr<const SampledBatch> batch) {
    return trainer_.request(collector_, CollectBatch{std::move(batch), collect_, {}, 0});
  }
  /// As ask(), up to the requests to holders.
  std::uint64_t begin(std::shared_ptr<const SampledBatch> batch) {
    const auto number = ask(std::move(batch));
    system_.run();
    return number;
  }

  RowReply rows(const Asked<RowRequest>& asked, std::size_t part) const {
    return testing::rows_of(cut_, asked, part);
  }
  /// Takes the next request of the holder of a part, and answers it.
  void serve(ScriptedActor& holder, std::size_t part) {
    testing::serve_rows(system_, holder, cut_, part);
  }
  /// Answers what waits at both holders, until nothing does.
  void serve_all() {
    while (holder_1_.waiting() + holder_2_.waiting() > 0) {
      holder_1_.waiting() > 0 ? serve(holder_1_, 1) : serve(holder_2_, 2);
    }
  }
  static RowReply too_short(RowReply reply) {
    reply.original_ids.pop_back();
    return reply;
  }

  Digest digest_of_answer(std::uint64_t number) const {
    const auto ready = trainer_.answer_to<ReadyBatch>(number);
    EXPECT_OK(ready);
    return ready ? digest_batch((*ready)->batch, DigestMode::full) : Digest{};
  }
  /// The rows of a batch as one process with all parts collects them.
  Digest expected(const std::shared_ptr<const SampledBatch>& batch) const {
    return digest_batch(testing::collect(cut_, collect_, *batch), DigestMode::full);
  }

  testing::ScriptedSystem system_;
  ScriptedActor trainer_{system_, "trainer"};
  ScriptedActor holder_0_{system_, "holder 0"};
  ScriptedActor holder_1_{system_, "holder 1"};
  ScriptedActor holder_2_{system_, "holder 2"};
  testing::CutGraph cut_ = testing::cut_graph(papers_and_authors(), 3);
  SampleOptions sample_ = [] {
    SampleOptions options;
    options.fanout = {{2, 2}, {2, 2}};
    return options;
  }();
  std::shared_ptr<const CollectOptions> collect_ = testing::collect_options(cut_);
  std::shared_ptr<HostContext> host_ = testing::host_of_first_part(
      cut_, system_, {holder_0_.handle(), holder_1_.handle(), holder_2_.handle()}, 100ms);
  caf::actor collector_;
};

TEST_F(CollectorTest, AsksEachHolderOnceHoweverManyNodeTypes) {
  start();

  const auto asked = begin(wide(7));
  const auto of_1 = holder_1_.take<RowRequest>();
  const auto of_2 = holder_2_.take<RowRequest>();
  holder_1_.answer(of_1, rows(of_1, 1));
  holder_2_.answer(of_2, rows(of_2, 2));
  system_.run();

  EXPECT_EQ(of_1->sections.size(), 2U) << "papers and authors";
  EXPECT_EQ(of_2->sections.size(), 2U);
  EXPECT_EQ(system_.take_trace(), (MessageTrace{"trainer -> collector: CollectBatch",  //
                                                "collector -> holder 1: RowRequest",   //
                                                "collector -> holder 2: RowRequest",   //
                                                "holder 1 -> collector: RowReply",     //
                                                "holder 2 -> collector: RowReply",     //
                                                "collector -> trainer: ReadyBatch"}));
  EXPECT_EQ(digest_of_answer(asked), expected(wide(7)));
}

TEST_F(CollectorTest, RepliesInTheOtherOrderGiveTheSameRows) {
  start();

  const auto asked = begin(wide(7));
  serve(holder_2_, 2);
  EXPECT_FALSE(trainer_.is_answered(asked));
  serve(holder_1_, 1);

  EXPECT_EQ(digest_of_answer(asked), expected(wide(7)));
}

TEST_F(CollectorTest, RepliesThatArriveWhileTheHostsOwnRowsAreReadWaitForTheNextStep) {
  start();

  const auto asked = ask(wide(7));
  system_.run_messages();
  system_.executor()->run_all();  // questions are made; the host's own rows are still to be read
  system_.run_messages();
  for (auto* holder : {&holder_1_, &holder_2_}) {
    const auto request = holder->take<RowRequest>();
    holder->answer(request, rows(request, holder == &holder_1_ ? 1 : 2));
  }
  system_.run_messages();
  EXPECT_FALSE(trainer_.is_answered(asked));
  system_.run();

  EXPECT_EQ(digest_of_answer(asked), expected(wide(7)));
}

TEST_F(CollectorTest, ABatchOfThisHostsRowsAsksNoHolder) {
  start();

  const auto asked = begin(narrow(7, 0));

  EXPECT_EQ(system_.take_trace(), (MessageTrace{"trainer -> collector: CollectBatch",
                                                "collector -> trainer: ReadyBatch"}));
  EXPECT_EQ(digest_of_answer(asked), expected(narrow(7, 0)));
}

TEST_F(CollectorTest, BatchesOvertakeEachOther) {
  start();
  const auto first = begin(narrow(1, 1));
  const auto second = begin(narrow(2, 2));

  serve(holder_2_, 2);
  EXPECT_TRUE(trainer_.is_answered(second) && !trainer_.is_answered(first));
  serve(holder_1_, 1);

  EXPECT_EQ(digest_of_answer(first), expected(narrow(1, 1)));
  EXPECT_EQ(digest_of_answer(second), expected(narrow(2, 2)));
}

TEST_F(CollectorTest, AReplyThatComesTwiceCountsOnce) {
  start();

  const auto asked = begin(wide(7));
  const auto of_1 = holder_1_.take<RowRequest>();
  holder_1_.answer(of_1, rows(of_1, 1));
  holder_1_.answer(of_1, rows(of_1, 1));
  system_.run();
  EXPECT_FALSE(trainer_.is_answered(asked));
  serve(holder_2_, 2);
  holder_1_.answer(of_1, rows(of_1, 1));
  system_.run();

  EXPECT_EQ(trainer_.answers(asked), 1U);
  EXPECT_EQ(digest_of_answer(asked), expected(wide(7)));
}

TEST_F(CollectorTest, AReplyOfTheWrongSizeFailsItsBatchAlone) {
  start();
  const auto damaged = begin(wide(7));
  const auto sound = begin(wide(8));

  const auto of_damaged = holder_1_.take<RowRequest>();
  holder_1_.answer(of_damaged, too_short(rows(of_damaged, 1)));
  system_.run();
  serve_all();

  EXPECT_ERROR(trainer_.answer_to<ReadyBatch>(damaged), Errc::data_corruption,
               "collecting batch 7 of epoch 1: rows from part 1");
  EXPECT_EQ(digest_of_answer(sound), expected(wide(8)));
}

TEST_F(CollectorTest, AHoldersErrorFailsItsBatchAlone) {
  start();
  const auto failed = begin(wide(7));
  const auto sound = begin(wide(8));

  holder_1_.fail(holder_1_.take<RowRequest>(), Error(Errc::data_corruption, "page 3 is torn"));
  system_.run();
  serve_all();

  EXPECT_ERROR(trainer_.answer_to<ReadyBatch>(failed), Errc::data_corruption,
               "collecting batch 7 of epoch 1: holder of part 1: page 3 is torn");
  EXPECT_EQ(digest_of_answer(sound), expected(wide(8)));
}

TEST_F(CollectorTest, AnAskerThatGaveUpIsNotMissed) {
  start();
  ScriptedActor gone(system_, "asker");
  gone.request(collector_, CollectBatch{wide(7), collect_, {}, 0});
  system_.run();

  gone.end();
  serve_all();
  const auto next = begin(wide(8));
  serve_all();

  EXPECT_EQ(digest_of_answer(next), expected(wide(8)));
}

TEST_F(CollectorTest, TakesItsFillOfBatchesAndThenRefuses) {
  start();
  std::vector<std::uint64_t> asked;
  const auto batch = narrow(1, 1);
  for (std::size_t i = 0; i < max_batches_in_progress; ++i) {
    asked.push_back(ask(batch));
  }
  system_.run();

  const auto refused = begin(batch);
  serve(holder_1_, 1);
  const auto taken = begin(batch);
  serve_all();

  EXPECT_ERROR(trainer_.answer_to<ReadyBatch>(refused), Errc::overloaded,
               "2048 batches in progress");
  EXPECT_OK(trainer_.answer_to<ReadyBatch>(taken));
  for (const auto number : asked) {
    EXPECT_OK(trainer_.answer_to<ReadyBatch>(number));
  }
}

// ---- a holder is lost ----

/// Part 1 has a second holder.
class CollectorLoss : public CollectorTest {
 protected:
  void start_with_replica() {
    host_->holders[1] = replicas({holder_1_.handle(), replica_.handle()});
    start();
  }
  ScriptedActor replica_{system_, "replica"};
};

TEST_F(CollectorLoss, TheReplicaIsAskedInPlaceOfALostHolder) {
  start_with_replica();
  const auto asked = begin(wide(7));
  serve(holder_2_, 2);
  system_.take_trace();

  holder_1_.end();
  system_.run();
  serve(replica_, 1);

  EXPECT_EQ(system_.take_trace(), (MessageTrace{"holder 1 -> collector: down",       //
                                                "collector -> replica: RowRequest",  //
                                                "replica -> collector: RowReply",    //
                                                "collector -> trainer: ReadyBatch"}));
  EXPECT_EQ(digest_of_answer(asked), expected(wide(7)));
}

TEST_F(CollectorLoss, AReplyFromBeforeTheLossCounts) {
  start_with_replica();
  const auto asked = begin(narrow(7, 1));

  const auto of_1 = holder_1_.take<RowRequest>();
  holder_1_.answer(of_1, rows(of_1, 1));
  holder_1_.end();
  EXPECT_EQ(system_.next_message(), "holder 1 -> collector: RowReply");
  system_.run();

  EXPECT_EQ(digest_of_answer(asked), expected(narrow(7, 1)));
  EXPECT_EQ(replica_.waiting(), 0U);
}

TEST_F(CollectorLoss, AReplyFromAfterTheLossIsDropped) {
  start_with_replica();
  const auto asked = begin(narrow(7, 1));
  system_.take_trace();

  const auto of_1 = holder_1_.take<RowRequest>();
  holder_1_.end();
  holder_1_.answer(of_1, too_short(rows(of_1, 1)));
  EXPECT_EQ(system_.next_message(), "holder 1 -> collector: down");
  system_.run();
  EXPECT_FALSE(trainer_.is_answered(asked));
  serve(replica_, 1);

  EXPECT_EQ(system_.take_trace(), (MessageTrace{"holder 1 -> collector: down",       //
                                                "collector -> replica: RowRequest",  //
                                                "holder 1 -> collector: RowReply",   //
                                                "replica -> collector: RowReply",    //
                                                "collector -> trainer: ReadyBatch"}));
  EXPECT_EQ(digest_of_answer(asked), expected(narrow(7, 1)));
}

TEST_F(CollectorLoss, ASilentHolderIsLeftAtTheDeadlineAndItsLateReplyIsDropped) {
  start_with_replica();
  const auto asked = begin(narrow(7, 1));
  const auto late = holder_1_.take<RowRequest>();

  system_.run_for(4999ms);
  EXPECT_EQ(replica_.waiting(), 0U);
  system_.run_for(1ms);
  ASSERT_EQ(replica_.waiting(), 1U);
  holder_1_.answer(late, too_short(rows(late, 1)));
  system_.run();
  EXPECT_FALSE(trainer_.is_answered(asked));
  serve(replica_, 1);

  EXPECT_EQ(digest_of_answer(asked), expected(narrow(7, 1)));
}

TEST_F(CollectorLoss, AHolderThatIsFullIsRelievedByTheReplica) {
  start_with_replica();
  const auto asked = begin(narrow(7, 1));

  holder_1_.fail(holder_1_.take<RowRequest>(), Error(Errc::overloaded, "full"));
  system_.run();
  serve(replica_, 1);

  EXPECT_EQ(digest_of_answer(asked), expected(narrow(7, 1)));
}

TEST_F(CollectorLoss, AHolderWithoutAReplicaIsWaitedFor) {
  auto holder = holder_1_.handle();
  auto part = *host_->holders[1];
  part.actors[0] = [&holder] { return holder; };
  host_->holders[1] = std::make_shared<const Replicas>(part);
  start();
  const auto asked = begin(narrow(7, 1));

  holder = {};
  holder_1_.end();
  system_.run_for(250ms);  // tried once more after 100 ms, then after another 200
  holder = replica_.handle();
  system_.run_for(49ms);
  EXPECT_EQ(replica_.waiting(), 0U);
  system_.run_for(1ms);
  serve(replica_, 1);

  EXPECT_EQ(digest_of_answer(asked), expected(narrow(7, 1)));
}

TEST_F(CollectorLoss, TheBatchesThatNeedALostHolderFailAndTheOthersDoNot) {
  start();
  const auto lost = begin(wide(7));
  const auto other = begin(narrow(8, 2));

  holder_1_.end();
  system_.run_for(999ms);
  EXPECT_FALSE(trainer_.is_answered(lost));
  system_.run_for(1s);
  serve_all();

  EXPECT_ERROR(trainer_.answer_to<ReadyBatch>(lost), Errc::deadline_exceeded,
               "collecting batch 7 of epoch 1: holder of part 1: a part: none of 1 holders "
               "answered within 1000 ms");
  EXPECT_EQ(digest_of_answer(other), expected(narrow(8, 2)));
}

// ---- the cache ----

/// A cache that is chosen at the first batch.
class CollectorCache : public CollectorTest {
 protected:
  CollectorCache() {
    host_->cache =
        std::make_shared<CacheOptions>(CacheOptions{.policy = CacheOptions::Policy::presample,
                                                    .budget_bytes = 1 << 20,
                                                    .presample_batches = 1});
    start();
  }
  /// Asks for the first batch and takes the requests for it: what comes then fills the cache.
  std::uint64_t begin_first() {
    const auto number = begin(wide(7));
    first_of_1_ = holder_1_.take<RowRequest>();
    first_of_2_ = holder_2_.take<RowRequest>();
    return number;
  }
  void answer_first() {
    holder_1_.answer(first_of_1_, rows(first_of_1_, 1));
    holder_2_.answer(first_of_2_, rows(first_of_2_, 2));
    system_.run();
  }
  BatchTrace counts(std::uint64_t number) const {
    const auto ready = trainer_.answer_to<ReadyBatch>(number);
    EXPECT_OK(ready);
    return ready ? (*ready)->trace : BatchTrace{};
  }

  Asked<RowRequest> first_of_1_;
  Asked<RowRequest> first_of_2_;
};

TEST_F(CollectorCache, IsFilledOnePieceAtATimeBesideTheBatches) {
  const auto first = begin_first();
  EXPECT_EQ(holder_1_.waiting() + holder_2_.waiting(), 1U);
  const auto second = begin(wide(7));
  EXPECT_EQ(holder_1_.waiting() + holder_2_.waiting(), 3U) << "both holders, for the batch";

  answer_first();
  serve_all();

  EXPECT_EQ(digest_of_answer(first), expected(wide(7)));
  EXPECT_EQ(digest_of_answer(second), expected(wide(7)));
  EXPECT_EQ(counts(second).rows_cached, 0U) << "it was not whole yet";
}

TEST_F(CollectorCache, IsUsedOnceItIsWhole) {
  begin_first();
  answer_first();
  serve_all();

  const auto second = begin(wide(7));
  serve_all();

  EXPECT_GT(counts(second).rows_cached, 0U);
  EXPECT_EQ(digest_of_answer(second), expected(wide(7)));
}

TEST_F(CollectorCache, ADamagedReplyThatIsToFillItFailsTheBatchesUnderWayAndAllLater) {
  const auto first = begin_first();
  const auto other = begin(narrow(8, 2));

  const auto fills = holder_1_.take<RowRequest>();
  holder_1_.answer(fills, RowReply{});
  system_.run();
  EXPECT_TRUE(trainer_.is_answered(first) && trainer_.is_answered(other));
  const auto later = begin(narrow(9, 0));
  answer_first();

  EXPECT_ERROR(trainer_.answer_to<ReadyBatch>(first), Errc::data_corruption,
               "collecting batch 7 of epoch 1: filling the cache: rows from part 1");
  EXPECT_ERROR(trainer_.answer_to<ReadyBatch>(other), Errc::data_corruption, "batch 8 of epoch 1");
  EXPECT_ERROR(trainer_.answer_to<ReadyBatch>(later), Errc::data_corruption, "batch 9 of epoch 1");
  EXPECT_EQ(trainer_.answers(first), 1U);
}

TEST_F(CollectorCache, AHolderThatFindsDamageWhileItIsFilledFailsAllBatches) {
  const auto first = begin_first();

  holder_1_.fail(holder_1_.take<RowRequest>(), Error(Errc::data_corruption, "page 3 is torn"));
  system_.run();

  EXPECT_ERROR(trainer_.answer_to<ReadyBatch>(first), Errc::data_corruption,
               "filling the cache: holder of part 1: page 3 is torn");
}

/// A cache of rows for the batches that the collector is told of, with room for all.
class CollectorFuture : public CollectorTest {
 protected:
  CollectorFuture() {
    auto options = std::make_shared<CacheOptions>();
    options->policy = CacheOptions::Policy::future;
    options->budget_bytes = 1 << 20;
    options->measure = true;
    host_->cache = options;
    start();
  }
  std::uint64_t begin_turn(const std::shared_ptr<const SampledBatch>& batch, Turn turn) {
    const auto number = trainer_.request(collector_, CollectBatch{batch, collect_, {}, 0, turn});
    system_.run();
    return number;
  }
  void tell(const std::shared_ptr<const SampledBatch>& batch, Turn turn) {
    caf::anon_send(collector_, Ref<ReadsAhead>(ReadsAhead{batch, collect_, turn}));
    system_.run();
  }
  BatchTrace counts(std::uint64_t number) const {
    const auto ready = trainer_.answer_to<ReadyBatch>(number);
    EXPECT_OK(ready);
    return ready ? (*ready)->trace : BatchTrace{};
  }
};

TEST_F(CollectorFuture, TakesRowsOfAnswersAndAsksForNoneOfItsOwn) {
  const auto first = begin_turn(wide(7), 0);
  EXPECT_EQ(holder_1_.waiting() + holder_2_.waiting(), 2U);
  serve_all();
  tell(wide(8), 1);
  EXPECT_EQ(holder_1_.waiting() + holder_2_.waiting(), 0U);

  const auto second = begin_turn(wide(8), 1);
  serve_all();

  EXPECT_EQ(counts(first).rows_cached, 0U);
  EXPECT_GT(counts(second).rows_cached, 0U);
  EXPECT_GE(counts(second).rows_cached_at_best, counts(second).rows_cached);
  EXPECT_EQ(digest_of_answer(first), expected(wide(7)));
  EXPECT_EQ(digest_of_answer(second), expected(wide(8)));
}

TEST_F(CollectorFuture, ADamagedReplyFailsItsBatchAloneAndIsNotKept) {
  const auto damaged = begin_turn(narrow(7, 1), 0);
  const auto asked = holder_1_.take<RowRequest>();
  holder_1_.answer(asked, too_short(rows(asked, 1)));
  system_.run();
  EXPECT_ERROR(trainer_.answer_to<ReadyBatch>(damaged), Errc::data_corruption, "batch 7");

  const auto again = begin_turn(narrow(7, 1), 0);
  serve_all();

  EXPECT_EQ(counts(again).rows_cached, 0U);
  EXPECT_EQ(digest_of_answer(again), expected(narrow(7, 1)));
}

TEST_F(CollectorTest, WithoutACacheWhatIsToldIsIgnored) {
  start();
  caf::anon_send(collector_, Ref<ReadsAhead>(ReadsAhead{wide(7), collect_, 3}));
  const auto asked = begin(wide(7));
  serve_all();
  EXPECT_EQ(digest_of_answer(asked), expected(wide(7)));
}

TEST_F(CollectorCache, APieceThatAHolderCannotGiveIsRequestedAgainASecondLater) {
  const auto first = begin_first();
  answer_first();
  system_.take_trace();

  holder_1_.fail(holder_1_.take<RowRequest>(), Error(Errc::peer_lost, "the link is down"));
  system_.run_for(200ms);  // the client's own pauses
  holder_1_.fail(holder_1_.take<RowRequest>(), Error(Errc::internal, "not now"));
  system_.run_for(999ms);
  EXPECT_EQ(holder_1_.waiting(), 0U);
  system_.run_for(1ms);

  EXPECT_EQ(system_.take_trace(), (MessageTrace{"holder 1 -> collector: error(peer_lost)",  //
                                                "collector -> holder 1: RowRequest",        //
                                                "holder 1 -> collector: error(internal)",   //
                                                "collector -> collector: CacheGoesOn",      //
                                                "collector -> holder 1: RowRequest"}));
  EXPECT_EQ(digest_of_answer(first), expected(wide(7)));
  serve_all();
  const auto second = begin(wide(7));
  serve_all();
  EXPECT_GT(counts(second).rows_cached, 0U);
}

}  // namespace
}  // namespace troupe
