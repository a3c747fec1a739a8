#include "bench/system/learned_rows.hpp"

#include "runtime/base/even_share.hpp"
#include "runtime/base/executor.hpp"
#include "runtime/base/philox.hpp"
#include "runtime/feature/embedding/embedding_table.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace troupe::bench {
namespace {

constexpr std::uint64_t chunk = 512;

/// One holder's table, and what two ranks bring in a step.
class TableOfHolder {
 public:
  TableOfHolder(const LearnedRowsOptions& options, std::uint32_t holder, Executor& executor)
      : options_(options), ids_(options.rows / options.holders) {
    std::iota(ids_.begin(), ids_.end(), std::uint64_t{holder} * ids_.size());
    nodes_.first = NodeId{0};
    nodes_.count = ids_.size();
    nodes_.original_ids = ids_;
    table_ = std::make_unique<EmbeddingTable>(
        EmbeddingOptions{.name = "node", .node_type = NodeTypeId{0}, .dim = options.dim}, nodes_,
        std::uint64_t{1});
    table_->start(executor);
    gradients_.assign(options.rows_of_a_step * options.dim, 0.01F);
  }

  /// Other nodes for each step; duplicates are rare.
  void draw(std::uint64_t step) {
    DrawStream draws(stream_key(step + 1, {.domain = Domain::generators}), 0);
    picked_.resize(options_.rows_of_a_step);
    std::ranges::generate(picked_, [&] {
      return static_cast<NodeId>(draws.below(static_cast<std::uint32_t>(nodes_.count)));
    });
  }
  double apply(Executor& executor, std::uint64_t number) {
    const auto half = picked_.size() / 2;
    const std::span<const NodeId> all(picked_);
    const EmbeddingTable::Gradients shares[] = {
        {all.first(half), {gradients_.data(), half, options_.dim}},
        {all.subspan(half),
         {gradients_.data() + half * options_.dim, picked_.size() - half, options_.dim}}};
    const Stopwatch watch;
    table_->apply(executor, shares, 1024, number);
    return watch.us();
  }
  double read(Executor& executor) {
    answer_.resize(gradients_.size());
    const Stopwatch watch;
    table_->gather(executor, table_->rows().rows.view(), picked_, answer_);
    return watch.us();
  }
  /// \param rows, state  of the table's size
  double plain(Executor& executor, Matrix& rows, Matrix& state) {
    auto sorted = picked_;
    std::ranges::sort(sorted);
    const auto repeats = std::ranges::unique(sorted);
    sorted.erase(repeats.begin(), repeats.end());
    const Stopwatch watch;
    executor.parallel_for(chunks_of(sorted.size(), chunk), [&](std::size_t of) {
      const auto last = std::min<std::size_t>((of + 1) * chunk, sorted.size());
      for (std::size_t i = of * chunk; i < last; ++i) {
        const auto row = rows.view().row(raw(sorted[i]));
        const auto sums = state.view().row(raw(sorted[i]));
        const float* gradient = gradients_.data() + i * options_.dim;
        for (std::size_t c = 0; c < options_.dim; ++c) {
          sums[c] += gradient[c];
          row[c] -= gradient[c];
        }
      }
    });
    return watch.us();
  }

 private:
  const LearnedRowsOptions& options_;
  std::vector<std::uint64_t> ids_;
  PartNodes nodes_;
  std::unique_ptr<EmbeddingTable> table_;
  std::vector<NodeId> picked_;
  std::vector<float> gradients_;
  std::vector<float> answer_;
};

}  // namespace

LearnedRowsCost measure_learned_rows(const LearnedRowsOptions& options) {
  ComputePool pool(options.threads);
  const auto of_all = static_cast<double>(options.rows_of_a_step * options.holders);
  std::vector<double> applied;
  std::vector<double> read;
  std::vector<double> plain;
  {
    std::vector<std::unique_ptr<TableOfHolder>> tables;
    for (std::uint32_t holder = 0; holder < options.holders; ++holder) {
      tables.push_back(std::make_unique<TableOfHolder>(options, holder, pool));
    }
    for (int step = 0; step <= options.steps; ++step) {
      double apply_us = 0;
      double read_us = 0;
      for (const auto& table : tables) {
        table->draw(static_cast<std::uint64_t>(step));
        read_us += table->read(pool);
        apply_us += table->apply(pool, static_cast<std::uint64_t>(step) + 1);
      }
      if (step > 0) {  // the first warms up
        applied.push_back(of_all / apply_us);
        read.push_back(of_all / read_us);
      }
    }
  }
  // Room of one holder is enough: the loop does not care whose rows they are.
  auto smaller = options;
  smaller.rows = options.rows / options.holders;
  smaller.holders = 1;
  TableOfHolder nodes(smaller, 0, pool);
  Matrix rows(smaller.rows, options.dim);
  Matrix state(smaller.rows, options.dim);
  for (int step = 0; step <= options.steps; ++step) {
    nodes.draw(static_cast<std::uint64_t>(step));
    const auto us = nodes.plain(pool, rows, state);
    if (step > 0) {
      plain.push_back(static_cast<double>(options.rows_of_a_step) / us);
    }
  }
  LearnedRowsCost cost{.options = options,
                       .applied_m_s = stats_of(std::move(applied)),
                       .read_m_s = stats_of(std::move(read)),
                       .plain_m_s = stats_of(std::move(plain))};
  cost.share_of_plain = cost.applied_m_s.median / cost.plain_m_s.median;
  return cost;
}

}  // namespace troupe::bench
