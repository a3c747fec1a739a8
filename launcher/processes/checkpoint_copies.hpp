#pragma once
/// \file checkpoint_copies.hpp
/// Copies of a run's checkpoints on other hosts, where no file system is shared: `checkpoint.copies`.
#include "launcher/processes/remote_host.hpp"
#include "runtime/base/result.hpp"
#include "runtime/job/job.hpp"

#include <filesystem>
#include <vector>

namespace troupe {

/// The hosts beside this one that are to keep checkpoints: the first of the job's that are not this one, each once.
/// \errors invalid_argument: the job has fewer than it wants
Result<std::vector<HostSpec>> hosts_of_copies(const Job& job);

/// Keeps the folder of checkpoints on the hosts_of_copies() as it is here, at the same path.
/// Threads: one at a time; bring() blocks on hosts and disks
class CheckpointCopies {
 public:
  /// Makes the folder there. A host has `cluster.join_deadline` to answer.
  /// \param folder  of the checkpoints here
  /// \errors those of hosts_of_copies(); those of RemoteHost::make_folders(), with the host
  static Result<CheckpointCopies> open(const Job& job, const std::filesystem::path& folder);

  /// Brings what is new. \returns why hosts could not get it, each error with its host
  std::vector<Error> bring() const;

 private:
  explicit CheckpointCopies(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::filesystem::path folder_;
  std::vector<RemoteHost> hosts_;
};

}  // namespace troupe
