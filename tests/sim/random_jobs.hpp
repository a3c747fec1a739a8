#pragma once
/// \file random_jobs.hpp
/// Jobs of random settings on small graphs, each in random layouts that its results must not show: combinations that no
/// table names.
#include "tests/sim/random_settings.hpp"
#include "tests/support/scratch_folder.hpp"

#include <cstdint>
#include <string>

namespace troupe::testing {

class RandomJobs {
 public:
  enum class Outcome : std::uint8_t {
    refused,  ///< its settings do not go together
    same,
    differs
  };

  /// Makes the graphs.
  RandomJobs();

  /// Runs the job of a number in one process, then elsewhere: other parts and hosts, emulated devices, other processes
  /// that sample, where actors are lost, and from a checkpoint of yet another layout. Each number has the same settings and
  /// losses in every build.
  /// \returns how it ended; \p why says what differed, with the settings
  Outcome run(std::uint32_t number, std::string& why) const;

 private:
  const ScratchFolder scratch_;
  FilesOfJobs files_;
};

}  // namespace troupe::testing
