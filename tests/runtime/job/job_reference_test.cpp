#include "runtime/job/job_file.hpp"
#include "tests/support/expect.hpp"

#include <filesystem>
#include <fstream>
#include <set>

namespace troupe {
namespace {

std::string cell(const std::string& text, bool code) {
  std::string out;
  for (const char c : text) {
    out += c == '|' ? "\\|" : std::string(1, c);
  }
  const bool plain = text.find('`') != std::string::npos || text == "required" || text == "absent";
  return code && !text.empty() && !plain ? "`" + out + "`" : out;
}

/// A key as its row in docs/job-file.md.
std::string row_of(const JobKey& key) {
  return "| `" + key.pointer + "` | " + key.type + " | " + cell(key.default_value, true) + " | " +
         cell(key.range, false) + " | " + cell(key.meaning, false) + " |";
}

std::vector<std::string> rows_of_reference() {
  std::ifstream in(std::filesystem::path(TROUPE_SOURCE_DIR) / "docs" / "job-file.md");
  std::vector<std::string> rows;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("| `/")) {
      rows.push_back(line);
    }
  }
  return rows;
}

TEST(JobReference, HasARowForEveryKeyAndNoOther) {
  std::vector<std::string> expected;
  for (const JobKey& key : job_keys()) {
    expected.push_back(row_of(key));
  }
  const auto found = rows_of_reference();
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i], expected[i]);
  }
}

TEST(JobKeys, AreDistinctAndComplete) {
  std::set<std::string> pointers;
  for (const JobKey& key : job_keys()) {
    EXPECT_TRUE(pointers.insert(key.pointer).second) << key.pointer;
    EXPECT_FALSE(key.type.empty()) << key.pointer;
    EXPECT_FALSE(key.default_value.empty()) << key.pointer;
    EXPECT_FALSE(key.meaning.empty()) << key.pointer;
    EXPECT_TRUE(!key.range.empty() || key.type == "boolean") << key.pointer;
  }
  for (const char* named :
       {"/checkpoint/every/steps", "/features/cache/budget", "/cluster/lost_after",
        "/partition/topology", "/train/optimizer/betas", "/eval/max_batches", "/log_every"}) {
    EXPECT_TRUE(pointers.contains(named)) << named;
  }
}

}  // namespace
}  // namespace troupe
