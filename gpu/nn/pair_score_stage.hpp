#pragma once
/// \file pair_score_stage.hpp
/// Scores of pairs of rows and their gradients on a stream.
#include "gpu/base/array.hpp"
#include "gpu/nn/by_row_bodies.hpp"
#include "gpu/nn/finish_stage.hpp"
#include "gpu/nn/pair_score_bodies.hpp"
#include "runtime/nn/ops/linear.hpp"
#include "runtime/nn/ops/pair_scores.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe::gpu {

inline PairedRows paired_rows(const nn::RowPairs& pairs) {
  return {pairs.sources.data, pairs.destinations.data, pairs.of.data(), pairs.to.data(),
          pairs.sources.cols};
}

/// Without relations there is one, of ones.
inline std::size_t relations_of(ConstMatrix relations) {
  return relations.data == nullptr ? 1 : relations.rows;
}

template <class Stream>
void pair_scores_stage(Stream& on, const nn::RowPairs& pairs, ConstMatrix relations,
                       MutMatrix scores) {
  const std::size_t across = relations_of(relations) * sum_lanes;
  const auto lanes = on.template array<float>(pairs.size() * across);
  on.for_rows(pairs.size(), across,
              PairLanes{paired_rows(pairs), relations.data, across, lanes.data()});
  on.for_each(scores.size(), AddLanes{lanes.data(), scores.data});
}

/// Things by the row that each of them has, in their order.
struct ListsByRow {
  Array<std::uint32_t> begins;  ///< [rows + 1]
  Array<std::uint32_t> list;
};
template <class Stream>
ListsByRow lists_by_row(Stream& on, std::span<const std::uint32_t> row_of, std::size_t rows) {
  const std::size_t count = row_of.size();
  const auto numbers = on.template array<std::uint32_t>(count);
  const auto sorted_rows = on.template array<std::uint32_t>(count);
  ListsByRow lists{on.template array<std::uint32_t>(rows + 1),
                   on.template array<std::uint32_t>(count)};
  on.for_each(count, CountUp{numbers.data()});
  on.sort_pairs({row_of.data(), numbers.data(), count, static_cast<std::uint32_t>(rows),
                 sorted_rows.data(), lists.list.data()});
  on.for_each(rows + 1,
              RowBegin{sorted_rows.data(), static_cast<std::uint32_t>(count), lists.begins.data()});
  return lists;
}

/// One end of pairs, with the rows of the other one.
struct PairEnd {
  std::span<const std::uint32_t> row_of;
  std::span<const std::uint32_t> other_of;
  ConstMatrix others;
  MutMatrix to;
};
template <class Stream>
void add_pair_end(Stream& on, const PairEnd& end, ConstMatrix relations, ConstMatrix grad) {
  const ListsByRow lists = lists_by_row(on, end.row_of, end.to.rows);
  const std::size_t cols = end.to.cols;
  by_width(in_fours(cols, {end.others.data, end.to.data}), [&](auto width) {
    on.for_rows(end.to.rows, cols / width(),
                AddPairEnd<width()>{lists.begins.data(), lists.list.data(), end.other_of.data(),
                                    end.others.data, relations.data, relations_of(relations),
                                    grad.data, cols, end.to.data});
  });
}

template <class Stream>
void pair_scores_gradient_stage(Stream& on, const nn::RowPairs& pairs, ConstMatrix relations,
                                ConstMatrix grad, const nn::PairGradients& to) {
  add_pair_end(on, {pairs.of, pairs.to, pairs.destinations, to.sources}, relations, grad);
  add_pair_end(on, {pairs.to, pairs.of, pairs.sources, to.destinations}, relations, grad);
  if (relations.data == nullptr) {
    return;
  }
  const std::size_t chunks = nn::chunk_count(pairs.size());
  const std::size_t size = to.relations.size();
  const auto partials = on.template array<float>(chunks * size);
  on.for_rows(chunks, size,
              RelationSums{paired_rows(pairs), pairs.size(), grad.data, relations.rows,
                           nn::chunk_rows, partials.data()});
  on.for_each(size, AddChunks{partials.data(), chunks, size, to.relations.data});
}

}  // namespace troupe::gpu
