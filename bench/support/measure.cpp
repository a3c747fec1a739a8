#include "bench/support/measure.hpp"

#include "runtime/base/median.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

namespace troupe::bench {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

Stats stats_of(std::vector<double> values) {
  Stats stats;
  stats.n = values.size();
  stats.min = *std::ranges::min_element(values);
  stats.mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(stats.n);
  stats.median = median(values).value();
  for (auto& value : values) {
    value = std::abs(value - stats.median);
  }
  stats.mad = median(std::move(values)).value();
  return stats;
}

nlohmann::ordered_json to_json(const Stats& stats) {
  return {{"median", stats.median},
          {"mad", stats.mad},
          {"min", stats.min},
          {"mean", stats.mean},
          {"n", stats.n}};
}

OtherLoad::OtherLoad() : began_(now()) {}

OtherLoad::Times OtherLoad::now() {
  Times times;
  std::ifstream stat("/proc/stat");
  std::string name;
  stat >> name;
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  for (int column = 0; column < 8; ++column) {  // user nice system idle iowait irq softirq steal
    double value = 0;
    stat >> value;
    if (column != 3 && column != 4) {
      times.machine += value / ticks;
    }
  }
  for (const auto whose : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(whose, &usage);
    times.own += seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }
  return times;
}

double OtherLoad::cores() const {
  const auto end = now();
  const double others = end.machine - began_.machine - (end.own - began_.own);
  return std::max(0.0, others / std::max(watch_.seconds(), 1e-3));
}

}  // namespace troupe::bench
