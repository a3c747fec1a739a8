#include "launcher/progress.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace troupe {
namespace {

TEST(EpochLines, ShowAScoreThatTheDataDoNotDefineAsNone) {
  EpochRecord epoch;
  epoch.valid = Scores{.labelled = 3, .accuracy = 0.5, .f1 = {}, .auc = {}};

  const auto json = epoch_json_line(epoch, 1);

  EXPECT_NE(epoch_line(epoch, 1, "auc").find("valid auc -  "), std::string::npos);
  EXPECT_NE(epoch_line(epoch, 1, "accuracy").find("valid accuracy 0.5000  "), std::string::npos);
  EXPECT_NE(json.find(R"("valid":{"accuracy":0.5,"f1":null,"auc":null})"), std::string::npos)
      << json;
}

TEST(ProgressText, InferenceNamesLayerShareAndTimeLeft) {
  EXPECT_EQ(inference_line({.layer = 1, .layers = 3, .share = 0.459, .seconds = 10, .left = 11.2}),
            "inferring layer 2/3   45 %  12 s left");
  EXPECT_EQ(inference_line({.layer = 0, .layers = 1, .share = 0.999, .seconds = 3, .left = {}}),
            "inferring layer 1/1   99 %");
  EXPECT_EQ(
      inference_json_line({.layer = 0, .layers = 2, .share = 0.25, .seconds = 4, .left = 12}),
      R"({"event":"inference","layer":1,"layers":2,"share":0.25,"seconds":4.0,"seconds_left":12.0})");
}

TEST(Progress, ShowsInferenceThatLasts) {
  Progress progress({});
  ::testing::internal::CaptureStdout();
  progress.infer({ProcessId{1}, 0, 2, 10, 100});
  progress.infer({ProcessId{1}, 0, 2, 20, 100});
  progress.writer().flush();
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");

  std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  ::testing::internal::CaptureStdout();
  progress.infer({ProcessId{1}, 1, 2, 60, 100});
  progress.infer({ProcessId{1}, 1, 2, 61, 100});  // not at every block
  progress.writer().flush();

  const auto text = ::testing::internal::GetCapturedStdout();
  EXPECT_EQ(text.substr(0, text.find('%') + 1), "inferring layer 2/2   60 %");
  EXPECT_EQ(text.find("61"), std::string::npos);
}

}  // namespace
}  // namespace troupe
