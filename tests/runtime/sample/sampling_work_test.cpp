#include "runtime/sample/sampling_work.hpp"

#include "tests/runtime/sample/drive.hpp"

namespace troupe {
namespace {

using testing::cut_graph;
using testing::CutGraph;
using testing::drive_plain;
using testing::fanouts;
using testing::plain;

const std::vector<std::uint64_t> sampled_seeds = {5, 1, 20, 5, 34};
constexpr BatchKey sampled_key{Purpose::train, 2, 7};

/// Sampling on a host where some parts of a graph lie.
class Sampling : public ::testing::Test {
 protected:
  SamplingWork work(std::uint32_t parts, const std::set<std::uint32_t>& here) {
    cut_ = cut_graph(testing::skewed_graph(60, 6), parts);
    SamplingInputs inputs;
    inputs.graph = std::make_shared<const GraphInfo>(cut_.info);
    inputs.book = cut_.book;
    inputs.options = std::make_shared<const SampleOptions>(fanouts({4, 3}));
    inputs.halos = std::make_shared<const std::vector<std::shared_ptr<const Part>>>();
    inputs.lists_here = [this, here](PartId part) {
      return here.contains(raw(part)) ? cut_.parts[raw(part)] : nullptr;
    };
    inputs.on_hop = [this](const BatchKey& key, std::uint32_t hop) {
      EXPECT_EQ(key, sampled_key);
      hops_.push_back(hop);
    };
    inputs.flow = 99;
    return {std::move(inputs), sampled_key, NodeTypeId{}, cut_.globals(sampled_seeds)};
  }

  /// The answer of the holder that a question is for.
  SamplingWork::Arrived answer(const SampleQuestion& question) const {
    auto reply =
        sample_one_hop(*cut_.parts[raw(question.part)], std::get<HopRequest>(question.request));
    EXPECT_OK(reply);
    return {question.id, std::make_shared<const HopReply>(*std::move(reply))};
  }

  testing::PlainBatch expected() const {
    return drive_plain(cut_, fanouts({4, 3}), sampled_key, sampled_seeds);
  }

  CutGraph cut_;
  std::vector<std::uint32_t> hops_;
};

TEST_F(Sampling, OfABatchThatLiesHereTakesOneStep) {
  auto sampling = work(3, {0, 1, 2});

  ASSERT_OK_AND_ASSIGN(const auto step, sampling.step({}));

  EXPECT_TRUE(step.done);
  EXPECT_TRUE(step.ask.empty());
  EXPECT_FALSE(step.more);
  EXPECT_EQ(hops_, (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(plain(std::move(sampling).take(), cut_), expected());
}

TEST_F(Sampling, HandsOutRequestsForOthersBeforeItSamplesWhatLiesHere) {
  auto sampling = work(3, {0});

  ASSERT_OK_AND_ASSIGN(auto first, sampling.step({}));

  EXPECT_FALSE(first.done);
  ASSERT_FALSE(first.ask.empty());
  EXPECT_TRUE(first.more);
  for (const auto& question : first.ask) {
    EXPECT_NE(raw(question.part), 0U);
    EXPECT_EQ(std::get<HopRequest>(question.request).flow, 99U);
  }
  ASSERT_OK_AND_ASSIGN(const auto here, sampling.step({}));
  EXPECT_TRUE(here.ask.empty() && !here.more && !here.done) << "the others' answers are missing";
}

TEST_F(Sampling, GivesTheSameBatchWhateverLiesHereAndHoweverAnswersCome) {
  for (const std::set<std::uint32_t>& here :
       {std::set<std::uint32_t>{}, {0}, {1, 2}, {0, 1, 2, 3}}) {
    for (const bool one_at_a_time : {false, true}) {
      auto sampling = work(4, here);
      std::vector<SampleQuestion> open;
      SamplingWork::Step step;
      for (int steps = 0; !step.done; ++steps) {
        ASSERT_LT(steps, 100) << "it does not end";
        std::vector<SamplingWork::Arrived> arrived;
        while (!step.more && !open.empty()) {
          arrived.push_back(answer(open.back()));
          open.pop_back();
          if (one_at_a_time) {
            break;
          }
        }
        ASSERT_OK_AND_ASSIGN(step, sampling.step(arrived));
        open.insert(open.end(), step.ask.begin(), step.ask.end());
      }
      const auto frontier = sampling.frontier();
      EXPECT_EQ(frontier.remote == frontier.nodes, here.empty());
      EXPECT_EQ(plain(std::move(sampling).take(), cut_), expected());
    }
  }
}

TEST_F(Sampling, AnAnswerToNoQuestionIsAnError) {
  auto sampling = work(2, {0});
  ASSERT_OK(sampling.step({}));

  EXPECT_ERROR(sampling.step({{77, std::make_shared<const HopReply>()}}), Errc::invalid_argument,
               "question 77");
}

TEST_F(Sampling, OfNoSeedsIsDoneAtOnce) {
  auto sampling = work(2, {});
  SamplingInputs inputs;
  inputs.graph = std::make_shared<const GraphInfo>(cut_.info);
  inputs.book = cut_.book;
  inputs.options = std::make_shared<const SampleOptions>(fanouts({4}));
  inputs.halos = std::make_shared<const std::vector<std::shared_ptr<const Part>>>();
  SamplingWork nothing(std::move(inputs), sampled_key, NodeTypeId{}, {});

  ASSERT_OK_AND_ASSIGN(const auto step, nothing.step({}));

  EXPECT_TRUE(step.done);
  EXPECT_EQ(std::move(nothing).take().num_nodes(), 0U);
}

}  // namespace
}  // namespace troupe
