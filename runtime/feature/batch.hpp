#pragma once
/// \file batch.hpp
/// A batch as the trainer gets it: the sampled neighbourhood with feature rows, original ids and
/// labels.
#include "runtime/base/buffer.hpp"
#include "runtime/base/digest.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/matrix.hpp"
#include "runtime/base/pooled_vector.hpp"
#include "runtime/base/result.hpp"
#include "runtime/feature/batch_on_device.hpp"
#include "runtime/graph/graph_info.hpp"
#include "runtime/sample/mini_batch.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace troupe {

/// Rows of one node type, in batch-local order.
struct BatchRows {
  Matrix features;  ///< [nodes, cols] float32, normalised as the job says; empty without features
  PooledVector<OriginalId> original_ids;  ///< [nodes]
};

struct StagedRows;

/// What a batch digest covers.
enum class DigestMode : std::uint8_t { full, ids, off };

struct BatchDigest {
  DigestMode mode = DigestMode::off;  ///< off: not computed
  Digest value;
};

/// A named column of the nodes or edges of a batch, as it is stored.
struct BatchColumn {
  bool of_edges = false;
  std::uint16_t type = 0;  ///< NodeTypeId or EdgeTypeId
  ColumnInfo info;
  std::uint64_t rows = 0;  ///< [nodes of the type], or [edges] in the order of BatchEdges::sources
  Segment values = {};     ///< [rows, info.shape]; bf16 as its words

  /// \requires T fits info.dtype
  template <class T>
  std::span<const T> as() const {
    return values.as<T>();
  }
};

struct Batch {
  std::shared_ptr<const SampledBatch> sampled;
  std::vector<BatchRows> rows;  ///< by NodeTypeId
  PooledVector<std::int64_t>
      labels;      ///< [seeds] classes, -1 = unlabelled; empty if the seed type has none
  Matrix targets;  ///< [seeds, labels] multi-label targets; empty if the seed type has none
  /// By EdgeTypeId: features of the sampled edges, [edges, cols] float32 in the order of
  /// BatchEdges::sources; without columns where they are not asked for or the type has none. Empty: of
  /// no type.
  std::vector<Matrix> edge_features = {};
  std::vector<BatchColumn> columns = {};  ///< In the order of node types, then of edge types
  BatchDigest digest = {};  ///< computed while the rows were collected; does not travel
  /// Rows of features on their way to a device, which then has them alone. Does not travel.
  std::shared_ptr<const StagedRows> staged = {};
  /// Where a device made it: `features` of nodes are there alone. Does not travel.
  std::shared_ptr<const BatchOnDevice> on_device = {};
};

/// The column of a type; null: the batch has none of that name.
const BatchColumn* find_column(const Batch& batch, NodeTypeId type, std::string_view name);
const BatchColumn* find_column(const Batch& batch, EdgeTypeId type, std::string_view name);

/// Memory that its arrays take.
std::uint64_t size_bytes(const SampledBatch& batch);
std::uint64_t size_bytes(const Batch& batch);

/// XXH3-128 over: seeds (original ids), or the ends of positive and negative links (original ids of
/// sources, then of destinations), their labels and times; of walks the original ids of their nodes and
/// their restarts; then per hop and edge type the row counts and original ids of the drawn neighbours,
/// edge ids, times and weights if asked for, then (full) feature rows of all nodes, those of the edges
/// of each type if asked for, bytes of columns, and labels of the seeds. Independent of the partitioning.
/// \param mode  full or ids; zero for off
/// \requires original ids
Digest digest_batch(const Batch& batch, DigestMode mode);
/// Digest of a batch that is trained on: `batch.digest` where the batch was collected in this process,
/// else digest_batch(), which then covers the way here.
/// \requires original ids, unless `mode` is off
Digest digest_of_trained(const Batch& batch, DigestMode mode);

/// What digest_batch() takes for granted, of a batch that came from another process.
/// \errors data_corruption: original ids are missing
Status check_original_ids(const Batch& batch);

}  // namespace troupe
