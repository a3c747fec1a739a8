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

/// Raises the number of batches in flight while the rank waits for data and more of them make its steps faster.
/// It looks after as many steps as are in flight, but not below 8: where waits took more than a twentieth of
/// their time, there is one more. After four looks without a gain of a fiftieth the number is again that of the
/// fastest steps, and stays until steps have become slower by a fifth: where processors or memory are the limit,
/// batches that wait for their turn take cache from those that are made.
/// Lifecycle:  one per rank, for all its passes; begin() with a pass's first batch, take() with each
///   later one
/// Threads:    one at a time
/// Guarantees: from `first` to `most`, and within `extra_bytes`
class BatchesAhead {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  explicit BatchesAhead(BatchesAheadOptions options) : options_(options), batches_(options.first) {}

  std::uint32_t batches() const { return batches_; }
  /// The first batch of a pass was taken: every rank waits for that one.
  void begin(TimePoint now) { last_ = now; }
  /// \param waited   part of the time since the batch before during which this one was missing
  /// \param largest  bytes of the pass's largest batch so far
  void take(TimePoint now, std::chrono::nanoseconds waited, std::uint64_t largest);

 private:
  /// Decides on the number after steps that waited for data.
  void look();
  bool one_more_fits() const;

  BatchesAheadOptions options_;
  std::uint32_t batches_;
  std::uint64_t largest_ = 0;
  TimePoint last_;
  // Since the number was last looked at.
  std::chrono::nanoseconds time_{0};
  std::chrono::nanoseconds waited_{0};
  std::uint32_t steps_ = 0;
  // Of all looks.
  std::chrono::duration<double> fastest_{0};  ///< Time of a step; 0: none yet
  std::uint32_t fastest_batches_ = 0;         ///< Number in flight then
  std::uint32_t in_vain_ = 0;                 ///< Looks without a gain, one after the other
  bool settled_ = false;                      ///< The number is that of the fastest steps
};

}  // namespace troupe
