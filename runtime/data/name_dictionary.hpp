#pragma once
/// \file name_dictionary.hpp
/// Numbers for names that importers meet in text.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace troupe {

/// Names, numbered in order of first appearance. They are all in memory.
/// Threads: one at a time
class NameDictionary {
 public:
  std::uint64_t number_of(std::string_view name) {
    const auto found = numbers_.find(name);
    if (found != numbers_.end()) {
      return found->second;
    }
    const auto number = numbers_.size();
    numbers_.emplace(keep(name), number);
    return number;
  }
  std::uint64_t size() const { return numbers_.size(); }
  /// The names in order, each with a line's end.
  const std::vector<std::string>& pieces() const { return pieces_; }

 private:
  static constexpr std::size_t piece_bytes = std::size_t{1} << 20;

  std::string_view keep(std::string_view name) {
    if (pieces_.empty() || pieces_.back().capacity() - pieces_.back().size() <= name.size()) {
      pieces_.emplace_back().reserve(std::max(piece_bytes, name.size() + 1));
    }
    auto& piece = pieces_.back();  // never grows past its capacity, so views stay
    const auto begin = piece.size();
    piece.append(name);
    piece.push_back('\n');
    return std::string_view(piece).substr(begin, name.size());
  }

  std::unordered_map<std::string_view, std::uint64_t> numbers_;  ///< looked up, never walked
  std::vector<std::string> pieces_;
};

}  // namespace troupe
