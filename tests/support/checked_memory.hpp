#pragma once
/// \file checked_memory.hpp
/// What `troupe check` says of a job's memory, beside what `troupe run` takes.
#include <cstdint>
#include <string>
#include <vector>

namespace troupe::testing {

struct CheckedMemory {
  std::uint64_t said_bytes = 0;  ///< 0: the check failed
  std::uint64_t peak_bytes = 0;  ///< 0: the run failed
  std::string output;            ///< of the check, or of what failed

  bool holds() const { return peak_bytes > 0 && peak_bytes <= said_bytes; }
  /// Not more than what the spread of fast and slow runs and of batches explains.
  bool close() const { return said_bytes <= 3 * peak_bytes + (std::uint64_t{64} << 20U); }
};

/// Runs both on a job, for one epoch.
/// \param folder  for its output
CheckedMemory check_and_run(const std::string& job, const std::vector<std::string>& settings,
                            const std::string& folder);

}  // namespace troupe::testing
