#include "runtime/run/run_record.hpp"

namespace troupe {
namespace {

double ratio(double a, double b) {
  return b > 0 ? a / b : 0;
}

}  // namespace

std::optional<double> Scores::by_name(const std::string& metric) const {
  if (metric == "auc") {
    return auc;
  }
  return metric == "f1" ? f1 : accuracy;
}

double EpochRecord::seeds_per_second() const {
  return ratio(static_cast<double>(counters.seeds), seconds);
}
double EpochRecord::edges_per_second() const {
  return ratio(static_cast<double>(counters.edges), seconds);
}
double EpochRecord::wait_share() const {
  return ratio(static_cast<double>(counters.wait_ns) * 1e-9, seconds * world);
}
double EpochRecord::remote_share() const {
  return ratio(static_cast<double>(counters.rows_remote), static_cast<double>(counters.rows));
}
std::optional<double> EpochRecord::cache_hit_rate() const {
  if (counters.rows_cached == 0) {
    return std::nullopt;
  }
  return ratio(static_cast<double>(counters.rows_cached),
               static_cast<double>(counters.rows_cached + counters.rows_remote));
}

}  // namespace troupe
