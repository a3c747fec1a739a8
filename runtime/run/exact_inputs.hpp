#pragma once
/// \file exact_inputs.hpp
/// Rows that the first layer of exact inference reads where some are learned: [features | learned] of all
/// nodes of a host's parts, made block by block before the layer begins.
#include "runtime/base/executor.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/matrix.hpp"
#include "runtime/base/result.hpp"
#include "runtime/feature/embedding/messages.hpp"
#include "runtime/feature/embedding/options.hpp"
#include "runtime/feature/row_collection.hpp"
#include "runtime/graph/part.hpp"
#include "runtime/run/inference_blocks.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace troupe {

/// Consecutive nodes of one type in one part.
struct InputBlock {
  std::shared_ptr<const Part> part;
  NodeTypeId type{};
  InferenceBlock nodes = {};  ///< by local index
  RowDecoder features;        ///< without columns: the type has none
  std::uint32_t dim = 0;      ///< learned columns; 0: there is nothing to ask for

  /// Without generation, step and `best`.
  ReadLearned question() const;
  /// \errors data_corruption: another number of rows
  Status check(const LearnedRows& learned) const;
  /// \param learned  the answer to the question; null: dim is 0
  /// \param rows  of the nodes
  void fill(Executor& executor, const LearnedRows* learned, MutMatrix rows) const;
};

/// \param in_cols   by node type, of the first layer; 0: it does not read the type
/// \param decoders  by node type, of the features
std::vector<InputBlock> input_blocks(const std::map<PartId, std::shared_ptr<const Part>>& parts,
                                     const EmbeddingPlan& plan,
                                     const std::vector<std::uint64_t>& in_cols,
                                     const std::vector<RowDecoder>& decoders,
                                     std::uint64_t block_bytes);

}  // namespace troupe
