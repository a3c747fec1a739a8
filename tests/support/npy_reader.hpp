#pragma once
/// \file npy_reader.hpp
/// A small npy reader for golden files, independent of the one in the product: npy version 1.0,
/// little-endian, C order. Throws std::runtime_error, which fails the test.
#include "tests/support/file_text.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace troupe::testing {

/// An array as it lies in the file.
struct NpyArray {
  std::string descr;  ///< e.g. "<f4"
  std::vector<std::size_t> shape;
  std::string bytes;

  std::size_t size() const {
    std::size_t n = 1;
    for (const std::size_t dim : shape) {
      n *= dim;
    }
    return n;
  }

  /// The elements converted to T.
  template <class T>
  std::vector<T> as() const {
    const std::string type = descr.substr(1);
    if (type == "f4") {
      return convert<T, float>();
    }
    if (type == "f8") {
      return convert<T, double>();
    }
    if (type == "i8") {
      return convert<T, std::int64_t>();
    }
    if (type == "i4") {
      return convert<T, std::int32_t>();
    }
    if (type == "i2") {
      return convert<T, std::int16_t>();
    }
    if (type == "i1") {
      return convert<T, std::int8_t>();
    }
    if (type == "u4") {
      return convert<T, std::uint32_t>();
    }
    if (type == "u2") {
      return convert<T, std::uint16_t>();
    }
    if (type == "u1") {
      return convert<T, std::uint8_t>();
    }
    throw std::runtime_error("npy: no reader for " + descr);
  }

 private:
  template <class T, class Stored>
  std::vector<T> convert() const {
    if (bytes.size() != size() * sizeof(Stored)) {
      throw std::runtime_error("npy: size differs from shape");
    }
    std::vector<T> values(size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      Stored stored;
      std::memcpy(&stored, bytes.data() + i * sizeof(Stored), sizeof(Stored));
      values[i] = static_cast<T>(stored);
    }
    return values;
  }
};

inline NpyArray read_npy(const std::filesystem::path& path) {
  const std::string all = file_text(path);
  const std::string magic("\x93NUMPY\x01\x00", 8);
  if (all.size() < 10 || all.compare(0, 8, magic) != 0) {
    throw std::runtime_error("npy: cannot read " + path.string());
  }
  const std::size_t length =
      static_cast<unsigned char>(all[8]) + 256U * static_cast<unsigned char>(all[9]);
  const std::string header = all.substr(10, length);
  const auto after = [&header](const std::string& key, char open, char close) {
    const std::size_t begin = header.find(open, header.find(key) + key.size()) + 1;
    return header.substr(begin, header.find(close, begin) - begin);
  };
  NpyArray array;
  array.descr = after("'descr'", '\'', '\'');
  array.bytes = all.substr(10 + length);
  std::istringstream dims(after("'shape'", '(', ')'));
  for (std::string dim; std::getline(dims, dim, ',');) {
    if (dim.find_first_of("0123456789") != std::string::npos) {
      array.shape.push_back(std::stoul(dim));
    }
  }
  if (header.find("'fortran_order': False") == std::string::npos || array.descr[0] == '>') {
    throw std::runtime_error("npy: layout of " + path.string());
  }
  return array;
}

}  // namespace troupe::testing
