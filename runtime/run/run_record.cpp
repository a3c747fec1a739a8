#include "runtime/run/run_record.hpp"

#include <algorithm>

namespace troupe {
namespace {

double ratio(double a, double b) {
  return b > 0 ? a / b : 0;
}

std::optional<double> rate_of_cache(const net::EpochCounters& counters, std::uint64_t hits) {
  if (hits == 0) {
    return std::nullopt;
  }
  return ratio(static_cast<double>(hits),
               static_cast<double>(counters.rows_cached + counters.rows_remote));
}

}  // namespace

std::optional<double> Scores::by_name(const std::string& metric) const {
  if (metric == "auc") {
    return auc;
  }
  if (metric == "f1" || metric == "accuracy") {
    return metric == "f1" ? f1 : accuracy;
  }
  const auto found = std::ranges::find(more, metric, &std::pair<std::string, double>::first);
  return found == more.end() ? std::nullopt : std::optional(found->second);
}

bool lower_is_better(const std::string& metric) {
  return metric == "mr" || metric == "rmse" || metric == "mae";
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
std::vector<double> EpochRecord::remote_share_of_hops() const {
  std::vector<double> shares;
  for (std::size_t hop = 0; hop < counters.frontier.nodes.size(); ++hop) {
    shares.push_back(ratio(static_cast<double>(counters.frontier.remote[hop]),
                           static_cast<double>(counters.frontier.nodes[hop])));
  }
  return shares;
}
std::optional<double> EpochRecord::cache_hit_rate() const {
  return rate_of_cache(counters, counters.rows_cached);
}
std::optional<double> EpochRecord::cache_hit_rate_at_best() const {
  return rate_of_cache(counters, counters.rows_cached_at_best);
}

}  // namespace troupe
