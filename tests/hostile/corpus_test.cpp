// The corpora of the fuzz targets, and each of their inputs made worse, under the promises that the
// targets check (they end the program where one does not hold).
#include "tests/hostile/mutations.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/file_text.hpp"

#include "fuzz/targets.hpp"

#include <filesystem>
#include <ostream>

namespace troupe {
namespace {

using testing::Octets;

}  // namespace

namespace fuzz {
/// For the names of tests.
void PrintTo(const Target& target, std::ostream* out) {
  *out << target.name;
}
}  // namespace fuzz

namespace {

class Corpus : public ::testing::TestWithParam<fuzz::Target> {
 protected:
  static std::vector<Octets> inputs() {
    const auto dir = std::filesystem::path(TROUPE_SOURCE_DIR) / "fuzz/corpus" / GetParam().name;
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(dir)) {
      files.push_back(entry.path());
    }
    std::ranges::sort(files);
    std::vector<Octets> list;
    for (const auto& file : files) {
      const auto bytes = testing::file_text(file);
      list.emplace_back(bytes.begin(), bytes.end());
    }
    return list;
  }
};

TEST_P(Corpus, IsHandledAsPromised) {
  const auto list = inputs();
  ASSERT_FALSE(list.empty());
  for (const auto& input : list) {
    GetParam().run(input);
  }
}

TEST_P(Corpus, IsHandledAsPromisedWhenMadeWorse) {
  // Targets that write files are slower by the hundred, and each key of a job has an input of overrides.
  const std::string name = GetParam().name;
  const std::size_t most = name == "overrides"          ? 3
                           : name == "store"            ? 12
                           : name.starts_with("import") ? 30
                                                        : 200;
  std::size_t tried = 0;
  for (const auto& input : inputs()) {
    testing::each_mutation(input, most, [&](const Octets& changed) {
      GetParam().run(changed);
      ++tried;
    });
  }
  std::printf("[ inputs   ] %s: %zu tried\n", name.c_str(), tried);
  EXPECT_GT(tried, 100U);
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Corpus, ::testing::ValuesIn(fuzz::targets),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace troupe
