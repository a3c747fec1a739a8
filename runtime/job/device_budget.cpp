#include "runtime/job/device_budget.hpp"

#include "runtime/base/value_rule.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace troupe {

DeviceBudget parse_device_budget(const nlohmann::json& value) {
  if (const auto share = parse_share(value)) {
    return {.kind = DeviceBudget::Kind::share, .share = *share};
  }
  if (const auto bytes = parse_bytes(value)) {
    return {.kind = DeviceBudget::Kind::bytes, .bytes = *bytes};
  }
  return {};
}

std::string to_string(const DeviceBudget& budget) {
  switch (budget.kind) {
    case DeviceBudget::Kind::automatic:
      break;
    case DeviceBudget::Kind::bytes:
      return fmt::format("{}B", budget.bytes);
    case DeviceBudget::Kind::share:
      return fmt::format("{:g}%", 100 * budget.share);
  }
  return "auto";
}

std::uint64_t budget_bytes(const DeviceBudget& budget, std::uint64_t all, std::uint64_t free) {
  switch (budget.kind) {
    case DeviceBudget::Kind::automatic:
      break;
    case DeviceBudget::Kind::bytes:
      return std::min(budget.bytes, all);
    case DeviceBudget::Kind::share:
      return std::min(all, static_cast<std::uint64_t>(budget.share * static_cast<double>(all)));
  }
  return std::min(free, all);
}

std::uint64_t device_margin(std::uint64_t memory_bytes) {
  return memory_bytes / 16;
}

}  // namespace troupe
