#pragma once
/// \file checkpoint_origin.hpp
/// Store and program that a checkpoint comes from, and whether another run may continue from it.
/// The job is compared by runtime/job/resume.hpp.
#include "runtime/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace troupe {

/// Members that are not known are empty: manifests of older programs have none of them.
struct CheckpointOrigin {
  std::string
      store;  ///< Digest of the store, 32 hexadecimal digits; the same wherever it is placed
  std::optional<std::uint32_t> sampling_version;
  std::string build;   ///< Version, build id, compiler and build type of the program
  std::string device;  ///< That computed: "cpu"

  bool operator==(const CheckpointOrigin&) const = default;
};

/// Compares the origin of a checkpoint with store and program of the run that is to continue from
/// it. What is not known on either side is not compared. Another build is no error: see other_build().
/// \errors failed_precondition: another store or sampling_version, with both values
Status check_same_origin(const CheckpointOrigin& written, const CheckpointOrigin& now);

/// The sentence that warns of another build or device; empty: they are the same, or not known.
std::string other_build(const CheckpointOrigin& written, const CheckpointOrigin& now);

}  // namespace troupe
