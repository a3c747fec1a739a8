#include "bench/system/measurements.hpp"

#include "bench/support/kernels.hpp"
#include "bench/support/limits.hpp"
#include "bench/support/measure.hpp"
#include "bench/system/hardware.hpp"
#include "bench/system/in_place.hpp"
#include "bench/system/learned_rows.hpp"
#include "bench/system/pipeline.hpp"
#include "bench/system/requests.hpp"
#include "bench/system/start.hpp"
#include "bench/system/training_step.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <vector>

namespace troupe::bench {
namespace {

using Json = nlohmann::ordered_json;

Json limits_json(const Limits& limits) {
  return {{"threads", limits.threads},
          {"memcpy_gb_s", to_json(limits.memcpy_gb_s)},
          {"random_4_byte_reads_m_s", to_json(limits.random_reads_m_s)},
          {"random_4_byte_reads_huge_pages_m_s", to_json(limits.random_reads_huge_m_s)}};
}

/// All batches of an epoch, several times, on this thread.
struct KernelTimes {
  std::vector<double> draw, grow, sample, collect, copy;
  double edges = 0;
  double rows = 0;
  double frontier = 0;
  double bytes = 0;
};

Status measure_batch(const BenchData& data, std::uint64_t number, std::vector<std::byte>& reused,
                     KernelTimes& times) {
  TROUPE_ASSIGN_OR_RETURN(const auto sampled, sample_batch(data, number));
  const auto bytes = sampled.batch->nodes[0].ids.size() * data.collect->decoders[0].row_bytes();
  reused.resize(std::max(reused.size(), bytes));
  const auto copy = [&] {
    const Stopwatch watch;
    copy_rows(data, *sampled.batch, reused);
    times.copy.push_back(watch.us());
  };
  // By turns: who comes second finds some of the rows in the cache.
  if (number % 2 == 1) {
    copy();
  }
  const Stopwatch collect;
  TROUPE_ASSIGN_OR_RETURN(const auto batch, collect_batch(data, sampled.batch));
  times.collect.push_back(collect.us());
  if (number % 2 == 0) {
    copy();
  }
  times.draw.push_back(sampled.cost.draw_us);
  times.grow.push_back(sampled.cost.grow_us);
  times.sample.push_back(sampled.cost.all_us());
  times.edges += static_cast<double>(sampled.batch->num_edges());
  times.rows += static_cast<double>(sampled.batch->num_nodes());
  times.frontier += static_cast<double>(sampled.cost.frontier_nodes);
  times.bytes += static_cast<double>(bytes);
  return ok_status();
}

/// Sampling reads, at random places: per frontier node its offsets and its original id, per edge
/// the neighbour and the dedup slot (design, section 13).
Json kernels_json(const KernelTimes& times, const Limits& limits) {
  const auto n = static_cast<double>(times.sample.size());
  const auto sample = stats_of(times.sample);
  const auto collect = stats_of(times.collect);
  const auto copy = stats_of(times.copy);
  const double reads = 2 * (times.frontier + times.edges) / n;
  return {{"threads", 1},
          {"batches", times.sample.size()},
          {"edges_per_batch", times.edges / n},
          {"rows_per_batch", times.rows / n},
          {"frontier_nodes_per_batch", times.frontier / n},
          {"draw_us", to_json(stats_of(times.draw))},
          {"grow_us", to_json(stats_of(times.grow))},
          {"sample_us", to_json(sample)},
          {"collect_us", to_json(collect)},
          {"copy_rows_us", to_json(copy)},
          {"sample_m_edges_s", times.edges / n / sample.median},
          {"sample_share_of_limit", reads / limits.random_reads_m_s.median / sample.median},
          {"collect_gb_s", times.bytes / n / collect.median * 1e-3},
          {"copy_rows_gb_s", times.bytes / n / copy.median * 1e-3}};
}

Result<Json> measure_kernels(const BenchData& data, std::uint32_t epochs, const Limits& limits) {
  std::vector<std::byte> reused;
  KernelTimes times;
  for (std::uint32_t epoch = 0; epoch <= epochs; ++epoch) {
    if (epoch == 1) {
      times = {};  // the first warms up
    }
    for (std::uint64_t number = 0; number < data.full_batches(); ++number) {
      TROUPE_RETURN_IF_ERROR(measure_batch(data, number, reused, times));
    }
  }
  return kernels_json(times, limits);
}

Result<Json> measure_in_place(const BenchData& data, std::uint32_t epochs) {
  TROUPE_ASSIGN_OR_RETURN(const auto cost, run_in_place(data, epochs));
  return Json{{"batches_in_flight", 1},
              {"wall_us", to_json(cost.wall)},
              {"sampling_us", to_json(cost.sampling)},
              {"gathering_us", to_json(cost.gathering)},
              {"neither_us", to_json(cost.neither)},
              {"neither_share", cost.neither.median / cost.wall.median},
              {"tasks_per_batch", cost.tasks_per_batch}};
}

Result<Json> measure_pipeline(const BenchData& data, std::uint32_t epochs, std::uint32_t threads) {
  Json runs = Json::array();
  const PipelineOptions one{.batches_in_flight = 1, .threads = 1, .epochs = epochs};
  const PipelineOptions many{.batches_in_flight = 8, .threads = threads, .epochs = epochs};
  for (const auto& options : {one, many}) {
    TROUPE_ASSIGN_OR_RETURN(const auto cost, run_pipeline(data, options));
    runs.push_back({{"batches_in_flight", options.batches_in_flight},
                    {"threads", options.threads},
                    {"us_per_batch", to_json(cost.us_per_batch)},
                    {"edges_per_batch", cost.edges_per_batch},
                    {"rows_per_batch", cost.rows_per_batch}});
  }
  return runs;
}

Result<Json> measure_holder(const BenchData& data, std::uint32_t threads) {
  TROUPE_ASSIGN_OR_RETURN(const auto rates, measure_requests(data, threads));
  Json rows = Json::array();
  for (const auto& rate : rates) {
    rows.push_back({{"kind", rate.kind},
                    {"nodes", rate.nodes},
                    {"linked", rate.linked},
                    {"per_second", to_json(rate.per_second)}});
  }
  return rows;
}

/// Products are counted for GraphSAGE on one edge type alone.
Result<Json> measure_steps(const BenchData& data, std::uint32_t epochs, std::uint32_t threads) {
  Json runs = Json::array();
  for (const std::uint32_t count : {1U, threads}) {
    TROUPE_ASSIGN_OR_RETURN(const auto cost, measure_training(data, count, 8, 10 * epochs));
    runs.push_back({{"threads", cost.threads},
                    {"edges", cost.edges},
                    {"step_ms", to_json(cost.step_ms)},
                    {"products_gf", cost.products_gf},
                    {"product_gf_s", to_json(cost.product_gf_s)},
                    {"share_of_products", cost.share_of_products},
                    {"aggregate_gb_s", to_json(cost.aggregate_gb_s)}});
  }
  return runs;
}

/// Eight processes of one host, and one process on each of eight hosts.
Result<Json> measure_starts(const BenchData& data, const std::filesystem::path& troupe) {
  const std::pair<const char*, const char*> clusters[] = {
      {"8 processes, 1 host",
       R"({"launch": "local", "hosts": 1, "placement": "worker", "samplers_per_trainer": 7,
           "threads": 1})"},
      {"8 processes, 8 hosts", R"({"launch": "local", "hosts": 8, "threads": 1})"}};
  Json starts = Json::array();
  for (const auto& [name, cluster] : clusters) {
    TROUPE_ASSIGN_OR_RETURN(
        const auto cost,
        measure_start({.troupe = troupe, .store = data.store.dir(), .cluster = cluster}));
    starts.push_back({{"processes", name},
                      {"joined_s", to_json(cost.joined)},
                      {"first_step_s", to_json(cost.first_step)},
                      {"aim_s", 2}});
  }
  return starts;
}

Json measure_tables(const MeasureOptions& options) {
  const auto cost =
      measure_learned_rows({.rows = options.learned_rows, .threads = options.threads});
  return {{"rows", cost.options.rows},
          {"dim", cost.options.dim},
          {"optimizer", "adagrad"},
          {"holders", cost.options.holders},
          {"rows_of_a_step", cost.options.rows_of_a_step},
          {"threads", cost.options.threads},
          {"applied_m_rows_s", to_json(cost.applied_m_s)},
          {"read_m_rows_s", to_json(cost.read_m_s)},
          {"plain_m_rows_s", to_json(cost.plain_m_s)},
          {"share_of_plain", cost.share_of_plain}};
}

Json graph_json(const BenchData& data) {
  const auto& nodes = data.graph->node_types[0];
  return {{"nodes", nodes.count},
          {"edges", data.graph->edge_types[0].count},
          {"features", nodes.features ? nodes.features->cols : 0},
          {"seeds", data.order->num_seeds()},
          {"parts", data.parts.size()},
          {"memory", data.store.memory() == StoreMemory::mapped ? "mapped" : "copied"}};
}

/// One thing that is measured: its key in the results.
struct Section {
  const char* name;
  const char* what;
  std::function<Result<Json>()> measure;
};

}  // namespace

