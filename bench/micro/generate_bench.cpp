// Drawing edges of an R-MAT graph.
#include "runtime/generate/rmat_edges.hpp"

#include <benchmark/benchmark.h>

namespace troupe::bench {
namespace {

void draw_rmat_edges(benchmark::State& state) {
  const rmat::Cells cells(2449029, {}, 0);
  std::uint64_t first = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(cells.folded(first));
    first += rmat::lanes;
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(rmat::lanes));
}
BENCHMARK(draw_rmat_edges);

}  // namespace
}  // namespace troupe::bench
