#pragma once
/// \file session.hpp
/// A rank's session for the Python part of the package: the calls of `troupe::Session`, each without the
/// interpreter's lock while it waits.
#include "launcher/session.hpp"

#include <cstdint>
#include <optional>
#include <pybind11/pybind11.h>
#include <thread>
#include <unistd.h>

namespace troupe::python {

/// Lifecycle: made around one rank's function; after end() all calls raise
/// Threads:   the rank's alone; on others, and in forked children, calls raise
class SessionHandle {
 public:
  explicit SessionHandle(Session& session)
      : session_(&session), thread_(std::this_thread::get_id()), process_(getpid()) {}

  /// \throws std::runtime_error: in another process, on another thread, or after the rank's function has
  ///   returned
  Session& get() const;
  void end() { session_ = nullptr; }

  /// Begins an epoch: iterators over the one before end.
  EpochRange begin_epoch(std::uint32_t number);
  std::uint32_t epoch() const { return epoch_; }  ///< Number of the last one that began
  std::uint64_t epochs_begun() const { return epochs_begun_; }

 private:
  Session* session_;
  std::thread::id thread_;
  pid_t process_;
  std::uint32_t epoch_ = 0;
  std::uint64_t epochs_begun_ = 0;
};

/// The turns of the session's last epoch, as an iterator of Python.
class EpochTurns {
 public:
  EpochTurns(std::shared_ptr<const SessionHandle> session, EpochRange range)
      : session_(std::move(session)),
        epoch_(session_->epoch()),
        epochs_begun_(session_->epochs_begun()),
        range_(range) {}
  /// \throws pybind11::stop_iteration; troupe.Error, also where a later epoch has begun
  pybind11::object next();

 private:
  std::shared_ptr<const SessionHandle> session_;
  std::uint32_t epoch_;
  std::uint64_t epochs_begun_;
  EpochRange range_;
  std::optional<EpochRange::Iterator> turn_;
};

void bind_sessions(pybind11::module_& module);

}  // namespace troupe::python
