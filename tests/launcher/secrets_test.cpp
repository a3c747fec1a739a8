// How token and certificate reach a process.
#include "launcher/processes/secrets.hpp"

#include "launcher/processes/entrance.hpp"
#include "runtime/job/link_encryption.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/scratch_folder.hpp"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <set>
#include <sstream>
#include <sys/wait.h>
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

TEST(Secrets, ComeFromAFileThatItsOwnerAloneMayRead) {
  const testing::ScratchFolder folder;
  const auto file = folder.path() / "token";
  EXPECT_ERROR(read_secrets(file), Errc::not_found, file.string());
  for (const bool encrypted : {false, true}) {
    for (const bool inside : {false, true}) {
      auto sent = some_secrets(encrypted);
      sent.tls_inside = encrypted && inside;
      std::filesystem::remove(file);
      ASSERT_OK(write_secrets(sent, file));
      ASSERT_OK_AND_ASSIGN(const auto back, read_secrets(file));
      EXPECT_EQ(to_input(back), to_input(sent));
      EXPECT_EQ(back.tls_inside, sent.tls_inside);
    }
  }
  EXPECT_ERROR(write_secrets(some_secrets(false), file), Errc::failed_precondition, "File exists");
  std::filesystem::permissions(file, std::filesystem::perms::group_read,
                               std::filesystem::perm_options::add);
  EXPECT_ERROR(read_secrets(file), Errc::failed_precondition, "0600");
  const auto why = read_secrets(file).error().what();
  EXPECT_EQ(why.find(file.string()), why.rfind(file.string())) << why;
  EXPECT_ERROR(read_secrets(folder.path()), Errc::failed_precondition, "got something else");
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
  ASSERT_OK_AND_ASSIGN(const auto copy, read_secrets(first.token_file));
  EXPECT_EQ(to_input(copy), to_input(first.secrets));

  ASSERT_OK_AND_ASSIGN(const auto again, make_entrance(job));  // after --resume, say
  EXPECT_EQ(to_input(again.secrets), to_input(first.secrets));
}

TEST(Entrance, OfRunsThatBeginAtOnceHasTheSecretsOfOne) {
  for (int round = 0; round < 20; ++round) {
    const testing::ScratchFolder folder;
    auto job = job_with("manual", folder.path());
    job.cluster.tls = false;
    job.cluster.listen = "127.0.0.1:7000";
    std::array<int, 2> from{};
    ASSERT_EQ(pipe(from.data()), 0);
    for (int run = 0; run < 4; ++run) {
      if (fork() == 0) {
        const auto entrance = make_entrance(job);
        const auto text = entrance ? to_input(entrance->secrets) : entrance.error().what() + "\n";
        [[maybe_unused]] const auto written = write(from[1], text.data(), text.size());
        _exit(0);
      }
    }
    close(from[1]);
    while (wait(nullptr) > 0) {
    }
    std::string text(4096, '\0');
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(read(from[0], text.data(), 4096), 0)));
    close(from[0]);
    std::set<std::string> tokens;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      tokens.insert(line);
    }
    EXPECT_EQ(tokens.size(), 1U) << text;
  }
}

TEST(Entrance, RefusesSecretsOfAnEarlierRunThatDoNotFit) {
  const testing::ScratchFolder folder;
  auto job = job_with("manual", folder.path());
  job.cluster.listen = "127.0.0.1:7000";
  ASSERT_OK(make_entrance(job));
  job.cluster.tls = std::nullopt;
  EXPECT_ERROR(make_entrance(job), Errc::failed_precondition, "another value of cluster.tls");
  job.cluster.tls = false;
  EXPECT_ERROR(make_entrance(job), Errc::failed_precondition, "try: remove it");

  const auto file = folder.path() / "token";
  std::filesystem::remove(file);
  Secrets old;
  old.token = *net::Token::random();
  old.tls = *net::make_job_certificate(1);  // a day and no second more
  old.tls_inside = true;
  ASSERT_OK(write_secrets(old, file));
  job.cluster.tls = true;
  EXPECT_ERROR(make_entrance(job), Errc::failed_precondition, "valid now and for 24 hours");
}

TEST(Entrance, EncryptsWhatLeavesAMachineUnlessTheJobSaysOtherwise) {
  const testing::ScratchFolder folder;
  const auto of = [&](const std::string& launch, std::optional<bool> tls, bool trusted = false) {
    auto job = job_with(launch, folder.path());
    job.cluster.tls = tls;
    job.cluster.trusted_network = trusted;
    return link_encryption(job.cluster);
  };
  EXPECT_EQ(of("ssh", std::nullopt), LinkEncryption::between_machines);
  EXPECT_EQ(of("manual", std::nullopt), LinkEncryption::between_machines);
  EXPECT_EQ(of("ssh", std::nullopt, true), LinkEncryption::none);
  EXPECT_EQ(of("ssh", true, true), LinkEncryption::all);
  EXPECT_EQ(of("local", std::nullopt), LinkEncryption::none);
  EXPECT_EQ(of("local", true), LinkEncryption::all);
  EXPECT_EQ(of("slurm", std::nullopt), LinkEncryption::none) << "srun would tell the key";
  EXPECT_EQ(of("slurm", true), LinkEncryption::all);
  EXPECT_EQ(of("ssh", false), LinkEncryption::none);
  EXPECT_EQ(of("simulate", true), LinkEncryption::none);
}

TEST(Entrance, PlainLinksThatLeaveAMachineAreWarnedOf) {
  const auto warning = [](const std::string& launch, std::optional<bool> tls,
                          const std::string& listen = "", bool trusted = false) {
    ClusterJob cluster;
    cluster.launch = launch;
    cluster.tls = tls;
    cluster.listen = listen;
    cluster.trusted_network = trusted;
    return plain_links_warning(cluster);
  };
  EXPECT_NE(warning("ssh", false), "");
  EXPECT_NE(warning("slurm", std::nullopt), "");
  EXPECT_NE(warning("manual", false, "10.0.0.1:7000"), "");
  EXPECT_NE(warning("manual", false, "0.0.0.0:7000"), "");
  EXPECT_EQ(warning("manual", false, "127.0.0.1:7000"), "");
  EXPECT_EQ(warning("manual", false, "[::1]:7000"), "");
  EXPECT_EQ(warning("ssh", std::nullopt), "");
  EXPECT_EQ(warning("ssh", false, "", true), "") << "it was said";
  EXPECT_EQ(warning("local", false), "");
}

}  // namespace
}  // namespace troupe
