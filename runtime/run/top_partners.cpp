#include "runtime/run/top_partners.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/base/saturating.hpp"
#include "runtime/job/plan.hpp"
#include "runtime/nn/decoder.hpp"
#include "runtime/nn/knowledge/chunk_scorer.hpp"
#include "runtime/nn/ops/cpu_block_ops.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

namespace troupe {
namespace {

constexpr std::size_t pairs_of_block = 512;
/// Sources, or triples, of a task, which has one scorer.
constexpr std::size_t asking_of_task = 16;

struct Partner {
  float score;
  std::uint32_t row;
};

/// Higher scores first, of level ones the lower row. A NaN is below everything.
bool is_before(const Partner& a, const Partner& b) {
  const bool a_counts = a.score == a.score;
  const bool b_counts = b.score == b.score;
  if (a_counts != b_counts || (a_counts && a.score != b.score)) {
    return a_counts && (!b_counts || a.score > b.score);
  }
  return a.row < b.row;
}

/// The best so many of those that were offered.
class Best {
 public:
  explicit Best(std::size_t k) : k_(k) {}

  void offer(Partner partner) {
    if (heap_.size() == k_) {
      if (k_ == 0 || !is_before(partner, heap_.front())) {
        return;
      }
      std::ranges::pop_heap(heap_, is_before);
      heap_.pop_back();
    }
    heap_.push_back(partner);
    std::ranges::push_heap(heap_, is_before);  // the front is the last of them
  }
  std::vector<Partner> take() {
    std::ranges::sort_heap(heap_, is_before);
    return std::move(heap_);
  }

 private:
  std::size_t k_;
  std::vector<Partner> heap_;
};

/// Scores of one of those that ask with a block of those that may be named.
class Scorer {
 public:
  virtual ~Scorer() = default;
  /// \param count  at most pairs_of_block
  /// \returns [count] of candidates first, first + 1 and so on, valid until the next call
  virtual std::span<const float> scores(std::size_t asking, std::size_t first,
                                        std::size_t count) = 0;
};

class LinkScorer : public Scorer {
 public:
  LinkScorer(const nn::ModelOptions& model, std::span<const float> parameters,
             const TopRequest& request)
      : decoder_(nn::make_decoder(model.decoder, model.out_dim, ops_)),
        parameters_(parameters),
        request_(request),
        of_(pairs_of_block),
        to_(pairs_of_block) {}

  std::span<const float> scores(std::size_t asking, std::size_t first, std::size_t count) override {
    std::ranges::fill(of_, static_cast<std::uint32_t>(asking));
    std::iota(to_.begin(), to_.end(), static_cast<std::uint32_t>(first));
    return decoder_
        ->forward(executor_, parameters_,
                  {.sources = request_.sources,
                   .destinations = request_.destinations,
                   .of = std::span(of_).first(count),
                   .to = std::span(to_).first(count)})
        .flat();
  }

 private:
  InlineExecutor executor_;
  nn::CpuBlockOps ops_;
  std::unique_ptr<nn::Decoder> decoder_;
  std::span<const float> parameters_;
  const TopRequest& request_;
  std::vector<std::uint32_t> of_;
  std::vector<std::uint32_t> to_;
};

/// Every triple is compared as a head with a relation and a tail, whichever end is asked for: a triple has one score.
class TripleScorer : public Scorer {
 public:
  /// \param relations, factors  of all relations
  TripleScorer(const nn::TripleScore& score, ConstMatrix relations, ConstMatrix factors,
               const TopTriples& request)
      : scorer_(score),
        relations_(relations),
        factors_(factors),
        request_(request),
        known_(pairs_of_block),
        relation_(pairs_of_block) {}

  std::span<const float> scores(std::size_t asking, std::size_t first, std::size_t count) override {
    std::ranges::fill(known_, request_.known[asking]);
    std::ranges::fill(relation_, request_.relations[asking]);
    const nn::PlacedRows known{request_.entities, std::span(known_).first(count)};
    const nn::PlacedRows candidates{request_.entities.slice(first, count)};
    const auto relation = std::span(relation_).first(count);
    const bool tail = request_.replaced == ReplacedEnd::tail;
    const auto scores =
        scorer_.forward(ReplacedEnd::tail, {.known = tail ? known : candidates,
                                            .relation = {relations_, relation},
                                            .answer = tail ? candidates : known,
                                            .negative = ConstMatrix{nullptr, 0, known.cols()},
                                            .factors = {factors_, relation}});
    return scores.positive;
  }

