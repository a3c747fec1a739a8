#pragma once
/// \file npy.hpp
/// Arrays in NumPy's .npy format, versions 1.0 and 2.0, C order, little endian. Reading takes
/// nothing on trust: a hostile header is an error that names the file. What an array means is
/// decided by the caller.
#include "runtime/base/buffer.hpp"
#include "runtime/base/result.hpp"
#include "runtime/graph/graph_info.hpp"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// NumPy's element type: kind 'b' (bool), 'i', 'u' or 'f', and its size.
struct NpyType {
  char kind = 'f';
  std::uint8_t bytes = 4;
  friend bool operator==(const NpyType&, const NpyType&) = default;
};
/// "<f4", "|u1", …, as NumPy writes it.
std::string to_string(NpyType type);
/// How an element type is stored; bf16 as u16 words.
NpyType npy_type(DType dtype) noexcept;

/// An array in memory. `data` holds exactly the elements and is aligned to them.
struct NpyArray {
  NpyType type;
  std::vector<std::uint64_t> shape;
  Segment data;

  /// Product of the shape; 1 for a scalar.
  std::uint64_t size() const noexcept;
  /// The elements.
  /// \requires T fits `type`
  template <class T>
  std::span<const T> as() const {
    return data.as<T>();
  }
};
/// "[2, 10556]"
std::string shape_text(std::span<const std::uint64_t> shape);

/// Reads the array in a whole file's bytes. Copies only data that is not aligned to its elements.
/// \param name  for messages
/// \errors data_corruption: not this format, or the file's size is not what the header says;
///   unimplemented: Fortran order, big endian, structured or other dtypes, newer versions
Result<NpyArray> parse_npy(const Segment& file, std::string_view name);

/// What the header of a file says of its array.
struct NpyHeader {
  NpyType type;
  std::vector<std::uint64_t> shape;
  std::uint64_t data_begin = 0;  ///< bytes before the elements
};
/// Headers of arrays without fields are shorter than this.
inline constexpr std::size_t longest_npy_header = std::size_t{1} << 17;

/// Reads the header of a file of `file_bytes` bytes, which must be as many as it says.
/// \param start  the first bytes of the file, or all
/// \errors as parse_npy
Result<NpyHeader> parse_npy_header(std::span<const std::byte> start, std::uint64_t file_bytes,
                                   std::string_view name);

/// Maps and parses a file.
/// \errors as map_file and parse_npy
Result<NpyArray> map_npy(const std::filesystem::path& path);

/// The header (format 1.0) of an array, padded so that the data starts at a multiple of 64 bytes.
std::string npy_header(NpyType type, std::span<const std::uint64_t> shape);

/// Calls `f(std::span<const T>)` with the elements as their true type: bool as u8, f2 as u16 words.
template <class F>
decltype(auto) visit_elements(const NpyArray& array, F&& f) {
  switch (array.type.kind) {
    case 'i':
      switch (array.type.bytes) {
        case 1:
          return f(array.as<std::int8_t>());
        case 2:
          return f(array.as<std::int16_t>());
        case 4:
          return f(array.as<std::int32_t>());
        default:
          return f(array.as<std::int64_t>());
      }
    case 'f':
      switch (array.type.bytes) {
        case 2:
          return f(array.as<std::uint16_t>());
        case 4:
          return f(array.as<float>());
        default:
          return f(array.as<double>());
      }
    default:
      switch (array.type.bytes) {
        case 1:
          return f(array.as<std::uint8_t>());
        case 2:
          return f(array.as<std::uint16_t>());
        case 4:
          return f(array.as<std::uint32_t>());
        default:
          return f(array.as<std::uint64_t>());
      }
  }
}

}  // namespace troupe
