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
inline constexpr int as_is = 0;           ///< CUBLAS_OP_N
inline constexpr int transposed = 1;      ///< CUBLAS_OP_T
inline constexpr int default_math = 0;    ///< CUBLAS_DEFAULT_MATH
inline constexpr int pedantic_math = 2;   ///< CUBLAS_PEDANTIC_MATH
inline constexpr int float32 = 0;         ///< CUDA_R_32F
inline constexpr int by_bf16 = 75;        ///< CUBLAS_COMPUTE_32F_FAST_16BF
inline constexpr int by_tf32 = 77;        ///< CUBLAS_COMPUTE_32F_FAST_TF32
inline constexpr int any_algorithm = -1;  ///< CUBLAS_GEMM_DEFAULT

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
/// The same of any types; factors are of the type that `how` computes with.
using GemmEx = Status (*)(Handle handle, int of_a, int of_b, int m, int n, int k, const void* alpha,
                          const void* a, int type_a, int pitch_a, const void* b, int type_b,
                          int pitch_b, const void* beta, void* c, int type_c, int pitch_c, int how,
                          int algorithm);

}  // namespace troupe::gpu::cublas
