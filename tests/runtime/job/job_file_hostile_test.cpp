#include "runtime/base/philox.hpp"
#include "runtime/job/job_file.hpp"
#include "runtime/job/json_places.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/file_text.hpp"

#include <algorithm>
#include <filesystem>

namespace troupe {
namespace {

std::string quickstart() {
  return testing::file_text(std::filesystem::path(TROUPE_SOURCE_DIR) / "examples" /
                            "quickstart.json");
}

TEST(HostileJob, SyntaxErrorsNameLineAndColumn) {
  EXPECT_ERROR(parse_job("{\n  \"seed\": 1,\n  \"seed\" 2\n}", "", {}), Errc::invalid_argument,
               "line 3, column 10");
  EXPECT_ERROR(parse_job("{\"a\": tru}", "", {}), Errc::invalid_argument, "line 1, column 10");
  EXPECT_ERROR(parse_job("", "", {}), Errc::invalid_argument, "line 1, column 1");
  EXPECT_ERROR(parse_job("{} x", "", {}), Errc::invalid_argument, "line 1, column 4");
  EXPECT_ERROR(parse_job("{ /* never closed", "", {}), Errc::invalid_argument, "comment");
  EXPECT_ERROR(parse_job("{\"a\": 1,}", "", {}), Errc::invalid_argument, "line 1");
  EXPECT_ERROR(parse_job("{\"a\": \"\xff\"}", "", {}), Errc::invalid_argument, "UTF-8");
}

TEST(HostileJob, NothingBehindANulByteIsIgnored) {
  const std::string text = quickstart() + '\0' + "}";
  EXPECT_ERROR(parse_job(text, "", {}), Errc::invalid_argument, "NUL byte");
}

TEST(HostileJob, HugeNumbersAreRefused) {
  EXPECT_ERROR(parse_job("{\"seed\": 1e999}", "", {}), Errc::invalid_argument, "1e999");

  ASSERT_OK_AND_ASSIGN(const JobReading reading,
                       parse_job("{\"seed\": " + std::string(300, '9') + "}", "", {}));
  EXPECT_NE(to_string(reading.problems).find("/seed: expected integer"), std::string::npos);
}

TEST(HostileJob, DeepNestingIsRefused) {
  EXPECT_ERROR(parse_job(std::string(100000, '['), "", {}), Errc::invalid_argument, "nesting");
  std::string objects;
  for (int i = 0; i < 20000; ++i) {
    objects += "{\"a\":";
  }
  EXPECT_ERROR(parse_job(objects, "", {}), Errc::invalid_argument, "nesting");
}

TEST(HostileJob, LongTextsAreRefusedUnread) {
  EXPECT_ERROR(parse_job(std::string(std::size_t{1} << 20, ' '), "", {}), Errc::invalid_argument,
               "262144 bytes");
}

TEST(HostileJob, ManyUnknownKeysAreReportedQuickly) {
  std::string text = "{";
  for (int i = 0; i < 5000; ++i) {
    text += "\"key" + std::to_string(i) + "\": 1, ";
  }
  text += "\"" + std::string(100000, 'x') + "\": 1}";
  ASSERT_OK_AND_ASSIGN(const JobReading reading, parse_job(text, "", {}));
  EXPECT_GE(reading.problems.size(), 5001U);
}

TEST(HostileJob, ManyKeysBelowALongOneTakeLittleMemory) {
  std::string repeated;
  std::string distinct;
  for (int i = 0; i < 10000; ++i) {
    repeated += "\"a\": 1, ";
    distinct += "\"" + std::to_string(i) + "\": 1, ";
  }
  const std::string begin = "{\"" + std::string(100000, 'x') + "\": {";
  const std::string end = "\"z\": 1}}";

  EXPECT_ERROR(parse_job(begin + repeated + end, "", {}), Errc::invalid_argument,
               "expected each key once, found /xxx");
  EXPECT_TRUE(json_places(begin + distinct + end).empty());
  ASSERT_OK_AND_ASSIGN(const JobReading reading, parse_job(begin + distinct + end, "", {}));
  EXPECT_NE(to_string(reading.problems).find("expected a known key"), std::string::npos);
}

TEST(HostileJob, KeysWithSlashesAndControlCharactersAreReported) {
  ASSERT_OK_AND_ASSIGN(
      const JobReading reading,
      parse_job(R"({"a/b~c": 1, "\u0000": 2, "": 3, "dataset": {"path/": 1}})", "", {}));
  const std::string text = to_string(reading.problems);
  EXPECT_NE(text.find("/a~1b~0c: expected a known key"), std::string::npos) << text;
  EXPECT_NE(text.find("/dataset/path~1: expected a known key"), std::string::npos) << text;
}

TEST(HostileJob, AnyPrefixOfAJobIsAnErrorOrProblems) {
  const std::string text = quickstart();
  ASSERT_FALSE(text.empty());
  const std::size_t last_brace = text.rfind('}');
  for (std::size_t length = 0; length <= last_brace; ++length) {
    const auto reading = parse_job(text.substr(0, length), "", {});
    EXPECT_TRUE(!reading.ok() || !reading->problems.empty()) << length;
  }
}

TEST(HostileJob, FlippedBitsNeverCrash) {
  const std::string text = quickstart();
  std::size_t refused = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    DrawStream draws(stream_key(1, {.domain = Domain::generators}), at);
    std::string flipped = text;
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << draws.below(8)));
    const auto reading = parse_job(flipped, "", {});
    refused += !reading.ok() || !reading->problems.empty() ? 1U : 0U;
  }
  EXPECT_GT(refused, text.size() / 10);
}

TEST(HostileJob, SwappedValuesNeverCrash) {
  const std::vector<std::string> values = {"null",  "true", "-1",         "18446744073709551615",
                                           "1e308", "\"\"", "\"x\"",      "[]",
                                           "[[1]]", "{}",   "{\"a\": []}"};
  for (const JobKey& key : job_keys()) {
    for (const std::string& value : values) {
      std::string path = key.pointer.substr(1);
      std::replace(path.begin(), path.end(), '/', '.');
      const std::vector<std::string> overrides = {path + "=" + value};
      EXPECT_OK(
          parse_job(R"({"dataset": {"path": "d"}, "sample": {"fanout": [3]}})", "", overrides));
    }
  }
}

}  // namespace
}  // namespace troupe
