#include "runtime/nn/ops/linear.hpp"

#include "runtime/nn/ops/bf16_products.hpp"

#include <algorithm>
#include <oneapi/dnnl/dnnl.h>

namespace troupe::nn {
namespace {

/// Products get a multiple of so many rows, so that all rows go through the same kernel: those for
/// AVX-512 take 8 at once, and other ways for few rows; those for AVX2 take 6 (decision 0006).
struct Granules {
  std::size_t whole;  ///< of the product of as many rows as fit
  std::size_t rest;   ///< of the product of the others, which are fewer than `whole`
};
const Granules& granules() {
  static const Granules of_processor =
      (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core
          ? Granules{64, 64}
          : Granules{48, 6};
  return of_processor;
}
/// Elements that one thread adds up at a time.
constexpr std::size_t chunk_elements = 16384;

struct Operand {
  const float* data;
  char transposed;  ///< 'T' or 'N'
  std::size_t pitch;
};

/// c [m, n] = a [m, k] b [k, n], row-major.
void sgemm(Operand a, Operand b, std::size_t k, MutMatrix c, Into into) {
  limit_matrix_threads();  // sets one number; the pool's threads are limited already, an inline
                           // caller is not
  const auto dim = [](std::size_t n) { return static_cast<dnnl_dim_t>(n); };
  const auto status = dnnl_sgemm(a.transposed, b.transposed, dim(c.rows), dim(c.cols), dim(k), 1.0F,
                                 a.data, dim(a.pitch), b.data, dim(b.pitch),
                                 into == Into::add ? 1.0F : 0.0F, c.data, dim(c.cols));
  TROUPE_ASSERT(status == dnnl_success, "sgemm", c.rows, c.cols, k);
}

/// y = x B for any number of rows, in products of full granules; B is [x.cols, y.cols] as `b` says.
void multiply_padded(ConstMatrix x, Operand b, MutMatrix y, Into into) {
  const auto& granule = granules();
  const std::size_t whole = x.rows / granule.whole * granule.whole;
  if (whole > 0) {
    sgemm({x.data, 'N', x.cols}, b, x.cols, y.slice(0, whole), into);
  }
  const std::size_t rest = x.rows - whole;
  if (rest == 0) {
    return;
  }
  const std::size_t rows = (rest + granule.rest - 1) / granule.rest * granule.rest;
  const auto padded = [rows, rest](ConstMatrix from) {
    Matrix to(rows, from.cols);
    const auto end = std::ranges::copy(from.flat(), to.data()).out;
    std::fill_n(end, (rows - rest) * from.cols, 0.0F);
    return to;
  };
  const Matrix padded_x = padded(x.slice(whole, rest));
  const MutMatrix y_rest = y.slice(whole, rest);
  Matrix padded_y = into == Into::add ? padded(y_rest) : Matrix(rows, y.cols);
  sgemm({padded_x.data(), 'N', x.cols}, b, x.cols, padded_y.view(), into);
  std::ranges::copy(padded_y.view().flat().first(y_rest.size()), y_rest.data);
}

bool in_bf16(Precision precision) {
  TROUPE_ASSERT(precision != Precision::tf32, "products of CPUs in tf32");
  return precision == Precision::bf16;
}

}  // namespace

void for_each_piece(Executor& executor, std::size_t rows, std::size_t piece,
                    const std::function<void(std::size_t, std::size_t)>& body) {
  executor.parallel_for((rows + piece - 1) / piece, [&](std::size_t i) {
    const std::size_t first = i * piece;
    body(first, std::min(piece, rows - first));
  });
}

void for_each_chunk(Executor& executor, std::size_t rows,
                    const std::function<void(std::size_t, std::size_t)>& body) {
  for_each_piece(executor, rows, chunk_rows, body);
}

void linear_rows(ConstMatrix x, ConstMatrix weight, MutMatrix y, Into into, Precision precision) {
  TROUPE_ASSERT(x.rows == y.rows && x.cols == weight.cols && y.cols == weight.rows, "linear_rows",
                x.rows, x.cols, weight.rows, weight.cols, y.rows, y.cols);
  if (in_bf16(precision)) {
    return bf16_rows(x, {weight, true}, y, into);
  }
  multiply_padded(x, {weight.data, 'T', weight.cols}, y, into);
}

void linear_backward_rows(ConstMatrix grad_y, ConstMatrix weight, MutMatrix grad_x, Into into,
                          Precision precision) {
  TROUPE_ASSERT(
      grad_y.rows == grad_x.rows && grad_y.cols == weight.rows && grad_x.cols == weight.cols,
      "linear_backward_rows", grad_y.rows, grad_y.cols, weight.rows, weight.cols, grad_x.rows,
      grad_x.cols);
  if (in_bf16(precision)) {
    return bf16_rows(grad_y, {weight, false}, grad_x, into);
  }
  multiply_padded(grad_y, {weight.data, 'N', weight.cols}, grad_x, into);
}

void chunk_gradient(ConstMatrix grad_y, ConstMatrix x, MutMatrix sum, Into into,
                    Precision precision) {
  if (in_bf16(precision)) {
    return bf16_gradient(grad_y, x, sum, into);
  }
  sgemm({grad_y.data, 'T', grad_y.cols}, {x.data, 'N', x.cols}, x.rows, sum, into);
}

void weight_gradient(Executor& executor, ConstMatrix grad_y, ConstMatrix x,
                     GrowBuffer<float>& partials, MutMatrix grad_weight, Precision precision) {
  TROUPE_ASSERT(
      grad_y.rows == x.rows && grad_weight.rows == grad_y.cols && grad_weight.cols == x.cols,
      "weight_gradient", grad_y.rows, grad_y.cols, x.rows, x.cols, grad_weight.rows,
      grad_weight.cols);
  const std::size_t chunks = chunk_count(x.rows);
  if (chunks == 1) {
    chunk_gradient(grad_y, x, grad_weight, Into::overwrite, precision);
    for (float& sum : grad_weight.flat()) {
      sum += 0.0F;  // a sum that begins at 0 is not -0
    }
    return;
  }
  const std::size_t groups = std::min(chunks, most_partials);
  const MutMatrix sums = partials.matrix(groups, grad_weight.size());
  executor.parallel_for(groups, [&](std::size_t group) {
    const std::size_t end = (group + 1) * chunks / groups;
    Into into = Into::overwrite;
    for (std::size_t chunk = group * chunks / groups; chunk < end; ++chunk) {
      const std::size_t first = chunk * chunk_rows;
      const std::size_t count = std::min(chunk_rows, x.rows - first);
      const MutMatrix sum{sums.row(group).data(), grad_weight.rows, grad_weight.cols};
      chunk_gradient(grad_y.slice(first, count), x.slice(first, count), sum, into, precision);
      into = Into::add;
    }
  });
  const std::size_t pieces = (grad_weight.size() + chunk_elements - 1) / chunk_elements;
  executor.parallel_for(pieces, [&](std::size_t piece) {
    const std::size_t first = piece * chunk_elements;
    const std::size_t count = std::min(chunk_elements, grad_weight.size() - first);
    float* __restrict out = grad_weight.data + first;
    std::fill_n(out, count, 0.0F);
    for (std::size_t group = 0; group < groups; ++group) {
      const float* __restrict in = sums.row(group).data() + first;
      for (std::size_t i = 0; i < count; ++i) {
        out[i] += in[i];
      }
    }
  });
}

void add_bias_rows(std::span<const float> bias, MutMatrix y) {
  TROUPE_ASSERT(bias.size() == y.cols, "add_bias_rows", bias.size(), y.cols);
  for (std::size_t r = 0; r < y.rows; ++r) {
    float* __restrict out = y.row(r).data();
    const float* __restrict in = bias.data();
    for (std::size_t c = 0; c < y.cols; ++c) {
      out[c] += in[c];
    }
  }
}

void column_sums_rows(ConstMatrix x, std::span<float> sums) {
  TROUPE_ASSERT(sums.size() == x.cols, "column sums", sums.size(), x.cols);
  std::ranges::fill(sums, 0.0F);
  for (std::size_t r = 0; r < x.rows; ++r) {
    const float* __restrict in = x.row(r).data();
    float* __restrict out = sums.data();
    for (std::size_t c = 0; c < x.cols; ++c) {
      out[c] += in[c];
    }
  }
}

void add_partials(ConstMatrix partials, std::span<float> sums) {
  column_sums_rows(partials, sums);
}

}  // namespace troupe::nn
