#include "actors/system_config.hpp"

#include "actors/error.hpp"
#include "tests/support/expect.hpp"

#include <caf/all.hpp>

#include <string>

namespace troupe {
namespace {

TEST(ThreadedConfig, SharesOneQueueAmongFewThreads) {
  EXPECT_EQ(handler_threads(0), 1U) << "the number of cores is not known";
  EXPECT_EQ(handler_threads(1), 1U);
  EXPECT_EQ(handler_threads(2), 1U);
  EXPECT_EQ(handler_threads(4), 2U);
  EXPECT_EQ(handler_threads(128), 2U);
}

TEST(ThreadedConfig, ErrorsOfOursPrintTheirCodeAndSentence) {
  ThreadedConfig config;
  const caf::actor_system system(config);

  const std::string text =
      system.render(to_caf(Error(Errc::data_corruption, "page 7: bad checksum")));

  EXPECT_NE(text.find("troupe.data_corruption"), std::string::npos) << text;
  EXPECT_NE(text.find("page 7: bad checksum"), std::string::npos) << text;
}

}  // namespace
}  // namespace troupe
