// troupe_micro: Google Benchmark, on the graph that micro_data() describes.
#include <benchmark/benchmark.h>

BENCHMARK_MAIN();
