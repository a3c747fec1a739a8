#pragma once
/// \file device_choice.hpp
/// On what a process computes, as `cluster.device` and lines of hosts say it:
/// `cpu`, `cuda` (all CUDA devices), `cuda:LIST` (those of these numbers, like 0,2-3), `emulated:N`
/// (N devices that the CPU plays), `emulated:N,SIZE` (with so much memory each, like 512MB); `auto`, which
/// a run's start turns into `auto:cuda` or `auto:cpu`.
#include "runtime/base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

enum class DeviceKind : std::uint8_t {
  cpu,
  cuda,
  emulated,
  undecided,  ///< `auto`, before the run starts
};

std::string_view to_string(DeviceKind kind) noexcept;

struct DeviceChoice {
  DeviceKind kind = DeviceKind::cpu;
  std::vector<std::uint32_t> numbers = {};  ///< of CUDA devices; empty: all
  std::uint32_t count = 0;                  ///< of emulated devices
  std::uint64_t memory_bytes = 0;           ///< of each emulated device; 0: emulated_memory_bytes
  bool automatic = false;                   ///< `kind` is what `auto` became, or will become
  friend bool operator==(const DeviceChoice&, const DeviceChoice&) = default;
};

/// Devices of one kind that a process may have.
inline constexpr std::uint32_t most_devices = 64;

/// Memory of an emulated device, unless the choice says another size.
inline constexpr std::uint64_t emulated_memory_bytes = std::uint64_t{4} << 30;

/// \errors invalid_argument
Result<DeviceChoice> parse_device(std::string_view text);
std::string to_string(const DeviceChoice& choice);

}  // namespace troupe
