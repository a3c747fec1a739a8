#pragma once
/// \file host_rows.hpp
/// Rows of a set of functions as the host reads them.
#include "runtime/base/matrix.hpp"
#include "runtime/base/result.hpp"
#include "runtime/nn/ops/block_ops.hpp"

#include <utility>

namespace troupe::nn {

/// Borrows: the functions
class HostRows {
 public:
  explicit HostRows(BlockOps& ops) : ops_(ops) {}

  /// Where they lie, or a copy of those of a device, for which it waits. Valid until the next call.
  /// \errors of the device
  Result<ConstMatrix> of(ConstMatrix rows) {
    if (ops_.memory() == nullptr) {
      return rows;
    }
    copy_ = Matrix(rows.rows, rows.cols);
    TROUPE_RETURN_IF_ERROR(ops_.download(rows.data, copy_.data(), rows.size() * sizeof(float)));
    return std::as_const(copy_).view();
  }

 private:
  BlockOps& ops_;
  Matrix copy_;
};

}  // namespace troupe::nn
