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

}  // namespace
}  // namespace troupe
