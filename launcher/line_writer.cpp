#include "launcher/line_writer.hpp"

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <utility>

namespace troupe {
namespace {

constexpr std::chrono::seconds longest_end{1};

/// What standard output does not take is given to its stream, whose error with_output_written() finds at the end.
void write_whole(int fd, std::string_view text) {
  while (!text.empty()) {
    const auto written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      if (fd == STDOUT_FILENO) {
        std::fwrite(text.data(), 1, text.size(), stdout);
        std::fflush(stdout);
      }
      return;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

/// Shared with the thread, which is left in its write where the reader does not read.
struct LineWriter::State {
  struct Text {
    int fd = STDOUT_FILENO;
    std::string text;
  };

  mutable std::mutex mutex;
  std::condition_variable changed;
  std::deque<Text> waiting;  ///< The first is being written
  std::size_t bytes = 0;     ///< Of `waiting`
  bool released = false;
  bool over = false;
  std::thread thread;

  void run() {
    std::unique_lock guard(mutex);
    for (;;) {
      changed.wait(guard, [this] { return over || !waiting.empty(); });
      if (waiting.empty()) {
        return;
      }
      const auto& first = waiting.front();  // stays where it is while others are added
      guard.unlock();
      write_whole(first.fd, first.text);
      guard.lock();
      bytes -= first.text.size();
      waiting.pop_front();
      changed.notify_all();
    }
  }
};

LineWriter::LineWriter() : state_(std::make_shared<State>()) {}

LineWriter::~LineWriter() {
  flush();
  const bool written = flush_for(longest_end);
  std::unique_lock guard(state_->mutex);
  state_->over = true;
  state_->changed.notify_all();
  auto thread = std::move(state_->thread);
  guard.unlock();
  if (thread.joinable() && written) {
    thread.join();
  } else if (thread.joinable()) {
    thread.detach();
  }
}

void LineWriter::print(int fd, std::string text) {
  auto& state = *state_;
  std::unique_lock guard(state.mutex);
  state.changed.wait(guard, [&] { return state.released || state.bytes < most_bytes; });
  if (state.bytes >= most_bytes) {
    return;
  }
  if (!state.thread.joinable()) {
    state.thread = std::thread([shared = state_] { shared->run(); });
  }
  state.bytes += text.size();
  state.waiting.push_back({fd, std::move(text)});
  state.changed.notify_all();
}

void LineWriter::release() {
  const std::lock_guard guard(state_->mutex);
  state_->released = true;
  state_->changed.notify_all();
}

bool LineWriter::flush_for(std::chrono::milliseconds time) const {
  std::unique_lock guard(state_->mutex);
  return state_->changed.wait_for(guard, time, [this] { return state_->waiting.empty(); });
}

void LineWriter::flush() const {
  std::unique_lock guard(state_->mutex);
  state_->changed.wait(guard, [this] { return state_->released || state_->waiting.empty(); });
}

}  // namespace troupe