 private:
  nn::ChunkScorer scorer_;
  ConstMatrix relations_;
  ConstMatrix factors_;
  const TopTriples& request_;
  std::vector<std::uint32_t> known_;
  std::vector<std::uint32_t> relation_;
};

/// Who asks for how many of which.
struct Question {
  std::size_t asking = 0;
  std::size_t candidates = 0;
  std::size_t k = 0;
};

/// The best of all candidates but those left out, ascending.
std::vector<Partner> best_of(Scorer& scorer, std::size_t asking, const Question& question,
                             std::span<const std::uint64_t> left_out) {
  Best best(question.k);
  auto next_out = left_out.begin();
  for (std::size_t first = 0; first < question.candidates; first += pairs_of_block) {
    const auto count = std::min(pairs_of_block, question.candidates - first);
    const auto scores = scorer.scores(asking, first, count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto row = static_cast<std::uint32_t>(first + i);
      if (next_out != left_out.end() && *next_out == row) {
        ++next_out;
        continue;
      }
      best.offer({scores[i], row});
    }
  }
  return best.take();
}

/// \param make_scorer  one for each task
template <class MakeScorer>
TopPartners best_of_all(Executor& executor, const Question& question, const nn::KnownRows& left_out,
                        const MakeScorer& make_scorer) {
  const auto k = question.k;
  TROUPE_ASSERT(left_out.offsets.size() == question.asking + 1, "lists of rows that are not named",
                left_out.offsets.size(), question.asking);
  TopPartners top{.rows = std::vector<std::int64_t>(question.asking * k, TopPartners::none),
                  .scores = Matrix(question.asking, k)};
  std::ranges::fill(top.scores.view().flat(), std::numeric_limits<float>::quiet_NaN());
  const auto tasks = (question.asking + asking_of_task - 1) / asking_of_task;
  executor.parallel_for(tasks, [&](std::size_t task) {
    auto scorer = make_scorer();
    const auto end = std::min(question.asking, (task + 1) * asking_of_task);
    for (std::size_t asking = task * asking_of_task; asking < end; ++asking) {
      const auto first = left_out.offsets[asking];
      const auto best =
          best_of(scorer, asking, question,
                  std::span(left_out.rows).subspan(first, left_out.offsets[asking + 1] - first));
      for (std::size_t i = 0; i < best.size(); ++i) {
        top.rows[asking * k + i] = best[i].row;
        top.scores.view().row(asking)[i] = best[i].score;
      }
    }
  });
  return top;
}

}  // namespace

Status check_top_fits(std::uint64_t asking, std::uint64_t k, std::uint64_t free_bytes) {
  const auto needed = times(times(asking, k), sizeof(std::int64_t) + sizeof(float));
  if (needed <= free_bytes) {
    return ok_status();
  }
  return Error(Errc::invalid_argument,
               fmt::format("--top: expected results that fit into the {} of free memory, found {} "
                           "queries with {} each, which need {}\ntry: a smaller --top, or fewer "
                           "nodes or triples at a time",
                           bytes_text(free_bytes), asking, k, bytes_text(needed)));
}

TopPartners top_partners(Executor& executor, const nn::Network& network,
                         std::span<const float> parameters, const TopRequest& request,
                         const nn::KnownRows& left_out) {
  const auto& model = network.options();
  TROUPE_ASSERT(model.decoder.outputs == 1, "one score for each pair", model.decoder.outputs);
  const auto range = nn::parameters_of(model.decoder, model.out_dim, request.edge_type);
  const auto own = network.decoder_slice(parameters).subspan(range.first, range.count);
  return best_of_all(
      executor,
      {.asking = request.sources.rows, .candidates = request.destinations.rows, .k = request.k},
      left_out, [&] { return LinkScorer(model, own, request); });
}

TopPartners top_entities(Executor& executor, const nn::Network& network,
                         std::span<const float> parameters, const nn::TripleScore& score,
                         const TopTriples& request, const nn::KnownRows& left_out) {
  const auto& options = network.options().relations;
  const ConstMatrix relations{network.decoder_slice(parameters).data(), options.rows, options.cols};
  Matrix factors(relations.rows, request.entities.cols);
  nn::relation_factors(score, relations, factors.view());
  return best_of_all(
      executor,
      {.asking = request.known.size(), .candidates = request.entities.rows, .k = request.k},
      left_out, [&] { return TripleScorer(score, relations, factors.view(), request); });
}

}  // namespace troupe
