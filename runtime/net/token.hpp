#pragma once
/// \file token.hpp
/// The secret of a job: whoever knows it belongs to it. Handed over by a file that only its owner may
/// read, or by standard input; never on a command line, in the environment, a log or a report.
#include "runtime/base/result.hpp"

#include <array>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace troupe::net {

/// 32 random bytes. Cannot be printed; wiped when it goes.
class Token {
 public:
  Token() = default;  ///< all zero: no token; a handshake with it fails
  Token(const Token&) = default;
  Token& operator=(const Token&) = default;
  ~Token();

  static Result<Token> random();
  /// \param hex 64 hexadecimal digits, white space around them is ignored
  /// \errors invalid_argument: says what is wrong with the text, never the text
  static Result<Token> parse(std::string_view hex);
  /// \errors not_found; failed_precondition: others than its owner may read it (mode 0600 expected);
  ///   those of parse()
  static Result<Token> read(const std::filesystem::path& file);
  /// Writes a new file with mode 0600.
  /// \errors not_found: no such folder; failed_precondition: it exists, or cannot be written
  Status write(const std::filesystem::path& file) const;

  std::string hex() const;  ///< for a pipe to a child process; wipe it after use
  bool empty() const;
  const std::array<std::byte, 32>& bytes() const { return bytes_; }

 private:
  std::array<std::byte, 32> bytes_{};
};

/// \param fd  `file`, opened
/// \errors failed_precondition: no regular file, or others than its owner may read it (mode 0600 expected)
Status check_secret_file(const std::filesystem::path& file, int fd);

}  // namespace troupe::net
