// Certificates: making, loading, and who is refused for which.
#include "runtime/net/tls.hpp"

#include "runtime/net/tcp_stream.hpp"
#include "tests/runtime/net/link_world.hpp"
#include "tests/runtime/net/tls_test_support.hpp"
#include "tests/support/file_text.hpp"

#include <ctime>
#include <filesystem>
#include <fstream>

namespace troupe::net {
namespace {

namespace fs = std::filesystem;

Result<TlsFiles> write_job_certificate(const fs::path& folder, unsigned days) {
  TROUPE_ASSIGN_OR_RETURN(const auto pem, make_job_certificate(days));
  return write_tls(pem, folder);
}

TEST(JobCertificate, IsWrittenSoThatOnlyItsOwnerReadsTheKey) {
  const testing::ScratchFolder folder;
  ASSERT_OK_AND_ASSIGN(const auto files, write_job_certificate(folder.path(), 30));
  EXPECT_EQ(fs::status(files.key).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_NE(testing::file_text(files.key).find("PRIVATE KEY"), std::string::npos);
  EXPECT_EQ(testing::file_text(files.authority).find("PRIVATE"), std::string::npos);
  EXPECT_EQ(testing::file_text(files.certificate).find("PRIVATE"), std::string::npos);
  EXPECT_OK(TlsContext::load(files));
}

TEST(JobCertificate, IsAsGoodAsTextAsFromFiles) {
  const testing::ScratchFolder folder;
  ASSERT_OK_AND_ASSIGN(const auto pem, make_job_certificate(1));
  EXPECT_OK(TlsContext::load(pem));
  ASSERT_OK_AND_ASSIGN(const auto files, write_tls(pem, folder.path()));
  ASSERT_OK_AND_ASSIGN(const auto back, read_tls(files));
  EXPECT_EQ(back.certificate + back.key + back.authority,
            pem.certificate + pem.key + pem.authority);
  ASSERT_OK_AND_ASSIGN(auto other, make_job_certificate(1));
  other.certificate = pem.certificate;
  EXPECT_ERROR(TlsContext::load(other), Errc::failed_precondition,
               "key does not belong to certificate");
  std::ofstream(files.authority, std::ios::app) << std::string(70'000, 'x');
  EXPECT_ERROR(read_tls(files), Errc::invalid_argument, "at most 65536 bytes of PEM");
}

TEST(JobCertificate, IsNotWrittenOverAnotherAndNotForAnyTime) {
  const testing::ScratchFolder folder;
  ASSERT_OK(write_job_certificate(folder.path(), 1));
  EXPECT_ERROR(write_job_certificate(folder.path(), 1), Errc::failed_precondition, "File exists");
  EXPECT_ERROR(write_job_certificate(folder.path() / "none", 1), Errc::not_found, "No such file");
  EXPECT_ERROR(make_job_certificate(0), Errc::invalid_argument, "got 0");
  EXPECT_ERROR(make_job_certificate(4000), Errc::invalid_argument, "1..3650 days");
}

TEST(TlsContext, SaysWhichFileIsWrong) {
  const testing::ScratchFolder folder;
  ASSERT_OK_AND_ASSIGN(const auto good, write_job_certificate(folder.path(), 1));
  const auto other_folder = folder.path() / "other";
  fs::create_directory(other_folder);
  ASSERT_OK_AND_ASSIGN(const auto other, write_job_certificate(other_folder, 1));
  const auto text = folder.path() / "text.pem";
  std::ofstream(text) << "not PEM\n";
  fs::permissions(text, fs::perms::owner_read);
  const auto load = [&](auto change) {
    TlsFiles files = good;
    change(files);
    return TlsContext::load(files);
  };
  EXPECT_ERROR(load([](auto& f) { f.certificate = "/none"; }), Errc::not_found,
               "certificate /none: No such file");
  EXPECT_ERROR(load([](auto& f) { f.key = "/none"; }), Errc::not_found, "key /none");
  EXPECT_ERROR(load([](auto& f) { f.authority = "/none"; }), Errc::not_found, "authority /none");
  EXPECT_ERROR(load([&](auto& f) { f.certificate = folder.path(); }), Errc::invalid_argument,
               "regular file");
  EXPECT_ERROR(load([&](auto& f) { f.certificate = text; }), Errc::invalid_argument,
               "certificate " + text.string() + ": expected PEM");
  EXPECT_ERROR(load([&](auto& f) { f.key = text; }), Errc::invalid_argument,
               "key " + text.string());
  EXPECT_ERROR(load([&](auto& f) { f.authority = text; }), Errc::invalid_argument,
               "authority " + text.string());
  EXPECT_ERROR(load([&](auto& f) { f.key = other.key; }), Errc::failed_precondition,
               "does not belong to certificate");
  fs::permissions(good.key, fs::perms::others_read, fs::perm_options::add);
  EXPECT_ERROR(TlsContext::load(good), Errc::failed_precondition, "expected mode 0600, found 0604");
}

/// One attempt of a dialler with `at_dialer` at a listener with `at_listener`; null: not encrypted.
struct Attempt {
  Attempt(std::shared_ptr<const TlsContext> at_listener,
          std::shared_ptr<const TlsContext> at_dialer) {
    TcpListenerOptions options;
    options.tcp.tls = at_listener;
    options.say = [this](const std::string& line) { said.set_value(line); };
    AcceptedLinks accepted;
    TcpIo far;
    TcpIo near;
    auto listener =
        TcpListener::open(far, "127.0.0.1:0", test_handshake(2), options, accepted.on_link());
    EXPECT_OK(listener);
    const auto address = (*listener)->address();
    const auto link = dial(*make_tcp_dialer(near, address, test_handshake(1), {.tls = at_dialer}));
    dialled = testing::error_text(link);
    auto line = said.get_future();
    if (line.wait_for(link.ok() ? 0s : 30s) == std::future_status::ready) {
      at_listener_said = line.get();
    }
    const auto good =
        dial(*make_tcp_dialer(near, address, test_handshake(1), {.tls = at_listener}));
    lives_on = good.ok();
    if (good.ok()) {
      auto other = accepted.next().first;
      if (link.ok()) {
        StartedEnds first({*link, std::exchange(other, accepted.next().first)});
      }
      StartedEnds second({*good, other});
    }
  }
  std::promise<std::string> said;
  std::string dialled;
  std::string at_listener_said;
  bool lives_on = false;
};

void expect_refused(const Attempt& attempt, const char* at_dialer, const char* at_listener) {
  EXPECT_NE(attempt.dialled.find(at_dialer), std::string::npos) << attempt.dialled;
  EXPECT_NE(attempt.at_listener_said.find(at_listener), std::string::npos)
      << attempt.at_listener_said;
  EXPECT_NE(attempt.dialled.find("peer_lost"), std::string::npos) << "to be retried";
  EXPECT_NE(attempt.at_listener_said.find("unauthenticated"), std::string::npos);
}

TEST(TlsLinks, OfOneJobAreTaken) {
  const auto context = test_certificate();
  const Attempt attempt(context, context);
  EXPECT_EQ(attempt.dialled, "ok");
  EXPECT_TRUE(attempt.lives_on);
}

/// What comes of a dial, on loopback.
std::string dialled(const TcpOptions& dialling, const TcpOptions& listening) {
  TcpIo io;
  AcceptedLinks accepted;
  const auto listener = TcpListener::open(io, "127.0.0.1:0", test_handshake(2), {.tcp = listening},
                                          accepted.on_link());
  EXPECT_OK(listener);
  return testing::error_text(
      dial(*make_tcp_dialer(io, (*listener)->address(), test_handshake(1), dialling)));
}

TEST(TlsLinks, InsideAMachineArePlainWhereTheyMayBe) {
  const TcpOptions plain;
  const TcpOptions everywhere{.tls = test_certificate()};
  TcpOptions between = everywhere;
  between.tls_inside = false;
  EXPECT_EQ(dialled(between, between), "ok");
  EXPECT_EQ(dialled(plain, between), "ok") << "it is plain";
  EXPECT_NE(dialled(everywhere, between).find("TLS"), std::string::npos);
  EXPECT_NE(dialled(between, everywhere).find("TLS"), std::string::npos);
}

TEST(TlsLinks, StayInsideAMachineFromAnAddressToItselfOnly) {
  const auto inside = [](const char* one, const char* other) {
    return stays_inside(asio::ip::make_address(one), asio::ip::make_address(other));
  };
  EXPECT_TRUE(inside("127.0.0.1", "127.0.0.1"));
  EXPECT_TRUE(inside("127.0.0.1", "127.0.0.2"));
  EXPECT_TRUE(inside("::1", "::1"));
  EXPECT_TRUE(inside("10.0.0.7", "10.0.0.7"));
  EXPECT_FALSE(inside("10.0.0.7", "10.0.0.8"));
  EXPECT_FALSE(inside("fe80::1", "fe80::2"));
  EXPECT_FALSE(inside("127.0.0.1", "10.0.0.7"));
}

TEST(JobCertificate, IsGoodForAsLongAsItWasMade) {
  ASSERT_OK_AND_ASSIGN(auto pem, make_job_certificate(2));
  EXPECT_OK(check_valid_for(pem, 47));
  EXPECT_ERROR(check_valid_for(pem, 49), Errc::failed_precondition, "valid now and for 49 hours");
  pem.authority = "no PEM";
  EXPECT_ERROR(check_valid_for(pem, 1), Errc::invalid_argument, "expected PEM");
}

TEST(JobCertificate, IsGoodWhereAClockIsBehind) {
  ASSERT_OK_AND_ASSIGN(const auto pem, make_job_certificate(3));
  constexpr std::time_t day = 24 * 3600;
  std::time_t two_days_ago = std::time(nullptr) - 2 * day;
  for (const auto* text : {&pem.certificate, &pem.authority}) {
    BIO* in = BIO_new_mem_buf(text->data(), static_cast<int>(text->size()));
    X509* certificate = PEM_read_bio_X509(in, nullptr, nullptr, nullptr);
    ASSERT_NE(certificate, nullptr);
    EXPECT_LT(X509_cmp_time(X509_get0_notBefore(certificate), &two_days_ago), 0);
    X509_free(certificate);
    BIO_free(in);
  }
}

TEST(TlsLinks, OfAnotherAuthorityAreRefused) {
  const Attempt attempt(test_certificate(), test_certificate());
  expect_refused(attempt,
                 "the peer's certificate is refused: self-signed certificate in certificate chain",
                 "the peer refuses this end's certificate: it comes from another authority");
  EXPECT_TRUE(attempt.lives_on);
}

struct Dates {
  const char* name;
  long from_days;
  long to_days;
  const char* sentence;
};

class WrongDates : public ::testing::TestWithParam<Dates> {};
INSTANTIATE_TEST_SUITE_P(TlsLinks, WrongDates,
                         ::testing::Values(Dates{"expired", -10, -1, "certificate has expired"},
                                           Dates{"not_yet", 1, 10, "certificate is not yet valid"}),
                         [](const auto& each) { return std::string(each.param.name); });

TEST_P(WrongDates, OfTheDiallersCertificateAreRefusedAtBothEnds) {
  const auto& dates = GetParam();
  const testing::ScratchFolder folder;
  const SelfSigned good(-1, 10);
  const SelfSigned bad(dates.from_days, dates.to_days);
  ASSERT_OK_AND_ASSIGN(const auto at_listener,
                       TlsContext::load(good.write(folder.path(), {&good, &bad})));
  const testing::ScratchFolder other;
  ASSERT_OK_AND_ASSIGN(const auto at_dialer,
                       TlsContext::load(bad.write(other.path(), {&good, &bad})));
  const Attempt attempt(at_listener, at_dialer);
  expect_refused(attempt, "the peer refuses this end's certificate: it", dates.sentence);
  EXPECT_TRUE(attempt.lives_on);
}

TEST_P(WrongDates, OfTheListenersCertificateAreRefusedAtBothEnds) {
  const auto& dates = GetParam();
  const testing::ScratchFolder folder;
  const SelfSigned good(-1, 10);
  const SelfSigned bad(dates.from_days, dates.to_days);
  ASSERT_OK_AND_ASSIGN(const auto at_dialer,
                       TlsContext::load(good.write(folder.path(), {&good, &bad})));
  const testing::ScratchFolder other;
  ASSERT_OK_AND_ASSIGN(const auto at_listener,
                       TlsContext::load(bad.write(other.path(), {&good, &bad})));
  const Attempt attempt(at_listener, at_dialer);
  expect_refused(attempt, dates.sentence, "the peer refuses this end's certificate: it");
}

TEST(TlsLinks, APlainDiallerIsRefusedAtBothEnds) {
  const Attempt attempt(test_certificate(), nullptr);
  expect_refused(attempt, "the peer speaks TLS, this end does not",
                 "expected TLS 1.3 from the peer");
  EXPECT_TRUE(attempt.lives_on);
}

TEST(TlsLinks, APlainListenerRefusesTlsAtBothEnds) {
  const Attempt attempt(nullptr, test_certificate());
  expect_refused(attempt, "expected TLS 1.3 from the peer",
                 "the peer speaks TLS, this end does not");
  EXPECT_TRUE(attempt.lives_on);
}

}  // namespace
}  // namespace troupe::net
