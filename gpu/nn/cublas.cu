#include "gpu/base/context_of_thread.cuh"
#include "gpu/base/library_functions.hpp"
#include "gpu/nn/cublas.cuh"
#include "gpu/nn/cublas_api.cuh"
#include "gpu/nn/product_pieces.hpp"

#include <string>
#include <type_traits>
#if __has_include(<cublas_v2.h>)
#include <cublas_v2.h>
#endif

namespace troupe::gpu {

#if __has_include(<cublas_v2.h>)
namespace {

static_assert(CUBLAS_VER_MAJOR == 13 && std::is_same_v<cublasHandle_t, cublas::Handle>);
static_assert(CUBLAS_STATUS_SUCCESS == cublas::success && CUBLAS_OP_N == cublas::as_is &&
              CUBLAS_OP_T == cublas::transposed && CUBLAS_DEFAULT_MATH == cublas::default_math &&
              CUBLAS_PEDANTIC_MATH == cublas::pedantic_math);
static_assert(sizeof(cublasStatus_t) == sizeof(int) && sizeof(cublasOperation_t) == sizeof(int) &&
              sizeof(cublasMath_t) == sizeof(int));
static_assert(CUDA_R_32F == cublas::float32 && CUBLAS_COMPUTE_32F_FAST_16BF == cublas::by_bf16 &&
              CUBLAS_COMPUTE_32F_FAST_TF32 == cublas::by_tf32 &&
              CUBLAS_GEMM_DEFAULT == cublas::any_algorithm);
static_assert(sizeof(cudaDataType) == sizeof(int) && sizeof(cublasComputeType_t) == sizeof(int) &&
              sizeof(cublasGemmAlgo_t) == sizeof(int));
using BlasStatus = cublasStatus_t;
static_assert(sizeof(libraryPropertyType) == sizeof(int) && MAJOR_VERSION == 0 &&
              MINOR_VERSION == 1 && PATCH_LEVEL == 2);
static_assert(
    std::is_same_v<decltype(&cublasGetProperty), BlasStatus (*)(libraryPropertyType, int*)>);
static_assert(std::is_same_v<decltype(&cublasCreate_v2), BlasStatus (*)(cublas::Handle*)>);
static_assert(std::is_same_v<decltype(&cublasDestroy_v2), BlasStatus (*)(cublas::Handle)>);
static_assert(
    std::is_same_v<decltype(&cublasSetStream_v2), BlasStatus (*)(cublas::Handle, cudaStream_t)>);
static_assert(std::is_same_v<decltype(&cublasSetWorkspace_v2),
                             BlasStatus (*)(cublas::Handle, void*, std::size_t)>);
static_assert(
    std::is_same_v<decltype(&cublasSetMathMode), BlasStatus (*)(cublas::Handle, cublasMath_t)>);
static_assert(std::is_same_v<decltype(&cublasSgemm_v2),
                             BlasStatus (*)(cublas::Handle, cublasOperation_t, cublasOperation_t,
                                            int, int, int, const float*, const float*, int,
                                            const float*, int, const float*, float*, int)>);
// The header has an older one of this name beside it, which the cast leaves out.
using BlasGemmEx = BlasStatus (*)(cublas::Handle, cublasOperation_t, cublasOperation_t, int, int,
                                  int, const void*, const void*, cudaDataType, int, const void*,
                                  cudaDataType, int, const void*, void*, cudaDataType, int,
                                  cublasComputeType_t, cublasGemmAlgo_t);
static_assert(std::is_same_v<decltype(static_cast<BlasGemmEx>(&cublasGemmEx)), BlasGemmEx>);

}  // namespace
#endif

/// Its functions by name. Never unloaded: other parts of a program may use it.
struct CublasProducts::Library {
  cublas::GetProperty get_property = nullptr;
  cublas::Create create = nullptr;
  cublas::Destroy destroy = nullptr;
  cublas::SetStream set_stream = nullptr;
  cublas::SetWorkspace set_workspace = nullptr;
  cublas::SetMathMode set_math_mode = nullptr;
  cublas::Sgemm sgemm = nullptr;
  cublas::GemmEx gemm_ex = nullptr;

  static Result<Library> load() {
    constexpr const char* name = "libcublas.so.13";
    LibraryFunctions file(name);
    if (!file.opened()) {
      return Error(Errc::not_found, std::string("matrix products on a GPU: expected ")
                                        .append(name)
                                        .append(" of CUDA 13, found none (")
                                        .append(file.why())
                                        .append("); try: install cuBLAS of CUDA 13, or set "
                                                "LD_LIBRARY_PATH to the folder that has it"));
    }
    Library library;
    file.find(library.get_property, "cublasGetProperty");
    file.find(library.create, "cublasCreate_v2");
    file.find(library.destroy, "cublasDestroy_v2");
    file.find(library.set_stream, "cublasSetStream_v2");
    file.find(library.set_workspace, "cublasSetWorkspace_v2");
    file.find(library.set_math_mode, "cublasSetMathMode");
    file.find(library.sgemm, "cublasSgemm_v2");
    file.find(library.gemm_ex, "cublasGemmEx");
    if (file.missing() != nullptr) {
      return Error(Errc::not_found,
                   std::string(name).append(": expected a function ").append(file.missing()));
    }
    return library;
  }
};

Result<std::string> cublas_version() {
  TROUPE_ASSIGN_OR_RETURN(const auto library, CublasProducts::Library::load());
  std::string version;
  for (int which = 0; which < 3; ++which) {
    int number = 0;
    library.get_property(which, &number);
    version.append(which == 0 ? "" : ".").append(std::to_string(number));
  }
  return version;
}

struct CublasProducts::Handle {
  Library library;
  cublas::Handle handle = nullptr;
  Array<std::byte> workspace;
  nn::Precision precision = nn::Precision::float32;
  int device = 0;

