#include "runtime/feature/embedding/learned_batch.hpp"

#include "tests/runtime/feature/embedding_support.hpp"

namespace troupe {
namespace {

using testing::two_tables;
using testing::users_and_items;

/// Users 5, 3, 5 and no items, as trees of a disjoint batch have them.
std::shared_ptr<const SampledBatch> batch_of(const testing::CutGraph& graph) {
  auto sampled = std::make_shared<SampledBatch>();
  sampled->nodes.resize(2);
  for (const std::uint64_t user : {5U, 3U, 5U, 690U}) {
    sampled->nodes[0].ids.push_back(graph.global(user));
  }
  return sampled;
}

TEST(LearnedBatch, RowsComeToTheirPlacesFromEveryPart) {
  for (const std::uint32_t parts : {1U, 2U, 3U, 5U}) {
    const auto graph = users_and_items(parts);
    LearnedBatch batch(two_tables(), *graph.book, batch_of(graph));
    EXPECT_EQ(batch.nodes(), 4U);
    EXPECT_EQ(batch.row_bytes(), 4 * 3 * sizeof(float));
    for (std::size_t q = 0; q < batch.questions().size(); ++q) {
      const auto& question = batch.questions()[q];
      ASSERT_EQ(question.request.sections.size(), 1U);
      EXPECT_EQ(question.request.sections[0].cols, 3U);
      std::vector<float> values;
      for (const auto node : question.request.nodes) {
        EXPECT_EQ(graph.book->owner(NodeTypeId{0}, node), question.part);
        const auto user = static_cast<float>(graph.original(node));
        values.insert(values.end(), {user, user + 0.25F, user + 0.5F});
      }
      EXPECT_FALSE(batch.done());
      EXPECT_OK(batch.answer(q, {Segment::of(values)}));
      EXPECT_OK(batch.answer(q, {Segment::of(values)})) << "a repeat";
    }
    ASSERT_TRUE(batch.done());
    const auto rows = batch.take();
    const auto users = (*rows)[0].view();
    ASSERT_EQ(users.rows, 4U);
    for (std::size_t i = 0; i < 4; ++i) {
      const float user = std::vector<float>{5, 3, 5, 690}[i];
      EXPECT_EQ(users.row(i)[0], user);
      EXPECT_EQ(users.row(i)[2], user + 0.5F);
    }
    EXPECT_EQ((*rows)[1].rows(), 0U);
    EXPECT_EQ((*rows)[1].cols(), 4U);
  }
}

TEST(LearnedBatch, GradientsGoToTheOwnersInTheBatchsOrder) {
  const auto graph = users_and_items(3);
  const LearnedBatch batch(two_tables(), *graph.book, batch_of(graph));
  LearnedInputs gradients(2);
  gradients[0] = Matrix(4, 3);
  for (std::size_t i = 0; i < 12; ++i) {
    gradients[0].data()[i] = static_cast<float>(i);
  }
  const auto shares = batch.shares(gradients, 9);

  ASSERT_EQ(shares.size(), 3U) << "one for each part";
  std::size_t rows = 0;
  std::vector<float> of_five;
  for (std::size_t part = 0; part < 3; ++part) {
    const auto& share = shares[part];
    EXPECT_EQ(share.weight, 9U) << "also of a part without rows";
    EXPECT_OK(
        check_learned("share", share.sections, share.nodes.size(), share.rows.as<float>().size()));
    rows += share.nodes.size();
    for (std::size_t i = 0; i < share.nodes.size(); ++i) {
      EXPECT_EQ(raw(graph.book->owner(NodeTypeId{0}, share.nodes[i])), part);
      if (graph.original(share.nodes[i]) == 5) {
        of_five.push_back(share.rows.as<float>()[3 * i]);
      }
    }
  }
  EXPECT_EQ(rows, 4U);
  EXPECT_EQ(of_five, (std::vector<float>{0, 6})) << "duplicates are there, in order";
  for (const auto& share : batch.shares(gradients, 0)) {
    EXPECT_EQ(share.weight, 0U);
    EXPECT_TRUE(share.sections.empty());
  }
}

TEST(LearnedBatch, RefusesAnotherNumberOfRows) {
  const auto graph = users_and_items(1);
  LearnedBatch batch(two_tables(), *graph.book, batch_of(graph));
  EXPECT_ERROR(batch.answer(0, {Segment::of(std::vector<float>(11))}), Errc::data_corruption,
               "expected 12 numbers, found 11");
  EXPECT_FALSE(batch.done());
}

}  // namespace
}  // namespace troupe
