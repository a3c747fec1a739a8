#pragma once
/// \file npy_stream.hpp
/// Writes an array that need not be whole in memory.
#include "runtime/base/digest.hpp"
#include "runtime/base/result.hpp"
#include "runtime/graph/npy.hpp"

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
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
  /// An array of one dimension that ends where the writing ends. Its file is read again for the
  /// checksum.
  static Result<NpyStream> create_open_ended(const std::filesystem::path& path, NpyType type);

  /// Writes the next elements.
  Status write(std::span<const std::byte> bytes);
  template <class T>
  Status write_elements(std::span<const T> values) {
    return write(std::as_bytes(values));
  }
  Status close();
  /// The entry for a store's list of files. \requires closed
  FileInfo info(std::string relative_path) const;

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  NpyStream(std::filesystem::path path, std::FILE* file, NpyType type)
      : path_(std::move(path)), file_(file), type_(type) {}
  Status put(std::span<const std::byte> bytes);
  Status close_open_ended();

  std::filesystem::path path_;
  std::unique_ptr<std::FILE, Closer> file_;
  NpyType type_;
  bool open_ended_ = false;
  std::size_t header_bytes_ = 0;
  std::uint64_t missing_bytes_ = 0;
  std::uint64_t written_bytes_ = 0;
  DigestBuilder digest_;
};

}  // namespace troupe
