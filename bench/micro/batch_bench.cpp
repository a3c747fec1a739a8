// One hop, a whole batch, its rows: on one thread, over batches in turn.
#include "runtime/feature/row_request.hpp"

#include "bench/micro/micro_data.hpp"
#include "bench/support/kernels.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>

namespace troupe::bench {
namespace {

std::uint64_t batch_number(std::uint64_t iteration) {
  return iteration % micro_data().full_batches();
}

double rate(std::uint64_t amount) {
  return static_cast<double>(amount);
}

/// Draws 10 neighbours of nodes that lie far apart; the argument is how many nodes.
void sample_one_hop_far_apart(benchmark::State& state) {
  const auto& data = micro_data();
  const auto& nodes = data.parts[0]->nodes[0];
  HopRequest request;
  request.frontiers.emplace_back();
  request.sections.push_back({.fanout = 10});
  auto& frontier = request.frontiers[0].nodes;
  const auto count = static_cast<std::uint64_t>(state.range(0));
  std::uint64_t edges = 0;
  std::uint64_t round = 0;
  for (auto _ : state) {
    state.PauseTiming();
    frontier.clear();
    request.sections[0].key = stream_key(++round, {.domain = Domain::neighbours});
    for (std::uint64_t i = 0; i < count; ++i) {
      frontier.push_back(advance(nodes.first, (round * 7919 + i * 104729) % nodes.count));
    }
    state.ResumeTiming();
    const auto reply = sample_one_hop(*data.parts[0], request);
    if (!reply) {
      return state.SkipWithError(reply.error().what().c_str());
    }
    edges += reply->neighbours.bytes.size() / reply->sections[0].width_bytes;
  }
  state.counters["edges/s"] = benchmark::Counter(rate(edges), benchmark::Counter::kIsRate);
}
BENCHMARK(sample_one_hop_far_apart)->Arg(1)->Arg(64)->Arg(1024)->Arg(16384);

/// Sampling with dedup, as a sampler does it.
void sample_whole_batch(benchmark::State& state) {
  const auto& data = micro_data();
  std::uint64_t edges = 0;
  std::uint64_t number = 0;
  for (auto _ : state) {
    const auto sampled = sample_batch(data, batch_number(number++));
    if (!sampled) {
      return state.SkipWithError(sampled.error().what().c_str());
    }
    edges += sampled->batch->num_edges();
  }
  state.counters["edges/s"] = benchmark::Counter(rate(edges), benchmark::Counter::kIsRate);
}
BENCHMARK(sample_whole_batch)->Unit(benchmark::kMillisecond);

/// Rows, labels and original ids into fresh memory, as a collector does it.
void collect_whole_batch(benchmark::State& state) {
  const auto& data = micro_data();
  const auto sampled = sample_batch(data, 0);
  if (!sampled) {
    return state.SkipWithError(sampled.error().what().c_str());
  }
  std::uint64_t bytes = 0;
  for (auto _ : state) {
    const auto batch = collect_batch(data, sampled->batch);
    if (!batch) {
      return state.SkipWithError(batch.error().what().c_str());
    }
    bytes += batch->rows[0].features.view().size() * sizeof(float);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
}
BENCHMARK(collect_whole_batch)->Unit(benchmark::kMillisecond);

/// The same, digested: 0 not, 1 when all rows are there, 2 while they come.
void collect_and_digest_batch(benchmark::State& state) {
  const auto& data = micro_data();
  const auto sampled = sample_batch(data, 0);
  if (!sampled) {
    return state.SkipWithError(sampled.error().what().c_str());
  }
  auto collect = std::make_shared<CollectOptions>(*data.collect);
  const auto way = state.range(0);
  collect->digest = way == 0 ? DigestMode::off : DigestMode::full;
  collect->digest_here = way == 2;
  for (auto _ : state) {
    const auto batch = collect_batch(data, sampled->batch, collect);
    if (!batch) {
      return state.SkipWithError(batch.error().what().c_str());
    }
    auto digest = digest_of_trained(*batch, collect->digest);
    benchmark::DoNotOptimize(digest);
  }
}
BENCHMARK(collect_and_digest_batch)->Arg(0)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond);

/// The same rows as a holder reads them for others.
void read_rows_of_a_batch(benchmark::State& state) {
  const auto& data = micro_data();
  const auto sampled = sample_batch(data, 0);
  if (!sampled) {
    return state.SkipWithError(sampled.error().what().c_str());
  }
  RowRequest request;
  request.sections.emplace_back();
  std::ranges::copy_if(sampled->batch->nodes[0].ids, std::back_inserter(request.sections[0].nodes),
                       [&](NodeId id) { return data.parts[0]->nodes[0].owns(id); });
  std::uint64_t bytes = 0;
  for (auto _ : state) {
    const auto reply = read_part_rows(*data.parts[0], request);
    if (!reply) {
      return state.SkipWithError(reply.error().what().c_str());
    }
    bytes += reply->rows.bytes.size();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
}
BENCHMARK(read_rows_of_a_batch)->Unit(benchmark::kMillisecond);

/// A plain loop with prefetch into memory that is used again: the bound of the two above.
void copy_rows_of_a_batch(benchmark::State& state) {
  const auto& data = micro_data();
  const auto sampled = sample_batch(data, 0);
  if (!sampled) {
    return state.SkipWithError(sampled.error().what().c_str());
  }
  const auto row_bytes = data.parts[0]->nodes[0].features->row_bytes();
  std::vector<std::byte> out(sampled->batch->num_nodes() * row_bytes);
  for (auto _ : state) {
    copy_rows(data, *sampled->batch, out);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(out.size()));
}
BENCHMARK(copy_rows_of_a_batch)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace troupe::bench
