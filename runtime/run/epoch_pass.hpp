#pragma once
/// \file epoch_pass.hpp
/// One pass of a rank over a seed order: an epoch of training, or a sampled evaluation. Knows no
/// actors.
#include "runtime/base/matrix.hpp"
#include "runtime/base/result.hpp"
#include "runtime/feature/ready_batch.hpp"
#include "runtime/run/batch_stream.hpp"
#include "runtime/run/reduction.hpp"
#include "runtime/run/step_report.hpp"
#include "runtime/wire/messages.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace troupe {

struct EpochPassOptions {
  BatchStreamOptions stream;
  std::string role;      ///< Name of the seeds, e.g. "train"
  bool best = false;     ///< Scores with the best epoch's parameters
  bool learns = true;    ///< false: batches are only taken and counted
  bool numbers = false;  ///< Targets of seeds are numbers to predict
  std::shared_ptr<const SampleOptions> sample;
  std::shared_ptr<const SampleOptions> next_sample =
      {};  ///< Of the epoch that follows; null: the same
  std::shared_ptr<const CollectOptions> collect;
  bool traced = false;  ///< Batches have numbers in the trace
  /// Of the request that the pass scores for, where its batches are not those of that epoch.
  std::optional<std::uint32_t> score_epoch = std::nullopt;
  /// Of the epoch that follows: its first batches are requested once all of this pass are.
  std::optional<BatchStreamOptions> next = std::nullopt;
};

/// Decides the next piece of work of a pass, counts what was done, and advances the rank's position
/// in the run.
/// Lifecycle: request() until it gives nothing, put() for each answer, then next(); the work that it
///   names is done before end_step(), after which it all begins again; finish_…() when next() says so,
///   and take_next() for the pass after it
/// Threads:   one at a time
/// Borrows:   the position, which must outlive the pass
class EpochPass {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Ready = std::shared_ptr<const ReadyBatch>;

  // ---- pieces of work ----
  struct Wait {};  ///< A batch is missing, or work is under way
  struct Train {
    Ready ready;
  };
  struct Score {
    Ready ready;
  };
  /// Only count(): nothing is learned.
  struct Count {
    Ready ready;
  };
  struct JoinStep {};  ///< Train without a batch, which only other ranks have: weight 0
  struct SkipStep {};  ///< Only other ranks have a batch
  struct Finish {};    ///< All steps are done
  using Work = std::variant<Wait, Train, Score, Count, JoinStep, SkipStep, Finish>;

  using Stream = BatchStream<Ready>;

  /// \param begun  batches that the pass before has requested: of this pass or of the next
  EpochPass(EpochPassOptions options, net::TrainingState& position, TimePoint now,
            std::optional<Stream> begun = std::nullopt);

  bool trains() const { return options_.stream.purpose == Purpose::train; }
  bool over() const { return stream_.over(); }
  /// Whether the pass is the answer to a request, made now or again.
  bool answers(const net::EpochRequest& request) const;
  bool answers(const net::ScoreRequest& request) const;
  net::ScoreRequest score_request() const;
  std::uint32_t score_epoch() const { return options_.score_epoch.value_or(options_.stream.epoch); }

  struct Request {
    std::uint64_t number = 0;  ///< Of the batch, on this rank
    SampleBatch batch;
    bool ahead = false;  ///< Of the next epoch
  };
  /// The next batch to request; nothing while enough are under way, those of the next epoch among
  /// them.
  std::optional<Request> request();
  /// The next batch to hint at: of this pass, then of the next epoch.
  std::optional<Request> hint();
  /// Whether a batch is of this pass, not of the next epoch.
  bool covers(const BatchKey& key) const { return stream_.covers(key); }
  void put(std::uint64_t number, const Ready& ready);
  /// What has been requested of the next epoch.
  std::optional<Stream> take_next() { return std::exchange(next_, std::nullopt); }
  /// Forgets it, and requests nothing more of it.
  void drop_next();
  /// The batch's number in the trace, the same whenever and wherever it is requested; 0: no trace.
  std::uint64_t flow(const BatchKey& key) const;

  /// Work other than Wait and Finish is under way until end_step().
  Work next(TimePoint now);
  /// The batches after the one under way, as far as they are here without a gap, `most` at most, and the
  /// steps of the run that train them.
  std::vector<std::pair<Ready, std::uint64_t>> ahead(std::uint64_t most) const;
  /// Since when the batch of the work under way was awaited; none: it was there.
  std::optional<TimePoint> waited_since() const { return waited_since_; }
  /// Without work until resume().
  void pause() { busy_ = true; }
  void resume() { busy_ = false; }

  // ---- what was done ----
  /// A batch that is only taken. \errors as check_original_ids()
  Status count(const ReadyBatch& ready);
  /// \param outputs  of the batch's seeds
  void scored(const ReadyBatch& ready, const Matrix& outputs);
  void trained(std::chrono::nanoseconds time) { counters_.train_ns += ns(time); }
  void reduced(std::chrono::nanoseconds time) { counters_.reduce_ns += ns(time); }
  /// Learned rows were awaited, or have moved.
  void learned(std::chrono::nanoseconds time) { counters_.learned_ns += ns(time); }
  void moved(std::uint64_t rows, std::uint64_t bytes, std::uint64_t messages) {
    counters_.learned_rows += rows;
    counters_.learned_bytes += bytes;
    counters_.learned_messages += messages;
  }
  /// The sum over all ranks that the step's parameters come from.
  /// \errors failed_precondition: the loss is not finite; no step helps from there
  Status take_sum(const Reduced& sum);
  /// \param lr  learning rate of the step
  void applied(double lr) { lr_ = lr; }
  void end_step();
  /// Of the training step that ended last.
  StepReport report(TimePoint now);

  /// The next epoch begins at step 0.
  net::EpochResult finish_epoch(TimePoint now);
  /// \param cols  outputs of one seed
  net::ScoreResult finish_scores(std::size_t cols);

 private:
  static std::uint64_t ns(std::chrono::nanoseconds time) {
    return static_cast<std::uint64_t>(time.count());
  }

  static Stream stream_of(const BatchStreamOptions& options, std::optional<Stream>& begun);
  Request request_of(const Stream& stream, std::uint64_t number, bool ahead) const;

  EpochPassOptions options_;
  Stream stream_;
  std::optional<Stream> next_;
  net::TrainingState& position_;
  bool busy_ = false;  ///< A step is under way
  std::optional<TimePoint> waiting_since_;
  std::optional<TimePoint> waited_since_;
  TimePoint began_;
  TimePoint last_step_;
  net::EpochCounters counters_;
  double step_loss_ = 0;           ///< Sum over the labelled seeds of all ranks, of the last step
  std::uint64_t step_weight_ = 0;  ///< Labelled seeds of all ranks in the last step
  double lr_ = 0;
  net::ScoreResult scores_;
  std::vector<float> outputs_;
};

}  // namespace troupe
