#include "runtime/net/token.hpp"

#include "runtime/base/files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <span>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace troupe::net {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t token_digits = 64;
constexpr std::string_view white_space = " \t\r\n";
constexpr std::string_view digits = "0123456789abcdef";

/// An open file; what is read of it lies in memory that is wiped.
class SecretFile {
 public:
  explicit SecretFile(const fs::path& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
    error_ = fd_ < 0 ? errno : 0;
  }
  ~SecretFile() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
    OPENSSL_cleanse(text_.data(), text_.size());
  }
  SecretFile(const SecretFile&) = delete;
  SecretFile& operator=(const SecretFile&) = delete;

  int fd() const { return fd_; }
  int error() const { return error_; }  ///< errno of the last call that failed
  std::array<char, 1024>& text() { return text_; }

  /// Reads until the end or the memory is full. \returns bytes, or -1
  ssize_t fill() {
    std::size_t size = 0;
    while (size < text_.size()) {
      const auto n = ::read(fd_, text_.data() + size, text_.size() - size);
      if (n < 0 && errno == EINTR) {
        continue;
      }
      if (n <= 0) {
        error_ = n < 0 ? errno : 0;
        return n < 0 ? -1 : static_cast<ssize_t>(size);
      }
      size += static_cast<std::size_t>(n);
    }
    return static_cast<ssize_t>(size);
  }

 private:
  int fd_ = -1;
  int error_ = 0;
  std::array<char, 1024> text_{};
};

}  // namespace

Status check_secret_file(const fs::path& file, int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) {
    return file_error(file, "cannot read", errno);
  }
  if (!S_ISREG(info.st_mode)) {
    return Error(
        Errc::failed_precondition,
        fmt::format("{}: expected a file with a token, got something else", file.string()));
  }
  if ((info.st_mode & 0077) != 0) {
    return Error(Errc::failed_precondition,
                 fmt::format("{}: expected a token that only its owner may read (mode 0600), got "
                             "mode {:04o}\ntry: make a new token, this one may be known",
                             file.string(), info.st_mode & 07777));
  }
  return ok_status();
}

Token::~Token() {
  OPENSSL_cleanse(bytes_.data(), bytes_.size());
}

Result<Token> Token::random() {
  Token token;
  auto* bytes = reinterpret_cast<unsigned char*>(token.bytes_.data());
  if (RAND_priv_bytes(bytes, static_cast<int>(token.bytes_.size())) != 1) {
    return Error(Errc::internal, "token: the system gave no 32 random bytes");
  }
  return token;
}

Result<Token> Token::parse(std::string_view hex) {
  const auto first = std::min(hex.find_first_not_of(white_space), hex.size());
  hex.remove_prefix(first);
  hex = hex.substr(0, hex.find_last_not_of(white_space) + 1);
  if (hex.size() != token_digits) {
    return Error(Errc::invalid_argument,
                 fmt::format("token: expected {} hexadecimal digits, got {} characters",
                             token_digits, hex.size()));
  }
  Token token;
  for (std::size_t i = 0; i < hex.size(); ++i) {
    const char c = hex[i];
    const bool upper = c >= 'A' && c <= 'F';
    const auto value = digits.find(upper ? static_cast<char>(c - 'A' + 'a') : c);
    if (value == std::string_view::npos) {
      return Error(
          Errc::invalid_argument,
          fmt::format("token: character {} of {} is no hexadecimal digit", i + 1, token_digits));
    }
    token.bytes_[i / 2] = token.bytes_[i / 2] << 4 | static_cast<std::byte>(value);
  }
  if (token.empty()) {
    return Error(Errc::invalid_argument, "token: expected random digits, got 64 zeros");
  }
  return token;
}

Result<Token> Token::read(const fs::path& file) {
  SecretFile in(file);
  if (in.fd() < 0) {
    return file_error(file, "cannot read the token", in.error());
  }
  TROUPE_RETURN_IF_ERROR(check_secret_file(file, in.fd()));
  const auto size = in.fill();
  if (size < 0) {
    return file_error(file, "cannot read the token", in.error());
  }
  auto token = parse({in.text().data(), static_cast<std::size_t>(size)});
  if (!token) {
    return std::move(token).error().with(file.string());
  }
  return token;
}

Status Token::write(const fs::path& file) const {
  if (empty()) {
    return Error(Errc::invalid_argument,
                 fmt::format("{}: expected a token to write, got none", file.string()));
  }
  auto text = hex() + "\n";
  auto written = write_new_text_file(file, text, Readers::owner);
  OPENSSL_cleanse(text.data(), text.size());
  return written;
}

std::string Token::hex() const {
  std::string text;
  text.reserve(token_digits);
  for (const auto byte : bytes_) {
    text.push_back(digits[std::to_integer<std::size_t>(byte >> 4)]);
    text.push_back(digits[std::to_integer<std::size_t>(byte & std::byte{0xF})]);
  }
  return text;
}

bool Token::empty() const {
  const decltype(bytes_) zeros{};
  return CRYPTO_memcmp(bytes_.data(), zeros.data(), zeros.size()) == 0;
}

}  // namespace troupe::net
