#include "runtime/run/task/knowledge_task.hpp"

#include "runtime/nn/knowledge/entity_ranker.hpp"
#include "runtime/run/task/triple_chunk.hpp"
#include "runtime/sample/knowledge/chunk_candidates.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <fmt/format.h>
#include <utility>
#include <vector>

namespace troupe {
namespace {

class KnowledgeTask final : public Task {
 public:
  KnowledgeTask(const TaskOptions& options, const nn::ModelOptions& model)
      : options_(options), relations_(model.relations), cols_(model.out_dim) {}

  bool on_host() const override { return true; }

  Status check(const Batch& batch) const override {
    TROUPE_RETURN_IF_ERROR(check_triples(batch));
    const auto& links = *batch.sampled->links;
    const auto expected = chunks().chunks_of(links.sources.size()) * options_.knowledge.negatives;
    if (links.candidates.size() != expected) {
      return Error(Errc::failed_precondition,
                   fmt::format("triples: expected {} candidates for {}, found {}", expected,
                               links.sources.size(), links.candidates.size()));
    }
    return ok_status();
  }

  std::uint64_t loss(const TaskPass& pass, TaskGradients& gradients) override {
    const auto& sampled = *pass.batch.sampled;
    const auto triples = sampled.links->sources.size();
    const auto replaced = replaced_in(sampled.key);
    const auto count = chunks().chunks_of(triples);
    while (chunks_.size() < count) {
      chunks_.emplace_back(options_.knowledge, options_);
    }
    std::vector<nn::LossResult> losses(count);
    pass.executor.parallel_for(count, [&](std::size_t c) {
      const auto first = c * options_.knowledge.chunk;
      const std::size_t negatives = options_.knowledge.negatives;
      auto places =
          places_of_chunk(sampled, replaced, first,
                          std::min<std::uint64_t>(options_.knowledge.chunk, triples - first),
                          std::span(sampled.links->candidates).subspan(c * negatives, negatives));
      losses[c] = chunks_[c].run(replaced, std::move(places), pass.rows.front(), relations(pass));
    });
    row_gradients_.clear();
    for (const ConstMatrix& rows : pass.rows) {
      row_gradients_.push_back(Matrix::zeros(rows.rows, rows.cols));
    }
    relation_gradients_.assign(relations_.rows * relations_.cols, 0.0F);
    const MutMatrix of_relations{relation_gradients_.data(), relations_.rows, relations_.cols};
    nn::LossResult sum;
    for (std::size_t c = 0; c < count; ++c) {
      chunks_[c].add(row_gradients_.front().view(), of_relations);
      sum.sum += losses[c].sum;
      sum.weight += losses[c].weight;
    }
    sum_ = sum.sum;
    gradients = {.rows = {}, .parameters = relation_gradients_};
    for (const Matrix& rows : row_gradients_) {
      gradients.rows.push_back(rows.view());
    }
    return sum.weight;
  }
  Result<double> loss_sum() override { return sum_; }

  /// Of each triple what holders of entities are asked to count by: the query for its tail and the key of
  /// that, then the same for its head.
  Result<Matrix> outputs(const TaskPass& pass) override {
    TROUPE_RETURN_IF_ERROR(check_triples(pass.batch));
    const auto triples = pass.batch.sampled->links->sources.size();
    if (triples > nn::queries_at_once) {
      return Error(Errc::failed_precondition,
                   fmt::format("triples to rank: expected at most {} in a batch, found {}",
                               nn::queries_at_once, triples));
    }
    Matrix out(triples, 2 * (cols_ + 1));
    add_queries(pass, ReplacedEnd::tail, out.view());
    add_queries(pass, ReplacedEnd::head, out.view());
    return out;
  }

 private:
  ChunkOptions chunks() const {
    return {.triples = options_.knowledge.chunk, .negatives = options_.knowledge.negatives};
  }

  ConstMatrix relations(const TaskPass& pass) const {
    return {pass.parameters.data(), relations_.rows, relations_.cols};
  }

