// Stores that a run has left in its output, damaged: what to remove is named, nothing is replaced.
#include "launcher/prepare_store.hpp"
#include "tests/sim/sim_support.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/file_text.hpp"

#include <filesystem>
#include <string>

namespace troupe {
namespace {

namespace fs = std::filesystem;

class KeptStores : public ::testing::Test {
 protected:
  Status prepare() const {
    TROUPE_ASSIGN_OR_RETURN(const auto job, testing::cora_job(folder_.path(), {}));
    const auto store = prepare_store(job, [](const std::string&) {});
    return store ? ok_status() : Status(store.error());
  }
  /// The folder whose name begins with `begin`.
  fs::path store(const std::string& begin) const {
    for (const auto& entry : fs::directory_iterator(folder_.path() / "store")) {
      if (entry.path().filename().string().starts_with(begin)) {
        return entry.path();
      }
    }
    return {};
  }
  void expect_named(const fs::path& store, const std::string& what) const {
    const auto status = prepare();
    ASSERT_FALSE(status.ok());
    const auto& text = status.error().what();
    EXPECT_NE(text.find(what), std::string::npos) << text;
    const auto advice = "\ntry: remove " + store.string() + "; the run makes it again";
    EXPECT_TRUE(text.ends_with(advice)) << text;
    EXPECT_EQ(text.find("try:"), text.rfind("try:")) << text;
    EXPECT_TRUE(fs::exists(store));
    fs::remove_all(store);
    EXPECT_OK(prepare());
  }
  testing::ScratchFolder folder_;
};

TEST_F(KeptStores, DamagedOnesAreNamedWithWhatToRemove) {
  ASSERT_OK(prepare());
  for (const auto& [kind, file] :
       {std::pair("parts-", "partition.json"), std::pair("graph-", "graph.json")}) {
    const auto dir = store(kind);
    const auto description = dir / file;
    fs::resize_file(description, fs::file_size(description) - 3);
    expect_named(dir, std::string(file) + ": expected JSON");

    fs::remove(description);
    expect_named(dir, dir.string() +
                          ": expected a whole store or nothing, found a folder without "
                          "its " +
                          file);
  }
}

TEST_F(KeptStores, ADamagedGraphIsNamedWhenItIsCutAgain) {
  ASSERT_OK(prepare());
  const auto dir = store("graph-");
  const auto array = dir / "edges-edge/in/neighbours.npy";
  fs::resize_file(array, fs::file_size(array) - 1);
  fs::remove_all(store("parts-"));
  expect_named(dir, "neighbours.npy: expected ");
}

}  // namespace
}  // namespace troupe
