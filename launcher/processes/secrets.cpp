#include "launcher/processes/secrets.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <string_view>
#include <unistd.h>

namespace troupe {
namespace {

constexpr std::string_view with_tls = " tls";
constexpr std::size_t longest_secret_line = 256;
constexpr std::size_t longest_text = std::size_t{16} << 10;

/// The line without its end, cut at longest_secret_line. One byte at a time: what follows is not ours.
std::string read_line(int descriptor) {
  std::string line;
  char c = 0;
  while (line.size() < longest_secret_line && ::read(descriptor, &c, 1) == 1 && c != '\n') {
    line += c;
  }
  return line;
}

/// Lines until an empty one.
Result<std::string> read_text(int descriptor) {
  std::string text;
  for (;;) {
    const auto line = read_line(descriptor);
    if (line.empty()) {
      return text;
    }
    text += line + "\n";
    if (text.size() > longest_text) {
      OPENSSL_cleanse(text.data(), text.size());
      return Error(Errc::invalid_argument,
                   fmt::format("standard input: expected PEM of at most {} bytes and an empty "
                               "line, found more",
                               longest_text));
    }
  }
}

}  // namespace

std::string to_input(const Secrets& secrets) {
  auto text = secrets.token.hex();
  if (!secrets.tls) {
    return text + "\n";
  }
  const auto& tls = *secrets.tls;
  text += std::string(with_tls) + "\n";
  for (const auto* pem : {&tls.certificate, &tls.key, &tls.authority}) {
    text += *pem + "\n";
  }
  return text;
}

Result<Secrets> read_secrets(int descriptor) {
  auto line = read_line(descriptor);
  const bool encrypted = line.ends_with(with_tls);
  auto token = net::Token::parse(
      std::string_view(line).substr(0, line.size() - (encrypted ? with_tls.size() : 0)));
  OPENSSL_cleanse(line.data(), line.size());
  if (!token) {
    return std::move(token).error();
  }
  Secrets secrets;
  secrets.token = *token;
  if (encrypted) {
    auto& tls = secrets.tls.emplace();
    TROUPE_ASSIGN_OR_RETURN(tls.certificate, read_text(descriptor));
    TROUPE_ASSIGN_OR_RETURN(tls.key, read_text(descriptor));
    TROUPE_ASSIGN_OR_RETURN(tls.authority, read_text(descriptor));
  }
  return secrets;
}

Result<Secrets> read_secrets(const std::filesystem::path& token, const std::filesystem::path& tls) {
  Secrets secrets;
  TROUPE_ASSIGN_OR_RETURN(secrets.token, net::Token::read(token));
  if (!tls.empty()) {
    TROUPE_ASSIGN_OR_RETURN(secrets.tls, net::read_tls(net::tls_files_in(tls)));
  }
  return secrets;
}

Result<std::shared_ptr<const net::TlsContext>> tls_context(const Secrets& secrets) {
  if (!secrets.tls) {
    return std::shared_ptr<const net::TlsContext>();
  }
  return net::TlsContext::load(*secrets.tls);
}

}  // namespace troupe
