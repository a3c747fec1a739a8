#pragma once
/// \file cublas_api.cuh
/// What gpu/nn calls of cuBLAS, in its binary interface of CUDA 13: compiling needs no cuBLAS, which is
/// four times the compiler's size. cublas.cu compares it with cuBLAS's own header where there is one.
#include <cuda_runtime.h>

#include <cstddef>

struct cublasContext;

namespace troupe::gpu::cublas {

using Handle = ::cublasContext*;
using Status = int;  ///< cublasStatus_t

inline constexpr Status success = 0;
inline constexpr int as_is = 0;          ///< CUBLAS_OP_N
inline constexpr int transposed = 1;     ///< CUBLAS_OP_T
inline constexpr int pedantic_math = 2;  ///< CUBLAS_PEDANTIC_MATH

using GetProperty = Status (*)(int which, int* value);  ///< major, minor, patch level: 0, 1, 2
using Create = Status (*)(Handle* handle);
using Destroy = Status (*)(Handle handle);
using SetStream = Status (*)(Handle handle, cudaStream_t stream);
using SetWorkspace = Status (*)(Handle handle, void* workspace, std::size_t size_bytes);
using SetMathMode = Status (*)(Handle handle, int mode);
/// c [n, m] = alpha a b + beta c, column by column.
using Sgemm = Status (*)(Handle handle, int of_a, int of_b, int m, int n, int k, const float* alpha,
                         const float* a, int pitch_a, const float* b, int pitch_b,
                         const float* beta, float* c, int pitch_c);

}  // namespace troupe::gpu::cublas
