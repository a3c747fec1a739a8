#include "launcher/bound_the_end.hpp"

#include "launcher/standard_streams.hpp"

#include <cstdlib>
#include <thread>

namespace troupe {

void bound_the_end(std::chrono::seconds time, ExitCode code, std::string line,
                   std::shared_ptr<const std::atomic<bool>> canceled) {
  std::thread([time, code, line = std::move(line), canceled = std::move(canceled)] {
    std::this_thread::sleep_for(time);
    if (canceled && *canceled) {
      return;
    }
    if (!line.empty()) {
      print_if_taken(line);
    }
    std::_Exit(static_cast<int>(code));
  }).detach();
}

void bound_the_end(std::chrono::seconds time, std::function<ExitCode()> end,
                   std::shared_ptr<std::atomic<bool>> over) {
  std::thread([time, end = std::move(end), over = std::move(over)] {
    std::this_thread::sleep_for(time);
    if (!over->exchange(true)) {
      std::_Exit(static_cast<int>(end()));
    }
  }).detach();
}

}  // namespace troupe
