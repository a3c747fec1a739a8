// Trains rows of entities and relations on the triples of a graph store, in one process on one
// thread, and ranks the true answers of its test triples among all entities: what the operations of
// knowledge tasks take, and what they reach, beside the peers' script.
#include "runtime/base/philox.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/nn/knowledge/chunk_loss.hpp"
#include "runtime/nn/knowledge/chunk_scorer.hpp"
#include "runtime/nn/knowledge/entity_ranker.hpp"
#include "runtime/nn/knowledge/known_answers.hpp"
#include "runtime/sample/knowledge/triple_batches.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe::bench {
namespace {

using nn::ScoreKind;
using Ids = std::vector<std::uint64_t>;

struct Recipe {
  nn::TripleScore score;
  std::size_t cols = 200;
  std::uint64_t batch = 1024;
  ChunkOptions chunks;
  bool softmax = true;  ///< Else self-adversarial, with the margin
  double margin = 10;
  float rate = 0.1F;
  std::uint32_t epochs = 20;
  nn::Regularization regularization = nn::Regularization::none;
  double regularization_factor = 0;
  std::uint64_t seed = 0;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Rows with the state of Adagrad, and the gradient of a step.
class Table {
 public:
  Table(std::size_t rows, std::size_t cols, float bound, std::uint16_t number, std::uint64_t seed)
      : rows_(rows, cols), sums_(Matrix::zeros(rows, cols)), slot_(rows, none) {
    const auto key = stream_key(seed, {.domain = Domain::initial_weights, .type = number});
    for (std::size_t i = 0; i < rows * cols; ++i) {
      rows_.data()[i] = bound * (2 * unit_float(DrawStream(key, i).next()) - 1);
    }
  }

  ConstMatrix rows() const { return rows_.view(); }

  void gather(std::span<const std::uint64_t> ids, Matrix& to) const {
    if (to.rows() != ids.size() || to.cols() != rows_.cols()) {
      to = Matrix(ids.size(), rows_.cols());
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
      std::ranges::copy(rows_.view().row(ids[i]), to.view().row(i).begin());
    }
  }

  /// Adds gradients; those of equal ids are summed.
  void add(std::span<const std::uint64_t> ids, ConstMatrix grads) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (slot_[ids[i]] == none) {
        slot_[ids[i]] = touched_.size();
        touched_.push_back(ids[i]);
        grads_.resize(touched_.size() * rows_.cols());
      }
      float* to = grads_.data() + slot_[ids[i]] * rows_.cols();
      const float* from = grads.row(i).data();
      for (std::size_t c = 0; c < grads.cols; ++c) {
        to[c] += from[c];
      }
    }
  }

  void step(float rate, float share) {
    for (std::size_t i = 0; i < touched_.size(); ++i) {
      const float* grad = grads_.data() + i * rows_.cols();
      float* row = rows_.view().row(touched_[i]).data();
      float* sum = sums_.view().row(touched_[i]).data();
      for (std::size_t c = 0; c < rows_.cols(); ++c) {
        const float g = grad[c] * share;
        sum[c] += g * g;
        row[c] -= rate * g / (std::sqrt(sum[c]) + 1e-10F);
      }
      slot_[touched_[i]] = none;
    }
    touched_.clear();
    grads_.clear();
  }

 private:
  static constexpr std::size_t none = ~std::size_t{0};
  Matrix rows_;
  Matrix sums_;
  std::vector<std::size_t> slot_;
  Ids touched_;
  std::vector<float> grads_;
};

struct ChunkIds {
  Ids known;
  Ids relations;
  Ids answers;
  Ids candidates;
};

ChunkIds chunk_of(const TripleBatch& batch, const ChunkOptions& options, std::uint64_t chunk) {
  ChunkIds ids;
  const bool tail = batch.replaced == ReplacedEnd::tail;
  const auto first = chunk * options.triples;
  const auto end = std::min<std::uint64_t>(first + options.triples, batch.heads.size());
  for (auto i = first; i < end; ++i) {
    ids.known.push_back(raw(tail ? batch.heads[i] : batch.tails[i]));
    ids.relations.push_back(batch.relations[i]);
    ids.answers.push_back(raw(tail ? batch.tails[i] : batch.heads[i]));
  }
  const auto negatives =
      std::span(batch.candidates).subspan(chunk * options.negatives, options.negatives);
  ids.candidates.assign(negatives.begin(), negatives.end());
  return ids;
}

class Trainer {
 public:
  Trainer(const Recipe& recipe, std::uint64_t entities, std::uint64_t relations)
      : recipe_(recipe),
        entities_(entities, recipe.cols, bound(recipe, false), 0, recipe.seed),
        relations_(relations, recipe.score.relation_cols(recipe.cols), bound(recipe, true), 1,
                   recipe.seed),
        scorer_(recipe.score) {}

