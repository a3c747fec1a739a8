#pragma once
/// \file measure.hpp
/// Time, and what to make of many measurements of it.
#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <cstddef>
#include <vector>

namespace troupe::bench {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  }
  double us() const { return seconds() * 1e6; }

 private:
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

/// What is reported of repeated measurements.
struct Stats {
  double median = 0;
  double mad = 0;  ///< median distance from the median
  double min = 0;
  double mean = 0;
  std::size_t n = 0;
};
/// \requires at least one value
Stats stats_of(std::vector<double> values);
/// `{"median": …, "mad": …, "min": …, "mean": …, "n": …}`
nlohmann::ordered_json to_json(const Stats& stats);

/// How many cores others kept busy since it was made: a machine that is not quiet measures nothing.
class OtherLoad {
 public:
  OtherLoad();
  double cores() const;

 private:
  struct Times {
    double machine = 0;
    double own = 0;
  };
  static Times now();
  Times began_;
  Stopwatch watch_;
};

}  // namespace troupe::bench
