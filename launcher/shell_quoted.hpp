#pragma once
/// \file shell_quoted.hpp
/// Words for command lines that a POSIX shell reads.
#include "runtime/job/hidden_values.hpp"

#include <span>
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

/// A command line, without the values that hide_in_word() hides.
inline std::string shell_line(std::span<const std::string> words) {
  std::string text;
  for (const auto& word : words) {
    text += (text.empty() ? "" : " ") + shell_word(hide_in_word(word));
  }
  return text;
}

}  // namespace troupe
