#pragma once
/// \file model_file.hpp
/// Named float32 tensors in the safetensors format (8 bytes length of the header, little-endian;
/// a JSON header; the data), which opens in Python with one call.
#include "runtime/base/result.hpp"
#include "runtime/nn/network.hpp"

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace troupe::nn {

struct NamedTensor {
  std::string name;
  std::vector<std::uint64_t> shape;
  std::vector<float> values;  ///< row-major
};

struct TensorFile {
  std::vector<NamedTensor> tensors;             ///< in the order of their data
  std::map<std::string, std::string> metadata;  ///< `__metadata__`
};

/// The bytes of a safetensors file; equal contents, equal bytes.
std::vector<std::byte> encode_tensors(const TensorFile& file);
/// \errors data_corruption: not a safetensors file of float32 tensors: what was expected, what was
///   found, at which tensor. Never allocates more than a small multiple of `bytes`
Result<TensorFile> decode_tensors(std::span<const std::byte> bytes);

/// The slices of a flat parameter vector as tensors (vectors have one dimension), and back.
std::vector<NamedTensor> split_parameters(const ParameterLayout& layout,
                                          std::span<const float> parameters);
/// \errors invalid_argument: a tensor is missing, superfluous or of another shape, with its name
Result<std::vector<float>> join_parameters(const ParameterLayout& layout,
                                           const std::vector<NamedTensor>& tensors);

}  // namespace troupe::nn
