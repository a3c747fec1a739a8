#pragma once
/// \file trace.hpp
/// What happened when, on which actor: `trace.json`, which opens in Perfetto (docs/outputs.md).
/// Batches are linked across actors by flows.
#include "runtime/base/result.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace troupe {

/// Collects events of one process.
/// Threads:    all members from any thread; recording takes a short lock of one of several shards
/// Guarantees: keeps at most `max_events`; those past it are counted and the count is written out
class Tracer {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Track = std::uint32_t;
  explicit Tracer(std::size_t max_events = 1'000'000);
  ~Tracer();

  /// A line in the picture: an actor, under the host (a "process" of the picture) it runs on.
  Track track(std::uint32_t host, std::string_view actor);
  /// Something that took from `began` to `ended`. `flow` links slices of one batch across actors, in
  /// the order of their times; 0: not linked. Slices of a track that lie within each other are drawn
  /// so unless they belong to different batches.
  /// \param name  a literal: kept by pointer
  void slice(Track track, const char* name, TimePoint began, TimePoint ended,
             std::uint64_t flow = 0);
  /// A moment worth a mark, such as a fault or a checkpoint. `text` is copied.
  void mark(Track track, std::string_view text, TimePoint when);

  /// Writes everything so far as Chrome trace JSON, whole or not at all.
  Status write(const std::filesystem::path& file) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The line of one actor in a trace, or of nobody in a run that keeps none: then recording costs a
/// comparison.
/// Threads: all members from any thread
class TraceTrack {
 public:
  using TimePoint = Tracer::TimePoint;
  TraceTrack() = default;
  /// \param tracer  null: nothing is recorded
  TraceTrack(std::shared_ptr<Tracer> tracer, std::uint32_t host, std::string_view actor)
      : tracer_(std::move(tracer)), track_(tracer_ ? tracer_->track(host, actor) : 0) {}

  bool on() const noexcept { return tracer_ != nullptr; }
  /// When something begins, for slice().
  TimePoint now() const { return on() ? std::chrono::steady_clock::now() : TimePoint(); }
  /// What began at `began` ends now.
  void slice(const char* name, TimePoint began, std::uint64_t flow = 0) const {
    if (on()) {
      tracer_->slice(track_, name, began, std::chrono::steady_clock::now(), flow);
    }
  }
  void mark(std::string_view text) const {
    if (on()) {
      tracer_->mark(track_, text, std::chrono::steady_clock::now());
    }
  }

 private:
  std::shared_ptr<Tracer> tracer_;
  Tracer::Track track_ = 0;
};

}  // namespace troupe
