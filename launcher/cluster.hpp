#pragma once
/// \file cluster.hpp
/// A cluster that can run a job, wherever its processes are.
#include "launcher/director_options.hpp"
#include "runtime/base/result.hpp"
#include "runtime/nn/network.hpp"
#include "runtime/wire/membership.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace troupe {

/// Over all links between processes, both directions.
using Traffic = net::LinkTotals;

/// Lifecycle:  made ready; start() once; the destructor ends all actors, links and processes
/// Threads:    one; stop() on any
class Cluster {
 public:
  virtual ~Cluster() = default;

  /// Starts the director. `on_end` is called once, on another thread, with how the run went or with
  /// what ended it.
  virtual void start(RunSetup setup, std::function<void(Result<RunResult>)> on_end) = 0;
  /// Takes a checkpoint, if any are kept, and ends the run with `cancelled`.
  virtual void stop() = 0;
  /// After the end: lets all processes end, and counts what their links carried.
  virtual Traffic finish() = 0;

  virtual std::uint64_t steps_per_epoch() const = 0;  ///< of one rank
  /// Calls of ClusterHooks::on_step for a step of all ranks.
  virtual std::uint32_t reports_per_step() const = 0;
  virtual const nn::ParameterLayout& layout() const = 0;  ///< empty if trainers only take batches
  virtual std::size_t threads() const = 0;                ///< compute threads of a process
  virtual std::string devices() const = 0;                ///< device_text() of the run
};

}  // namespace troupe
