#include "runtime/feature/embedding/embedding_part.hpp"

#include "tests/runtime/feature/embedding_support.hpp"

#include <algorithm>
#include <random>

namespace troupe {
namespace {

using testing::DrivenPart;
using testing::empty_share;
using testing::share_of;
using testing::two_tables;
using testing::users_and_items;

class LearnedRowsOfAPart : public ::testing::Test {
 protected:
  DrivenPart begun() {
    DrivenPart part(graph_, 0, plan_);
    EXPECT_OK(part.answer(part.begin(0)));
    return part;
  }
  ReadLearned first_user(std::uint64_t step) const {
    ReadLearned read;
    read.step = step;
    read.sections = {{.node_type = NodeTypeId{0}, .cols = 3, .nodes = 1}};
    read.nodes = {graph_.parts[0]->nodes_of(NodeTypeId{0}).first};
    return read;
  }
  std::vector<float> row_at(DrivenPart& part, std::uint64_t step) const {
    return part.rows_of(part.read(first_user(step)));
  }
  void step(DrivenPart& part, std::uint64_t number) const {
    EXPECT_OK(part.answer(part.add(share_of(graph_, 0, 0, number))));
    EXPECT_OK(part.answer(part.add(share_of(graph_, 0, 1, number))));
  }

  testing::CutGraph graph_ = users_and_items(2);
  std::shared_ptr<EmbeddingPlan> plan_ = two_tables();
};

#ifndef __SANITIZE_ADDRESS__  // which ends the process in place of std::bad_alloc
TEST_F(LearnedRowsOfAPart, ThatDoNotFitAreErrorsOfTheirRequests) {
  testing::TestGraph many;
  many.nodes = {{.name = "user", .count = 40000}, {.name = "item", .count = 40}};
  const auto graph = testing::cut_graph(many, 1);
  plan_->tables[0].dim = 4'000'000'000;  // more than a process can address
  DrivenPart part(graph, 0, plan_);

  EXPECT_ERROR(part.answer(part.begin(0)), Errc::out_of_memory,
               "learned rows of part 0: user: expected room for 40000 rows of 4000000000 numbers");
  EXPECT_ERROR(part.answer(part.add(share_of(graph_, 0, 0, 0))), Errc::out_of_memory, "user");
  CopyPiece piece;
  piece.last = true;
  EXPECT_ERROR(
      part.answer(part.send([&](auto& of, auto ticket) { return of.load(piece, ticket); })),
      Errc::out_of_memory, "user");
}
#endif

TEST_F(LearnedRowsOfAPart, AreTheSameInWhateverOrderSharesArrive) {
  std::vector<TableDigest> expected;
  std::mt19937 dice(5);
  for (int round = 0; round < 20; ++round) {
    auto part = begun();
    for (std::uint64_t s = 0; s < 6; s += 2) {  // two steps at once, each share once or twice
      std::vector<SparseGradients> shares;
      for (const std::uint64_t of_step : {s, s + 1}) {
        for (const std::uint32_t rank : {0U, 1U, 0U}) {
          shares.push_back(share_of(graph_, 0, rank, of_step));
        }
      }
      std::shuffle(shares.begin(), shares.end(), dice);
      for (auto& share : shares) {
        EXPECT_OK(part.answer(part.add(std::move(share))));
      }
    }
    const auto found = part.digests(0, 6);
    expected = round == 0 ? found : expected;
    EXPECT_EQ(found, expected) << round;
  }
}

TEST_F(LearnedRowsOfAPart, ARequestWaitsForTheStepsBeforeIt) {
  auto part = begun();
  const auto at_start = row_at(part, 0);
  const auto later = part.read(first_user(1));
  EXPECT_FALSE(part.answered(later));
  EXPECT_EQ(part.rows.waiting(), 1U);

  part.add(share_of(graph_, 0, 1, 0));
  EXPECT_FALSE(part.answered(later)) << "a rank's share is missing";
  part.add(share_of(graph_, 0, 0, 0));
  EXPECT_NE(part.rows_of(later), at_start);
  EXPECT_EQ(part.rows.applied(), 1U);
}

TEST_F(LearnedRowsOfAPart, ARequestMayTakeLaterRows) {
  auto part = begun();
  const auto later = [&](std::uint64_t step) {
    auto read = first_user(step);
    read.or_later = true;
    return part.read(std::move(read));
  };
  const auto at_start = row_at(part, 0);
  EXPECT_EQ(part.rows_of(later(0)), at_start);
  const auto waiting = later(1);
  EXPECT_FALSE(part.answered(waiting)) << "not earlier ones";
  step(part, 0);
  const auto at_one = row_at(part, 1);
  EXPECT_EQ(part.rows_of(waiting), at_one);
  EXPECT_EQ(part.rows_of(later(0)), at_one);
  EXPECT_ERROR(part.answer(part.read(first_user(0))), Errc::failed_precondition, "got step 0");
  EXPECT_ERROR(part.answer(later(3)), Errc::failed_precondition, "got step 3");

  part.held = true;
  step(part, 1);
  const auto meanwhile = later(1);
  ASSERT_EQ(part.tasks.size(), 1U) << "the step is applied, nobody reads";
  part.held = false;
  part.run_all();
  EXPECT_EQ(part.rows_of(meanwhile), row_at(part, 2));
}

TEST_F(LearnedRowsOfAPart, NothingIsAppliedWhileRowsAreRead) {
  auto part = begun();
  part.held = true;
  const auto read = part.read(first_user(0));
  step(part, 0);
  ASSERT_EQ(part.tasks.size(), 1U) << "the reader alone";
  const auto next = part.read(first_user(1));
  part.run_all();
  EXPECT_TRUE(part.answered(read));
  EXPECT_NE(part.rows_of(read), part.rows_of(next));
}

TEST_F(LearnedRowsOfAPart, RanksWithoutRowsHaveAShareToo) {
  auto part = begun();
  part.add(share_of(graph_, 0, 0, 0));
  EXPECT_EQ(part.rows.applied(), 0U);
  part.add(empty_share(1, 0));
  EXPECT_EQ(part.rows.applied(), 1U);

  const auto before = part.digests(0, 1);
  part.add(empty_share(0, 1));
  part.add(empty_share(1, 1));
  EXPECT_EQ(part.digests(0, 2), before) << "with weight 0 nothing changes";
}

TEST_F(LearnedRowsOfAPart, TheWeightsOfAllRanksDivide) {
  auto part = begun();
  auto other = begun();
  part.add(share_of(graph_, 0, 0, 0));
  part.add(empty_share(1, 0, 3));  // its rows are in other parts
  auto share = share_of(graph_, 0, 0, 0);
  share.weight = 4;
  other.add(std::move(share));
  other.add(empty_share(1, 0));
  EXPECT_EQ(part.digests(0, 1), other.digests(0, 1));
}

TEST_F(LearnedRowsOfAPart, AdamCountsStepsThatOnlyOtherPartsHaveRowsIn) {
  // Items are trained with Adam, whose bias correction is that of the table's steps.
  const auto& items = graph_.parts[0]->nodes_of(NodeTypeId{1});
  const auto item_share = [&](std::uint64_t number) {
    SparseGradients share;
    share.step = number;
    share.weight = 1;
    share.sections = {{.node_type = NodeTypeId{1}, .cols = 4, .nodes = 1}};
    share.nodes = {items.first};
    share.rows = Segment::of(std::vector<float>{1, 2, 3, 4});
    return share;
  };
  const auto rows_after = [&](bool weight_before) {
    auto part = begun();
    part.add(empty_share(0, 0, weight_before ? 1 : 0));
    part.add(empty_share(1, 0));
    part.add(item_share(1));
    part.add(empty_share(1, 1));
    return part.digests(0, 2);
  };
  EXPECT_NE(rows_after(true), rows_after(false));
}

TEST_F(LearnedRowsOfAPart, OldGenerationsAreFenced) {
  auto part = begun();
  const auto waiting = part.read(first_user(1));
  EXPECT_OK(part.answer(part.begin(3)));
  EXPECT_ERROR(part.answer(waiting), Errc::fenced, "generation 3 begins at step 0");
  EXPECT_ERROR(part.answer(part.add(share_of(graph_, 0, 0, 0))), Errc::fenced,
               "generation 0 is over, now 3");
  EXPECT_ERROR(part.answer(part.read(first_user(0))), Errc::fenced, "generation 0");
  EXPECT_ERROR(part.answer(part.begin(2)), Errc::fenced, "generation 2");
  auto newer = share_of(graph_, 0, 0, 0);
  newer.generation = 4;
  EXPECT_ERROR(part.answer(part.add(std::move(newer))), Errc::failed_precondition,
               "expected generation 3, got 4");
}

TEST_F(LearnedRowsOfAPart, AHolderThatWasStartedAgainHasNone) {
  DrivenPart part(graph_, 0, plan_);
  EXPECT_ERROR(part.answer(part.read(first_user(0))), Errc::not_found,
               "learned rows of part 0: their holder was restarted and has lost them");
  EXPECT_ERROR(part.answer(part.begin(1, 5)), Errc::not_found, "step 5");
  auto read = first_user(5);
  read.generation = 1;
  EXPECT_ERROR(part.answer(part.read(read)), Errc::failed_precondition, "got step 5");
  EXPECT_OK(part.answer(part.begin(1, 0))) << "the same request again, which can be met";
}

TEST_F(LearnedRowsOfAPart, GoBackToACopy) {
  auto part = begun();
  step(part, 0);
  step(part, 1);
  const auto at_two = part.digests(0, 2);
  EXPECT_OK(part.answer(part.keep({.step = 2})));
  step(part, 2);
  const auto at_three = part.digests(0, 3);
  EXPECT_NE(at_three, at_two);

  EXPECT_OK(part.answer(part.begin(1, 2)));
  EXPECT_EQ(part.digests(1, 2), at_two);
  for (const std::uint32_t rank : {0U, 1U}) {
    auto share = share_of(graph_, 0, rank, 2);
    share.generation = 1;
    part.add(std::move(share));
  }
  EXPECT_EQ(part.digests(1, 3), at_three) << "state and step count went back, too";
}

TEST_F(LearnedRowsOfAPart, ACopyWaitsForItsStepAndOldOnesGo) {
  auto part = begun();
  const auto kept = part.keep({.step = 1});
  EXPECT_FALSE(part.answered(kept));
  step(part, 0);
  EXPECT_OK(part.answer(kept));
  step(part, 1);
  EXPECT_OK(part.answer(part.keep({.step = 2, .oldest = 2})));
  EXPECT_ERROR(part.answer(part.begin(1, 1)), Errc::not_found, "step 1");
  EXPECT_OK(part.answer(part.begin(2, 2)));
}

/// Sends a copy from every part to every part, in pieces of so many rows.
void copy_between(std::vector<DrivenPart>& from, std::vector<DrivenPart>& to, std::uint64_t step,
                  std::uint64_t rows) {
  const auto send = [&](const CopyPiece& piece) {
    for (auto& part : to) {
      EXPECT_OK(
          part.answer(part.send([&](auto& of, auto ticket) { return of.load(piece, ticket); })));
    }
  };
  for (auto& part : from) {
    for (const auto type : {NodeTypeId{0}, NodeTypeId{1}}) {
      for (std::uint64_t first = 0;; first += rows) {
        const auto& reply = part.answer(part.send([&](auto& of, auto ticket) {
          return of.read_copy({.step = step, .node_type = type, .first = first, .count = rows},
                              ticket);
        }));
        ASSERT_OK(reply);
        auto piece = std::get<CopyPiece>(*reply);
        const bool ended = std::exchange(piece.last, false);
        send(piece);
        if (ended) {
          break;
        }
      }
    }
  }
  send({.step = step, .last = true});
}

TEST(CopiesOfLearnedRows, ComeToAnyNumberOfParts) {
  const auto plan = two_tables();
  const auto two = users_and_items(2);
  std::vector<DrivenPart> from;
  for (const std::uint32_t p : {0U, 1U}) {
    auto& part = from.emplace_back(two, p, plan);
    part.begin(0);
    for (const std::uint32_t rank : {0U, 1U}) {
      part.add(share_of(two, p, rank, 0));
    }
    part.keep({.step = 1, .best = true});
    for (const std::uint32_t rank : {0U, 1U}) {
      part.add(share_of(two, p, rank, 1));
    }
    EXPECT_OK(part.answer(part.keep({.step = 2})));
  }
  std::vector<TableDigest> expected = from[0].digests(0, 2);
  for (std::size_t t = 0; t < 2; ++t) {
    expected[t].rows = add_digests(expected[t].rows, from[1].digests(0, 2)[t].rows);
    expected[t].best = add_digests(expected[t].best, from[1].digests(0, 2)[t].best);
  }
  for (const std::uint32_t parts : {1U, 2U, 3U, 5U}) {
    const auto graph = users_and_items(parts);
    std::vector<DrivenPart> to;
    for (std::uint32_t p = 0; p < parts; ++p) {
      to.emplace_back(graph, p, plan);
    }
    copy_between(from, to, 2, 100);
    std::vector<TableDigest> sum;
    for (auto& part : to) {
      ASSERT_OK(part.answer(part.begin(4, 2)));
      const auto of_part = part.digests(4, 2);
      for (std::size_t t = 0; t < 2 && !sum.empty(); ++t) {
        sum[t].rows = add_digests(sum[t].rows, of_part[t].rows);
        sum[t].best = add_digests(sum[t].best, of_part[t].best);
      }
      sum = sum.empty() ? of_part : sum;
    }
    EXPECT_EQ(sum, expected) << parts;
  }
}

TEST(CopiesOfLearnedRows, AreRefusedWhereTheyDoNotFit) {
  const auto graph = users_and_items(1);
  DrivenPart part(graph, 0, two_tables());
  const auto load = [&](CopyPiece piece) -> const Result<EmbeddingPart::Reply>& {
    return part.answer(part.send([&](auto& of, auto ticket) { return of.load(piece, ticket); }));
  };
  const auto floats = [](std::size_t n) { return Segment::of(std::vector<float>(n)); };
  EXPECT_ERROR(load({.step = 3, .node_type = NodeTypeId{7}, .ids = {1}}), Errc::data_corruption,
               "of type 7 in 0 columns");
  EXPECT_ERROR(load({.step = 3, .ids = {1}, .rows = floats(4), .state = floats(3)}),
               Errc::data_corruption, "found 16, 12 and 0 bytes");
  EXPECT_OK(load({.step = 3, .ids = {1, 99999}, .rows = floats(6), .state = floats(6)}));
  EXPECT_ERROR(load({.step = 3, .last = true}), Errc::data_corruption, "lacks 699 of 700 rows");
  EXPECT_ERROR(part.answer(part.begin(1, 3)), Errc::not_found, "step 3");
  EXPECT_ERROR(part.answer(part.send(
                   [](auto& of, auto ticket) { return of.read_copy({.step = 9}, ticket); })),
               Errc::not_found, "those of step 9 are not kept here");
}

TEST_F(LearnedRowsOfAPart, BeginWithACopyThatHasNoState) {
  auto from = begun();
  step(from, 0);
  EXPECT_OK(from.answer(from.keep({.step = 1})));
  const auto load = [&](DrivenPart& to, bool state) {
    for (const auto type : {NodeTypeId{0}, NodeTypeId{1}}) {
      const auto& reply = from.answer(from.send([&](auto& of, auto ticket) {
        return of.read_copy({.step = 1, .node_type = type, .first = 0, .count = 1000}, ticket);
      }));
      auto piece = std::get<CopyPiece>(*reply);
      piece.step = 0;
      piece.last = type == NodeTypeId{1};
      piece.state = state ? piece.state : Segment{};
      EXPECT_OK(to.answer(to.send([&](auto& of, auto t) { return of.load(piece, t); })));
    }
    EXPECT_OK(to.answer(to.begin(0)));
  };
  DrivenPart whole(graph_, 0, plan_);
  load(whole, true);
  DrivenPart rows(graph_, 0, plan_);
  load(rows, false);
  EXPECT_EQ(rows.digests(0, 0), from.digests(0, 1));
  EXPECT_EQ(rows.digests(0, 0), whole.digests(0, 0));
  step(whole, 0);
  step(rows, 0);
  EXPECT_NE(rows.digests(0, 1), whole.digests(0, 1)) << "its sums begin anew";
}

TEST_F(LearnedRowsOfAPart, TheBestRowsStay) {
  auto part = begun();
  step(part, 0);
  auto best = first_user(1);
  best.best = true;
  EXPECT_EQ(part.rows_of(part.read(best)), row_at(part, 1)) << "none were kept yet";
  const auto at_one = row_at(part, 1);
  EXPECT_OK(part.answer(part.keep({.step = 1, .best = true})));
  step(part, 1);
  best.step = 2;
  EXPECT_EQ(part.rows_of(part.read(best)), at_one);
  EXPECT_NE(row_at(part, 2), at_one);
  const auto digests = part.digests(0, 2);
  EXPECT_NE(digests[0].rows, digests[0].best);
  EXPECT_EQ(digests[1].rows, digests[1].best) << "items did not change";
}

TEST_F(LearnedRowsOfAPart, RefuseWhatCannotBe) {
  auto part = begun();
  const auto refused = [&](SparseGradients share, const char* text) {
    EXPECT_ERROR(part.answer(part.add(std::move(share))), Errc::invalid_argument, text);
  };
  refused(empty_share(2, 0), "expected a rank below 2");
  auto share = share_of(graph_, 0, 0, 0);
  share.weight = 0;
  refused(share, "rows with a weight");
  share = share_of(graph_, 0, 0, 0);
  share.nodes[2] = graph_.parts[1]->nodes_of(NodeTypeId{0}).first;
  refused(share, "is not in [");
  share = share_of(graph_, 0, 0, 0);
  share.sections[0].cols = 4;
  refused(share, "in 4 columns");
  share = share_of(graph_, 0, 0, 0);
  share.sections[0].node_type = NodeTypeId{9};
  refused(share, "type 9");
  share = share_of(graph_, 0, 0, 0);
  share.sections.push_back({.node_type = NodeTypeId{0}, .cols = 3});
  refused(share, "ascending");
  EXPECT_ERROR(part.answer(part.add(share_of(graph_, 0, 0, 2))), Errc::failed_precondition,
               "expected gradients of step 0 or the one after, got step 2");
  EXPECT_ERROR(part.answer(part.read(first_user(2))), Errc::failed_precondition, "got step 2");
  EXPECT_EQ(part.rows.applied(), 0U);
}

TEST_F(LearnedRowsOfAPart, WaitingRequestsAreBounded) {
  auto part = begun();
  for (std::size_t i = 0; i < part.rows.most_waiting(); ++i) {
    EXPECT_FALSE(part.answered(part.read(first_user(1))));
  }
  EXPECT_ERROR(part.answer(part.read(first_user(1))), Errc::overloaded, "requests wait");
  step(part, 0);
  EXPECT_EQ(part.rows.waiting(), 0U);
}

TEST_F(LearnedRowsOfAPart, ARestartDuringAStepTakesNothingOfItOver) {
  auto part = begun();
  const auto fresh = part.digests(0, 0);
  part.held = true;
  step(part, 0);
  ASSERT_EQ(part.tasks.size(), 1U) << "the step";
  const auto begin = part.begin(1);
  EXPECT_FALSE(part.answered(begin));
  part.held = false;
  part.run_all();
  EXPECT_OK(part.answer(begin));
  EXPECT_EQ(part.digests(1, 0), fresh);
}

}  // namespace
}  // namespace troupe
