#include "runtime/generate/node_classes.hpp"

#include <algorithm>

namespace troupe::generate {

std::vector<std::uint32_t> permutation_table(const Permutation& permutation, Executor& executor) {
  constexpr std::uint64_t chunk = std::uint64_t{1} << 16;
  const auto n = permutation.size();
  std::vector<std::uint32_t> table(n);
  executor.parallel_for((n + chunk - 1) / chunk, [&](std::size_t k) {
    const auto end = std::min(n, (k + 1) * chunk);
    for (std::uint64_t i = k * chunk; i < end; ++i) {
      table[i] = static_cast<std::uint32_t>(permutation(i));
    }
  });
  return table;
}

}  // namespace troupe::generate
