#include "runtime/nn/ops/word_products.hpp"

#include "runtime/base/executor.hpp"
#include "runtime/base/hot.hpp"

#include <array>
#include <bit>
#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <type_traits>

namespace troupe::nn {
namespace {

bool has_isa(dnnl_cpu_isa_t wanted) {
  return (dnnl_get_effective_cpu_isa() & wanted) == wanted;
}

/// Rows, columns, inner size, and which operands are transposed.
using ProductShape = std::array<std::size_t, 5>;

/// A thread's primitives by shape. Layers have few shapes, and rows come in eight sizes.
constexpr std::size_t most_primitives = 256;

const dnnl::engine& cpu_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::memory::desc description(std::size_t rows, std::size_t cols, bool transposed,
                               dnnl::memory::data_type type) {
  const auto dim = [](std::size_t n) { return static_cast<dnnl::memory::dim>(n); };
  const dnnl::memory::dims strides =
      transposed ? dnnl::memory::dims{1, dim(rows)} : dnnl::memory::dims{dim(cols), 1};
  return {{dim(rows), dim(cols)}, type, strides};
}

/// A primitive with the memory objects that it is called with.
struct Product {
  Product(const ProductShape& shape, dnnl::memory::data_type type)
      : descriptor({description(shape[0], shape[2], shape[3] != 0, type),
                    description(shape[2], shape[1], shape[4] != 0, type),
                    description(shape[0], shape[1], false, dnnl::memory::data_type::f32)},
                   cpu_engine()),
        primitive(descriptor),
        a(descriptor.src_desc(), cpu_engine(), nullptr),
        b(descriptor.weights_desc(), cpu_engine(), nullptr),
        c(descriptor.dst_desc(), cpu_engine(), nullptr) {}

  dnnl::matmul::primitive_desc descriptor;
  dnnl::matmul primitive;
  dnnl::memory a;
  dnnl::memory b;
  dnnl::memory c;
};

/// Of the calling thread. A primitive is made for one thread, and must not be called by two at once.
template <class T>
Product& product_of(const ProductShape& shape) {
  thread_local std::map<ProductShape, Product> kept;
  if (const auto found = kept.find(shape); found != kept.end()) {
    return found->second;
  }
  if (kept.size() >= most_primitives) {
    kept.clear();
  }
  constexpr auto type =
      std::is_same_v<T, float> ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16;
  return kept.try_emplace(shape, shape, type).first->second;
}

/// The upper half of the word is the rounded value.
[[gnu::always_inline]] inline std::uint32_t rounded_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t nearest = bits + 0x7FFFU + (bits >> 16U & 1U);
  return (bits & 0x7FFFFFFFU) > 0x7F800000U ? bits | 0x400000U : nearest;
}

}  // namespace

bool has_bf16_unit() {
  return has_isa(dnnl_cpu_isa_avx512_core_bf16);
}

std::string_view matrix_kernels() {
  return has_isa(dnnl_cpu_isa_avx512_core_amx)    ? "AMX"
         : has_isa(dnnl_cpu_isa_avx512_core_bf16) ? "AVX-512 with bfloat16"
         : has_isa(dnnl_cpu_isa_avx512_core)      ? "AVX-512"
         : has_isa(dnnl_cpu_isa_avx2)             ? "AVX2"
                                                  : "SSE4.1 or AVX";
}

template <class T>
void multiply_words(WordOperand<T> a, WordOperand<T> b, std::size_t k, MutMatrix c) {
  limit_matrix_threads();
  Product& product = product_of<T>(
      {c.rows, c.cols, k, a.transposed ? std::size_t{1} : 0, b.transposed ? std::size_t{1} : 0});
  // oneDNN reads the operands; its interface has no const.
  product.a.set_data_handle(
      const_cast<T*>(a.data));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  product.b.set_data_handle(
      const_cast<T*>(b.data));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  product.c.set_data_handle(c.data);
  dnnl::stream stream(cpu_engine());
  product.primitive.execute(
      stream,
      {{DNNL_ARG_SRC, product.a}, {DNNL_ARG_WEIGHTS, product.b}, {DNNL_ARG_DST, product.c}});
  stream.wait();
}
template void multiply_words(WordOperand<float> a, WordOperand<float> b, std::size_t k,
                             MutMatrix c);
template void multiply_words(WordOperand<std::uint16_t> a, WordOperand<std::uint16_t> b,
                             std::size_t k, MutMatrix c);

TROUPE_HOT void round_words(std::span<const float> values, std::span<std::uint16_t> words) {
  const float* __restrict in = values.data();
  std::uint16_t* __restrict out = words.data();
  for (std::size_t i = 0; i < values.size(); ++i) {
    out[i] = static_cast<std::uint16_t>(rounded_bits(in[i]) >> 16U);
  }
}

TROUPE_HOT void round_words(std::span<const float> values, std::span<float> words) {
  const float* __restrict in = values.data();
  float* __restrict out = words.data();
  for (std::size_t i = 0; i < values.size(); ++i) {
    out[i] = std::bit_cast<float>(rounded_bits(in[i]) & 0xFFFF0000U);
  }
}

}  // namespace troupe::nn
