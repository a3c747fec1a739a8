#pragma once
/// \file batch_stream.hpp
/// One rank's batches of one pass over a seed order: which to ask for next, which were asked and are
/// not here, in what order they are taken. Knows no actors.
#include "runtime/base/assert.hpp"
#include "runtime/base/reorder_buffer.hpp"
#include "runtime/run/batches_ahead.hpp"
#include "runtime/sample/seed_order.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace troupe {

struct BatchStreamOptions {
  std::shared_ptr<const SeedOrder> order;
  Purpose purpose = Purpose::train;
  std::uint32_t epoch = 0;
  Rank rank{};
  std::uint32_t world = 1;
  std::uint64_t first_step = 0;  ///< steps of the epoch that are done already
  /// Decides how many batches are asked for and not yet trained on, at most.
  std::shared_ptr<BatchesAhead> ahead;
  std::uint64_t max_batches = 0;  ///< of all ranks; 0: the whole order
  /// Bytes of batches that are here or on their way and not yet taken; those on their way are
  /// counted as the largest so far. 0: not bounded. One batch passes whatever its size.
  std::uint64_t budget_bytes = 0;
  std::uint32_t lookahead = 0;  ///< batches that are hinted at beyond those asked for
};

/// Batches of another stream, with which this one shares its bounds.
struct BatchLoad {
  std::uint64_t batches = 0;        ///< Asked for and not yet trained on
  std::uint64_t under_way = 0;      ///< Asked for and not here
  std::uint64_t waiting_bytes = 0;  ///< Of those that are here and not taken
  std::uint64_t largest_bytes = 0;  ///< Of a batch so far
};

/// \tparam Item what a batch is once it is here
/// Lifecycle: ask() until it gives nothing, hint() likewise, put() what arrives, take() in order, end_step() after each
///   step, until over(). A rank may have fewer batches than there are steps
/// Threads:   one at a time
template <class Item>
class BatchStream {
 public:
  explicit BatchStream(BatchStreamOptions options) : options_(std::move(options)) {
    const auto limit = options_.max_batches;
    const auto all = options_.order->num_batches();
    const auto batches = limit > 0 ? std::min(all, limit) : all;
    const auto rank = raw(options_.rank);
    batches_ = batches > rank ? (batches - rank - 1) / options_.world + 1 : 0;
    steps_ = (batches + options_.world - 1) / options_.world;
    step_ = options_.first_step;
    asked_ = std::min(step_, batches_);
    ready_ = ReorderBuffer<Item>(asked_);
  }

  const BatchStreamOptions& options() const { return options_; }
  std::uint64_t step() const { return step_; }
  std::uint64_t steps() const { return steps_; }
  bool over() const { return step_ >= steps_; }
  /// Whether this rank has a batch in the step under way.
  bool has_batch() const { return step_ < batches_; }

  /// Whether a batch is of this pass, of any rank.
  bool covers(const BatchKey& key) const {
    return key.purpose == options_.purpose && key.epoch == options_.epoch;
  }

  /// The next batch to ask for, by its number on this rank; nothing while enough are under way.
  /// \param others  counted with this stream's own
  std::optional<std::uint64_t> ask(const BatchLoad& others = {}) {
    if (all_asked() || load().batches + others.batches >= in_flight() || !budget_has_room(others)) {
      return std::nullopt;
    }
    missing_.insert(asked_);
    return asked_++;
  }

  bool all_asked() const { return asked_ >= batches_; }

  /// The next batch to hint at, by its number on this rank: each once, none that is asked for.
  /// \param others  batches of an earlier stream that are hinted at and not asked for
  std::optional<std::uint64_t> hint(std::uint64_t others = 0) {
    if (all_hinted() || hinted_ahead() + others >= options_.lookahead) {
      return std::nullopt;
    }
    hinted_ = std::max(hinted_, asked_);
    return hinted_++;
  }
  bool all_hinted() const { return std::max(hinted_, asked_) >= batches_; }
  /// Batches hinted at and not asked for.
  std::uint64_t hinted_ahead() const { return std::max(hinted_, asked_) - asked_; }
  /// The batch's place among those of all epochs.
  std::uint64_t turn(std::uint64_t number) const { return options_.epoch * steps_ + number; }
  BatchLoad load() const {
    return {asked_ - std::min(step_, asked_), missing_.size(), waiting_bytes_, largest_};
  }

  /// The batch's number over all ranks.
  std::uint64_t global(std::uint64_t number) const {
    return number * options_.world + raw(options_.rank);
  }
  BatchKey key(std::uint64_t number) const {
    return {options_.purpose, options_.epoch, global(number)};
  }
  OrderedSeeds seeds(std::uint64_t number) const {
    return options_.order->seeds_of(options_.epoch, global(number));
  }

  /// A repeat is ignored.
  void put(std::uint64_t number, Item item, std::uint64_t bytes = 0) {
    if (missing_.erase(number) > 0) {
      ready_.put(number, std::move(item));
      waiting_.emplace(number, bytes);
      waiting_bytes_ += bytes;
      largest_ = std::max(largest_, bytes);
    }
  }
  /// The batch of the step under way, if it is here.
  std::optional<Item> take() {
    auto item = ready_.take();
    if (item) {  // they are taken in order
      waiting_bytes_ -= waiting_.begin()->second;
      waiting_.erase(waiting_.begin());
    }
    return item;
  }
  /// The batch that is taken after `ahead` others, if it is here, and its step in the epoch.
  std::optional<std::pair<Item, std::uint64_t>> find(std::uint64_t ahead) const {
    const auto* item = ready_.find(ahead);
    return item ? std::optional(std::pair(*item, ready_.next() + ahead)) : std::nullopt;
  }
  /// The batch that was taken at `now` had been awaited for so long.
  void waited(BatchesAhead::TimePoint now, std::chrono::nanoseconds time) {
    if (std::exchange(first_, false)) {
      options_.ahead->begin(now);
    } else {
      options_.ahead->take(now, time, largest_);
    }
  }
  /// Batches asked for and not yet trained on, at most.
  std::uint32_t in_flight() const { return options_.ahead->batches(); }
  void end_step() { ++step_; }

 private:
  bool budget_has_room(const BatchLoad& others) const {
    const auto under_way = missing_.size() + others.under_way;
    if (options_.budget_bytes == 0 ||
        (under_way == 0 && waiting_.empty() && others.waiting_bytes == 0)) {
      return true;
    }
    // Before the first batch is here nobody knows how large they are.
    const auto largest = std::max(largest_, others.largest_bytes);
    const auto waiting_bytes = waiting_bytes_ + others.waiting_bytes;
    return largest > 0 && waiting_bytes + (under_way + 1) * largest <= options_.budget_bytes;
  }

  BatchStreamOptions options_;
  std::uint64_t batches_ = 0;  ///< of this rank
  std::uint64_t steps_ = 0;    ///< of every rank
  std::uint64_t asked_ = 0;
  std::uint64_t hinted_ = 0;
  std::uint64_t step_ = 0;
  std::set<std::uint64_t> missing_;  ///< asked for and not here
  ReorderBuffer<Item> ready_;
  std::map<std::uint64_t, std::uint64_t> waiting_;  ///< bytes of those in ready_
  std::uint64_t waiting_bytes_ = 0;
  std::uint64_t largest_ = 0;
  bool first_ = true;  ///< no batch was taken yet
};

}  // namespace troupe
