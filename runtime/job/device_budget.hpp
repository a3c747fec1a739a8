#pragma once
/// \file device_budget.hpp
/// How much of the rows of features a device's memory holds: `features.cache.device_budget`.
#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>

namespace troupe {

struct DeviceBudget {
  enum class Kind : std::uint8_t {
    automatic,  ///< what is free on the device
    bytes,
    share  ///< of all rows
  };
  Kind kind = Kind::automatic;
  std::uint64_t bytes = 0;
  double share = 0;
  friend bool operator==(const DeviceBudget&, const DeviceBudget&) = default;
};

/// \requires `value` fits the rule of the key
DeviceBudget parse_device_budget(const nlohmann::json& value);
/// As the job file says it, shares as percent.
std::string to_string(const DeviceBudget& budget);

/// Bytes of rows that a device may hold, at most all of them.
/// \param all   bytes of all rows
/// \param free  bytes that are free on the device for rows
std::uint64_t budget_bytes(const DeviceBudget& budget, std::uint64_t all, std::uint64_t free);

/// What `auto` leaves free of a device's memory beside what is planned.
std::uint64_t device_margin(std::uint64_t memory_bytes);

}  // namespace troupe
