#pragma once
/// \file run_verdict.hpp
/// Whether all processes of a run are there, and who is told, once, when it cannot go on.
#include "runtime/base/result.hpp"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>

namespace troupe {

/// Lifecycle:  complete() or fail(); begin(); finish()
/// Threads:    all members from any thread
class RunVerdict {
 public:
  using OnFail = std::function<void(const Error&)>;

  /// All processes are there.
  void complete();
  /// The run cannot go on. Tells whoever began, unless it has finished. The first error stays.
  void fail(const Error& why);
  /// \param stop  asked every few milliseconds
  /// \returns what fail() said; cancelled: `stop` said so
  Status wait_complete(const std::function<bool()>& stop);

  /// \param on_fail  called at most once: at once if the run has failed since it was complete; never
  ///   after finish()
  /// \returns whether the run may be started
  bool begin(OnFail on_fail);
  /// The run has ended. \param how  counts where it had not ended before. \returns whether it had not
  bool finish(const Status& how);
  /// How the run ended: what fail() was called with, else what finish() was first.
  Status outcome() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Status> state_;  ///< ok: complete
  bool finished_ = false;
  Status how_ = ok_status();  ///< of finish()
  OnFail on_fail_;
};

}  // namespace troupe
