#pragma once
/// \file parameter_list.hpp
/// The named parameters of a model and their values before the first step. For the models of this
/// room.
#include "runtime/nn/model.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace troupe::nn {

/// Shape and first values of a parameter.
struct NewParameter {
  std::string name;
  std::size_t rows = 0;
  std::size_t cols = 1;
  float bound = 0;  ///< uniform in ±bound, from the parameter's own stream
  float value = 0;  ///< where `bound` is 0
};

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
