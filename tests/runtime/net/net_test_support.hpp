#pragma once
/// \file net_test_support.hpp
/// Frames with known contents, and collectors of what links and endpoints deliver.
#include "runtime/base/philox.hpp"
#include "runtime/net/endpoint.hpp"
#include "runtime/net/link.hpp"
#include "runtime/net/piece.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace troupe::net {

/// Bytes that differ from place to place and from seed to seed.
inline Segment pattern_segment(std::size_t bytes, std::uint64_t seed) {
  Buffer buffer(bytes);
  DrawStream stream({{1, 2}}, seed);
  const std::uint32_t start = stream.next();
  for (std::size_t i = 0; i < bytes; ++i) {
    buffer.bytes()[i] = static_cast<std::byte>((start + i * 131 + (i >> 8) * 7) & 0xFF);
  }
  return std::move(buffer).freeze();
}

inline Frame make_frame(TrafficClass traffic, std::uint64_t number,
                        std::vector<std::size_t> segments, std::size_t meta_words = 1) {
  Frame frame;
  frame.head.traffic = traffic;
  frame.head.request = number;
  frame.meta.resize(meta_words);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    frame.segments.push_back(pattern_segment(segments[i], number * 8 + i));
  }
  return frame;
}

inline bool same_bytes(const Segment& a, const Segment& b) {
  return std::equal(a.bytes.begin(), a.bytes.end(), b.bytes.begin(), b.bytes.end());
}

inline bool same_contents(const Frame& a, const Frame& b) {
  const auto segment = [](const Frame& f, std::size_t i) {
    return i < f.segments.size() ? f.segments[i] : Segment{};
  };
  for (std::size_t i = 0; i < max_segments; ++i) {
    if (!same_bytes(segment(a, i), segment(b, i))) {
      return false;
    }
  }
  const auto meta_a = std::as_bytes(a.words());
  const auto meta_b = std::as_bytes(b.words());
  return a.head.request == b.head.request && a.head.traffic == b.head.traffic &&
         std::equal(meta_a.begin(), meta_a.end(), meta_b.begin(), meta_b.end());
}

/// Everything the writer has, as it would go over a socket.
inline std::vector<std::byte> drain(PieceWriter& writer) {
  std::vector<std::byte> out;
  while (const auto piece = writer.next()) {
    const auto header = std::as_bytes(std::span(&piece->header, 1));
    out.insert(out.end(), header.begin(), header.end());
    for (const auto& span : piece->spans) {
      out.insert(out.end(), span.begin(), span.end());
    }
  }
  return out;
}

/// The frame after a way through pieces, as a receiver puts it together.
inline Result<Frame> through_pieces(Frame frame) {
  PieceWriter writer;
  writer.push(std::move(frame));
  PieceReader reader({});
  std::vector<Frame> out;
  TROUPE_RETURN_IF_ERROR(reader.feed(drain(writer), out));
  if (out.size() != 1) {
    return Error(Errc::internal, "expected one frame, found " + std::to_string(out.size()));
  }
  return std::move(out[0]);
}

/// Whether it holds within 30 s.
template <class Condition>
bool eventually(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return condition();
}

/// Remembers what a link delivers, with the times.
/// Threads: any; wait() for real time.
class Recorder final : public LinkEvents {
 public:
  explicit Recorder(std::shared_ptr<Link> link = nullptr) : link_(std::move(link)) {}
  void on_frame(Frame&& frame) override {
    const std::lock_guard guard(mutex_);
    times.push_back(link_ ? link_->now() : Clock::time_point{});
    frames.push_back(std::move(frame));
    changed_.notify_all();
  }
  void on_down(const Error& why) override {
    const std::lock_guard guard(mutex_);
    if (link_) {
      down_time = link_->now();
    }
    downs.push_back(why);
    changed_.notify_all();
  }
  template <class Predicate>
  bool wait(Predicate predicate) {
    return wait_for(std::chrono::seconds(30), predicate);
  }
  template <class Predicate>
  bool wait_for(Clock::duration most, Predicate predicate) {
    std::unique_lock guard(mutex_);
    return changed_.wait_for(guard, most, [&] { return predicate(*this); });
  }

  std::vector<Frame> frames;
  std::vector<Clock::time_point> times;
  std::vector<Error> downs;
  Clock::time_point down_time{};

 private:
  std::shared_ptr<Link> link_;
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace troupe::net
