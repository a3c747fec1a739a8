#pragma once
/// \file unused_keys.hpp
/// Keys of a job that are set, and that nothing reads because of its other keys. A job with such keys runs; most keys without a
/// meaning are refused instead (job_rules.hpp). These are not, because jobs that are compared by `--set` keep them.
#include "runtime/job/job.hpp"

#include <string>
#include <vector>

namespace troupe {

struct UnusedKey {
  std::string pointer;  ///< JSON pointer, e.g. "/partition/passes"
  std::string reader;   ///< What would read it, e.g. "partition.method ldg, fennel"

  friend bool operator==(const UnusedKey&, const UnusedKey&) = default;
};

/// In the order of the job file; without keys that have the values they would have if they were left out.
/// \requires the job was read without problems
std::vector<UnusedKey> unused_keys(const Job& job);

/// `not used: /partition/passes, which is for partition.method ldg, fennel`.
std::string to_string(const UnusedKey& key);

}  // namespace troupe
