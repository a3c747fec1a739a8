// What counts as a change of a store.
#include "runtime/graph/store_watch.hpp"

#include "tests/support/expect.hpp"
#include "tests/support/scratch_folder.hpp"

#include <fstream>

namespace troupe {
namespace {

namespace fs = std::filesystem;

class StoreWatchTest : public ::testing::Test {
 protected:
  StoreWatchTest() {
    fs::create_directories(folder_.path() / "part-0");
    write("graph.json", "{}");
    write("part-0/rows.npy", "12345678");
  }
  void write(const std::string& file, const std::string& text) const {
    std::ofstream(folder_.path() / file, std::ios::trunc) << text;
  }
  void age(const std::string& file) const {
    const auto path = folder_.path() / file;
    fs::last_write_time(path, fs::last_write_time(path) + std::chrono::seconds(1));
  }
  testing::ScratchFolder folder_;
};

TEST_F(StoreWatchTest, AStoreThatNobodyTouchesIsGood) {
  ASSERT_OK_AND_ASSIGN(const auto watch, StoreWatch::begin(folder_.path()));
  std::ifstream(folder_.path() / "graph.json").get();
  EXPECT_OK(watch.check());
}

TEST_F(StoreWatchTest, AFileThatIsWrittenRemovedOrAddedIsNamed) {
  ASSERT_OK_AND_ASSIGN(const auto watch, StoreWatch::begin(folder_.path()));
  write("part-0/rows.npy", "1234567");
  EXPECT_ERROR(watch.check(), Errc::data_corruption, "part-0/rows.npy: was changed");
  fs::remove(folder_.path() / "part-0/rows.npy");
  EXPECT_ERROR(watch.check(), Errc::data_corruption, "part-0/rows.npy: was removed");

  ASSERT_OK_AND_ASSIGN(const auto later, StoreWatch::begin(folder_.path()));
  age("graph.json");
  EXPECT_ERROR(later.check(), Errc::data_corruption, "graph.json: was changed");

  ASSERT_OK_AND_ASSIGN(const auto last, StoreWatch::begin(folder_.path()));
  write("part-0/more.npy", "");
  EXPECT_ERROR(last.check(), Errc::data_corruption, "part-0/more.npy: was added");
}

TEST_F(StoreWatchTest, AFolderThatIsNotThereIsNone) {
  EXPECT_ERROR(StoreWatch::begin(folder_.path() / "none"), Errc::not_found, "none");
  ASSERT_OK_AND_ASSIGN(const auto watch, StoreWatch::begin(folder_.path()));
  fs::remove_all(folder_.path() / "part-0");
  EXPECT_ERROR(watch.check(), Errc::data_corruption, "rows.npy: was removed");
}

}  // namespace
}  // namespace troupe
