// Learned rows of a part that are counted: at their step, and of the best epoch.
#include "tests/runtime/feature/embedding_support.hpp"

#include <numeric>

namespace troupe {
namespace {

using testing::DrivenPart;

/// Answers with the sum of the rows and the generation, so that a test sees what was counted.
Result<EntityCounts> sum_of_rows(Executor& /*executor*/, const RankEntities& request,
                                 ConstMatrix rows) {
  const auto flat = rows.flat();
  const float sum = std::accumulate(flat.begin(), flat.end(), 100000.0F);
  return EntityCounts{{static_cast<std::uint64_t>(sum * 1000)}, {request.generation}};
}

class RankedRowsOfAPart : public ::testing::Test {
 protected:
  DrivenPart begun() {
    DrivenPart part(graph_, 0, plan_, sum_of_rows);
    EXPECT_OK(part.answer(part.begin(0)));
    return part;
  }
  static RankEntities request_at(std::uint64_t step, bool best = false) {
    RankEntities request;
    request.step = step;
    request.best = best;
    request.cols = 3;
    request.queries = Segment::of(std::vector<float>(3));
    request.keys = {0};
    request.offsets = {0, 0};
    return request;
  }
  static EmbeddingPart::Ticket ask(DrivenPart& part, RankEntities request) {
    return part.send([&](auto& of, auto ticket) {
      return of.rank(std::make_shared<const RankEntities>(std::move(request)), ticket);
    });
  }
  static std::uint64_t counted(const DrivenPart& part, EmbeddingPart::Ticket ticket) {
    const auto& reply = part.answer(ticket);
    EXPECT_OK(reply);
    return std::get<EntityCounts>(*reply).above.front();
  }
  void step(DrivenPart& part, std::uint64_t number) const {
    EXPECT_OK(part.answer(part.add(testing::share_of(graph_, 0, 0, number))));
    EXPECT_OK(part.answer(part.add(testing::share_of(graph_, 0, 1, number))));
  }

  testing::CutGraph graph_ = testing::users_and_items(2);
  std::shared_ptr<EmbeddingPlan> plan_ = testing::two_tables();
};

TEST_F(RankedRowsOfAPart, WaitForTheirStepAndAreThoseOfTheBestEpochWhereAskedFor) {
  auto part = begun();
  const auto at_start = counted(part, ask(part, request_at(0)));
  EXPECT_EQ(counted(part, ask(part, request_at(0, true))), at_start) << "none are kept";
  EXPECT_OK(part.answer(part.keep({.step = 0, .best = true})));
  const auto later = ask(part, request_at(1));
  EXPECT_FALSE(part.answered(later));
  step(part, 0);
  EXPECT_NE(counted(part, later), at_start);
  EXPECT_EQ(counted(part, ask(part, request_at(1, true))), at_start);
}

TEST_F(RankedRowsOfAPart, RequestsThatDoNotFitAreRefused) {
  auto part = begun();
  auto other_cols = request_at(0);
  other_cols.cols = 4;
  other_cols.queries = Segment::of(std::vector<float>(4));
  auto no_table = request_at(0);
  no_table.node_type = NodeTypeId{9};
  auto sizes = request_at(0);
  sizes.offsets = {0};
  auto generation = request_at(0);
  generation.generation = 7;
  for (const auto& bad : {other_cols, no_table, sizes, generation, request_at(5)}) {
    EXPECT_FALSE(part.answer(ask(part, bad)).ok());
  }
  DrivenPart nobody_counts(graph_, 0, plan_);
  EXPECT_OK(nobody_counts.answer(nobody_counts.begin(0)));
  EXPECT_FALSE(nobody_counts.answer(ask(nobody_counts, request_at(0))).ok());
}

}  // namespace
}  // namespace troupe
