#pragma once
/// \file cublas.cuh
/// cuBLAS, loaded when it is wanted, so that the program starts where it is not installed. Only for .cu
/// files.
#include "gpu/base/cuda_stream.cuh"
#include "runtime/base/matrix.hpp"
#include "runtime/base/result.hpp"
#include "runtime/nn/ops/precision.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace troupe::gpu {

/// Of the cuBLAS that would be loaded, e.g. "13.1.0". \errors not_found: none, or a function is missing
Result<std::string> cublas_version();

/// Matrix products of one stream.
class CublasProducts {
 public:
  /// \errors not_found: no cuBLAS, or without a function that is needed; cuda_failure
  /// \param piece_rows  height of the pieces that forward() works in (product_pieces.hpp); 0: any
  static Result<CublasProducts> create(CudaStream& on, nn::Precision precision,
                                       std::size_t piece_rows);
  std::size_t piece_rows() const { return piece_rows_; }

  void forward(CudaStream& on, ConstMatrix x, ConstMatrix weight, MutMatrix y, bool add) const;
  void backward(CudaStream& on, ConstMatrix grad, ConstMatrix weight, MutMatrix grad_x,
                bool add) const;
  void weight_gradient(CudaStream& on, ConstMatrix grad, ConstMatrix x,
                       MutMatrix grad_weight) const;

 private:
  friend Result<std::string> cublas_version();
  struct Library;
  struct Handle;
  CublasProducts(std::shared_ptr<Handle> handle, std::size_t piece_rows)
      : handle_(std::move(handle)), piece_rows_(piece_rows) {}

  std::shared_ptr<Handle> handle_;
  std::size_t piece_rows_ = 0;
};

}  // namespace troupe::gpu
