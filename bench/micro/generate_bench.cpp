// Drawing edges of an R-MAT graph.
#include "runtime/data/rmat_edges.hpp"

#include <benchmark/benchmark.h>

namespace troupe::bench {
namespace {

void draw_rmat_edges(benchmark::State& state) {
  RmatOptions options;
  options.nodes = 2449029;
  InlineExecutor here;
  const rmat::Edges edges(options, here);
  std::uint64_t first = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(edges.edges(first));
    first += rmat::lanes;
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(rmat::lanes));
}
BENCHMARK(draw_rmat_edges);

}  // namespace
}  // namespace troupe::bench
