#include "runtime/run/checkpoint_origin.hpp"

#include <fmt/format.h>

namespace troupe {

Status check_same_origin(const CheckpointOrigin& written, const CheckpointOrigin& now) {
  if (!written.store.empty() && !now.store.empty() && written.store != now.store) {
    return Error(Errc::failed_precondition,
                 fmt::format("checkpoint: expected the store {} that the run began with, found {}: "
                             "the store, or a file of dataset.seeds, was made anew since\ntry: "
                             "them as they were, or another "
                             "output folder",
                             written.store, now.store));
  }
  if (written.sampling_version && now.sampling_version &&
      *written.sampling_version != *now.sampling_version) {
    return Error(Errc::failed_precondition,
                 fmt::format("checkpoint: expected sampling_version {} that the run began with, "
                             "found {}: this program draws other batches\ntry: the program that "
                             "wrote the checkpoint, or another output folder",
                             *written.sampling_version, *now.sampling_version));
  }
  return ok_status();
}

std::string other_build(const CheckpointOrigin& written, const CheckpointOrigin& now) {
  const auto differ = [](const std::string& one, const std::string& other) {
    return !one.empty() && !other.empty() && one != other;
  };
  if (!differ(written.build, now.build) && !differ(written.device, now.device)) {
    return {};
  }
  return fmt::format(
      "the checkpoint was written by another build or on another device ({}; {}) than this ({}; "
      "{}); "
      "parameters may differ in their last bits",
      written.build, written.device, now.build, now.device);
}

}  // namespace troupe
