#include "runtime/generate/node_classes.hpp"

#include <algorithm>

namespace troupe::generate {

std::vector<std::uint32_t> permutation_table(const Permutation& permutation, Executor& executor) {
  constexpr std::uint64_t chunk = std::uint64_t{1} << 16;
  const auto n = permutation.size();
  std::vector<std::uint32_t> table(n);
  executor.parallel_for((n + chunk - 1) / chunk, [&](std::size_t k) {
    const auto first = k * chunk;
    std::vector<std::uint64_t> places(std::min(chunk, n - first));
    permutation.fill(first, places);
    std::ranges::transform(places, table.begin() + static_cast<std::ptrdiff_t>(first),
                           [](std::uint64_t place) { return static_cast<std::uint32_t>(place); });
  });
  return table;
}

}  // namespace troupe::generate
