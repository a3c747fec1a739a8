#include "runtime/base/files.hpp"

#include "runtime/base/mapped_file.hpp"
#include "runtime/base/staged_directory.hpp"
#include "tests/support/expect.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <iterator>
#include <stdlib.h>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace troupe {
namespace {

namespace fs = std::filesystem;

class Files : public ::testing::Test {
 protected:
  Files() {
    auto name = (fs::temp_directory_path() / "troupe-files-XXXXXX").string();
    dir_ = ::mkdtemp(name.data());
  }
  ~Files() override { fs::remove_all(dir_); }

  static std::span<const std::byte> bytes(const std::string& text) {
    return std::as_bytes(std::span(text));
  }
  static std::string text_of(const Segment& segment) {
    return {reinterpret_cast<const char*>(segment.bytes.data()), segment.bytes.size()};
  }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(dir_), {}));
  }
  fs::path dir_;
};

TEST_F(Files, WrittenPiecesComeBackReadMappedAndLoaded) {
  const std::string first = "first ";
  const std::string second(std::size_t{3} << 20, 'x');
  const std::array pieces{bytes(first), bytes(second)};
  ASSERT_OK(write_new_file(dir_ / "a", pieces));

  ASSERT_OK_AND_ASSIGN(const auto text, read_text_file(dir_ / "a", 1U << 30));
  ASSERT_OK_AND_ASSIGN(const auto mapped, map_file(dir_ / "a"));
  ASSERT_OK_AND_ASSIGN(const auto loaded, load_file(dir_ / "a"));
  EXPECT_EQ(text, first + second);
  EXPECT_EQ(text_of(mapped), text);
  EXPECT_EQ(text_of(loaded), text);
}

TEST_F(Files, EmptyFilesAreEmptySegments) {
  ASSERT_OK(write_new_file(dir_ / "a", {}));
  ASSERT_OK_AND_ASSIGN(const auto mapped, map_file(dir_ / "a"));
  ASSERT_OK_AND_ASSIGN(const auto loaded, load_file(dir_ / "a"));
  EXPECT_TRUE(mapped.empty());
  EXPECT_TRUE(loaded.empty());
}

TEST_F(Files, MissingFilesAndDirectoriesAreNamed) {
  for (const auto& result : {map_file(dir_ / "none"), load_file(dir_ / "none")}) {
    EXPECT_ERROR(result, Errc::not_found, "none: cannot open");
  }
  EXPECT_ERROR(map_file(dir_), Errc::failed_precondition, dir_.string());
  EXPECT_ERROR(load_file(dir_), Errc::failed_precondition, dir_.string());
  EXPECT_ERROR(read_text_file(dir_ / "none", 10), Errc::not_found, "none");
}

TEST_F(Files, ReadingStopsAtTheBound) {
  ASSERT_OK(write_file_atomically(dir_ / "a", bytes("12345")));
  EXPECT_OK(read_text_file(dir_ / "a", 5));
  EXPECT_ERROR(read_text_file(dir_ / "a", 4), Errc::failed_precondition, "at most 4 bytes");
}

TEST_F(Files, BlocksAreTheWholeFileAndEndWithTheFirstError) {
  std::string text(std::size_t{3} << 20, 'x');
  text.back() = 'y';
  ASSERT_OK(write_file_atomically(dir_ / "a", bytes(text)));

  std::string read;
  ASSERT_OK(for_each_block(dir_ / "a", [&](std::span<const std::byte> block) {
    read.append(reinterpret_cast<const char*>(block.data()), block.size());
    return ok_status();
  }));
  EXPECT_TRUE(read == text);
  int calls = 0;
  const auto ended = for_each_block(dir_ / "a", [&](auto) -> Status {
    ++calls;
    return Error(Errc::cancelled, "enough");
  });
  EXPECT_ERROR(ended, Errc::cancelled, "enough");
  EXPECT_EQ(calls, 1);
}

TEST_F(Files, AFileThatCannotBeWrittenWholeIsRemoved) {
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  const rlimit small{4096, old.rlim_max};
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string text(10000, 'x');
  const std::array pieces{bytes(text)};

  const auto written = write_new_file(dir_ / "a", pieces, Readers::owner);

  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, before);
  EXPECT_ERROR(written, Errc::failed_precondition, "a: cannot write");
  EXPECT_EQ(entries(), 0U);
}

