#include "runtime/run/top_partners.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/nn/decoder.hpp"
#include "runtime/nn/ops/cpu_block_ops.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

namespace troupe {
namespace {

constexpr std::size_t pairs_of_block = 8192;
/// Sources that a task scores with one decoder.
constexpr std::size_t sources_of_task = 16;

struct Partner {
  float score;
  std::uint32_t row;
};

/// Higher scores first, of level ones the lower row.
bool is_before(const Partner& a, const Partner& b) {
  return a.score != b.score ? a.score > b.score : a.row < b.row;
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

/// Scores the sources of one task with all destinations, block by block.
class SourceScorer {
 public:
  SourceScorer(const nn::ModelOptions& model, std::span<const float> parameters,
               const TopRequest& request)
      : decoder_(nn::make_decoder(model.decoder, model.out_dim, ops_)),
        parameters_(parameters),
        request_(request),
        of_(pairs_of_block),
        to_(pairs_of_block) {}

  std::vector<Partner> best_of(std::size_t source, std::span<const std::uint64_t> left_out) {
    Best best(request_.k);
    const auto rows = request_.destinations.rows;
    std::ranges::fill(of_, static_cast<std::uint32_t>(source));
    auto next_out = left_out.begin();
    for (std::size_t first = 0; first < rows; first += pairs_of_block) {
      const auto count = std::min(pairs_of_block, rows - first);
      std::iota(to_.begin(), to_.end(), static_cast<std::uint32_t>(first));
      const auto scores = decoder_->forward(executor_, parameters_,
                                            {.sources = request_.sources,
                                             .destinations = request_.destinations,
                                             .of = std::span(of_).first(count),
                                             .to = std::span(to_).first(count)});
      for (std::size_t i = 0; i < count; ++i) {
        const auto row = static_cast<std::uint32_t>(first + i);
        if (next_out != left_out.end() && *next_out == row) {
          ++next_out;
          continue;
        }
        best.offer({scores.data[i], row});
      }
    }
    return best.take();
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

}  // namespace

TopPartners top_partners(Executor& executor, const nn::Network& network,
                         std::span<const float> parameters, const TopRequest& request,
                         const nn::KnownRows& left_out) {
  const auto& model = network.options();
  const auto sources = request.sources.rows;
  TROUPE_ASSERT(model.decoder.outputs == 1 && left_out.offsets.size() == sources + 1,
                "one score for each pair, and what is left out of each source's",
                model.decoder.outputs, left_out.offsets.size(), sources);
  const auto range = nn::parameters_of(model.decoder, model.out_dim, request.edge_type);
  const auto own = network.decoder_slice(parameters).subspan(range.first, range.count);
  TopPartners top{.rows = std::vector<std::int64_t>(sources * request.k, TopPartners::none),
                  .scores = Matrix(sources, request.k)};
  std::ranges::fill(top.scores.view().flat(), std::numeric_limits<float>::quiet_NaN());
  const auto tasks = (sources + sources_of_task - 1) / sources_of_task;
  executor.parallel_for(tasks, [&](std::size_t task) {
    SourceScorer scorer(model, own, request);
    const auto end = std::min(sources, (task + 1) * sources_of_task);
    for (std::size_t source = task * sources_of_task; source < end; ++source) {
      const auto first = left_out.offsets[source];
      const auto best = scorer.best_of(
          source, std::span(left_out.rows).subspan(first, left_out.offsets[source + 1] - first));
      for (std::size_t i = 0; i < best.size(); ++i) {
        top.rows[source * request.k + i] = best[i].row;
        top.scores.view().row(source)[i] = best[i].score;
      }
    }
  });
  return top;
}

}  // namespace troupe
