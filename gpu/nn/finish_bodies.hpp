#pragma once
/// \file finish_bodies.hpp
/// Kernel bodies of the end of a combination (runtime/nn/ops/{finish,dropout}.hpp): bias,
/// normalization, activation and dropout in one pass, and the way back; with their bits but for those of GELU and ELU.
#include "gpu/base/columns.hpp"
#include "gpu/base/shared.hpp"
#include "gpu/nn/loads_ahead.hpp"
#include "gpu/nn/norm_bodies.hpp"
#include "gpu/nn/row_bodies.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/philox.hpp"
#include "runtime/nn/ops/row_ops.hpp"

#include <cmath>

namespace troupe::gpu {

TROUPE_HD inline float normal_below(float x) {
  return 0.5F * (1.0F + erff(x * 0.707106781186547524F));
}

/// An activation, or none.
struct Activating {
  bool relu;
  nn::Activation activation;  ///< unless `relu`
  float slope;

  template <unsigned Width>
  TROUPE_HD void apply(Floats<Width>& x) const {
    if (relu) {
      each(x, [](float value) { return value < 0.0F ? 0.0F : value; });
    } else if (activation == nn::Activation::gelu) {
      each(x, [](float value) { return value * normal_below(value); });
    } else if (activation == nn::Activation::elu) {
      each(x, [](float value) { return value > 0.0F ? value : expm1f(value); });
    } else if (activation == nn::Activation::leaky_relu) {
      const float below = slope;
      each(x, [below](float value) { return value > 0.0F ? value : value * below; });
    }
  }

 private:
  template <unsigned Width, class Function>
  TROUPE_HD static void each(Floats<Width>& x, const Function& function) {
    TROUPE_UNROLL
    for (unsigned w = 0; w < Width; ++w) {
      x.of[w] = function(x.of[w]);
    }
  }
};

/// x stays where the uniform number made of the column's word is >= p, scaled; else 0.
struct Dropping {
  PhiloxKey key;
  float p;  ///< 0: all stays as it is
  float scale;
  const OriginalId* ids;  ///< ids of the rows; null: the rows' numbers

  /// \param pack  of columns of row r
  template <unsigned Width>
  TROUPE_HD void apply(std::size_t r, std::size_t pack, Floats<Width>& x) const {
    if (p <= 0) {
      return;
    }
    const std::size_t first = pack * Width;
    const std::uint64_t id = ids == nullptr ? r : static_cast<std::uint64_t>(ids[r]);
    const auto words =
        philox4x32_10({static_cast<std::uint32_t>(id), static_cast<std::uint32_t>(id >> 32),
                       static_cast<std::uint32_t>(first / 4), 0},
                      key);
    TROUPE_UNROLL
    for (unsigned w = 0; w < Width; ++w) {
      const float kept = x.of[w] * scale;
      const std::size_t word = (first + w) % 4;
      const std::uint32_t drawn = word == 0   ? words[0]
                                  : word == 1 ? words[1]
                                  : word == 2 ? words[2]
                                              : words[3];
      x.of[w] = unit_float(drawn) >= p ? kept : 0.0F;
    }
  }
};

/// out = dropout of the activation of the normalized x + bias, for a pack of Width columns.
template <unsigned Width>
struct FinishRows {
  static_assert(Width == 1 || Width == 4, "columns of a word of dropout");
  std::size_t cols;
  const float* x;
  const float* bias;  ///< null: none
  Normed normed;
  Activating activating;
  Dropping dropping;
  float* sum;  ///< gets x + bias; null: nothing does. May be x
  float* out;  ///< may be x
  TROUPE_HD void operator()(std::size_t r, std::size_t pack) const {
    const std::size_t at = r * cols + pack * Width;
    Floats<Width> value = read_columns<Width>(x + at);
    if (bias != nullptr) {
      TROUPE_UNROLL
      for (unsigned w = 0; w < Width; ++w) {
        value.of[w] += bias[pack * Width + w];
      }
    }
    if (sum != nullptr) {
      write_columns(sum + at, value);
    }
    normed.apply(r, pack, value);
    activating.apply(value);
    dropping.apply(r, pack, value);
    write_columns(out + at, value);
  }
};

// What a gradient becomes on its way back through an activation. \param y  what came out, dropout included

struct ReluBackward {
  float scale;
  TROUPE_HD float operator()(float grad, float y) const {
    const float passed = grad * scale;
    return y <= 0.0F ? 0.0F : passed;
  }
};

/// Of ELU and leaky ReLU.
struct ActivateBackward {
  nn::Activation activation;
  float slope;
  float scale;
  TROUPE_HD float operator()(float grad, float y) const {
    const float below = activation == nn::Activation::elu ? y / scale + 1.0F : slope;
    return grad * (y > 0.0F ? 1.0F : below);
  }
};

/// \param x  what went in
struct GeluBackward {
  TROUPE_HD float operator()(float grad, float x) const {
    const float density = expf(-0.5F * x * x) * 0.398942280401432678F;
    return grad * (normal_below(x) + x * density);
  }
};

/// grad = back(grad, kept), for a pack of Width elements.
template <class Back, unsigned Width>
struct PassBack {
  Back back;
  const float* kept;
  float* grad;
  TROUPE_HD void operator()(std::size_t pack) const {
    const auto of_kept = read_columns<Width>(kept + pack * Width);
    auto g = read_columns<Width>(grad + pack * Width);
    TROUPE_UNROLL
    for (unsigned w = 0; w < Width; ++w) {
      g.of[w] = back(g.of[w], of_kept.of[w]);
    }
    write_columns(grad + pack * Width, g);
  }
};

/// Both in one pass: grad = back(grad, kept), and the sums of its columns as ColumnSums has them.
template <class Back>
struct PassBackWithSums {
  static constexpr unsigned least_blocks = 1;
  Back back;
  const float* kept;
  float* grad;
  std::size_t rows;
  std::size_t cols;
  std::size_t chunk_rows;
  float* sums;  ///< [chunks, cols]
  struct Loaded {
    float grad;
    float kept;
  };
  TROUPE_HD void operator()(std::size_t chunk, std::size_t c) const {
    const auto [first, end] = rows_of_chunk(chunk, chunk_rows, rows);
    float sum = 0;
    in_order<row_batch, last_rows>(
        first, end,
        [this, c](std::size_t r) {
          return Loaded{grad[r * cols + c], kept[r * cols + c]};
        },
        [this, c, &sum](std::size_t r, const Loaded& loaded) {
          const float g = back(loaded.grad, loaded.kept);
          grad[r * cols + c] = g;
          sum += g;
        });
    sums[chunk * cols + c] = sum;
  }
};

}  // namespace troupe::gpu
