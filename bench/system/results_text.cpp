#include "bench/system/results_text.hpp"

#include <nlohmann/json.hpp>

#include <fmt/format.h>

namespace troupe::bench {
namespace {

using Json = nlohmann::ordered_json;

double median(const Json& stats) {
  return stats["median"].get<double>();
}

std::string kernels_text(const Json& kernels, const Json& limits) {
  return fmt::format(
      "{:.0f} edges and {:.0f} rows per batch\n"
      "one thread: sampling {:.2f} ms = {:.2f} M edges/s ({:.0f} % of what random reads allow)\n"
      "one thread: gathering {:.2f} ms = {:.2f} GB/s (plain loop {:.2f}, memcpy {:.2f})\n",
      kernels["edges_per_batch"].get<double>(), kernels["rows_per_batch"].get<double>(),
      median(kernels["sample_us"]) * 1e-3, kernels["sample_m_edges_s"].get<double>(),
      100 * kernels["sample_share_of_limit"].get<double>(), median(kernels["collect_us"]) * 1e-3,
      kernels["collect_gb_s"].get<double>(), kernels["copy_rows_gb_s"].get<double>(),
      median(limits["memcpy_gb_s"]));
}

std::string in_place_text(const Json& cost) {
  return fmt::format(
      "one batch in flight: {:.0f} us, sampling {:.0f}, gathering {:.0f}, neither {:.0f} = {:.2f} "
      "%\n",
      median(cost["wall_us"]), median(cost["sampling_us"]), median(cost["gathering_us"]),
      median(cost["neither_us"]), 100 * cost["neither_share"].get<double>());
}

std::string pipeline_text(const Json& runs) {
  std::string text;
  for (const auto& run : runs) {
    text += fmt::format("cluster, {} in flight, {} threads: {:.0f} us per batch\n",
                        run["batches_in_flight"].get<int>(), run["threads"].get<int>(),
                        median(run["us_per_batch"]));
  }
  return text;
}

std::string requests_text(const Json& rates) {
  std::string text;
  for (const auto& rate : rates) {
    text += fmt::format("holder, {}, {}, {} nodes: {:.0f} requests/s\n",
                        rate["kind"].get<std::string>(),
                        rate["linked"].get<bool>() ? "simulated link" : "local",
                        rate["nodes"].get<int>(), median(rate["per_second"]));
  }
  return text;
}

std::string training_text(const Json& runs) {
  std::string text;
  for (const auto& run : runs) {
    text += fmt::format("training step, {} threads: {:.1f} ms, {} edges a batch",
                        run["threads"].get<int>(), median(run["step_ms"]),
                        run["edges"].get<std::uint64_t>());
    if (const auto products = run["products_gf"].get<double>(); products > 0) {
      text += fmt::format(
          ", {:.1f} GF of products at {:.0f} GF/s alone = {:.0f} % of it; aggregation alone {:.2f} "
          "GB/s",
          products, median(run["product_gf_s"]), 100 * run["share_of_products"].get<double>(),
          median(run["aggregate_gb_s"]));
    }
    text += "\n";
  }
  return text;
}

std::string start_text(const Json& starts) {
  std::string text;
  for (const auto& start : starts) {
    text += fmt::format(
        "start of {}: all joined after {:.2f} s, first step after {:.2f} s (aim {} s)\n",
        start["processes"].get<std::string>(), median(start["joined_s"]),
        median(start["first_step_s"]), start["aim_s"].get<int>());
  }
  return text;
}

std::string learned_rows_text(const Json& cost) {
  return fmt::format(
      "{} x {} learned rows of {} holders, {} threads: {:.2f} M rows/s applied = {:.0f} % of a "
      "plain "
      "loop ({:.2f}); {:.2f} M rows/s read\n",
      cost["rows"].get<std::uint64_t>(), cost["dim"].get<int>(), cost["holders"].get<int>(),
      cost["threads"].get<int>(), median(cost["applied_m_rows_s"]),
      100 * cost["share_of_plain"].get<double>(), median(cost["plain_m_rows_s"]),
      median(cost["read_m_rows_s"]));
}

}  // namespace

std::string results_text(const Json& result) {
  std::string text;
  if (result.contains("kernels")) {
    text += kernels_text(result["kernels"], result["limits"][0]);
  }
  if (result.contains("in_place")) {
    text += in_place_text(result["in_place"]);
  }
  if (result.contains("pipeline")) {
    text += pipeline_text(result["pipeline"]);
  }
  if (result.contains("requests")) {
    text += requests_text(result["requests"]);
  }
  if (result.contains("training")) {
    text += training_text(result["training"]);
  }
  if (result.contains("start")) {
    text += start_text(result["start"]);
  }
  if (result.contains("learned_rows")) {
    text += learned_rows_text(result["learned_rows"]);
  }
  return text + fmt::format("others kept {:.2f} cores busy\n", result["other_cores"].get<double>());
}

}  // namespace troupe::bench
