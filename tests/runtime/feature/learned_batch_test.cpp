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

/// Where one part owns all nodes of one table, its answer and its share are not copied; nor mixed up where it
/// owns those of two.
TEST(LearnedBatch, OnePartsRowsStayWhereTheyAre) {
  const auto graph = users_and_items(1);
  for (const bool items : {false, true}) {
    auto sampled = *batch_of(graph);
    if (items) {
      sampled.nodes[1].ids = {graph.global(3, 1), graph.global(1, 1)};
    }
    LearnedBatch batch(two_tables(), *graph.book, std::make_shared<const SampledBatch>(sampled));
    ASSERT_EQ(batch.questions().size(), 1U);
    Matrix came(1, items ? 20 : 12);
    for (std::size_t i = 0; i < came.cols(); ++i) {
      came.data()[i] = static_cast<float>(i);
    }
    EXPECT_OK(batch.answer(0, {came.share()}));
    EXPECT_OK(batch.answer(0, {Segment::of(std::vector<float>(came.cols()))})) << "a repeat";
    const auto rows = batch.take();
    EXPECT_EQ((*rows)[0].view().row(3)[2], 11.0F);
    EXPECT_EQ((*rows)[0].view().data == std::as_const(came).data(), !items);
    LearnedInputs gradients(2);
    gradients[0] = Matrix(4, 3);
    std::ranges::fill(gradients[0].view().flat(), 5.0F);
    gradients[1] = Matrix((*rows)[1].rows(), 4);
    std::ranges::fill(gradients[1].view().flat(), 7.0F);

    const auto share = batch.shares(gradients, 2)[0];

    const auto values = share.rows.as<float>();
    ASSERT_EQ(values.size(), came.cols());
    EXPECT_EQ(values[11], 5.0F);
    EXPECT_EQ(
        share.rows.bytes.data() == std::as_bytes(std::as_const(gradients[0]).view().flat()).data(),
        !items);
    if (items) {
      EXPECT_EQ((*rows)[1].view().row(1)[3], 19.0F);
      EXPECT_EQ(values[12], 7.0F);
    }
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
