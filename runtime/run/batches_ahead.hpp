#pragma once
/// \file batches_ahead.hpp
/// Number of batches that a rank requests ahead of training, fixed or as its waits ask for. For the
/// batches themselves see batch_stream.hpp.
#include "runtime/job/job.hpp"

#include <chrono>
#include <cstdint>

namespace troupe {

struct BatchesAheadOptions {
  std::uint32_t first = 4;  ///< Batches requested and not yet trained on, at the start
  std::uint32_t most = 4;   ///< Not below `first`; equal to it: the number is fixed
  /// Bytes that batches beyond `first` may take, each as large as the largest so far.
  std::uint64_t extra_bytes = 0;
};

/// As the job says: a number, or "auto".
/// \param free_bytes  memory that a rank may count as its own; 0: not known
BatchesAheadOptions batches_ahead(const ClusterJob& cluster, std::uint64_t free_bytes);

/// Raises the number of batches in flight while the rank waits for data: after as many steps as are in
/// flight, of whose time waits took more than a twentieth, by one. A change shows only after the batches
/// that were requested before it.
/// Lifecycle:  one per rank, for all its passes; begin() with a pass's first batch, take() with each
///   later one
/// Threads:    one at a time
/// Guarantees: never lowers the number; at most `most`, and within `extra_bytes`
class BatchesAhead {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  explicit BatchesAhead(BatchesAheadOptions options) : options_(options), batches_(options.first) {}

  std::uint32_t batches() const { return batches_; }
  /// The first batch of a pass was taken: every rank waits for that one.
  void begin(TimePoint now);
  /// \param waited   part of the time since the batch before during which this one was missing
  /// \param largest  bytes of the pass's largest batch so far
  void take(TimePoint now, std::chrono::nanoseconds waited, std::uint64_t largest);

 private:
  bool one_more_fits() const;

  BatchesAheadOptions options_;
  std::uint32_t batches_;
  std::uint64_t largest_ = 0;
  // Since the number was last looked at.
  TimePoint began_;
  std::chrono::nanoseconds waited_{0};
  std::uint32_t steps_ = 0;
};

}  // namespace troupe
