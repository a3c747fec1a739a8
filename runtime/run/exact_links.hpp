#pragma once
/// \file exact_links.hpp
/// Scores of links after exact inference, on one host: batches of links without hops, whose rows are
/// the outputs of the last layer as the holders keep them. The hosts share the batches of a role out by
/// their numbers. Knows no actors.
#include "runtime/base/result.hpp"
#include "runtime/run/entity_queries.hpp"
#include "runtime/run/exact_inference.hpp"
#include "runtime/run/task/task.hpp"
#include "runtime/sample/seed_order.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

struct ExactLinkOptions {
  std::map<std::string, std::shared_ptr<const SeedOrder>> orders = {};  ///< by role, of links
  std::shared_ptr<const SampleOptions> sample = {};  ///< of its links; its hops are left out
  TaskOptions task = {};
  std::uint64_t cols = 1;  ///< numbers of each link, without those of `ranking`
  /// Links are ranked among all nodes, which adds rank_cols numbers; null: they are not.
  std::shared_ptr<const RankingPlan> ranking = {};
  std::shared_ptr<const PartitionBook> book = {};  ///< with `ranking`
  std::uint32_t host = 0;                          ///< this one's number among those that score
  std::uint32_t hosts = 1;                         ///< their number
};

/// Lifecycle: begin(); next() and, for each block whose batch has come, computation(), then with a ranking
///   queries() and rank(), and computed(), until done(); finish(); again
/// Threads:   one at a time; computations on any
class ExactLinks {
 public:
  /// \param node_types  of the graph
  ExactLinks(ExactLinkOptions options, std::shared_ptr<const nn::Network> network,
             std::size_t node_types);

  bool has(const std::string& role) const { return options_.orders.contains(role); }
  /// \param parameters  that the outputs were inferred with
  /// \param tensor      number of the last layer's outputs at the holders
  /// \errors failed_precondition: no such links
  Status begin(const std::string& role, const Segment& parameters, std::uint32_t tensor);
  /// Batches that may be requested now, and were not before.
  std::vector<ExactInference::Ask> next();
  InferBlock computation(std::uint64_t block, std::shared_ptr<const ReadyBatch> ready);
  bool ranks() const { return options_.ranking != nullptr; }
  /// What to ask holders about a block that was computed. \requires ranks()
  EntityQueries queries(std::uint64_t block);
  /// \param counts  of the block's queries
  void rank(std::uint64_t block, const Matrix& counts);
  void computed(std::uint64_t block);
  bool done() const { return next_ >= end() && in_flight_ == 0; }
  bool waits() const { return computing_ == 0; }
  /// \requires done()
  net::ScoreResult finish();

 private:
  /// Numbers of each link as the task makes them.
  std::size_t made_cols() const;
  std::uint64_t end() const { return order_ ? order_->num_batches() : 0; }

  ExactLinkOptions options_;
  std::shared_ptr<const nn::Network> network_;
  std::size_t node_types_;
  std::shared_ptr<const SampleOptions> sample_;
  std::shared_ptr<const CollectOptions> collect_;
  std::shared_ptr<const SeedOrder> order_;
  Segment parameters_;
  std::uint64_t next_ = 0;  ///< batch
  std::uint64_t in_flight_ = 0;
  std::uint64_t computing_ = 0;
  std::uint32_t tensor_ = 0;
  std::map<std::uint64_t, std::shared_ptr<Matrix>> outputs_;             ///< by batch
  std::map<std::uint64_t, std::shared_ptr<const SampledBatch>> ranked_;  ///< those not ranked yet
};

}  // namespace troupe