  double train_batch(const TripleBatch& batch) {
    double loss = 0;
    for (std::uint64_t chunk = 0; chunk < batch.chunks; ++chunk) {
      loss += train_chunk(batch.replaced, chunk_of(batch, recipe_.chunks, chunk));
    }
    const float share = 1.0F / static_cast<float>(batch.heads.size());
    entities_.step(recipe_.rate, share);
    relations_.step(recipe_.rate, share);
    return loss;
  }

  const Table& entities() const { return entities_; }
  const Table& relations() const { return relations_; }

 private:
  static float bound(const Recipe& recipe, bool of_relations) {
    if (recipe.score.kind == ScoreKind::rotate && of_relations) {
      return 3.14159265F;
    }
    const bool product = recipe.score.comparison() == nn::Comparison::product;
    return product ? 0.1F
                   : static_cast<float>((recipe.margin + 2) / static_cast<double>(recipe.cols));
  }

  static void shape(Matrix& m, const Matrix& like) {
    if (m.rows() != like.rows() || m.cols() != like.cols()) {
      m = Matrix(like.rows(), like.cols());
    }
  }

  double train_chunk(ReplacedEnd replaced, const ChunkIds& ids) {
    entities_.gather(ids.known, rows_[0]);
    relations_.gather(ids.relations, rows_[1]);
    entities_.gather(ids.answers, rows_[2]);
    entities_.gather(ids.candidates, rows_[3]);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      shape(grads_[i], rows_[i]);
    }
    const nn::ChunkRows rows{std::as_const(rows_[0]).view(), std::as_const(rows_[1]).view(),
                             std::as_const(rows_[2]).view(), std::as_const(rows_[3]).view()};
    const auto scores = scorer_.forward(replaced, rows);
    const auto positive = positive_.get(scores.positive.size());
    const auto negative = negative_.matrix(scores.negative.rows, scores.negative.cols);
    const auto loss = recipe_.softmax ? nn::chunk_softmax(scores, {positive, negative})
                                      : nn::chunk_self_adversarial(scores, recipe_.margin, 1,
                                                                   {positive, negative}, memory_);
    scorer_.backward({positive, negative});
    scorer_.gradients({grads_[0].view(), grads_[1].view(), grads_[2].view(), grads_[3].view()});
    for (std::size_t i = 0; i < 3; ++i) {
      nn::regularize(recipe_.regularization, i != 1 && recipe_.score.complex_rows(),
                     recipe_.regularization_factor, std::as_const(rows_[i]).view(),
                     grads_[i].view());
    }
    entities_.add(ids.known, std::as_const(grads_[0]).view());
    relations_.add(ids.relations, std::as_const(grads_[1]).view());
    entities_.add(ids.answers, std::as_const(grads_[2]).view());
    entities_.add(ids.candidates, std::as_const(grads_[3]).view());
    return loss.sum;
  }

  Recipe recipe_;
  Table entities_;
  Table relations_;
  nn::ChunkScorer scorer_;
  std::array<Matrix, 4> rows_;
  std::array<Matrix, 4> grads_;
  nn::GrowBuffer<float> positive_;
  nn::GrowBuffer<float> negative_;
  nn::GrowBuffer<float> memory_;
};

/// Counts of both sides of all triples.
std::vector<nn::AboveAndLevel> rank_all(const Recipe& recipe, const Trainer& trainer,
                                        const LinkList& triples, const nn::KnownAnswers& known) {
  std::vector<nn::AboveAndLevel> counts(2 * triples.size());
  std::size_t done = 0;
  Matrix ends;
  Matrix relation_rows;
  Matrix answer_rows;
  for (const auto replaced : {ReplacedEnd::tail, ReplacedEnd::head}) {
    const bool tail = replaced == ReplacedEnd::tail;
    for (std::uint64_t first = 0; first < triples.size(); first += nn::queries_at_once) {
      const auto number = std::min<std::uint64_t>(nn::queries_at_once, triples.size() - first);
      ChunkIds ids;
      std::vector<nn::TripleQuery> queries;
      for (std::uint64_t i = first; i < first + number; ++i) {
        const auto link = triples.at(i);
        const auto relation = static_cast<std::uint32_t>(triples.labels()[i]);
        ids.known.push_back(raw(tail ? link.source : link.destination));
        ids.relations.push_back(relation);
        ids.answers.push_back(raw(tail ? link.destination : link.source));
        queries.push_back({ids.known.back(), relation, replaced});
      }
      trainer.entities().gather(ids.known, ends);
      trainer.relations().gather(ids.relations, relation_rows);
      trainer.entities().gather(ids.answers, answer_rows);
      Matrix factors(number, recipe.cols);
      Matrix rows(number, recipe.cols);
      nn::relation_factors(recipe.score, std::as_const(relation_rows).view(), factors.view());
      nn::query_rows(recipe.score, replaced, std::as_const(ends).view(), factors.view(),
                     rows.view());
      const nn::EntityRanker ranker(recipe.score, rows.view());
      std::vector<float> keys(number);
      ranker.answer_keys(std::as_const(answer_rows).view(), keys);
      const auto entities = trainer.entities().rows();
      const auto left_out = known.rows_among(queries, 0, entities.rows);
      ranker.count(entities, keys, {left_out.offsets, left_out.rows},
                   std::span(counts).subspan(done, number));
      done += number;
    }
  }
  return counts;
}

