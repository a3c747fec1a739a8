#include "runtime/base/nearest.hpp"

#include <algorithm>
#include <vector>

namespace troupe {
namespace {

constexpr std::size_t longest_compared = 64;

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> cost((a.size() + 1) * width);
  const auto at = [&](std::size_t i, std::size_t j) -> std::size_t& { return cost[i * width + j]; };
  for (std::size_t i = 0; i <= a.size(); ++i) {
    at(i, 0) = i;
  }
  for (std::size_t j = 0; j <= b.size(); ++j) {
    at(0, j) = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1;
      at(i, j) = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + replaced});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
          lower(a[i - 2]) == lower(b[j - 1])) {
        at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
      }
    }
  }
  return at(a.size(), b.size());
}

Nearest nearest(std::string_view word, std::span<const std::string> words) {
  const std::string_view head = word.substr(0, longest_compared);
  Nearest best;
  for (const std::string& known : words) {
    const std::size_t distance = edit_distance(head, known);
    if (best.word.empty() || distance < best.distance) {
      best = {known, distance, false};
    }
  }
  best.close = !best.word.empty() && word.size() <= longest_compared &&
               best.distance <= std::max<std::size_t>(2, best.word.size() / 3) &&
               best.distance < best.word.size();
  return best;
}

}  // namespace troupe
