#pragma once
/// \file tensor_rows.hpp
/// Tensors that a holder keeps for the job beside its part: one float32 row per owned node, e.g. a
/// layer's outputs during exact inference.
#include "runtime/base/matrix.hpp"
#include "runtime/base/result.hpp"
#include "runtime/feature/row_request.hpp"
#include "runtime/graph/part.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace troupe {

/// Replaces tensor `tensor` of one node type of the receiving holder. An immutable matrix: readers
/// that still hold the one before are not disturbed.
struct StoreTensor {
  std::uint32_t tensor = 0;
  NodeTypeId node_type{};
  std::shared_ptr<const Matrix> rows;  ///< [owned nodes, cols]
};

/// Threads: one at a time; what find() returned stays valid on any thread.
class TensorTable {
 public:
  /// \errors invalid_argument: rows differ from the nodes that `part` owns
  Status store(const Part& part, const StoreTensor& message);
  /// \errors not_found: no such tensor, with the number
  Result<std::shared_ptr<const Matrix>> find(std::uint32_t tensor, NodeTypeId type) const;
  /// The tensors of a request's sections.
  Result<std::vector<std::shared_ptr<const Matrix>>> find(const RowRequest& request) const;

 private:
  std::map<std::pair<std::uint32_t, NodeTypeId>, std::shared_ptr<const Matrix>> tensors_;
};

/// Rows of tensors in the order of the request; original ids and labels are not served here.
/// \param tensors  [sections] of the request
/// \errors invalid_argument: a node that the part does not own, no such node type
Result<RowReply> read_tensor_rows(const Part& part, std::span<const Matrix* const> tensors,
                                  const RowRequest& request);

}  // namespace troupe
