#pragma once
/// \file nn_support.hpp
/// Goldens, random matrices and blocks for the tests of this room.
#include "runtime/base/matrix.hpp"
#include "runtime/base/philox.hpp"
#include "runtime/sample/mini_batch.hpp"
#include "tests/support/npy_reader.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace troupe::nn::testing {

using troupe::testing::NpyArray;

inline NpyArray golden(const std::string& name) {
  return troupe::testing::read_npy(std::filesystem::path(TROUPE_SOURCE_DIR) / "tests/goldens" /
                                   (name + ".npy"));
}
inline bool has_golden(const std::string& name) {
  return std::filesystem::exists(std::filesystem::path(TROUPE_SOURCE_DIR) / "tests/goldens" /
                                 (name + ".npy"));
}
inline std::vector<float> golden_floats(const std::string& name) {
  return golden(name).as<float>();
}
/// The value in float64 where there is one, else in float32.
inline std::vector<double> golden_truth(const std::string& name) {
  return golden(has_golden(name + "_f64") ? name + "_f64" : name).as<double>();
}

inline Matrix matrix_of(const std::vector<float>& values, std::size_t rows, std::size_t cols) {
  EXPECT_EQ(values.size(), rows * cols);
  Matrix m(rows, cols);
  std::ranges::copy(values, m.data());
  return m;
}
inline Matrix golden_matrix(const std::string& name) {
  const NpyArray array = golden(name);
  return matrix_of(array.as<float>(), array.shape[0], array.shape.size() > 1 ? array.shape[1] : 1);
}
inline Matrix copy_of(ConstMatrix m) {
  Matrix copy(m.rows, m.cols);
  std::ranges::copy(m.flat(), copy.data());
  return copy;
}

/// max|a - b| <= tolerance * max|b|.
template <class T>
void expect_close(std::span<const T> actual, std::span<const double> truth, double tolerance,
                  const std::string& what) {
  ASSERT_EQ(actual.size(), truth.size()) << what;
  double error = 0;
  double largest = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    ASSERT_FALSE(std::isnan(actual[i])) << what << " element " << i;
    error = std::max(error, std::abs(static_cast<double>(actual[i]) - truth[i]));
    largest = std::max(largest, std::abs(truth[i]));
  }
  EXPECT_LE(error, tolerance * largest) << what;
}
inline void expect_golden(ConstMatrix actual, const std::string& name, double tolerance) {
  const auto truth = golden_truth(name);
  expect_close<float>(actual.flat(), truth, tolerance, name);
}
inline void expect_golden(std::span<const float> actual, const std::string& name,
                          double tolerance) {
  const auto truth = golden_truth(name);
  expect_close<float>(actual, truth, tolerance, name);
}

inline ::testing::AssertionResult same_bits(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) {
    return ::testing::AssertionFailure() << "sizes " << a.size() << " and " << b.size();
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(&a[i], &b[i], sizeof(float)) != 0) {
      return ::testing::AssertionFailure() << "element " << i << ": " << a[i] << " and " << b[i];
    }
  }
  return ::testing::AssertionSuccess();
}

/// Uniform in [-1, 1).
inline Matrix random_matrix(std::size_t rows, std::size_t cols, std::uint64_t seed) {
  Matrix m(rows, cols);
  const StreamKey key = stream_key(seed, {.domain = Domain::generators});
  for (std::size_t i = 0; i < rows * cols; ++i) {
    m.data()[i] = 2.0F * unit_float(DrawStream(key, i).next()) - 1.0F;
  }
  return m;
}

struct Differences {
  float step = 0;
  double tolerance = 0;
};
/// Expects `found` to be the gradient of `loss()` by `values`, which it reads, from central differences.
template <class Loss>
void expect_differences(std::span<float> values, std::span<const float> found, const Loss& loss,
                        const Differences& how, const char* what) {
  ASSERT_EQ(values.size(), found.size()) << what;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float kept = values[i];
    const float above = kept + how.step;
    const float below = kept - how.step;
    values[i] = above;
    const double high = loss();
    values[i] = below;
    const double low = loss();
    values[i] = kept;
    const double step = static_cast<double>(above) - static_cast<double>(below);
    EXPECT_NEAR(found[i], (high - low) / step, how.tolerance) << what << ' ' << i;
  }
}

/// A block that owns its arrays.
struct OwnedBlock {
  std::uint32_t num_dst = 0;
  std::uint32_t num_src = 0;
  std::vector<std::uint32_t> offsets;
  std::vector<std::uint32_t> sources;
  LayerBlock view() const {
    return {.num_dst = num_dst, .num_src = num_src, .offsets = offsets, .sources = sources};
  }
};

/// 0 to `most` random in-edges per destination.
inline OwnedBlock random_block(std::uint32_t num_dst, std::uint32_t num_src, std::uint32_t most,
                               std::uint64_t seed) {
  OwnedBlock block{.num_dst = num_dst, .num_src = num_src, .offsets = {0}, .sources = {}};
  const StreamKey key = stream_key(seed, {.domain = Domain::generators, .type = 1});
  for (std::uint32_t d = 0; d < num_dst; ++d) {
    DrawStream draw(key, d);
    const std::uint32_t degree = draw.below(most + 1);
    for (std::uint32_t i = 0; i < degree; ++i) {
      block.sources.push_back(draw.below(num_src));
    }
    block.offsets.push_back(static_cast<std::uint32_t>(block.sources.size()));
  }
  return block;
}

inline OwnedBlock golden_block(const std::string& graph) {
  OwnedBlock block{.num_dst = 0,
                   .num_src = static_cast<std::uint32_t>(golden(graph + "/x").shape[0]),
                   .offsets = golden(graph + "/indptr").as<std::uint32_t>(),
                   .sources = golden(graph + "/indices").as<std::uint32_t>()};
  block.num_dst = static_cast<std::uint32_t>(block.offsets.size() - 1);
  return block;
}

}  // namespace troupe::nn::testing
