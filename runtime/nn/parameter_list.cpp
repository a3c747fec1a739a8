#include "runtime/nn/parameter_list.hpp"

#include "runtime/base/philox.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::nn {
namespace {

/// Uniform in ±bound, element by element from the parameter's own stream.
void fill_uniform(std::uint64_t job_seed, std::uint16_t number, float bound, std::span<float> out) {
  const StreamKey key = stream_key(job_seed, {.domain = Domain::initial_weights, .type = number});
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = bound * (2.0F * unit_float(DrawStream(key, i).next()) - 1.0F);
  }
}

}  // namespace

std::size_t num_parameters(const ParameterLayout& layout) {
  return layout.empty() ? 0 : layout.back().offset + layout.back().size();
}

float glorot_bound(std::size_t rows, std::size_t cols) {
  return static_cast<float>(std::sqrt(6.0 / static_cast<double>(rows + cols)));
}

float linear_bound(std::size_t cols) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(cols)));
}

std::size_t ParameterList::add(const NewParameter& parameter) {
  layout_.push_back({.name = parameter.name,
                     .offset = num_parameters(layout_),
                     .rows = parameter.rows,
                     .cols = parameter.cols,
                     .trained = parameter.trained});
  starts_.push_back({parameter.bound, parameter.value});
  return layout_.size() - 1;
}

std::vector<float> ParameterList::initial_values(std::uint64_t job_seed) const {
  std::vector<float> values(num_parameters(layout_));
  for (std::size_t i = 0; i < layout_.size(); ++i) {
    const auto out = vector_of(i, std::span(values));
    if (starts_[i].bound > 0) {
      fill_uniform(job_seed, static_cast<std::uint16_t>(i), starts_[i].bound, out);
    } else {
      std::ranges::fill(out, starts_[i].value);
    }
  }
  return values;
}

}  // namespace troupe::nn
