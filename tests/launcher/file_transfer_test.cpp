// Files from one end of a stream to the other.
#include "launcher/processes/file_transfer.hpp"

#include "runtime/base/digest.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/scratch_folder.hpp"

#include <array>
#include <csignal>
#include <fstream>
#include <iterator>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace troupe {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class FileTransfer : public ::testing::Test {
 protected:
  void SetUp() override {
    std::signal(SIGPIPE, SIG_IGN);  // as `troupe receive` does
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()), 0);
    fs::create_directories(here());
  }
  void TearDown() override { close_both(); }
  void close_both() {
    for (int& end : ends_) {
      if (end >= 0) {
        close(std::exchange(end, -1));
      }
    }
  }
  fs::path here() const { return scratch_.path() / "here"; }
  fs::path there() const { return scratch_.path() / "there"; }
  FileToSend file(const std::string& name, const std::string& content, bool program = false) {
    std::ofstream(here() / name, std::ios::binary) << content;
    auto described = describe_file(here() / name, (there() / "deep" / name).string(), program);
    EXPECT_OK(described);
    return *described;
  }
  Result<TransferTotals> send(const std::vector<FileToSend>& files) {
    std::thread receiver([&] {
      received_ = receive_files(ends_[1], ends_[1]);
      shutdown(ends_[1], SHUT_RDWR);
    });
    auto sent = send_files(ends_[0], files, [] { return false; });
    shutdown(ends_[0], SHUT_RDWR);
    receiver.join();
    close_both();
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()), 0);
    return sent;
  }
  /// What the receiver answers to a sender of another kind.
  std::string answer_to(const std::string& text) {
    EXPECT_EQ(write(ends_[0], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    shutdown(ends_[0], SHUT_WR);
    received_ = receive_files(ends_[1], ends_[1]);
    shutdown(ends_[1], SHUT_WR);
    std::string answer(4096, '\0');
    const auto got = recv(ends_[0], answer.data(), answer.size(), MSG_WAITALL);
    answer.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return answer;
  }
  std::size_t files_there() const {
    std::size_t count = 0;
    std::error_code error;
    for (const auto& entry : fs::recursive_directory_iterator(there(), error)) {
      count += entry.is_regular_file() ? 1U : 0U;
    }
    return count;
  }

  const testing::ScratchFolder scratch_;
  std::array<int, 2> ends_{-1, -1};
  Status received_ = ok_status();
};

TEST_F(FileTransfer, BringsFilesOfAnySizeUnderTheirNames) {
  const std::string big(3'000'001, 'b');
  const auto files = std::vector{file("empty", ""), file("a b", "one\n"), file("big", big)};

  ASSERT_OK_AND_ASSIGN(const auto totals, send(files));

  EXPECT_OK(received_);
  EXPECT_EQ(totals.files, 3U);
  EXPECT_EQ(totals.bytes, 3'000'005U);
  EXPECT_EQ(text_of(there() / "deep/a b"), "one\n");
  EXPECT_EQ(text_of(there() / "deep/big"), big);
  EXPECT_EQ(files_there(), 3U);
}

TEST_F(FileTransfer, SendsNothingThatIsThere) {
  const auto files = std::vector{file("a", "one"), file("b", "two")};
  ASSERT_OK(send(files));

  ASSERT_OK_AND_ASSIGN(const auto totals, send(files));

  EXPECT_EQ(totals.files, 0U);
  EXPECT_EQ(totals.bytes, 0U);
}

TEST_F(FileTransfer, ReplacesWhatHasTheSizeButNotTheContent) {
  const auto files = std::vector{file("a", "one"), file("b", "two")};
  ASSERT_OK(send(files));
  std::ofstream(there() / "deep/b") << "TWO";

  ASSERT_OK_AND_ASSIGN(const auto totals, send(files));

  EXPECT_EQ(totals.files, 1U);
  EXPECT_EQ(text_of(there() / "deep/b"), "two");
}

TEST_F(FileTransfer, AProgramMayBeExecuted) {
  ASSERT_OK(send({file("p", "#!/bin/sh\n", true), file("d", "x")}));

  EXPECT_EQ(access((there() / "deep/p").c_str(), X_OK), 0);
  EXPECT_EQ(fs::status(there() / "deep/d").permissions() & fs::perms::owner_exec, fs::perms::none);
}

TEST_F(FileTransfer, AFileThatChangesOnTheWayIsNotTakenIn) {
  auto changed = file("a", "one");
  std::ofstream(here() / "a") << "TWO";

  EXPECT_ERROR(send({changed}), Errc::failed_precondition, "expected checksum");

  EXPECT_EQ(files_there(), 0U);
}

TEST_F(FileTransfer, AFileThatShrinksIsNamed) {
  auto changed = file("a", "one");
  std::ofstream(here() / "a") << "1";

  EXPECT_ERROR(send({changed}), Errc::failed_precondition, "expected 3 bytes, found 1");

  EXPECT_FALSE(received_.ok());
  EXPECT_EQ(files_there(), 0U);
}

TEST_F(FileTransfer, AFolderThatCannotBeMadeIsNamed) {
  const auto one = file("a", "one");
  fs::create_directories(there());
  std::ofstream(there() / "deep") << "a file in the way";

  EXPECT_ERROR(send({one}), Errc::failed_precondition, (there() / "deep").string());
}

TEST_F(FileTransfer, ASenderThatGoesAwayLeavesNothing) {
  const auto answer = answer_to("troupe-files 1 1\n644 9 " + std::string(32, '0') + " " +
                                there().string() + "/a\nfour");

  EXPECT_EQ(answer, "need 1 0\nerror the sender is gone\n");
  EXPECT_EQ(files_there(), 0U);
}

TEST_F(FileTransfer, SomethingElseThanAListIsRefused) {
  for (const std::string text :
       {"GET / HTTP/1.0\n", "troupe-files 2 1\n", "troupe-files 1 99999999\n",
        "troupe-files 1 1\n644 x y\n", "troupe-files 1 1\n644 1 00 \n"}) {
    EXPECT_NE(answer_to(text).find("error expected a list of files"), std::string::npos) << text;
    close_both();
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()), 0);
  }
}

TEST_F(FileTransfer, AnAnswerThatMakesNoSenseIsRefused) {
  const auto files = std::vector{file("a", "one")};
  for (const std::string text : {"need 1 7\n", "need 2 0\n", "hello\n"}) {
    ASSERT_EQ(write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    const auto sent = send_files(ends_[0], files, [] { return false; });
    EXPECT_FALSE(sent.ok()) << text;
    close_both();
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()), 0);
  }
}

TEST_F(FileTransfer, AReceiverThatIsGoneIsALostPeer) {
  close(std::exchange(ends_[1], -1));

  EXPECT_ERROR(send_files(ends_[0], std::vector{file("a", "one")}, [] { return false; }),
               Errc::peer_lost, "");
}

TEST_F(FileTransfer, CanBeStoppedWhileWaiting) {
  EXPECT_ERROR(send_files(ends_[0], std::vector{file("a", "one")}, [] { return true; }),
               Errc::cancelled, "interrupted");
}

TEST_F(FileTransfer, NoNameCanBringALineOfItsOwn) {
  auto bad = file("a", "one");
  bad.to = "a\n644 1 2 b";

  EXPECT_ERROR(send_files(ends_[0], std::vector{bad}, [] { return false; }), Errc::invalid_argument,
               "without line ends");
}

}  // namespace
}  // namespace troupe
