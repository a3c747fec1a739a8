#include "runtime/feature/embedding/embedding_table.hpp"

#include "runtime/base/even_share.hpp"
#include "runtime/base/hot.hpp"
#include "runtime/base/pooled_vector.hpp"
#include "runtime/base/prefetch_row.hpp"
#include "runtime/base/radix_sort.hpp"
#include "runtime/feature/embedding/initial_rows.hpp"
#include "runtime/feature/embedding/sparse_optimizer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace troupe {
namespace {

constexpr std::uint64_t chunk_rows = 512;
/// Numbers of a task of a step, which waits for all tasks: it takes longer than its start, and all threads end at
/// about one time.
constexpr std::uint64_t numbers_at_once = std::uint64_t{1} << 14;

std::uint64_t rows_at_once(std::uint32_t dim) {
  return std::max<std::uint64_t>(1, numbers_at_once / dim);
}

Matrix copy_of(const Matrix& from) {
  Matrix to(from.rows(), from.cols());
  std::ranges::copy(from.view().flat(), to.view().flat().begin());
  return to;
}

/// Calls `body(first, last)` for chunks of [0, count).
template <class Body>
void in_chunks(Executor& executor, std::uint64_t count, std::uint64_t rows, Body body) {
  executor.parallel_for(chunks_of(count, rows), [&](std::size_t chunk) {
    const auto first = chunk * rows;
    body(first, std::min(first + rows, count));
  });
}

/// One gradient row among those of all ranks.
struct Touch {
  std::uint64_t local;
  const float* gradient;

  std::array<std::uint64_t, 1> key() const { return {local}; }
};

/// Rows that are updated soon lie anywhere in tables that no cache holds.
constexpr std::size_t touched_rows_ahead = 8;

void prefetch(std::span<const float> row) {
  prefetch_row(std::as_bytes(row));
}

TROUPE_HOT void add_from_zero(const float* __restrict gradient, std::size_t cols,
                              float* __restrict sum) {
  for (std::size_t c = 0; c < cols; ++c) {
    sum[c] = 0.0F + gradient[c];  // which makes -0 to 0
  }
}

TROUPE_HOT void add_gradient(const float* __restrict gradient, std::size_t cols,
                             float* __restrict sum) {
  for (std::size_t c = 0; c < cols; ++c) {
    sum[c] += gradient[c];
  }
}

TROUPE_HOT void divide(float* __restrict sum, std::size_t cols, float divisor) {
  for (std::size_t c = 0; c < cols; ++c) {
    sum[c] /= divisor;
  }
}

TROUPE_HOT void multiply(float* __restrict sum, std::size_t cols, float factor) {
  for (std::size_t c = 0; c < cols; ++c) {
    sum[c] *= factor;
  }
}

/// Divides sums of gradients by the weight of a step. By a power of two it multiplies, which gives the same
/// bits sooner.
class MeanByWeight {
 public:
  explicit MeanByWeight(std::uint64_t weight) : divisor_(static_cast<float>(weight)) {
    int exponent = 0;
    exact_ = std::frexp(divisor_, &exponent) == 0.5F;
  }
  /// \param of_row  at least one
  void operator()(std::span<const Touch> of_row, std::span<float> mean) const {
    add_from_zero(of_row.front().gradient, mean.size(), mean.data());
    for (const auto& touch : of_row.subspan(1)) {
      add_gradient(touch.gradient, mean.size(), mean.data());
    }
    if (exact_) {
      multiply(mean.data(), mean.size(), 1.0F / divisor_);
    } else {
      divide(mean.data(), mean.size(), divisor_);
    }
  }

 private:
  float divisor_;
  bool exact_ = false;
};

}  // namespace

Status check_learned(std::string_view message, const std::vector<LearnedSection>& sections,
                     std::size_t nodes, std::optional<std::size_t> values) {
  std::uint64_t nodes_left = nodes;
  std::uint64_t values_left = values.value_or(0);
  for (const auto& section : sections) {
    const bool fits = section.nodes <= nodes_left && section.cols <= max_embedding_cols;
    if (!fits || (values && section.nodes * section.cols > values_left)) {
      return Error(Errc::data_corruption,
                   fmt::format("{}: expected at most {} nodes and {} numbers in a section, found "
                               "{} nodes of {} columns",
                               message, nodes_left, values_left, section.nodes, section.cols));
    }
    nodes_left -= section.nodes;
    values_left -= values ? section.nodes * section.cols : 0;
  }
  if (nodes_left != 0 || values_left != 0) {
    return Error(
        Errc::data_corruption,
        fmt::format("{}: expected {} nodes and {} numbers in sections, found {} and {} more",
                    message, nodes - nodes_left, values.value_or(0) - values_left, nodes_left,
                    values_left));
  }
  return ok_status();
}

Status check_queries(std::string_view message, const RankEntities& request) {
  const auto queries = request.keys.size();
  const auto& offsets = request.offsets;
  if (queries == 0 && offsets.empty() && request.queries.empty() && request.left_out.empty()) {
    return ok_status();
  }
  const auto query_cols = request.query_cols();
  const bool fits = request.cols <= max_embedding_cols && request.hidden <= max_embedding_cols &&
                    request.queries.bytes.size() ==
                        (request.num_weights() + queries * query_cols) * sizeof(float) &&
                    offsets.size() == queries + 1 && offsets.front() == 0 &&
                    offsets.back() == request.left_out.size() && std::ranges::is_sorted(offsets);
  if (!fits) {
    return Error(Errc::data_corruption,
                 fmt::format("{}: expected {} queries of {} columns and offsets up to {}, found {} "
                             "bytes and {} offsets",
                             message, queries, query_cols, request.left_out.size(),
                             request.queries.bytes.size(), offsets.size()));
  }
  return ok_status();
}