TEST_F(Files, AFullDiskHasAWayOut) {
  for (const int number : {ENOSPC, EDQUOT}) {
    EXPECT_NE(
        std::string(file_error("a/b", "cannot write", number).what()).find("; try: make space"),
        std::string::npos);
  }
  EXPECT_EQ(std::string(file_error("a/b", "cannot write", EACCES).what()),
            "a/b: cannot write: Permission denied");
}

TEST_F(Files, TheirModeFollowsTheMask) {
  const auto before = ::umask(0077);
  EXPECT_OK(write_file_atomically(dir_ / "a", bytes("mine")));
  EXPECT_OK(write_new_text_file(dir_ / "b", "mine"));
  ::umask(0002);
  EXPECT_OK(write_file_atomically(dir_ / "c", bytes("ours")));
  ::umask(before);
  const auto mode = [&](const char* name) {
    return static_cast<unsigned>(std::filesystem::status(dir_ / name).permissions());
  };
  EXPECT_EQ(mode("a"), 0600U);
  EXPECT_EQ(mode("b"), 0600U);
  EXPECT_EQ(mode("c"), 0664U);
}

TEST_F(Files, NewFilesDoNotReplaceAndAtomicOnesDo) {
  ASSERT_OK(write_file_atomically(dir_ / "a", bytes("old")));
  EXPECT_ERROR(write_new_file(dir_ / "a", {}), Errc::failed_precondition, "cannot create");
  ASSERT_OK(write_file_atomically(dir_ / "a", bytes("new")));
  ASSERT_OK_AND_ASSIGN(const auto text, read_text_file(dir_ / "a", 10));
  EXPECT_EQ(text, "new");
  EXPECT_EQ(entries(), 1U);
  EXPECT_ERROR(write_file_atomically(dir_ / "none" / "a", bytes("x")), Errc::not_found, "none");
}

TEST_F(Files, PiecesReplaceAFileAsOne) {
  ASSERT_OK(write_file_atomically(dir_ / "a", bytes("a much longer text")));
  const std::string first = "first ";
  const std::string second = "second";
  const std::array pieces{bytes(first), bytes(second)};
  ASSERT_OK(write_file_atomically(dir_ / "a", pieces));
  ASSERT_OK_AND_ASSIGN(const auto text, read_text_file(dir_ / "a", 100));
  EXPECT_EQ(text, "first second");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(Files, AStagedDirectoryAppearsWholeOrNotAtAll) {
  const auto final_path = dir_ / "deep" / "store";
  {
    ASSERT_OK_AND_ASSIGN(const auto dropped, StagedDirectory::create(final_path));
    ASSERT_OK(write_new_file(dropped.path() / "a", {}));
    EXPECT_FALSE(fs::exists(final_path));
  }
  EXPECT_TRUE(fs::is_empty(dir_ / "deep"));

  ASSERT_OK_AND_ASSIGN(auto staged, StagedDirectory::create(final_path));
  fs::create_directories(staged.path() / "sub");
  ASSERT_OK(write_new_file(staged.path() / "sub" / "a", {}));
  ASSERT_OK(staged.commit(Flush::yes));
  EXPECT_TRUE(fs::exists(final_path / "sub" / "a"));
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_ / "deep"), {}), 1);
}

TEST_F(Files, WhatAKilledProcessLeftOfAStagedDirectoryGoesWithTheNext) {
  fs::create_directories(dir_ / "store.tmp-a1B2c3" / "part-0");
  fs::create_directories(dir_ / "other.tmp-a1B2c3");
  fs::create_directories(dir_ / "store.tmp-notes");
  ASSERT_OK_AND_ASSIGN(const auto held, StagedDirectory::create(dir_ / "store"));
  EXPECT_FALSE(fs::exists(dir_ / "store.tmp-a1B2c3"));
  EXPECT_TRUE(fs::exists(dir_ / "other.tmp-a1B2c3"));  // of another directory
  EXPECT_TRUE(fs::exists(dir_ / "store.tmp-notes"));   // somebody's own

  ASSERT_OK_AND_ASSIGN(const auto second, StagedDirectory::create(dir_ / "store"));
  EXPECT_TRUE(fs::exists(held.path()));  // in use
  EXPECT_NE(held.path(), second.path());
}

