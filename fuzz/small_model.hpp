#pragma once
/// \file small_model.hpp
/// The parameters that model files and checkpoints are about.
#include "runtime/nn/network.hpp"

namespace troupe::fuzz {

inline nn::ParameterLayout small_layout() {
  return {{"conv1.weight", 0, 2, 3}, {"conv1.bias", 6, 2, 1}};
}
inline constexpr std::size_t small_parameters = 8;

}  // namespace troupe::fuzz