Status measure(const std::string& dir, const Recipe& recipe) {
  TROUPE_ASSIGN_OR_RETURN(const auto store, GraphStore::open(dir, {}));
  std::vector<LinkList> roles;
  nn::KnownAnswers known;
  for (const auto* role : {"train", "val", "test"}) {
    TROUPE_ASSIGN_OR_RETURN(auto links, store.links("", role));
    for (std::uint64_t i = 0; i < links.size(); ++i) {
      known.add(raw(links.at(i).source), static_cast<std::uint32_t>(links.labels()[i]),
                raw(links.at(i).destination));
    }
    roles.push_back(std::move(links));
  }
  known.finish();
  const auto& graph = store.info();
  TROUPE_ASSIGN_OR_RETURN(const auto relations, count_relations(*graph.find_split(""), roles));
  const auto entities =
      graph.node_types[raw(graph.edge_types[raw(roles[0].edge_type())].destination)].count;
  const TripleBatches batches(
      SeedOrder(std::make_shared<const LinkList>(roles[0]), recipe.batch, recipe.seed, true), graph,
      recipe.seed, recipe.chunks, {entities, {}}, {entities, {}});
  Trainer trainer(recipe, entities, relations);
  std::vector<double> seconds;
  for (std::uint32_t epoch = 0; epoch < recipe.epochs; ++epoch) {
    const auto start = std::chrono::steady_clock::now();
    double loss = 0;
    for (std::uint64_t number = 0; number < batches.order().num_batches(); ++number) {
      loss += trainer.train_batch(batches.batch({.epoch = epoch, .number = number}));
    }
    seconds.push_back(seconds_since(start));
    fmt::print("epoch {}: loss {:.5f}, {:.0f} triples/s\n", epoch + 1,
               loss / static_cast<double>(roles[0].size()),
               static_cast<double>(roles[0].size()) / seconds.back());
  }
  std::ranges::sort(seconds);
  const auto start = std::chrono::steady_clock::now();
  const auto counts = rank_all(recipe, trainer, roles[2], known);
  const double ranking = seconds_since(start);
  const auto scores = nn::scores_of_counts(counts, std::array<std::uint64_t, 3>{1, 3, 10});
  if (scores) {
    fmt::print(
        "{} queries in {:.2f} s: mrr {:.4f}, hits@1 {:.4f}, hits@3 {:.4f}, hits@10 {:.4f}, mr "
        "{:.1f}\n",
        scores->queries, ranking, scores->reciprocal_rank, scores->hits[0], scores->hits[1],
        scores->hits[2], scores->mean_rank);
  }
  if (!seconds.empty()) {
    fmt::print("median {:.0f} triples/s\n",
               static_cast<double>(roles[0].size()) / seconds[seconds.size() / 2]);
  }
  return ok_status();
}

}  // namespace
}  // namespace troupe::bench

int main(int argc, char** argv) {
  troupe::bench::Recipe recipe;
  std::string store;
  CLI::App app("Trains and ranks a knowledge graph on one thread");
  const std::map<std::string, troupe::nn::ScoreKind> kinds{
      {"transe", troupe::nn::ScoreKind::transe},
      {"distmult", troupe::nn::ScoreKind::distmult},
      {"complex", troupe::nn::ScoreKind::complex},
      {"rotate", troupe::nn::ScoreKind::rotate}};
  app.add_option("store", store, "graph store with triples in its default split")->required();
  app.add_option("kind", recipe.score.kind, "score of a triple")
      ->required()
      ->transform(CLI::CheckedTransformer(kinds));
  app.add_option("--norm", recipe.score.norm, "norm of distances")->check(CLI::Range(1, 2));
  app.add_option("--epochs", recipe.epochs, "epochs of training");
  app.add_option("--dim", recipe.cols, "columns of an entity's row");
  app.add_option("--batch", recipe.batch, "triples of a batch");
  app.add_option("--chunk", recipe.chunks.triples, "triples that share negatives");
  app.add_option("--negatives", recipe.chunks.negatives, "negatives of a chunk");
  app.add_option("--margin", recipe.margin, "margin of the self-adversarial loss");
  app.add_option("--lr", recipe.rate, "learning rate");
  app.add_option("--n3", recipe.regularization_factor, "factor of N3 regularization");
  app.add_option("--seed", recipe.seed, "random seed");
  CLI11_PARSE(app, argc, argv);
  recipe.softmax = recipe.score.comparison() == troupe::nn::Comparison::product;
  if (recipe.regularization_factor > 0) {
    recipe.regularization = troupe::nn::Regularization::n3;
  }
  const auto done = troupe::bench::measure(store, recipe);
  if (!done.ok()) {
    fmt::print(stderr, "{}\n", done.error().what());
    return 1;
  }
  return 0;
}
