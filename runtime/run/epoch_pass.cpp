#include "runtime/run/epoch_pass.hpp"

#include "runtime/feature/batch.hpp"
#include "runtime/nn/scores.hpp"
#include "runtime/run/epoch_counters.hpp"

#include <cmath>
#include <fmt/format.h>
#include <utility>

namespace troupe {

EpochPass::EpochPass(EpochPassOptions options, net::TrainingState& position, TimePoint now,
                     std::optional<Stream> begun)
    : options_(std::move(options)),
      stream_(stream_of(options_.stream, begun)),
      position_(position),
      began_(now),
      last_step_(now) {
  if (begun && options_.next && begun->options().epoch == options_.next->epoch) {
    next_ = std::move(begun);
  }
}

/// Those begun where they are of this pass, else new ones.
EpochPass::Stream EpochPass::stream_of(const BatchStreamOptions& options,
                                       std::optional<Stream>& begun) {
  const bool its = begun && begun->covers({options.purpose, options.epoch, 0}) &&
                   begun->step() == options.first_step;
  return its ? *std::exchange(begun, std::nullopt) : Stream(options);
}

bool EpochPass::answers(const net::EpochRequest& request) const {
  return trains() && options_.stream.epoch == request.epoch;
}

bool EpochPass::answers(const net::ScoreRequest& request) const {
  return !trains() && options_.role == request.role && options_.best == request.best &&
         score_epoch() == request.epoch;
}

net::ScoreRequest EpochPass::score_request() const {
  return {score_epoch(), options_.role, options_.best};
}

// ---- batches ----

std::uint64_t EpochPass::flow(const BatchKey& key) const {
  constexpr unsigned number_bits = 36;
  const std::uint64_t stream = 2 * (std::uint64_t{key.epoch} + 1) + (key.purpose != Purpose::train);
  return options_.traced ? (stream << number_bits) + key.number : 0;
}

std::optional<EpochPass::Request> EpochPass::request() {
  if (const auto number = stream_.ask(next_ ? next_->load() : BatchLoad{})) {
    return request_of(stream_, *number, false);
  }
  if (!options_.next || !stream_.all_asked()) {
    return std::nullopt;
  }
  if (!next_) {
    next_.emplace(*options_.next);
  }
  const auto number = next_->ask(stream_.load());
  return number ? std::optional(request_of(*next_, *number, true)) : std::nullopt;
}

std::optional<EpochPass::Request> EpochPass::hint() {
  if (const auto number = stream_.hint()) {
    return request_of(stream_, *number, false);
  }
  if (!options_.next || options_.next->lookahead == 0 || !stream_.all_hinted()) {
    return std::nullopt;
  }
  if (!next_) {
    next_.emplace(*options_.next);
  }
  const auto number = next_->hint(stream_.hinted_ahead());
  return number ? std::optional(request_of(*next_, *number, true)) : std::nullopt;
}

EpochPass::Request EpochPass::request_of(const Stream& stream, std::uint64_t number,
                                         bool ahead) const {
  SampleBatch batch;
  batch.key = stream.key(number);
  batch.take_seeds(stream.seeds(number));
  batch.sample = ahead && options_.next_sample ? options_.next_sample : options_.sample;
  batch.collect = options_.collect;
  batch.options = BatchOptions::job;
  batch.flow = flow(batch.key);
  if (stream.options().purpose == Purpose::train) {
    batch.turn = stream.turn(number);
  }
  return Request{number, std::move(batch), ahead};
}

void EpochPass::put(std::uint64_t number, const Ready& ready) {
  const auto& key = ready->batch.sampled->key;
  if (stream_.covers(key)) {
    stream_.put(number, ready, size_bytes(ready->batch));
  } else if (next_ && next_->covers(key)) {
    next_->put(number, ready, size_bytes(ready->batch));
  }
}

void EpochPass::drop_next() {
  next_.reset();
  options_.next.reset();
}

std::vector<std::pair<EpochPass::Ready, std::uint64_t>> EpochPass::ahead(std::uint64_t most) const {
  std::vector<std::pair<Ready, std::uint64_t>> found;
  while (found.size() < most) {
    const auto next = stream_.find(found.size());
    if (!next) {
      break;
    }
    found.emplace_back(next->first, position_.global_step + next->second - stream_.step());
  }
  return found;
}

// ---- work ----

EpochPass::Work EpochPass::next(TimePoint now) {
  if (busy_) {
    return Wait{};
  }
  if (stream_.over()) {
    return Finish{};
  }
  if (!stream_.has_batch()) {
    busy_ = true;
    return options_.learns && trains() ? Work(JoinStep{}) : Work(SkipStep{});
  }
  auto ready = stream_.take();
  if (!ready) {
    waiting_since_ = waiting_since_.value_or(now);
    return Wait{};
  }
  busy_ = true;
  waited_since_ = std::exchange(waiting_since_, std::nullopt);
  const auto waited = waited_since_ ? now - *waited_since_ : std::chrono::nanoseconds(0);
  counters_.wait_ns += ns(waited);
  stream_.waited(now, waited);
  counters_.batches_in_flight = stream_.in_flight();
  count_batch(counters_, **ready);
  if (!options_.learns) {
    return Count{*std::move(ready)};
  }
  return trains() ? Work(Train{*std::move(ready)}) : Work(Score{*std::move(ready)});
}

Status EpochPass::count(const ReadyBatch& ready) {
  const auto mode = options_.collect->digest;
  if (mode != DigestMode::off) {
    TROUPE_RETURN_IF_ERROR(check_original_ids(ready.batch));
    position_.batches = chain(position_.batches, digest_of_trained(ready.batch, mode));
  }
  return ok_status();
}

void EpochPass::scored(const ReadyBatch& ready, const Matrix& outputs) {
  const auto positions =
      options_.stream.order->positions(options_.stream.epoch, stream_.global(stream_.step()));
  scores_.positions.insert(scores_.positions.end(), positions.begin(), positions.end());
  const auto flat = outputs.view().flat();
  outputs_.insert(outputs_.end(), flat.begin(), flat.end());
  const auto& batch = ready.batch;
  const auto add = [this](const auto& labels) {
    scores_.labels.insert(scores_.labels.end(), labels.begin(), labels.end());
  };
  if (batch.sampled->links || (batch.labels.empty() && batch.targets.cols() == 0)) {
    add(std::vector<std::int64_t>(
        positions.size()));  // the director has those of links, and rows have none
  } else if (options_.numbers) {
    const auto numbers = batch.targets.view().flat();
    scores_.numbers.insert(scores_.numbers.end(), numbers.begin(), numbers.end());
    add(std::vector<std::int64_t>(positions.size()));
  } else if (batch.targets.cols() > 0) {
    add(nn::known_labels(batch.targets.view().flat()));
  } else {
    add(batch.labels);
  }
}

Status EpochPass::take_sum(const Reduced& sum) {
  if (!std::isfinite(sum.number)) {
    return Error(Errc::failed_precondition,
                 fmt::format("training: the loss of step {} of epoch {} is {}; try: a lower "
                             "train.optimizer.lr, or train.clip",
                             stream_.step() + 1, position_.epoch + 1,
                             std::isnan(sum.number) ? "not a number" : "infinite"));
  }
  position_.loss_sum += sum.number;
  position_.loss_weight += sum.weight;
  for (const auto& batch : sum.batches) {
    position_.batches = chain(position_.batches, batch);
  }
  step_loss_ = sum.number;
  step_weight_ = sum.weight;
  return ok_status();
}

void EpochPass::end_step() {
  stream_.end_step();
  busy_ = false;
  if (trains()) {
    position_.global_step += 1;
    position_.step = stream_.step();
  }
}

StepReport EpochPass::report(TimePoint now) {
  StepReport report;
  report.rank = options_.stream.rank;
  report.epoch = options_.stream.epoch;
  report.step = stream_.step();
  report.steps = stream_.steps();
  report.global_step = position_.global_step;
  report.seconds = std::chrono::duration<double>(now - std::exchange(last_step_, now)).count();
  if (step_weight_ > 0) {
    report.loss = step_loss_ / static_cast<double>(step_weight_);
    report.lr = lr_;
  }
  return report;
}

// ---- the end ----

net::EpochResult EpochPass::finish_epoch(TimePoint now) {
  net::EpochResult result;
  result.rank = options_.stream.rank;
  result.epoch = position_.epoch;
  result.loss_sum = position_.loss_sum;
  result.loss_weight = position_.loss_weight;
  result.wall_ns = ns(now - began_);
  result.counters = counters_;
  result.batches = position_.batches;
  position_.epoch += 1;
  position_.step = 0;
  position_.loss_sum = 0;
  position_.loss_weight = 0;
  return result;
}

net::ScoreResult EpochPass::finish_scores(std::size_t cols) {
  scores_.cols = static_cast<std::uint32_t>(cols);
  scores_.outputs = Segment::of(std::move(outputs_));
  return std::move(scores_);
}

}  // namespace troupe
