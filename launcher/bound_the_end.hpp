#pragma once
/// \file bound_the_end.hpp
/// A last resort for processes whose threads may not end.
#include "launcher/exit_code.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace troupe {

/// What a process of a run has for its end, once it knows how it goes.
constexpr std::chrono::seconds time_to_end{3};
constexpr std::uint32_t time_to_end_ms = 1000 * std::uint32_t{time_to_end.count()};
/// What a run has for its last step and the checkpoint after a signal: at least what a step may take, since the state
/// is lost otherwise.
inline std::chrono::seconds stop_deadline(double step_deadline_s) {
  return std::max(std::chrono::seconds(60), std::chrono::seconds(std::llround(step_deadline_s)));
}
/// What a director has to end all others, some of which may not answer, and to write what it knows.
constexpr std::chrono::seconds time_to_stop{10};

/// Ends this process should it still be there after `time`.
/// \param line      printed to standard error before, unless that would block; empty: none
/// \param canceled  true by then: the process stays; null: it is not canceled
void bound_the_end(std::chrono::seconds time, ExitCode code, std::string line = {},
                   std::shared_ptr<const std::atomic<bool>> canceled = nullptr);
/// Calls `end` first, and ends the process with the code that it returns.
/// \param over  true by then: the process stays; else it is set before the call
void bound_the_end(std::chrono::seconds time, std::function<ExitCode()> end,
                   std::shared_ptr<std::atomic<bool>> over);
/// With the exit code of `ended`, after `time_to_end`.
inline void bound_the_end(const Status& ended,
                          std::shared_ptr<const std::atomic<bool>> canceled = nullptr) {
  bound_the_end(time_to_end, ended ? ExitCode::done : exit_code_of(ended.error().code()), {},
                std::move(canceled));
}

}  // namespace troupe
