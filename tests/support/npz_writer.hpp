#pragma once
/// \file npz_writer.hpp
/// Arrays and .npz archives of them, for tests and fuzz inputs.
#include "runtime/graph/npy.hpp"
#include "tests/support/zip_writer.hpp"

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace troupe::testing {

template <class T>
std::string npy_text(NpyType type, const std::vector<std::uint64_t>& shape,
                     const std::vector<T>& values) {
  auto text = npy_header(type, shape);
  text.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  return text;
}
template <class T>
std::string npy_text(const std::vector<std::uint64_t>& shape, const std::vector<T>& values) {
  return npy_text({std::is_floating_point_v<T> ? 'f' : (std::is_signed_v<T> ? 'i' : 'u'),
                   static_cast<std::uint8_t>(sizeof(T))},
                  shape, values);
}

/// An archive of arrays, as numpy.savez or numpy.savez_compressed write it.
struct NpzArray {
  std::string name{};
  std::string npy{};
};
inline std::string npz_text(const std::vector<NpzArray>& arrays, bool deflate) {
  ZipWriter writer;
  for (const auto& [name, npy] : arrays) {
    writer.add({.name = name + ".npy", .bytes = npy, .deflate = deflate, .wide = true});
  }
  return writer.finish().text();
}

}  // namespace troupe::testing
