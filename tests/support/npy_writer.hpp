#pragma once
/// \file npy_writer.hpp
/// NumPy files of whole numbers, for tests that give them to programs.
#include "runtime/base/files.hpp"
#include "runtime/graph/npy.hpp"
#include "tests/support/expect.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace troupe::testing {

/// A new file of rows of `cols` numbers, int64.
inline void write_numbers(const std::filesystem::path& file, std::uint64_t cols,
                          const std::vector<std::int64_t>& values) {
  const std::array<std::uint64_t, 2> shape{values.size() / cols, cols};
  const auto header = npy_header({'i', 8}, shape);
  const std::array pieces{std::as_bytes(std::span(header)), std::as_bytes(std::span(values))};
  ASSERT_OK(write_new_file(file, pieces));
}

/// A new file of one dimension, int64.
inline void write_column(const std::filesystem::path& file,
                         const std::vector<std::int64_t>& values) {
  const std::array<std::uint64_t, 1> shape{values.size()};
  const auto header = npy_header({'i', 8}, shape);
  const std::array pieces{std::as_bytes(std::span(header)), std::as_bytes(std::span(values))};
  ASSERT_OK(write_new_file(file, pieces));
}

}  // namespace troupe::testing
