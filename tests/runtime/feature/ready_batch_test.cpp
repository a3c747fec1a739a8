#include "runtime/feature/ready_batch.hpp"

#include "tests/support/expect.hpp"

namespace troupe {
namespace {

SampleBatch request() {
  SampleBatch request;
  request.key = {Purpose::train, 2, 9};
  request.seeds = {NodeId{4}, NodeId{4}};
  return request;
}

ReadyBatch answer(BatchKey key, NodeTypeId seed_type, std::size_t seeds) {
  auto sampled = std::make_shared<SampledBatch>();
  sampled->key = key;
  sampled->seed_type = seed_type;
  sampled->seed_index.resize(seeds);
  ReadyBatch ready;
  ready.batch.sampled = std::move(sampled);
  return ready;
}

TEST(CheckAnswer, TakesTheBatchThatWasAskedFor) {
  EXPECT_OK(check_answer(request(), answer({Purpose::train, 2, 9}, NodeTypeId{0}, 2)));
}

TEST(CheckAnswer, RefusesAnyOther) {
  const auto check = [](const ReadyBatch& ready) { return check_answer(request(), ready); };
  const auto corrupt = Errc::data_corruption;
  EXPECT_ERROR(
      check(answer({Purpose::train, 2, 8}, NodeTypeId{0}, 2)), corrupt,
      "expected training batch 9 of epoch 3 with 2 seeds of type 0, found training batch 8");
  EXPECT_ERROR(check(answer({Purpose::train, 1, 9}, NodeTypeId{0}, 2)), corrupt, "found training");
  EXPECT_ERROR(check(answer({Purpose::evaluate, 2, 9}, NodeTypeId{0}, 2)), corrupt,
               "found evaluation batch 9");
  EXPECT_ERROR(check(answer({Purpose::train, 2, 9}, NodeTypeId{1}, 2)), corrupt, "of type 1");
  EXPECT_ERROR(check(answer({Purpose::train, 2, 9}, NodeTypeId{0}, 3)), corrupt, "with 3 seeds");
}

/// How many pairs walks have is known when they are sampled.
TEST(CheckAnswer, TakesAnyNumberOfPairsOfWalksButOfTheirType) {
  auto asked = request();
  asked.links.emplace().sources = {NodeId{1}, NodeId{2}};
  SampleOptions options;
  asked.sample = std::make_shared<const SampleOptions>(options);
  const auto found = [](std::size_t pairs, std::uint16_t type) {
    auto sampled = std::make_shared<SampledBatch>();
    sampled->key = {Purpose::train, 2, 9};
    auto& links = sampled->links.emplace();
    links.edge_type = static_cast<EdgeTypeId>(type);
    links.sources.resize(pairs);
    ReadyBatch ready;
    ready.batch.sampled = std::move(sampled);
    return ready;
  };
  EXPECT_ERROR(check_answer(asked, found(7, 0)), Errc::data_corruption, "with 2 links of type 0");
  options.walks.emplace();
  asked.sample = std::make_shared<const SampleOptions>(options);
  EXPECT_OK(check_answer(asked, found(7, 0)));
  EXPECT_ERROR(check_answer(asked, found(7, 1)), Errc::data_corruption, "links of type 1");
  asked.sample = nullptr;  // after a journey
  EXPECT_OK(check_answer(asked, found(7, 0)));
}

}  // namespace
}  // namespace troupe
