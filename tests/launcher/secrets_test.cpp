// How token and certificate reach a process.
#include "launcher/processes/secrets.hpp"

#include "launcher/processes/entrance.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/scratch_folder.hpp"

#include <array>
#include <fcntl.h>
#include <unistd.h>

namespace troupe {
namespace {

/// read_secrets() from a pipe with `text`; what is left there afterwards in `rest`.
Result<Secrets> secrets_from(const std::string& text, std::string* rest = nullptr) {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  EXPECT_EQ(write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  close(ends[1]);
  auto secrets = read_secrets(ends[0]);
  for (char c = 0; rest != nullptr && read(ends[0], &c, 1) == 1;) {
    *rest += c;
  }
  close(ends[0]);
  return secrets;
}

Secrets some_secrets(bool tls) {
  Secrets secrets;
  secrets.token = *net::Token::random();
  if (tls) {
    secrets.tls = *net::make_job_certificate(1);
  }
  return secrets;
}

TEST(Secrets, WithoutTlsAreOneLine) {
  const auto sent = some_secrets(false);
  std::string rest;
  ASSERT_OK_AND_ASSIGN(const auto read, secrets_from(to_input(sent) + "next line\n", &rest));
  EXPECT_EQ(read.token.bytes(), sent.token.bytes());
  EXPECT_FALSE(read.tls.has_value());
  EXPECT_EQ(rest, "next line\n") << "no more is taken";
}

TEST(Secrets, WithTlsBringTheCertificateAndItsKey) {
  const auto sent = some_secrets(true);
  std::string rest;
  ASSERT_OK_AND_ASSIGN(const auto read, secrets_from(to_input(sent) + "next line\n", &rest));
  EXPECT_EQ(read.token.bytes(), sent.token.bytes());
  ASSERT_TRUE(read.tls.has_value());
  EXPECT_EQ(read.tls->certificate, sent.tls->certificate);
  EXPECT_EQ(read.tls->key, sent.tls->key);
  EXPECT_EQ(read.tls->authority, sent.tls->authority);
  EXPECT_EQ(rest, "next line\n") << "no more is taken";
  ASSERT_OK_AND_ASSIGN(const auto context, tls_context(read));
  EXPECT_NE(context, nullptr);
}

TEST(Secrets, ThatAreNoneAreRefusedAndNotRepeated) {
  for (const std::string text :
       {"", "\n", "secret-but-wrong\n", "secret-but-wrong tls\n", " tls\n"}) {
    const auto read = secrets_from(text);
    EXPECT_ERROR(read, Errc::invalid_argument, "64");
    EXPECT_EQ(testing::what_of(read).find("secret"), std::string::npos);
  }
  EXPECT_ERROR(secrets_from(std::string(40'000, 'a')), Errc::invalid_argument, "");
  const auto token = net::Token::random()->hex();
  std::string flood;
  for (int i = 0; i < 1000; ++i) {
    flood += "a line of no certificate\n";
  }
  EXPECT_ERROR(secrets_from(token + " tls\n" + flood), Errc::invalid_argument, "found more");
  ASSERT_OK_AND_ASSIGN(const auto cut, secrets_from(token + " tls\nhalf a certificate"));
  EXPECT_ERROR(tls_context(cut), Errc::invalid_argument, "certificate: expected PEM");
}

TEST(Secrets, ComeFromFilesThatTheirOwnerAloneMayRead) {
  const testing::ScratchFolder folder;
  const auto sent = some_secrets(true);
  const auto token = folder.path() / "token";
  EXPECT_ERROR(read_secrets(token, ""), Errc::not_found, token.string());
  ASSERT_OK(sent.token.write(token));
  ASSERT_OK_AND_ASSIGN(const auto plain, read_secrets(token, ""));
  EXPECT_EQ(plain.token.bytes(), sent.token.bytes());
  EXPECT_FALSE(plain.tls.has_value());
  EXPECT_ERROR(read_secrets(token, folder.path()), Errc::not_found, "certificate.pem");
  ASSERT_OK(net::write_tls(*sent.tls, folder.path()));
  ASSERT_OK_AND_ASSIGN(const auto both, read_secrets(token, folder.path()));
  EXPECT_EQ(both.tls->key, sent.tls->key);
  std::filesystem::permissions(folder.path() / "key.pem", std::filesystem::perms::group_read,
                               std::filesystem::perm_options::add);
  EXPECT_ERROR(read_secrets(token, folder.path()), Errc::failed_precondition, "0600");
}

// ---- the entrance ----

Job job_with(const std::string& launch, const std::filesystem::path& output) {
  Job job;
  job.output = output;
  job.cluster.launch = launch;
  job.cluster.tls = true;
  return job;
}

TEST(Entrance, KeepsTheSecretsOfItsOwnProcessesInMemory) {
  const testing::ScratchFolder folder;
  ASSERT_OK_AND_ASSIGN(const auto entrance, make_entrance(job_with("local", folder.path())));
  EXPECT_EQ(entrance.listen, "127.0.0.1:0");
  EXPECT_TRUE(entrance.secrets.tls.has_value());
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Entrance, LeavesThemInFilesForWhoComesByItselfAndTakesThemAgain) {
  const testing::ScratchFolder folder;
  auto job = job_with("manual", folder.path());
  job.cluster.listen = "127.0.0.1:7000";
  ASSERT_OK_AND_ASSIGN(const auto first, make_entrance(job));
  EXPECT_EQ(first.listen, "127.0.0.1:7000");
  ASSERT_OK_AND_ASSIGN(const auto copy, read_secrets(first.token_file, first.tls_folder));
  EXPECT_EQ(copy.token.bytes(), first.secrets.token.bytes());
  EXPECT_EQ(copy.tls->key, first.secrets.tls->key);

  ASSERT_OK_AND_ASSIGN(const auto again, make_entrance(job));  // after --resume, say
  EXPECT_EQ(again.secrets.token.bytes(), first.secrets.token.bytes());
  EXPECT_EQ(again.secrets.tls->key, first.secrets.tls->key);
}

}  // namespace
}  // namespace troupe
