// A program that was compiled for another processor says so.
#include "launcher/processor_needs.hpp"

#include <gtest/gtest.h>

#include <string>

namespace troupe {
namespace {

TEST(ProcessorCheck, AcceptsAProcessorThatHasAllAndMore) {
  EXPECT_EQ(processor_refusal(0, 0), nullptr);
  EXPECT_EQ(processor_refusal(feature_avx2, feature_avx2 | feature_avx512f), nullptr);
  EXPECT_EQ(processor_refusal(compiled_for, processor_features()), nullptr) << "this test runs";
}

TEST(ProcessorCheck, NamesWhatIsMissingAndOnlyThat) {
  const char* refusal =
      processor_refusal(feature_avx2 | feature_avx512f | feature_avx512bw, feature_avx2);
  ASSERT_NE(refusal, nullptr);
  const std::string text = refusal;
  EXPECT_EQ(text.find("troupe: expected a processor with avx512f avx512bw, "), 0U) << text;
  EXPECT_EQ(text.back(), '\n');
}

}  // namespace
}  // namespace troupe
