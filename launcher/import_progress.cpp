#include "launcher/import_progress.hpp"

#include "launcher/progress.hpp"

#include <cstdio>
#include <fmt/format.h>

namespace troupe {
std::string import_line(const ImportProgress& progress, double seconds) {
  const auto done = static_cast<double>(progress.done);
  const auto total = static_cast<double>(progress.total);
  const double rate = seconds > 0 ? done / seconds : 0;
  auto line = progress.total == 0
                  ? fmt::format("{}: {:.3g} {}", progress.stage, done, progress.unit)
                  : fmt::format("{}: {:.0f} % of {:.3g} {}", progress.stage, 100 * done / total,
                                total, progress.unit);
  if (rate > 0) {
    line += fmt::format(", {:.2g}/s", rate);
  }
  if (rate > 0 && progress.total > progress.done) {
    line += fmt::format(", {:.0f} s left", (total - done) / rate);
  }
  return line;
}

ImportProgressLine::~ImportProgressLine() {
  if (any_) {
    std::fputs(clear_line, stderr);
  }
}

void ImportProgressLine::show(const ImportProgress& progress) {
  const auto now = Clock::now();
  if (progress.stage != stage_) {
    stage_ = progress.stage;
    stage_began_ = now;
  } else if (now - printed_ < std::chrono::milliseconds(100)) {
    return;
  }
  printed_ = now;
  any_ = true;
  const std::chrono::duration<double> seconds = now - stage_began_;
  std::fprintf(stderr, "%s%s", clear_line, import_line(progress, seconds.count()).c_str());
}

}  // namespace troupe
