#pragma once
/// \file array_files.hpp
/// Files of a folder to import, from values.
#include "runtime/graph/npy.hpp"

#include "fuzz/file_set.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace troupe::fuzz {

template <class T>
File array_file(const std::string& name, NpyType type, const std::vector<std::uint64_t>& shape,
                const std::vector<T>& values) {
  const auto header = npy_header(type, shape);
  File file{name, {header.begin(), header.end()}};
  const auto bytes = std::as_bytes(std::span(values));
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  file.bytes.insert(file.bytes.end(), data, data + bytes.size());
  return file;
}

inline File text_file(const std::string& name, const std::string& text) {
  return {name, {text.begin(), text.end()}};
}

using Ids = std::vector<std::int64_t>;

inline File id_file(const std::string& name, const std::vector<std::uint64_t>& shape,
                    const Ids& values) {
  return array_file(name, {'i', 8}, shape, values);
}
inline File float_file(const std::string& name, const std::vector<std::uint64_t>& shape,
                       const std::vector<float>& values) {
  return array_file(name, {'f', 4}, shape, values);
}

}  // namespace troupe::fuzz
