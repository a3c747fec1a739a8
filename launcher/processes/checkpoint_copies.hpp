#pragma once
/// \file checkpoint_copies.hpp
/// Copies of a run's checkpoints on other hosts, where no file system is shared: `checkpoint.copies`.
#include "launcher/processes/remote_host.hpp"
#include "runtime/base/result.hpp"
#include "runtime/job/job.hpp"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

namespace troupe {

/// The hosts beside this one that are to keep checkpoints: the first of the job's that are not this one, each once.
/// \errors invalid_argument: the job has fewer than it wants
Result<std::vector<HostSpec>> hosts_of_copies(const Job& job);

/// Keeps the folder of checkpoints on the hosts_of_copies() as it is here, at the same path.
/// Threads: one at a time, but cut() on any; bring() blocks on hosts and disks
class CheckpointCopies {
 public:
  /// Makes the folder there. A host has `cluster.join_deadline` to answer.
  /// \param folder  of the checkpoints here
  /// \errors those of hosts_of_copies(); those of RemoteHost::make_folders(), with the host
  static Result<CheckpointCopies> open(const Job& job, const std::filesystem::path& folder);

  /// Ends the copying of all checkpoints whose writing has begun: a host that hangs would hold up the last one.
  void cut() const { ++state_->cuts; }
  /// Calls of cut() so far.
  std::uint32_t cuts() const { return state_->cuts; }
  /// Brings what is new. \param cuts  calls of cut() before the checkpoint was written
  /// \returns why hosts could not get it, each error with its host; cancelled: cut() was called since
  std::vector<Error> bring(std::uint32_t cuts) const;

 private:
  struct State {
    std::atomic<std::uint32_t> cuts{0};
    std::atomic<std::uint32_t> expected{0};  ///< by the copying under way
  };
  explicit CheckpointCopies(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::filesystem::path folder_;
  std::shared_ptr<State> state_ = std::make_shared<State>();
  std::vector<RemoteHost> hosts_;
};

}  // namespace troupe