TEST_F(Files, WhatKilledProcessesLeftOfDirectoriesOfSeveralNamesIsRemoved) {
  for (const auto* name : {"graph-1.tmp-a1B2c3", "graph-2.tmp-a1B2c3", "parts-1.tmp-a1B2c3",
                           "graph-1", "graph-1.tmp-notes"}) {
    fs::create_directories(dir_ / name / "part-0");
  }
  ASSERT_OK_AND_ASSIGN(const auto held, StagedDirectory::create(dir_ / "graph-3"));
  remove_left_behind(dir_, "graph-");
  EXPECT_TRUE(fs::exists(held.path()));
  EXPECT_TRUE(fs::exists(dir_ / "graph-1"));
  EXPECT_TRUE(fs::exists(dir_ / "graph-1.tmp-notes"));
  EXPECT_TRUE(fs::exists(dir_ / "parts-1.tmp-a1B2c3"));
  EXPECT_EQ(entries(), 4U);

  remove_left_behind(dir_ / "missing", "graph-");
  EXPECT_EQ(entries(), 4U);
}

TEST_F(Files, ManyThreadsStageTheSameDirectoryAndOneWins) {
  std::atomic<int> won{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      auto staged = StagedDirectory::create(dir_ / "store");
      if (staged) {  // else the winner was faster
        EXPECT_TRUE(fs::exists(staged->path()));
        ASSERT_OK(write_new_file(staged->path() / "a", {}));
        won += staged->commit(Flush::no).ok() ? 1 : 0;
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(won, 1);
  EXPECT_EQ(entries(), 1U);
}

TEST_F(Files, AProcessThatEndsTakesItsStagedDirectoriesWithIt) {
  EXPECT_EXIT(
      {
        const auto first = StagedDirectory::create(dir_ / "first");
        const auto second = StagedDirectory::create(dir_ / "second");
        static_cast<void>(write_new_file(second->path() / "a", {}));
        remove_staged_directories();
        std::_Exit(entries() == 0 ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST_F(Files, AStagedDirectoryThatIsBeingMadeIsNotLeftBehindAtTheEnd) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_EXIT(
        {
          std::atomic<int> made = 0;
          std::thread([&] {
            for (;; ++made) {
              static_cast<void>(StagedDirectory::create(dir_ / "made"));
            }
          }).detach();
          while (made.load() <= i % 10) {
          }
          remove_staged_directories();
          std::_Exit(entries() == 0 ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), "");
  }
}

TEST_F(Files, FilesThatThreadsAddWhileTheirDirectoryIsRemovedAreRemovedToo) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_EXIT(
        {
          auto staged = StagedDirectory::create(dir_ / "written");
          const int folder = ::open(staged->path().c_str(), O_RDONLY | O_DIRECTORY);
          std::atomic<int> added = 0;
          std::thread([&] {  // opens a file in the directory whatever its name is by then
            while (added < 100) {
              ::close(::openat(folder, std::to_string(added++).c_str(), O_CREAT | O_WRONLY, 0644));
            }
          })
              .detach();
          while (added.load() < 10 + i % 20) {
          }
          remove_staged_directories();
          std::_Exit(entries() == 0 ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), "");
  }
}

TEST_F(Files, AStagedDirectoryReplacesNothing) {
  fs::create_directories(dir_ / "there");
  EXPECT_ERROR(StagedDirectory::create(dir_ / "there"), Errc::failed_precondition, "exists");
  EXPECT_ERROR(StagedDirectory::create(dir_ / "there" / ""), Errc::failed_precondition, "exists");
  ASSERT_OK_AND_ASSIGN(auto staged, StagedDirectory::create(dir_ / "raced"));
  fs::create_directories(dir_ / "raced");  // another process was faster
  EXPECT_ERROR(staged.commit(Flush::no), Errc::failed_precondition, "exists");
}

}  // namespace
}  // namespace troupe
