#pragma once
/// \file run_outputs.hpp
/// What a run of the program leaves in its output folder, for comparison with another run of its job.
#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace troupe::testing {

/// The metrics of a run without times and amounts of work, which of an interrupted epoch count only what was done since.
inline std::vector<nlohmann::json> metrics_of(const std::string& output) {
  static const std::set<std::string> results = {
      "kind",  "epoch",    "step", "global_step", "loss", "lr",       "best",
      "valid", "accuracy", "last", "role",        "f1",   "auc",      "ap",
      "mr",    "mrr",      "mae",  "mse",         "r2",   "labelled", "world"};
  std::vector<nlohmann::json> lines;
  std::ifstream in(output + "/metrics.jsonl");
  for (std::string line; std::getline(in, line);) {
    auto value = nlohmann::json::parse(line, nullptr, false);
    std::erase_if(*value.get_ptr<nlohmann::json::object_t*>(),
                  [](const auto& entry) { return !results.contains(entry.first); });
    lines.push_back(std::move(value));
  }
  return lines;
}

enum class Checkpoints : std::uint8_t {
  written,
  begun  ///< also those that are being written, or that a killed run had only begun to write
};
/// Checkpoints of a run's output by step.
inline std::map<std::uint64_t, std::filesystem::path> checkpoints_of(
    const std::string& output, Checkpoints which = Checkpoints::written) {
  std::map<std::uint64_t, std::filesystem::path> found;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(output + "/checkpoints", none)) {
    const auto name = entry.path().filename().string();
    if (which == Checkpoints::begun || name.find(".tmp-") == std::string::npos) {
      found.emplace(std::stoull(name.substr(5)), entry.path());
    }
  }
  return found;
}

}  // namespace troupe::testing
