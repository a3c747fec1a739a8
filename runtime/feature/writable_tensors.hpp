#pragma once
/// \file writable_tensors.hpp
/// Tensors that the job's trainers write: one float32 row per node, kept by the holder of the node's
/// part beside the graph, zero until written. For what a trainer learns or remembers per node.
#include "runtime/base/buffer.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/matrix.hpp"
#include "runtime/base/pooled_vector.hpp"
#include "runtime/base/result.hpp"
#include "runtime/feature/row_request.hpp"
#include "runtime/graph/part.hpp"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace troupe {

inline constexpr std::uint32_t max_tensor_cols = 65536;
inline constexpr std::uint32_t max_writable_tensors = 1024;  ///< per holder

/// Writes rows of nodes that one part owns, to every replica of the part. The first one to a tensor
/// makes it, all zeros; one without nodes only makes it.
struct WriteRows {
  Rank writer{};
  /// Counts the writer's writes to this part, from 1. A repeated one is not applied again.
  std::uint64_t operation = 0;
  std::uint32_t tensor = 0;
  NodeTypeId node_type{};
  std::uint32_t cols = 0;      ///< 1..max_tensor_cols; of the tensor, always the same
  bool add = false;            ///< adds to the rows instead of replacing them
  PooledVector<NodeId> nodes;  ///< rows of a node named twice are applied in order
  Segment rows;                ///< float32 [nodes, cols]
};

/// Threads: one at a time.
class WritableTensors {
 public:
  /// Applies a write as a whole, or not at all.
  /// \errors invalid_argument: a node that `part` does not own, sizes, another number of columns than
  ///   before, too many tensors; failed_precondition: a write of the writer before it is missing
  ///   (this holder was started anew and has lost what was written)
  Status apply(const Part& part, const WriteRows& write);

  /// Whether a request reads one of these tensors.
  bool serves(const RowRequest& request) const;
  /// Rows in the order of the request.
  /// \errors not_found: no such tensor; invalid_argument: a node that `part` does not own
  Result<RowReply> read(const Part& part, const RowRequest& request) const;

 private:
  std::map<std::pair<std::uint32_t, NodeTypeId>, Matrix> tensors_;
  std::map<Rank, std::uint64_t> last_operation_;
};

}  // namespace troupe
