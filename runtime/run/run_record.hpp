#pragma once
/// \file run_record.hpp
/// What a run reports (design, section 11): per epoch and at the end.
#include "runtime/base/digest.hpp"
#include "runtime/wire/messages.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// Scores of one role; those that the data does not define are empty.
struct Scores {
  std::uint64_t labelled = 0;
  std::optional<double> accuracy;
  std::optional<double> f1;   ///< macro over the classes seen in truth or prediction
  std::optional<double> auc;  ///< two classes only, or links
  /// Those of links and of numbers, by the job file's name: "ap", "mrr", "mr", "hits@10", "rmse", "mae".
  std::vector<std::pair<std::string, double>> more = {};

  /// By the job file's name.
  std::optional<double> by_name(const std::string& metric) const;
};

/// Whether the lower value of a score is the better one.
bool lower_is_better(const std::string& metric);

struct EpochRecord {
  std::uint32_t epoch = 0;  ///< from 0; the report counts from 1
  double loss = 0;          ///< mean over the epoch's labelled seeds
  double seconds = 0;       ///< training, without evaluation
  double eval_seconds = 0;
  net::EpochCounters counters;  ///< summed over ranks
  std::uint32_t world = 1;
  std::optional<Scores> valid;  ///< if the epoch was evaluated
  bool best = false;            ///< the best so far
  bool over = false;            ///< evaluated, if it was to be, and its parameters kept

  double seeds_per_second() const;
  double edges_per_second() const;
  double wait_share() const;    ///< of the ranks' time, waiting for a batch
  double remote_share() const;  ///< of rows, fetched from other hosts
  /// Of the nodes whose neighbours were asked for, at other hosts; by hop.
  std::vector<double> remote_share_of_hops() const;
  std::optional<double> cache_hit_rate() const;  ///< of rows not on this host; none without a cache
  /// With the best choice of as many rows for this epoch; none where that was not measured.
  std::optional<double> cache_hit_rate_at_best() const;
};

/// Of a table of learned rows: sums over its rows, whatever the partitioning.
struct TensorDigest {
  std::string name;
  Digest rows;  ///< After the last step
  Digest best;  ///< Of the best epoch
  friend bool operator==(const TensorDigest&, const TensorDigest&) = default;
};

struct RunRecord {
  std::vector<EpochRecord> epochs;
  std::optional<std::uint32_t> best_epoch;
  std::optional<Scores> valid;  ///< exact where that can be, with the best epoch's parameters
  std::optional<Scores> test;
  double valid_seconds =
      0;  ///< The last evaluation's, with inference for all roles; not in checkpoints
  double test_seconds = 0;        ///< Scoring alone where inference was exact; not in checkpoints
  std::optional<Digest> batches;  ///< running digest over all epochs; none with digest "off"
  /// Of the outputs behind `valid` and `test`, in seed order: equal for equal parameters, whatever
  /// the partitioning.
  Digest outputs;
  Digest parameters;
  Digest best_parameters;
  std::vector<TensorDigest> tensors;  ///< Of the job's tables, at the end; not in checkpoints
};

}  // namespace troupe
