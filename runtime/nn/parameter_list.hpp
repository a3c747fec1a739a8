#pragma once
/// \file parameter_list.hpp
/// Named parameters of a network and their values before the first step. Parameters and gradients
/// are one flat float32 vector each, so that ranks can reduce them in chunks; `ParameterLayout`
/// names the slices.
#include "runtime/base/matrix.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace troupe::nn {

/// One named slice of the flat parameter vector, shape [rows, cols] row-major (a vector has cols =
/// 1).
struct ParameterSlice {
  std::string name;  ///< e.g. "conv1.lin_l.weight"
  std::size_t offset = 0;
  std::size_t rows = 0;
  std::size_t cols = 0;
  /// False: running statistics, which have the batch's in place of a gradient and no optimizer changes.
  bool trained = true;
  std::size_t size() const { return rows * cols; }
};
using ParameterLayout = std::vector<ParameterSlice>;
/// Length of the flat vector.
std::size_t num_parameters(const ParameterLayout& layout);

/// Shape and first values of a parameter.
struct NewParameter {
  std::string name;
  std::size_t rows = 0;
  std::size_t cols = 1;
  float bound = 0;  ///< uniform in ±bound, from the parameter's own stream
  float value = 0;  ///< where `bound` is 0
  bool trained = true;
};

/// Glorot and Bengio: "Understanding the difficulty of training deep feedforward neural networks",
/// 2010: bound of the uniform start of a weight [rows, cols].
float glorot_bound(std::size_t rows, std::size_t cols);
/// Bound of weight and bias of a product with rows of `cols` columns, as PyTorch's Linear starts.
float linear_bound(std::size_t cols);

class ParameterList {
 public:
  /// \returns its number
  std::size_t add(const NewParameter& parameter);

  const ParameterLayout& layout() const { return layout_; }
  std::vector<float> initial_values(std::uint64_t job_seed) const;

  /// Parameter `number` in a flat vector of the model's size.
  template <class T>
  std::span<T> vector_of(std::size_t number, std::span<T> flat) const {
    return flat.subspan(layout_[number].offset, layout_[number].size());
  }
  template <class T>
  MatrixView<T> matrix_of(std::size_t number, std::span<T> flat) const {
    return {vector_of(number, flat).data(), layout_[number].rows, layout_[number].cols};
  }

 private:
  struct Start {
    float bound = 0;
    float value = 0;
  };
  ParameterLayout layout_;
  std::vector<Start> starts_;
};

}  // namespace troupe::nn
