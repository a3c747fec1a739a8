#include "launcher/line_writer.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <future>
#include <unistd.h>

namespace troupe {
namespace {

using namespace std::chrono_literals;

/// A pipe that holds less than the tests write.
class LineWriters : public ::testing::Test {
 protected:
  LineWriters() { EXPECT_EQ(pipe(ends_.data()), 0); }
  ~LineWriters() override {
    close(ends_[0]);
    close(ends_[1]);
  }
  int to() const { return ends_[1]; }
  /// Reads so many bytes.
  std::string read_text(std::size_t size) const {
    std::string text;
    std::array<char, 65536> block{};
    while (text.size() < size) {
      const auto got = read(ends_[0], block.data(), std::min(block.size(), size - text.size()));
      if (got <= 0) {
        break;
      }
      text.append(block.data(), static_cast<std::size_t>(got));
    }
    return text;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

TEST_F(LineWriters, WritesTextsInTheirOrder) {
  LineWriter writer;

  writer.print(to(), "one\n");
  writer.print(to(), "two\n");

  EXPECT_TRUE(writer.flush_for(10s));
  EXPECT_EQ(read_text(8), "one\ntwo\n");
}

TEST_F(LineWriters, ItsEndWaitsForTheReader) {
  const std::string large(1U << 20U, 'x');
  auto writer = std::make_unique<LineWriter>();
  writer->print(to(), large);
  EXPECT_FALSE(writer->flush_for(1ms)) << "print() has not waited for the reader";

  auto end = std::async(std::launch::async, [&] { writer.reset(); });

  EXPECT_EQ(read_text(large.size()), large);
  end.get();
}

TEST_F(LineWriters, ThatAreReleasedLeaveWhatNobodyReads) {
  const std::string large(1U << 20U, 'x');
  const auto began = std::chrono::steady_clock::now();
  {
    LineWriter writer;
    writer.print(to(), large);
    writer.release();
    writer.flush();
  }

  EXPECT_LT(std::chrono::steady_clock::now() - began, 10s);
  EXPECT_EQ(read_text(large.size()), large) << "the thread is still there";
}

TEST_F(LineWriters, TextsWithoutRoomWaitUntilTheyAreReleased) {
  LineWriter writer;
  writer.print(to(), std::string(LineWriter::most_bytes, 'x'));

  auto waits = std::async(std::launch::async, [&] { writer.print(to(), "dropped"); });
  EXPECT_EQ(waits.wait_for(50ms), std::future_status::timeout);
  writer.release();

  EXPECT_EQ(waits.wait_for(10s), std::future_status::ready);
  EXPECT_EQ(read_text(LineWriter::most_bytes).size(), LineWriter::most_bytes);
  EXPECT_TRUE(writer.flush_for(10s));
}

TEST_F(LineWriters, TextsThatWaitForRoomAreWrittenOnceThereIsSome) {
  LineWriter writer;
  writer.print(to(), std::string(LineWriter::most_bytes, 'x'));
  auto waits = std::async(std::launch::async, [&] { writer.print(to(), "later"); });

  EXPECT_EQ(read_text(LineWriter::most_bytes).size(), LineWriter::most_bytes);
  waits.get();

  EXPECT_EQ(read_text(5), "later");
}

}  // namespace
}  // namespace troupe
