#include "launcher/progress.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace troupe
