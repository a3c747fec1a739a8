#pragma once
/// \file bound_the_end.hpp
/// A last resort for processes whose threads may not end.
#include "launcher/exit_code.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

namespace troupe {

/// What a process of a run has for its end, once it knows how it goes.
constexpr std::chrono::seconds time_to_end{3};
/// What a director has to end all others, some of which may not answer, and to write what it knows.
constexpr std::chrono::seconds time_to_stop{10};

/// Ends this process should it still be there after `time`.
/// \param line      printed to standard error before; empty: none
/// \param canceled  true by then: the process stays; null: it is not canceled
void bound_the_end(std::chrono::seconds time, ExitCode code, std::string line = {},
                   std::shared_ptr<const std::atomic<bool>> canceled = nullptr);
/// With the exit code of `ended`, after `time_to_end`.
inline void bound_the_end(const Status& ended) {
  bound_the_end(time_to_end, ended ? ExitCode::done : exit_code_of(ended.error().code()));
}

}  // namespace troupe