  ~Handle() {
    if (handle != nullptr) {
      const ContextOfThread back;
      cudaSetDevice(device);  // the thread has another one, or none
      library.destroy(handle);
    }
  }

  struct Operand {
    const float* data;
    int op;
    std::size_t pitch;
  };
  /// c [n, m] = a b, or += : column-major c has m rows and n columns.
  void multiply(CudaStream& on, Operand a, Operand b, std::size_t m, std::size_t n, std::size_t k,
                float* c, bool add) const {
    if (m == 0 || n == 0 || !on.ready()) {
      return;
    }
    const float one = 1;
    const float keep = add ? 1.0F : 0.0F;
    const auto dim = [](std::size_t size) { return static_cast<int>(size); };
    const auto how = precision == nn::Precision::bf16 ? cublas::by_bf16 : cublas::by_tf32;
    const auto status =
        precision == nn::Precision::float32
            ? library.sgemm(handle, a.op, b.op, dim(m), dim(n), dim(k), &one, a.data, dim(a.pitch),
                            b.data, dim(b.pitch), &keep, c, dim(m))
            : library.gemm_ex(handle, a.op, b.op, dim(m), dim(n), dim(k), &one, a.data,
                              cublas::float32, dim(a.pitch), b.data, cublas::float32, dim(b.pitch),
                              &keep, c, cublas::float32, dim(m), how, cublas::any_algorithm);
    if (status != cublas::success) {
      std::string what = "cuBLAS: product in ";
      what.append(nn::to_string(precision)).append(" of ");
      what.append(std::to_string(m)).append(" x ").append(std::to_string(k)).append(" x ");
      what.append(std::to_string(n)).append(": status ").append(std::to_string(status));
      on.fail({Errc::cuda_failure, std::move(what)});
    }
  }
};

Result<CublasProducts> CublasProducts::create(CudaStream& on, nn::Precision precision,
                                              std::size_t piece_rows) {
  TROUPE_ASSIGN_OR_RETURN(const auto library, Library::load());
  auto handle = std::make_shared<Handle>();
  handle->library = library;
  handle->precision = precision;
  handle->device = on.device();
  constexpr std::size_t workspace_bytes = std::size_t{32} << 20;  // what cuBLAS advises for sm_90
  handle->workspace = on.array<std::byte>(workspace_bytes);
  TROUPE_RETURN_IF_ERROR(on.finish());
  auto status = library.create(&handle->handle);
  if (status == cublas::success) {
    status = library.set_stream(handle->handle, on.get());
  }
  if (status == cublas::success) {
    status = library.set_workspace(handle->handle, handle->workspace.data(), workspace_bytes);
  }
  if (status == cublas::success) {
    status = library.set_math_mode(handle->handle, precision == nn::Precision::float32
                                                       ? cublas::pedantic_math
                                                       : cublas::default_math);
  }
  if (status != cublas::success) {
    return Error(Errc::cuda_failure,
                 std::string("cuBLAS: start: status ").append(std::to_string(status)));
  }
  return CublasProducts(std::move(handle), piece_rows);
}

// Row-major matrices are the transposes of what cuBLAS sees.
void CublasProducts::forward(CudaStream& on, ConstMatrix x, ConstMatrix weight, MutMatrix y,
                             bool add) const {
  in_pieces(on, piece_rows_, x, y, add, [&](ConstMatrix from, MutMatrix to) {
    handle_->multiply(on, {weight.data, cublas::transposed, weight.cols},
                      {from.data, cublas::as_is, from.cols}, to.cols, to.rows, from.cols, to.data,
                      add);
  });
}

void CublasProducts::backward(CudaStream& on, ConstMatrix grad, ConstMatrix weight,
                              MutMatrix grad_x, bool add) const {
  handle_->multiply(on, {weight.data, cublas::as_is, weight.cols},
                    {grad.data, cublas::as_is, grad.cols}, grad_x.cols, grad_x.rows, grad.cols,
                    grad_x.data, add);
}

void CublasProducts::weight_gradient(CudaStream& on, ConstMatrix grad, ConstMatrix x,
                                     MutMatrix grad_weight) const {
  if (grad.rows == 0) {
    return on.zero(grad_weight.data, grad_weight.size() * sizeof(float));
  }
  handle_->multiply(on, {x.data, cublas::as_is, x.cols}, {grad.data, cublas::transposed, grad.cols},
                    grad_weight.cols, grad_weight.rows, grad.rows, grad_weight.data, false);
}

}  // namespace troupe::gpu
