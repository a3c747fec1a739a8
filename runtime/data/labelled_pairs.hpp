#pragma once
/// \file labelled_pairs.hpp
/// Links whose labels lie in an array of their own, perhaps with negative links among them.
#include "runtime/base/executor.hpp"
#include "runtime/base/result.hpp"
#include "runtime/data/graph_source.hpp"
#include "runtime/data/table.hpp"

#include <cstdint>
#include <memory>

namespace troupe {

struct LabelledPairs {
  std::unique_ptr<graph_source::EdgeRows> rows;
  std::uint64_t negatives = 0;  ///< Links that are not among `rows`
};

enum class Negatives : std::uint8_t {
  none,        ///< Labels are labels
  by_label_0,  ///< Links of label 0 are negative ones; the others have no labels
};

/// Reads the labels, which stay in memory.
/// \param rows  without weights
/// \errors invalid_argument: labels that are not finite numbers in one column; when `rows` are read,
///   other numbers of links and labels
Result<LabelledPairs> with_labels(std::unique_ptr<graph_source::EdgeRows> rows, const Table& labels,
                                  Negatives negatives, Executor& executor);

}  // namespace troupe
