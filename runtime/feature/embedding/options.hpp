#pragma once
/// \file options.hpp
/// Tables of learned rows: one row per node of a type, kept by the holders of the nodes' parts and
/// trained with the network (docs/tensors.md).
#include "runtime/base/ids.hpp"
#include "runtime/base/kinds.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

inline constexpr std::uint32_t max_embedding_cols = 65536;
/// Steps that rows may be behind at most: a rank reads as many ahead, and keeps their batches.
inline constexpr std::uint32_t max_staleness = 64;

struct SparseOptimizerOptions {
  std::string kind = "adagrad";  ///< A row of sparse_optimizer_kinds()
  double lr = 0.1;
  double beta1 = 0.9;              ///< adam
  double beta2 = 0.999;            ///< adam
  double eps = 1e-10;              ///< added after the root
  double initial_accumulator = 0;  ///< adagrad, row_adagrad: sums of squares before the first step
};

struct InitialRowsOptions {
  std::string kind = "normal";  ///< "normal", "uniform", "zeros"
  double std = 0.1;             ///< normal: standard deviation; the mean is 0
  double scale = 0.1;           ///< uniform: in [-scale, scale)
};

struct EmbeddingOptions {
  std::string name;  ///< Of the node type; part of what its rows start from
  NodeTypeId node_type{};
  std::uint32_t dim = 0;  ///< Columns, 1..max_embedding_cols
  SparseOptimizerOptions optimizer = {};
  InitialRowsOptions init = {};
  bool features = true;  ///< false: the rows take the place of the type's features
};

/// All tables of a job, for the holders of every part and all ranks.
struct EmbeddingPlan {
  std::vector<EmbeddingOptions> tables;  ///< in ascending order of node types
  std::uint32_t world = 1;               ///< Ranks, each of which has a share in every step
  std::uint64_t job_seed = 0;

  /// Null: the type has no table.
  const EmbeddingOptions* find(NodeTypeId type) const {
    for (const auto& table : tables) {
      if (table.node_type == type) {
        return &table;
      }
    }
    return nullptr;
  }
};

struct SparseOptimizerKind {
  std::string_view name;
  std::string_view help;                           ///< One line, with the source
  std::span<const std::string_view> options = {};  ///< That not all kinds read
  /// Numbers of state per row of `dim` columns.
  std::uint64_t (*state_cols)(std::uint32_t dim) = nullptr;
};
std::span<const SparseOptimizerKind> sparse_optimizer_kinds();
/// \requires the kind is one of the table
std::uint64_t sparse_state_cols(const EmbeddingOptions& table);
/// 1e-8 with "adam", else 1e-10: PyTorch's defaults.
double default_sparse_eps(const std::string& kind);

}  // namespace troupe
