#include "runtime/run/task/link_task.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/nn/knowledge/entity_ranker.hpp"
#include "runtime/nn/ops/host_rows.hpp"
#include "runtime/run/task/link_pairs.hpp"
#include "runtime/run/task/link_queries.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>
#include <vector>

namespace troupe {
namespace {

/// Scores of a batch's links as the losses take them.
nn::LinkScores link_scores(ConstMatrix scores, std::size_t positives) {
  const std::size_t negatives = positives == 0 ? 0 : scores.rows / positives - 1;
  return {.positive = scores.flat().first(positives),
          .negative = {scores.data + positives, positives, negatives}};
}

/// Of nodes, whose rows are what a run without labels is for.
Matrix rows_of_seeds(const Batch& batch, ConstMatrix rows) {
  const auto& seeds = batch.sampled->seed_index;
  Matrix out(seeds.size(), rows.cols);
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    std::ranges::copy(rows.row(seeds[i]), out.view().row(i).begin());
  }
  return out;
}

class LinkTask final : public Task {
 public:
  LinkTask(nn::LinkRule rule, const TaskOptions& options, const nn::Network& network,
           LinkPairs pairs, nn::BlockOps& ops)
      : ops_(ops),
        loss_{.rule = rule,
              .margin = options.link_loss.margin,
              .temperature = options.link_loss.temperature},
        rank_all_(options.rank_all),
        types_(network.outputs()),
        model_(network.options()),
        pairs_(std::move(pairs)),
        grad_(ops.memory()),
        sum_(ops.memory()),
        host_(ops),
        sources_(ops),
        destinations_(ops),
        decoder_(ops) {}

  Status check(const Batch& batch) const override { return pairs_.check(batch); }

  std::uint64_t loss(const TaskPass& pass, TaskGradients& gradients) override {
    const std::size_t positives = pass.batch.sampled->links->sources.size();
    const auto scores = link_scores(pairs_.decode(pass, true), positives);
    const std::size_t negatives = scores.negative.cols;
    const MutMatrix grad = grad_.matrix(positives * (1 + negatives), 1);
    ops_.link_loss({.loss = loss_,
                    .scores = scores,
                    .gradients = {.positive = grad.flat().first(positives),
                                  .negative = {grad.data + positives, positives, negatives}},
                    .sum = sum_.get(1).data()});
    pairs_.gradients(grad, pass, gradients);
    return nn::link_terms(loss_.rule, positives, negatives);
  }

  nn::LaterNumber loss_sum() override { return ops_.number_later(sum_.get(1).data()); }

  Result<Matrix> outputs(const TaskPass& pass) override {
    if (!pass.batch.sampled->links) {
      TROUPE_ASSIGN_OR_RETURN(const auto rows, host_.of(pass.rows.front()));
      return rows_of_seeds(pass.batch, rows);
    }
    TROUPE_RETURN_IF_ERROR(pairs_.check(pass.batch));
    const std::size_t positives = pass.batch.sampled->links->sources.size();
    TROUPE_ASSIGN_OR_RETURN(const auto made, host_.of(pairs_.decode(pass, true)));
    const auto scores = link_scores(made, positives);
    const std::size_t first_query = 1 + scores.negative.cols;
    if (rank_all_ && positives > nn::queries_at_once) {
      return Error(Errc::failed_precondition,
                   fmt::format("links to rank: expected at most {} in a batch, found {}",
                               nn::queries_at_once, positives));
    }
    Matrix out(positives, first_query + (rank_all_ ? link_query_cols(model_) : 0));
    if (rank_all_) {
      Matrix queries(positives, link_query_cols(model_));
      TROUPE_ASSIGN_OR_RETURN(const auto ends, ends_of(pass));
      add_link_queries(ends, queries.view());
      for (std::size_t i = 0; i < positives; ++i) {
        std::ranges::copy(std::as_const(queries).view().row(i),
                          out.view().row(i).subspan(first_query).begin());
      }
    }
    for (std::size_t i = 0; i < positives; ++i) {
      const auto row = out.view().row(i);
      row[0] = scores.positive[i];
      std::ranges::copy(scores.negative.row(i), row.begin() + 1);
    }
    return out;
  }

 private:
  /// What is on a device is copied. Valid until the next call.
  Result<LinkEnds> ends_of(const TaskPass& pass) {
    const auto& links = *pass.batch.sampled->links;
    const auto rows_of = [&](NodeTypeId type) {
      return pass.rows[static_cast<std::size_t>(std::ranges::find(types_, type) - types_.begin())];
    };
    TROUPE_ASSIGN_OR_RETURN(const auto sources, sources_.of(rows_of(links.source_type)));
    TROUPE_ASSIGN_OR_RETURN(const auto destinations,
                            destinations_.of(rows_of(links.destination_type)));
    TROUPE_ASSIGN_OR_RETURN(const auto decoder, decoder_.of({pass.parameters.data(), std::size_t{1},
                                                             pass.parameters.size()}));
    LinkEnds ends{.sources = sources,
                  .destinations = destinations,
                  .of = links.sources,
                  .to = links.destinations,
                  .factors = {}};
    if (model_.decoder.kind == "mlp") {
      ends.perceptron = nn::perceptron_of(model_.decoder, model_.out_dim, decoder.flat());
    } else {
      const auto range = nn::parameters_of(model_.decoder, model_.out_dim, links.edge_type);
      ends.factors = decoder.flat().subspan(range.first, range.count);  // a dot product has none
    }
    return ends;
  }

  nn::BlockOps& ops_;
  nn::LinkLoss loss_;
  bool rank_all_;
  std::vector<NodeTypeId> types_;
  nn::ModelOptions model_;
  LinkPairs pairs_;
  nn::GrowBuffer<float> grad_;
  nn::GrowBuffer<double> sum_;
  nn::HostRows host_;
  nn::HostRows sources_;  ///< this and below: of queries
  nn::HostRows destinations_;
  nn::HostRows decoder_;
};

}  // namespace

Result<std::unique_ptr<Task>> make_link_task(const TaskOptions& options, const nn::Network& network,
                                             nn::BlockOps& ops) {
  const auto* loss = find_kind(nn::link_loss_kinds(), options.loss);
  if (loss == nullptr) {
    return Error(Errc::invalid_argument,
                 fmt::format("train.loss: expected one of {} for links, found {}",
                             fmt::join(names_of(nn::link_loss_kinds()), ", "), options.loss));
  }
  if (network.options().decoder.outputs != 1) {
    return Error(Errc::invalid_argument,
                 fmt::format("task.decoder: expected one output for links, found {}",
                             network.options().decoder.outputs));
  }
  TROUPE_ASSIGN_OR_RETURN(auto pairs, LinkPairs::create(network, ops));
  return std::unique_ptr<Task>(
      std::make_unique<LinkTask>(loss->rule, options, network, std::move(pairs), ops));
}

}  // namespace troupe