std::uint64_t learned_values(const std::vector<LearnedSection>& sections) {
  std::uint64_t values = 0;
  for (const auto& section : sections) {
    values += section.nodes * section.cols;
  }
  return values;
}

Digest add_digests(const Digest& a, const Digest& b) {
  const std::uint64_t low = a.low + b.low;
  return {low, a.high + b.high + (low < a.low ? 1U : 0U)};
}

EmbeddingRows EmbeddingRows::copy() const {
  return {copy_of(rows), copy_of(state)};
}

EmbeddingTable::EmbeddingTable(const EmbeddingOptions& options, const PartNodes& nodes,
                               std::uint64_t job_seed)
    : options_(options),
      nodes_(nodes),
      job_seed_(job_seed),
      rows_{Matrix(nodes.count, options.dim), Matrix(nodes.count, sparse_state_cols(options))} {}

void EmbeddingTable::start(Executor& executor) {
  const InitialRows initial(options_, job_seed_);
  in_chunks(executor, nodes_.count, chunk_rows, [&](std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t i = first; i < last; ++i) {
      initial.fill(static_cast<OriginalId>(nodes_.original_ids[i]), rows_.rows.view().row(i));
    }
  });
  std::ranges::fill(rows_.state.view().flat(), initial_sparse_state(options_.optimizer));
}

void EmbeddingTable::apply(Executor& executor, std::span<const Gradients> shares,
                           std::uint64_t weight, std::uint64_t number) {
  std::size_t touched = 0;
  for (const auto& share : shares) {
    touched += share.nodes.size();
  }
  PooledVector<Touch> unsorted;
  unsorted.reserve(touched);
  for (const auto& share : shares) {
    for (std::size_t i = 0; i < share.nodes.size(); ++i) {
      unsorted.push_back({nodes_.local(share.nodes[i]), share.rows.row(i).data()});
    }
  }
  PooledVector<Touch> scratch(unsorted.size());
  const std::span<const Touch> touches =
      radix_sort(std::span<Touch>(unsorted), std::span<Touch>(scratch), executor);
  PooledVector<std::size_t> begins;  // of the touches of each row
  for (std::size_t i = 0; i < touches.size(); ++i) {
    if (i == 0 || touches[i].local != touches[i - 1].local) {
      begins.push_back(i);
    }
  }
  begins.push_back(touches.size());
  const std::uint64_t rows = begins.size() - 1;
  const SparseStep step(options_.optimizer, number);
  const MeanByWeight mean_of(weight);
  in_chunks(executor, rows, rows_at_once(options_.dim),
            [&](std::uint64_t first, std::uint64_t last) {
              std::vector<float> mean(options_.dim);
              for (std::uint64_t row = first; row < last; ++row) {
                if (row + touched_rows_ahead < last) {
                  const auto& soon = touches[begins[row + touched_rows_ahead]];
                  prefetch({soon.gradient, mean.size()});
                  prefetch(rows_.rows.view().row(soon.local));
                  prefetch(rows_.state.view().row(soon.local));
                }
                mean_of(touches.subspan(begins[row], begins[row + 1] - begins[row]), mean);
                const auto local = touches[begins[row]].local;
                step.update(mean, rows_.rows.view().row(local), rows_.state.view().row(local));
              }
            });
}

void EmbeddingTable::gather(Executor& executor, ConstMatrix from, std::span<const NodeId> nodes,
                            std::span<float> out) const {
  in_chunks(executor, nodes.size(), rows_at_once(options_.dim),
            [&](std::uint64_t first, std::uint64_t last) {
              for (std::uint64_t i = first; i < last; ++i) {
                if (i + touched_rows_ahead < last) {
                  prefetch(from.row(nodes_.local(nodes[i + touched_rows_ahead])));
                }
                std::ranges::copy(from.row(nodes_.local(nodes[i])),
                                  out.begin() + static_cast<std::ptrdiff_t>(i * options_.dim));
              }
            });
}

Digest EmbeddingTable::digest(Executor& executor, ConstMatrix rows) const {
  std::vector<Digest> sums(chunks_of(nodes_.count, chunk_rows));
  in_chunks(executor, nodes_.count, chunk_rows, [&](std::uint64_t first, std::uint64_t last) {
    const auto& name = options_.name;
    std::vector<std::byte> bytes(name.size() + sizeof(std::uint64_t) + rows.cols * sizeof(float));
    std::memcpy(bytes.data(), name.data(), name.size());
    std::byte* const id = bytes.data() + name.size();
    Digest sum;
    for (std::uint64_t i = first; i < last; ++i) {
      std::memcpy(id, &nodes_.original_ids[i], sizeof(std::uint64_t));
      std::ranges::copy(std::as_bytes(rows.row(i)), id + sizeof(std::uint64_t));
      sum = add_digests(sum, digest_of(bytes));
    }
    sums[first / chunk_rows] = sum;
  });
  Digest sum;
  for (const auto& of_chunk : sums) {
    sum = add_digests(sum, of_chunk);
  }
  return sum;
}

}  // namespace troupe
