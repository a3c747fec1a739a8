#include "runtime/net/token.hpp"

#include "tests/support/expect.hpp"
#include "tests/support/scratch_folder.hpp"

#include <fstream>
#include <sys/stat.h>

namespace troupe::net {
namespace {

namespace fs = std::filesystem;

const std::string text = "00112233445566778899aabbccddeeff0123456789abcdef0123456789ABCDEF";

unsigned mode_of(const fs::path& file) {
  struct stat info {};
  EXPECT_EQ(::stat(file.c_str(), &info), 0);
  return info.st_mode & 07777U;
}

void put(const fs::path& file, const std::string& content, mode_t mode = 0600) {
  std::ofstream(file) << content;
  ASSERT_EQ(::chmod(file.c_str(), mode), 0);
}

TEST(Token, ReadsDigitsOfEitherCaseWithWhiteSpaceAround) {
  ASSERT_OK_AND_ASSIGN(const auto token, Token::parse(" \t" + text + "\r\n"));
  EXPECT_EQ(token.bytes()[1], std::byte{0x11});
  EXPECT_EQ(token.bytes()[31], std::byte{0xEF});
  EXPECT_EQ(token.hex(), text.substr(0, 58) + "abcdef");
  EXPECT_FALSE(token.empty());
}

TEST(Token, RandomOnesDiffer) {
  ASSERT_OK_AND_ASSIGN(const auto one, Token::random());
  ASSERT_OK_AND_ASSIGN(const auto other, Token::random());
  EXPECT_NE(one.bytes(), other.bytes());
  EXPECT_FALSE(one.empty());
  EXPECT_TRUE(Token().empty());
}

TEST(Token, BadTextIsRefusedWithoutBeingShown) {
  EXPECT_ERROR(Token::parse(""), Errc::invalid_argument, "expected 64 hexadecimal digits, got 0");
  EXPECT_ERROR(Token::parse(" \n"), Errc::invalid_argument, "got 0");
  EXPECT_ERROR(Token::parse(text + "0"), Errc::invalid_argument, "got 65");
  EXPECT_ERROR(Token::parse(std::string(64, '0')), Errc::invalid_argument, "got 64 zeros");
  auto bad = text;
  bad[9] = 'q';
  EXPECT_ERROR(Token::parse(bad), Errc::invalid_argument,
               "character 10 of 64 is no hexadecimal digit");
  for (const auto& wrong : {bad, text + "0", text.substr(1)}) {
    const auto what = testing::what_of(Token::parse(wrong));
    EXPECT_EQ(what.find("2233"), std::string::npos);
    EXPECT_EQ(what.find('q'), std::string::npos);
  }
}

TEST(Token, AWrittenFileIsOnlyForItsOwnerAndReadsBack) {
  const testing::ScratchFolder folder;
  const auto file = folder.path() / "token";
  ASSERT_OK_AND_ASSIGN(const auto token, Token::random());

  const auto before = ::umask(0777);
  const auto written = token.write(file);
  ::umask(before);

  ASSERT_OK(written);
  EXPECT_EQ(mode_of(file), 0600U);
  ASSERT_OK_AND_ASSIGN(const auto read, Token::read(file));
  EXPECT_EQ(read.bytes(), token.bytes());
}

TEST(Token, NeverReplacesAFile) {
  const testing::ScratchFolder folder;
  const auto file = folder.path() / "token";
  put(file, "mine");
  ASSERT_OK_AND_ASSIGN(const auto token, Token::random());

  EXPECT_ERROR(token.write(file), Errc::failed_precondition, file.string());
  EXPECT_EQ(fs::file_size(file), 4U);

  const auto link = folder.path() / "link";
  fs::create_symlink(folder.path() / "elsewhere", link);
  EXPECT_ERROR(token.write(link), Errc::failed_precondition, "link");
  EXPECT_FALSE(fs::exists(folder.path() / "elsewhere"));
}

TEST(Token, WritesNeitherNothingNorNowhere) {
  const testing::ScratchFolder folder;
  EXPECT_ERROR(Token().write(folder.path() / "token"), Errc::invalid_argument, "got none");
  ASSERT_OK_AND_ASSIGN(const auto token, Token::random());
  EXPECT_ERROR(token.write(folder.path() / "no/token"), Errc::not_found, "no/token");
}

TEST(Token, AFileThatOthersMayReadIsRefused) {
  const testing::ScratchFolder folder;
  const auto file = folder.path() / "token";
  for (const mode_t mode : {0640U, 0604U, 0610U, 0644U, 0666U}) {
    put(file, text, mode);
    EXPECT_ERROR(Token::read(file), Errc::failed_precondition, "mode 0600");
  }
  put(file, text, 0400);
  EXPECT_OK(Token::read(file));
}

TEST(Token, WhatIsNoTokenFileIsRefused) {
  const testing::ScratchFolder folder;
  EXPECT_ERROR(Token::read(folder.path() / "none"), Errc::not_found, "none");
  const auto pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_ERROR(Token::read(pipe), Errc::failed_precondition, "got something else");
  EXPECT_ERROR(Token::read(folder.path()), Errc::failed_precondition, "got something else");

  const auto file = folder.path() / "token";
  put(file, "secret-that-is-short");
  const auto result = Token::read(file);
  EXPECT_ERROR(result, Errc::invalid_argument, "got 20 characters");
  EXPECT_NE(testing::what_of(result).find(file.string()), std::string::npos);
  EXPECT_EQ(testing::what_of(result).find("secret"), std::string::npos);
  put(file, std::string(1 << 20, 'a'));
  EXPECT_ERROR(Token::read(file), Errc::invalid_argument, "expected 64 hexadecimal digits");
}

}  // namespace
}  // namespace troupe::net
