#include "runtime/feature/collecting_work.hpp"

#include "tests/runtime/feature/collect.hpp"

namespace troupe {
namespace {

using testing::collect_options;
using testing::cut_graph;
using testing::drive;
using testing::fanouts;

/// Collecting on a host where some parts of a graph lie.
class Collecting : public ::testing::Test {
 protected:
  CollectingInputs inputs(const std::set<std::uint32_t>& here) {
    CollectingInputs inputs;
    inputs.book = cut_.book;
    auto options = collect_options(cut_);
    options->digest_here = true;
    inputs.options = options;
    inputs.sampled = sampled_;
    inputs.part_here = [this, here](PartId part) {
      return here.contains(raw(part)) ? cut_.parts[raw(part)] : nullptr;
    };
    inputs.flow = 99;
    return inputs;
  }

  CollectingWork::Arrived answer(const RowQuestion& question) const {
    auto reply = read_part_rows(*cut_.parts[raw(question.part)], question.request);
    EXPECT_OK(reply);
    return {question.id, std::make_shared<const RowReply>(*std::move(reply))};
  }

  testing::CutGraph cut_ = cut_graph(testing::featured_graph(), 3);
  std::shared_ptr<const SampledBatch> sampled_ =
      std::make_shared<const SampledBatch>(drive(cut_, fanouts({4, 3}), {}, {5, 1, 20, 5, 34}));
};

TEST_F(Collecting, OfRowsThatLieHereTakesOneStep) {
  CollectingWork work(inputs({0, 1, 2}));

  ASSERT_OK_AND_ASSIGN(const auto step, work.step({}));

  EXPECT_TRUE(step.done && step.ask.empty() && !step.more);
  EXPECT_EQ(work.counts().rows, sampled_->num_nodes());
  EXPECT_EQ(work.counts().remote, 0U);
}

TEST_F(Collecting, GivesTheSameBatchWhateverLiesHere) {
  const auto expected =
      digest_batch(testing::collect(cut_, collect_options(cut_), *sampled_), DigestMode::full);
  for (const std::set<std::uint32_t>& here : {std::set<std::uint32_t>{}, {1}, {0, 2}}) {
    CollectingWork work(inputs(here));

    ASSERT_OK_AND_ASSIGN(auto step, work.step({}));
    EXPECT_EQ(step.ask.size(), 3 - here.size());
    EXPECT_EQ(step.more, !here.empty());
    std::vector<CollectingWork::Arrived> answers;
    for (const auto& question : step.ask) {
      EXPECT_EQ(question.request.flow, 99U);
      answers.push_back(answer(question));
    }
    if (step.more) {
      ASSERT_OK_AND_ASSIGN(step, work.step({}));
      EXPECT_FALSE(step.done);
    }
    ASSERT_OK_AND_ASSIGN(step, work.step(answers));

    ASSERT_TRUE(step.done);
    EXPECT_GT(work.counts().remote, 0U);
    const auto batch = std::move(work).take();
    EXPECT_EQ(digest_batch(batch, DigestMode::full), expected);
    EXPECT_EQ(batch.digest.value, expected);
  }
}

TEST_F(Collecting, TensorsAreRequestedOfTheirHolderAlsoWhereThePartLiesHere) {
  auto wanted = inputs({0, 1, 2});
  auto options = collect_options(cut_);
  options->source = {.kind = RowSource::Kind::tensor, .tensor = 1};
  wanted.options = options;
  CollectingWork work(std::move(wanted));

  ASSERT_OK_AND_ASSIGN(const auto step, work.step({}));

  EXPECT_EQ(step.ask.size(), 3U);
  EXPECT_FALSE(step.more || step.done);
}

TEST_F(Collecting, ADamagedAnswerIsAnError) {
  CollectingWork work(inputs({}));
  ASSERT_OK_AND_ASSIGN(const auto step, work.step({}));
  auto reply = *answer(step.ask[0]).reply;
  reply.original_ids.pop_back();

  EXPECT_ERROR(work.step({{step.ask[0].id, std::make_shared<const RowReply>(reply)}}),
               Errc::data_corruption, "rows from part 0");
}

}  // namespace
}  // namespace troupe
