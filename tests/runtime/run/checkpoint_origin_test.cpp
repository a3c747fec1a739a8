#include "runtime/run/checkpoint_origin.hpp"

#include "tests/support/expect.hpp"

namespace troupe {
namespace {

const CheckpointOrigin ours{"aa", 3, "0.1 GNU Debug", "cpu"};

TEST(CheckpointOrigin, TheSameStoreAndProgramMayContinue) {
  EXPECT_OK(check_same_origin(ours, ours));
  EXPECT_EQ(other_build(ours, ours), "");
}

TEST(CheckpointOrigin, AnotherStoreIsRefusedWithBoth) {
  auto other = ours;
  other.store = "bb";
  EXPECT_ERROR(check_same_origin(ours, other), Errc::failed_precondition, "store aa");
  EXPECT_ERROR(check_same_origin(ours, other), Errc::failed_precondition, "found bb");
}

TEST(CheckpointOrigin, AnotherSamplingVersionIsRefusedWithBoth) {
  auto other = ours;
  other.sampling_version = 4;
  EXPECT_ERROR(check_same_origin(ours, other), Errc::failed_precondition, "sampling_version 3");
  EXPECT_ERROR(check_same_origin(ours, other), Errc::failed_precondition, "found 4");
}

TEST(CheckpointOrigin, AnotherBuildIsOnlyWarnedOf) {
  auto other = ours;
  other.build = "0.2 GNU Debug";
  EXPECT_OK(check_same_origin(ours, other));
  EXPECT_NE(other_build(ours, other).find("(0.1 GNU Debug; cpu) than this (0.2 GNU Debug; cpu)"),
            std::string::npos);
}

TEST(CheckpointOrigin, AnotherDeviceIsOnlyWarnedOf) {
  auto other = ours;
  other.device = "gpu";
  EXPECT_OK(check_same_origin(ours, other));
  EXPECT_NE(other_build(ours, other).find("0.1 GNU Debug; gpu"), std::string::npos);
}

TEST(CheckpointOrigin, WhatAnOlderManifestDoesNotSayIsNotCompared) {
  EXPECT_OK(check_same_origin({}, ours));
  EXPECT_EQ(other_build({}, ours), "");
}

}  // namespace
}  // namespace troupe
