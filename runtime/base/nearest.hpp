#pragma once
/// \file nearest.hpp
/// The known word that a mistyped one most likely meant.
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace troupe {

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`, ignoring
/// case (optimal string alignment).
/// \cost |a| * |b|
std::size_t edit_distance(std::string_view a, std::string_view b);

struct Nearest {
  std::string word;  ///< empty if there are no words
  std::size_t distance = 0;
  bool close = false;  ///< near enough to be what was meant: at most a third of its length, or 2
};

/// The first of the words with the smallest distance.
Nearest nearest(std::string_view word, std::span<const std::string> words);

}  // namespace troupe
