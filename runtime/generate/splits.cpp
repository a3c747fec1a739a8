#include "runtime/generate/splits.hpp"

#include "runtime/base/permutation.hpp"
#include "runtime/generate/streams.hpp"

#include <algorithm>
#include <array>

namespace troupe::generate {

void draw_split(const SplitDraw& draw, Executor& executor, graph_source::AllSeeds& seeds) {
  constexpr std::uint64_t per_task = std::uint64_t{1} << 13;
  const Permutation order(stream(draw.seed, Stream::seeds, static_cast<std::uint16_t>(draw.nodes)),
                          draw.count);
  const std::array<std::pair<const char*, const SplitSize*>, 3> roles{
      {{"train", &draw.train}, {"val", &draw.val}, {"test", &draw.test}}};
  std::uint64_t first = 0;
  for (const auto& role : roles) {
    std::vector<std::uint64_t> ids(role.second->of(draw.count));
    executor.parallel_for((ids.size() + per_task - 1) / per_task, [&](std::size_t task) {
      const auto end = std::min<std::uint64_t>(ids.size(), (task + 1) * per_task);
      for (std::uint64_t i = task * per_task; i < end; ++i) {
        ids[i] = order(first + i);
      }
    });
    first += ids.size();
    if (!ids.empty()) {
      seeds[{draw.name, role.first}] = {draw.nodes, std::move(ids)};
    }
  }
}

}  // namespace troupe::generate
