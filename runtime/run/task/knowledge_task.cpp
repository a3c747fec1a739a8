#include "runtime/run/task/knowledge_task.hpp"

#include "runtime/nn/knowledge/entity_ranker.hpp"
#include "runtime/nn/knowledge/placed_rows.hpp"
#include "runtime/nn/ops/grow_buffer.hpp"
#include "runtime/nn/ops/host_rows.hpp"
#include "runtime/nn/ops/staged_arrays.hpp"
#include "runtime/sample/knowledge/chunk_candidates.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>
#include <vector>

namespace troupe {
namespace {

/// Places of a batch's triples: of entities among its nodes, of relations by number.
struct TriplePlaces {
  std::span<const std::uint32_t> known;
  std::span<const std::uint32_t> answer;
  std::vector<std::uint32_t> relation;
};
TriplePlaces places_of_triples(const BatchLinks& links, ReplacedEnd replaced) {
  const bool tail = replaced == ReplacedEnd::tail;
  TriplePlaces places{.known = tail ? links.sources : links.destinations,
                      .answer = tail ? links.destinations : links.sources,
                      .relation = {}};
  for (const float relation : links.labels) {
    places.relation.push_back(static_cast<std::uint32_t>(relation));
  }
  return places;
}

class KnowledgeTask final : public Task {
 public:
  KnowledgeTask(const TaskOptions& options, const nn::ModelOptions& model, nn::BlockOps& ops)
      : ops_(ops),
        options_(options),
        relations_(model.relations),
        cols_(model.out_dim),
        arrays_(ops),
        row_gradients_(ops.memory()),
        relation_gradients_(ops.memory()),
        sum_(ops.memory()),
        host_rows_(ops),
        host_relations_(ops) {}

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
    const ConstMatrix rows = pass.rows.front();
    const auto replaced = replaced_in(sampled.key);
    places_ = places_of_triples(*sampled.links, replaced);
    arrays_.clear();
    const auto known = arrays_.add(places_.known);
    const auto relation = arrays_.add(std::span<const std::uint32_t>(places_.relation));
    const auto answer = arrays_.add(places_.answer);
    const auto candidates = arrays_.add(std::span<const std::uint32_t>(sampled.links->candidates));
    arrays_.send();
    const bool on_host = ops_.memory() == nullptr;
    Matrix kept = on_host ? Matrix(rows.rows, rows.cols) : Matrix();
    const MutMatrix of_rows = on_host ? kept.view() : row_gradients_.matrix(rows.rows, rows.cols);
    const MutMatrix of_relations = relation_gradients_.matrix(relations_.rows, relations_.cols);
    ops_.triple_loss(pass.executor, {.options = options_.knowledge,
                                     .loss = {.rule = options_.loss == "softmax"
                                                          ? nn::TripleRule::softmax
                                                          : nn::TripleRule::self_adversarial,
                                              .margin = options_.link_loss.margin,
                                              .temperature = options_.link_loss.temperature},
                                     .replaced = replaced,
                                     .entities = rows,
                                     .relations = relations(pass),
                                     .known = arrays_.at<std::uint32_t>(known),
                                     .relation = arrays_.at<std::uint32_t>(relation),
                                     .answer = arrays_.at<std::uint32_t>(answer),
                                     .candidates = arrays_.at<std::uint32_t>(candidates),
                                     .grad_entities = of_rows,
                                     .grad_relations = of_relations,
                                     .sum = sum_.get(1).data()});
    gradients = {.rows = {of_rows}, .parameters = of_relations.flat()};
    if (on_host) {
      gradients.kept.push_back(std::move(kept));
    }
    return places_.relation.size();
  }

  nn::LaterNumber loss_sum() override { return ops_.number_later(sum_.get(1).data()); }

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
    TROUPE_ASSIGN_OR_RETURN(const auto rows, host_rows_.of(pass.rows.front()));
    TROUPE_ASSIGN_OR_RETURN(const auto of_relations, host_relations_.of(relations(pass)));
    Matrix out(triples, 2 * (cols_ + 1));
    for (const auto replaced : {ReplacedEnd::tail, ReplacedEnd::head}) {
      add_queries(*pass.batch.sampled->links, replaced, rows, of_relations, out.view());
    }
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

  void add_queries(const BatchLinks& links, ReplacedEnd replaced, ConstMatrix rows,
                   ConstMatrix of_relations, MutMatrix out) const {
    const auto& score = options_.knowledge.score;
    const auto triples = out.rows;
    const auto places = places_of_triples(links, replaced);
    Matrix known(triples, rows.cols);
    Matrix relation(triples, of_relations.cols);
    Matrix answer(triples, rows.cols);
    nn::gather_rows({rows, places.known}, known.view());
    nn::gather_rows({of_relations, places.relation}, relation.view());
    nn::gather_rows({rows, places.answer}, answer.view());
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

  nn::BlockOps& ops_;
  TaskOptions options_;
  nn::ModelOptions::Relations relations_;
  std::size_t cols_;
  TriplePlaces places_;  ///< of the last loss()
  nn::StagedArrays arrays_;
  nn::GrowBuffer<float> row_gradients_;  ///< on a device
  nn::GrowBuffer<float> relation_gradients_;
  nn::GrowBuffer<double> sum_;
  nn::HostRows host_rows_;
  nn::HostRows host_relations_;
};

}  // namespace

Result<std::unique_ptr<Task>> make_knowledge_task(const TaskOptions& options,
                                                  const nn::Network& network, nn::BlockOps& ops) {
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
  return std::unique_ptr<Task>(std::make_unique<KnowledgeTask>(options, model, ops));
}

}  // namespace troupe
