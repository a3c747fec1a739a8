// What caches of each policy hold of the rows that batches read: an epoch is sampled to choose the best
// rows afterwards, which is the limit; docs/partitioning.md has its output.
#include "launcher/seconds.hpp"
#include "runtime/base/executor.hpp"
#include "runtime/partition/hotness.hpp"
#include "runtime/partition/relabel.hpp"
#include "runtime/sample/batch_builder.hpp"
#include "runtime/sample/seed_order.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <functional>
#include <numeric>
#include <span>
#include <thread>

namespace troupe {
namespace {

struct Arguments {
  std::filesystem::path store;
  std::vector<std::int32_t> fanout = {15, 10, 5};
  std::uint64_t batch_size = 1024;
  std::uint64_t presample = 100;
  std::vector<double> percents = {1, 5, 10, 20};
};

using Counts = std::vector<std::uint64_t>;

/// How many batches of an epoch each node of the seeds' type is in; of the first `batches` alone, too.
struct Reads {
  Counts all;
  Counts first;
};

Result<SampledBatch> sample(const GraphStore& store, const PartitionBook& book,
                            const std::shared_ptr<const SampleOptions>& options, BatchKey key,
                            NodeTypeId type, std::span<const NodeId> seeds) {
  BatchBuilder builder(store.info(), book, options, key, type, seeds);
  while (!builder.done()) {
    for (const auto& question : builder.questions()) {
      TROUPE_ASSIGN_OR_RETURN(const auto reply, sample_one_hop(*store.graph(), question.request));
      TROUPE_RETURN_IF_ERROR(builder.answer(question.id, reply));
    }
  }
  return std::move(builder).take();
}

Result<Reads> read_epoch(const GraphStore& store, const Arguments& arguments, std::uint32_t epoch) {
  TROUPE_ASSIGN_OR_RETURN(auto list, store.seeds("", "train"));
  const auto seeds = std::make_shared<const SeedList>(std::move(list));
  const SeedOrder order(seeds, arguments.batch_size, 1, true);
  auto options = std::make_shared<SampleOptions>();
  options->fanout = fanout_of_hops(arguments.fanout, store.info().edge_types.size());
  PartRanges ranges;
  for (const auto& type : store.info().node_types) {
    ranges.first_node.push_back({0, type.count});
  }
  const PartitionBook book(ranges);
  const auto count = store.info().node_types[raw(seeds->node_type)].count;
  Reads reads{Counts(count), Counts(count)};
  for (std::uint64_t number = 0; number < order.num_batches(); ++number) {
    TROUPE_ASSIGN_OR_RETURN(const auto batch,
                            sample(store, book, options, {Purpose::train, epoch, number},
                                   seeds->node_type, order.batch(epoch, number)));
    for (const auto id : batch.nodes[raw(seeds->node_type)].ids) {
      ++reads.all[raw(id)];
      reads.first[raw(id)] += number < arguments.presample ? 1 : 0;
    }
  }
  return reads;
}

/// Share of all reads that the `percent` % of rows with the largest heat get.
template <class T>
double hit_rate(const std::vector<T>& heat, const Counts& reads, double percent) {
  std::vector<std::uint64_t> order(heat.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(), [&](std::uint64_t v) { return heat[v]; });
  const auto rows = static_cast<std::uint64_t>(static_cast<double>(heat.size()) * percent / 100);
  std::uint64_t hits = 0;
  for (std::uint64_t i = 0; i < rows; ++i) {
    hits += reads[order[i]];
  }
  return static_cast<double>(hits) /
         static_cast<double>(std::accumulate(reads.begin(), reads.end(), std::uint64_t{0}));
}

Status run(const Arguments& arguments) {
  TROUPE_ASSIGN_OR_RETURN(const auto store, GraphStore::open(arguments.store, {}));
  TROUPE_ASSIGN_OR_RETURN(const auto seeds, store.seeds("", "train"));
  ComputePool pool(std::max(1U, std::thread::hardware_concurrency()));
  const HotnessOptions options{.fanout = fanout_of_hops(arguments.fanout),
                               .batch_size = arguments.batch_size};
  const auto began = std::chrono::steady_clock::now();
  TROUPE_ASSIGN_OR_RETURN(const auto hotness, node_hotness(store, "", options, pool));
  fmt::print("hotness in {:.1f} s\n", seconds_since(began));
  const auto type = raw(seeds.node_type);
  const auto degrees = in_degrees(store.info(), *store.graph());
  TROUPE_ASSIGN_OR_RETURN(const auto before,
                          read_epoch(store, arguments, 0));  // what presampling sees
  TROUPE_ASSIGN_OR_RETURN(const auto reads, read_epoch(store, arguments, 1));
  const auto& features = store.info().node_types[type].features;
  const auto total = std::accumulate(reads.all.begin(), reads.all.end(), std::uint64_t{0});
  const auto row_bytes = features ? features->row_bytes() : 0;
  fmt::print("{} rows read in an epoch, {:.1f} MB\n", total,
             static_cast<double>(total * row_bytes) / 1e6);
  fmt::print("rows kept | best | hotness (of best) | presample | degree | MB read with hotness\n");
  for (const auto percent : arguments.percents) {
    const auto best = hit_rate(reads.all, reads.all, percent);
    const auto hot = hit_rate(hotness[type], reads.all, percent);
    fmt::print("{} % | {:.3f} | {:.3f} ({:.3f}) | {:.3f} | {:.3f} | {:.1f}\n", percent, best, hot,
               hot / best, hit_rate(before.first, reads.all, percent),
               hit_rate(degrees[type], reads.all, percent),
               (1 - hot) * static_cast<double>(total * row_bytes) / 1e6);
  }
  return ok_status();
}

}  // namespace
}  // namespace troupe

int main(int argc, char** argv) {
  CLI::App app("hit rates of caches");
  troupe::Arguments arguments;
  app.add_option("STORE", arguments.store, "a graph store with training seeds")->required();
  app.add_option("--fanout", arguments.fanout)->delimiter(',')->capture_default_str();
  app.add_option("--batch-size", arguments.batch_size)->capture_default_str();
  app.add_option("--presample", arguments.presample, "batches")->capture_default_str();
  app.add_option("--percent", arguments.percents)->delimiter(',')->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (const auto done = troupe::run(arguments); !done) {
    fmt::print(stderr, "{}\n", done.error().what());
    return 3;
  }
  return 0;
}
