#include "tests/support/watched_run.hpp"

#include <fstream>
#include <iterator>
#include <signal.h>
#include <thread>

namespace troupe::testing {
namespace {

std::vector<std::string> marked(std::vector<std::string> arguments, const std::string& mark) {
  arguments.insert(arguments.begin(), {"/usr/bin/env", environment_entry(mark)});
  return arguments;
}

}  // namespace

WatchedRun::WatchedRun(std::vector<std::string> arguments, std::string folder, std::string mark)
    : mark_(std::move(mark)),
      process_(marked(std::move(arguments), mark_), folder),
      // Of what is read at once, notes were printed after progress.
      tails_{{process_.out_file(), false, 0, {}}, {process_.err_file(), true, 0, {}}} {}

WatchedRun::~WatchedRun() {
  for (const auto& process : processes_of(mark_)) {
    kill(process.pid, SIGKILL);
  }
}

void WatchedRun::read_lines() {
  for (auto& tail : tails_) {
    std::ifstream in(tail.file, std::ios::binary);
    in.seekg(static_cast<std::streamoff>(tail.read));
    const std::string more{std::istreambuf_iterator<char>(in), {}};
    tail.read += more.size();
    tail.rest += more;
    for (auto end = tail.rest.find('\n'); end != std::string::npos; end = tail.rest.find('\n')) {
      lines_.push_back({TestClock::now(), tail.rest.substr(0, end), tail.error});
      tail.rest.erase(0, end + 1);
    }
  }
}

bool WatchedRun::wait_until(const std::function<bool()>& done, std::chrono::milliseconds timeout) {
  const auto until = TestClock::now() + timeout;
  for (;;) {
    const bool over = !exit_code_ && process_.has_ended();
    read_lines();
    if (over) {
      ended_ = TestClock::now();
      exit_code_ = process_.wait().exit_code;
    }
    if (done()) {
      return true;
    }
    if (exit_code_ || TestClock::now() > until) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

std::optional<PrintedLine> WatchedRun::find(const std::string& text,
                                            TestClock::time_point from) const {
  for (const auto& line : lines_) {
    if (line.at >= from && line.text.find(text) != std::string::npos) {
      return line;
    }
  }
  return std::nullopt;
}

std::string WatchedRun::word_after(const std::string& text) const {
  const auto line = find(text)->text;
  const auto begin = line.find(text) + text.size();
  return line.substr(begin, line.find(' ', begin) - begin);
}

bool WatchedRun::wait_for_line(const std::string& text, std::chrono::milliseconds timeout) {
  return wait_until([&] { return find(text).has_value(); }, timeout);
}

std::optional<int> WatchedRun::wait_for_end(std::chrono::milliseconds timeout) {
  wait_until([&] { return exit_code_.has_value(); }, timeout);
  return exit_code_;
}

std::vector<RunProcess> WatchedRun::wait_for_all(std::chrono::milliseconds timeout) {
  const auto until = TestClock::now() + timeout;
  for (;;) {
    auto left = processes_of(mark_);
    if (left.empty() || TestClock::now() > until) {
      return left;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

std::string WatchedRun::text() const {
  std::string all;
  for (const auto& line : lines_) {
    if (!line.text.starts_with("epoch")) {
      all += line.text + "\n";
    }
  }
  return all;
}

}  // namespace troupe::testing