Result<Json> measure(const BenchData& data, const MeasureOptions& options) {
  Limits one_thread;
  const std::vector<Section> sections{
      {"kernels", "sampling and gathering on one thread",
       [&] { return measure_kernels(data, options.epochs, one_thread); }},
      {"in_place", "one batch in flight", [&] { return measure_in_place(data, options.epochs); }},
      {"pipeline", "epochs through a simulated cluster",
       [&] { return measure_pipeline(data, options.epochs, options.threads); }},
      {"requests", "requests to a holder", [&] { return measure_holder(data, options.threads); }},
      {"training", "training steps of one rank",
       [&] { return measure_steps(data, options.epochs, options.threads); }},
      {"start", "start of 8 processes", [&] { return measure_starts(data, options.troupe); }},
      {"learned_rows", "learned rows", [&] { return Result<Json>(measure_tables(options)); }},
  };
  const OtherLoad others;
  Json result{{"build", build_json()},
              {"hardware", hardware_json()},
              {"graph", graph_json(data)},
              {"seed", data.job.seed},
              {"fanout", data.job.sample.fanout},
              {"batch_size", data.job.sample.batch_size}};
  if (options.only.empty() || options.only == "kernels") {
    fmt::print(stderr, "measuring: limits of the machine\n");
    one_thread = measure_limits(1);
    result["limits"] = {limits_json(one_thread), limits_json(measure_limits(options.threads))};
  }
  for (const auto& section : sections) {
    if (options.only.empty() || options.only == section.name) {
      fmt::print(stderr, "measuring: {}\n", section.what);
      TROUPE_ASSIGN_OR_RETURN(result[section.name], section.measure());
    }
  }
  result["other_cores"] = others.cores();
  return result;
}

}  // namespace troupe::bench
