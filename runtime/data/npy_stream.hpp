#pragma once
/// \file npy_stream.hpp
/// Writes an array that is never whole in memory. For arrays that are, runtime/graph has writers.
#include "runtime/base/result.hpp"
#include "runtime/graph/npy.hpp"

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace troupe {

/// Lifecycle:  create(), write() until all elements of the shape are written, close()
/// Threads:    one at a time
/// Guarantees: close() fails unless exactly the elements of the shape were written and the system
///   took them
class NpyStream {
 public:
  /// \errors failed_precondition: the file exists or cannot be made
  static Result<NpyStream> create(const std::filesystem::path& path, NpyType type,
                                  std::vector<std::uint64_t> shape);

  /// Writes the next elements.
  Status write(std::span<const std::byte> bytes);
  template <class T>
  Status write_elements(std::span<const T> values) {
    return write(std::as_bytes(values));
  }
  Status close();

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  NpyStream(std::filesystem::path path, std::FILE* file, std::uint64_t bytes)
      : path_(std::move(path)), file_(file), missing_bytes_(bytes) {}

  std::filesystem::path path_;
  std::unique_ptr<std::FILE, Closer> file_;
  std::uint64_t missing_bytes_;
};

}  // namespace troupe
