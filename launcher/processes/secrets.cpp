#include "launcher/processes/secrets.hpp"

#include "runtime/base/files.hpp"

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <string_view>
#include <unistd.h>

namespace troupe {
namespace {

constexpr std::string_view with_tls = " tls";
constexpr std::string_view with_tls_between = " tls-between";
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
  text += std::string(secrets.tls_inside ? with_tls : with_tls_between) + "\n";
  for (const auto* pem : {&tls.certificate, &tls.key, &tls.authority}) {
    text += *pem + "\n";
  }
  return text;
}

Result<Secrets> read_secrets(int descriptor) {
  auto line = read_line(descriptor);
  Secrets secrets;
  std::string_view hex = line;
  bool encrypted = false;
  for (const auto mark : {with_tls, with_tls_between}) {
    if (hex.ends_with(mark)) {
      hex.remove_suffix(mark.size());
      encrypted = true;
      secrets.tls_inside = mark == with_tls;
    }
  }
  auto token = net::Token::parse(hex);
  OPENSSL_cleanse(line.data(), line.size());
  if (!token) {
    return std::move(token).error();
  }
  secrets.token = *token;
  if (encrypted) {
    auto& tls = secrets.tls.emplace();
    TROUPE_ASSIGN_OR_RETURN(tls.certificate, read_text(descriptor));
    TROUPE_ASSIGN_OR_RETURN(tls.key, read_text(descriptor));
    TROUPE_ASSIGN_OR_RETURN(tls.authority, read_text(descriptor));
  }
  return secrets;
}

Status write_secrets(const Secrets& secrets, const std::filesystem::path& file) {
  auto text = to_input(secrets);
  auto begun = file;
  begun += fmt::format(".{}", ::getpid());
  auto written = write_new_text_file(begun, text, Readers::owner);
  if (written && ::link(begun.c_str(), file.c_str()) != 0) {
    const int problem = errno;
    const bool no_links = problem == EPERM || problem == EOPNOTSUPP;  // of this file system
    written = no_links ? write_new_text_file(file, text, Readers::owner)
                       : Status(file_error(file, "cannot create", problem));
  }
  ::unlink(begun.c_str());
  OPENSSL_cleanse(text.data(), text.size());
  return written;
}

Result<Secrets> read_secrets(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) {
    return file_error(file, "cannot read the token", errno);
  }
  const auto read = [&]() -> Result<Secrets> {
    TROUPE_RETURN_IF_ERROR(net::check_secret_file(file, descriptor));  // its errors name the file
    auto secrets = read_secrets(descriptor);
    return secrets ? std::move(secrets) : std::move(secrets).error().with(file.string());
  };
  auto secrets = read();
  ::close(descriptor);
  return secrets;
}

Result<std::shared_ptr<const net::TlsContext>> tls_context(const Secrets& secrets) {
  if (!secrets.tls) {
    return std::shared_ptr<const net::TlsContext>();
  }
  return net::TlsContext::load(*secrets.tls);
}

}  // namespace troupe
