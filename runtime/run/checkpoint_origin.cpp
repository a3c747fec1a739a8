#include "runtime/run/checkpoint_origin.hpp"

#include <fmt/format.h>

namespace troupe {

Status check_same_origin(const CheckpointOrigin& written, const CheckpointOrigin& now) {
  if (!written.store.empty() && !now.store.empty() && written.store != now.store) {
    return Error(Errc::failed_precondition,
                 fmt::format("checkpoint: expected the store {} that the run began with, found {}: "
                             "the store was made anew since\ntry: the store as it was, or another "
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
  if (written.build.empty() || now.build.empty() || written.build == now.build) {
    return {};
  }
  return fmt::format(
      "the checkpoint was written by another build ({}) than this one ({}); "
      "parameters may differ in their last bits",
      written.build, now.build);
}

}  // namespace troupe
