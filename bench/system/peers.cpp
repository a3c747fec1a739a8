#include "bench/system/peers.hpp"

#include <nlohmann/json.hpp>

#include <fmt/format.h>

namespace troupe::bench {
namespace {

using Json = nlohmann::ordered_json;

std::string number(const nlohmann::json& row, const char* key) {
  return row.contains(key) ? fmt::format("{:.4g}", row[key].get<double>()) : "";
}

std::string ours(const Json& result) {
  const auto& kernels = result["kernels"];
  const auto& limits = result["limits"][0];
  const auto& in_place = result["in_place"];
  const auto median = [](const Json& stats) { return stats["median"].get<double>(); };
  std::string text = fmt::format(
      "{:.0f} edges and {:.0f} rows per batch; others kept {:.2f} cores busy\n"
      "one thread: sampling {:.1f} ms = {:.2f} M edges/s ({:.0f} % of what random reads allow), "
      "gathering {:.1f} ms = {:.2f} GB/s (plain loop {:.2f}, memcpy {:.2f})\n",
      kernels["edges_per_batch"].get<double>(), kernels["rows_per_batch"].get<double>(),
      result["other_cores"].get<double>(), median(kernels["sample_us"]) * 1e-3,
      kernels["sample_m_edges_s"].get<double>(),
      100 * kernels["sample_share_of_limit"].get<double>(), median(kernels["collect_us"]) * 1e-3,
      kernels["collect_gb_s"].get<double>(), kernels["copy_rows_gb_s"].get<double>(),
      median(limits["memcpy_gb_s"]));
  text += fmt::format(
      "one batch in flight: {:.0f} us, sampling {:.0f}, gathering {:.0f}, neither {:.0f} = {:.2f} "
      "%\n",
      median(in_place["wall_us"]), median(in_place["sampling_us"]),
      median(in_place["gathering_us"]), median(in_place["neither_us"]),
      100 * in_place["neither_share"].get<double>());
  for (const auto& run : result["pipeline"]) {
    text += fmt::format("cluster, {} in flight, {} threads: {:.0f} us per batch\n",
                        run["batches_in_flight"].get<int>(), run["threads"].get<int>(),
                        median(run["us_per_batch"]));
  }
  for (const auto& rate : result["requests"]) {
    text += fmt::format("holder, {}, {}, {} nodes: {:.0f} requests/s\n",
                        rate["kind"].get<std::string>(),
                        rate["linked"].get<bool>() ? "simulated link" : "local",
                        rate["nodes"].get<int>(), median(rate["per_second"]));
  }
  return text;
}

}  // namespace

std::string results_table(const Json& result, const nlohmann::json& peers) {
  auto text = ours(result);
  text += fmt::format("\n{:34} {:>12} {:>12} {:>20}\n", "others (bench/peers.json)", "sample, ms",
                      "2 threads", "M edges/s per core");
  for (const auto& row : peers["data_path"]) {
    text += fmt::format("{:34} {:>12} {:>12} {:>20}\n", row["system"].get<std::string>(),
                        number(row, "sample_ms_1_thread"), number(row, "sample_ms_2_threads"),
                        number(row, "m_edges_per_s_per_core"));
  }
  text += fmt::format("{:34} {:>12} {:>12}\n", "", "gather, GB/s", "2 threads");
  for (const auto& row : peers["gather"]) {
    text += fmt::format("{:34} {:>12} {:>12}\n", row["system"].get<std::string>(),
                        number(row, "gb_per_s_1_thread"), number(row, "gb_per_s_2_threads"));
  }
  return text + peers["caution"].get<std::string>() + "\n";
}

}  // namespace troupe::bench
