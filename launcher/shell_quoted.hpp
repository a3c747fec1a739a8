#pragma once
/// \file shell_quoted.hpp
/// Words for command lines that a POSIX shell reads.
#include <string>
#include <string_view>

namespace troupe {

/// In single quotes: nothing in it means anything.
inline std::string shell_quoted(std::string_view word) {
  std::string text = "'";
  for (const char c : word) {
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return text + "'";
}

/// Whether a shell, and Slurm in the head of a script, take it as it is.
inline bool is_plain_word(std::string_view word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
  return !word.empty() && word.find_first_not_of(plain) == std::string_view::npos;
}

/// As shell_quoted where it must be.
inline std::string shell_word(std::string_view word) {
  return is_plain_word(word) ? std::string(word) : shell_quoted(word);
}

}  // namespace troupe