  Status check_triples(const Batch& batch) const {
    const auto& links = batch.sampled->links;
    if (!links || links->source_type != links->destination_type ||
        links->source_type != batch.sampled->seed_type ||
        links->labels.size() != links->sources.size()) {
      return Error(
          Errc::failed_precondition,
          "triples: expected links of one node type with relations as labels, found others");
    }
    const auto bad = std::ranges::find_if(links->labels, [&](float label) {
      return !(label >= 0) || label >= static_cast<float>(relations_.rows) ||
             label != std::trunc(label);
    });
    if (bad != links->labels.end()) {
      return Error(Errc::failed_precondition,
                   fmt::format("triples: expected relations below {} as labels, found {}",
                               relations_.rows, *bad));
    }
    return ok_status();
  }

  void add_queries(const TaskPass& pass, ReplacedEnd replaced, MutMatrix out) const {
    const auto& score = options_.knowledge.score;
    const auto triples = out.rows;
    const auto places = places_of_chunk(*pass.batch.sampled, replaced, 0, triples, {});
    Matrix known;
    Matrix relation;
    Matrix answer;
    gather_rows(pass.rows.front(), places.known, known);
    gather_rows(relations(pass), places.relation, relation);
    gather_rows(pass.rows.front(), places.answer, answer);
    if (score.unit) {
      std::vector<float> lengths(triples);
      Matrix units(triples, cols_);
      nn::unit_rows(score.norm, std::as_const(known).view(), units.view(), lengths);
      known = std::move(units);
    }
    Matrix factors(triples, cols_);
    Matrix queries(triples, cols_);
    nn::relation_factors(score, std::as_const(relation).view(), factors.view());
    nn::query_rows(score, replaced, std::as_const(known).view(), std::as_const(factors).view(),
                   queries.view());
    const nn::EntityRanker ranker(score, std::as_const(queries).view());
    std::vector<float> keys(triples);
    ranker.answer_keys(std::as_const(answer).view(), keys);
    const auto first = static_cast<std::ptrdiff_t>(replaced == ReplacedEnd::tail ? 0 : cols_ + 1);
    for (std::size_t i = 0; i < triples; ++i) {
      const auto to = std::ranges::copy(queries.view().row(i), out.row(i).begin() + first).out;
      *to = keys[i];
    }
  }

  TaskOptions options_;
  nn::ModelOptions::Relations relations_;
  std::size_t cols_;
  std::deque<TripleChunk> chunks_;
  std::vector<Matrix> row_gradients_;
  std::vector<float> relation_gradients_;
  double sum_ = 0;
};

}  // namespace

Result<std::unique_ptr<Task>> make_knowledge_task(const TaskOptions& options,
                                                  const nn::Network& network,
                                                  nn::BlockOps& /*ops*/) {
  const auto& model = network.options();
  const auto& score = options.knowledge.score;
  if (options.loss != "softmax" && options.loss != "self_adversarial") {
    return Error(
        Errc::invalid_argument,
        fmt::format("train.loss: expected softmax or self_adversarial for triples, found {}",
                    options.loss));
  }
  if (model.layers != 0 || model.relations.rows == 0 || network.outputs().size() != 1) {
    return Error(
        Errc::invalid_argument,
        fmt::format("model: expected no layers, relations and entities of one node type for "
                    "triples, found {} layers and {} relations",
                    model.layers, model.relations.rows));
  }
  if ((score.complex_rows() && model.out_dim % 2 != 0) ||
      model.relations.cols != score.relation_cols(model.out_dim)) {
    return Error(
        Errc::invalid_argument,
        fmt::format("embedding dim: expected {} columns, and {} of relations, found {} and {}",
                    score.complex_rows() ? "an even number of" : "any",
                    score.relation_cols(model.out_dim), model.out_dim, model.relations.cols));
  }
  if (options.knowledge.chunk == 0) {
    return Error(Errc::invalid_argument, "task.chunk: expected 1 or more, found 0");
  }
  return std::unique_ptr<Task>(std::make_unique<KnowledgeTask>(options, model));
}

}  // namespace troupe
