#include "launcher/import_progress.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

TEST(ImportLine, SaysStageShareRateAndTimeLeft) {
  EXPECT_EQ(import_line({"reading edges", 30'000'000, 120'000'000, "edges"}, 3.0),
            "reading edges: 25 % of 1.2e+08 edges, 1e+07/s, 9 s left");
}

TEST(ImportLine, WithoutATotalThereIsNoTimeLeft) {
  EXPECT_EQ(import_line({"reading edges", 5000, 0, "edges"}, 2.0),
            "reading edges: 5e+03 edges, 2.5e+03/s");
}

TEST(ImportLine, TheBeginOfAStageHasNoRate) {
  EXPECT_EQ(import_line({"statistics of features", 0, 500, "rows"}, 0.0),
            "statistics of features: 0 % of 500 rows");
}

}  // namespace
}  // namespace troupe
