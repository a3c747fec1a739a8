#pragma once
/// \file piece_file.hpp
/// Rows of all parts as checkpoints have them, learned rows and tensors by name alike: a file per part, in pieces, so that
/// no process holds more of them than a piece. What a piece is, and its bytes, are in table_source.hpp and
/// tensor_source.hpp.
#include "runtime/base/buffer.hpp"
#include "runtime/base/digest.hpp"
#include "runtime/base/files.hpp"
#include "runtime/base/result.hpp"
#include "runtime/graph/graph_info.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// Rows of all parts, in pieces.
/// Threads: one at a time; may block
template <class Piece>
class PieceSource {
 public:
  using Take = std::function<Status(const Piece&)>;
  PieceSource() = default;
  PieceSource(const PieceSource&) = delete;
  PieceSource& operator=(const PieceSource&) = delete;
  virtual ~PieceSource() = default;
  /// Number of parts that wrote the rows; the parts that read them may be others.
  virtual std::uint32_t parts() const = 0;
  /// Gives all rows of a part to `take`, whose error ends it. \errors those of `take`
  virtual Status read(std::uint32_t part, const Take& take) const = 0;
};

/// Arrays that are written to a new file one after the other.
class PieceWriter {
 public:
  explicit PieceWriter(std::filesystem::path path)
      : path_(std::move(path)), out_(path_, std::ios::binary) {}

  template <class T>
  void put(std::span<const T> array) {
    const auto bytes = std::as_bytes(array);
    out_.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    digest_.add_bytes(bytes);
    bytes_ += bytes.size();
  }
  /// \errors failed_precondition: the disk
  Status written() const {
    return out_ ? ok_status() : Status(file_error(path_, "cannot write", errno));
  }
  /// \returns name, size and checksum of the file. \errors failed_precondition: the disk
  Result<FileInfo> close();

 private:
  std::filesystem::path path_;
  std::ofstream out_;
  DigestBuilder digest_;
  std::uint64_t bytes_ = 0;
};

/// The same arrays, read. Sizes are compared with the bytes that are left before anything is allocated.
class PieceReader {
 public:
  /// \param bytes  size of the file, as it was written
  PieceReader(std::filesystem::path path, std::uint64_t bytes)
      : path_(std::move(path)), in_(path_, std::ios::binary), left_(bytes) {}

  bool open() const { return in_.is_open(); }
  std::uint64_t left() const { return left_; }
  const std::filesystem::path& path() const { return path_; }

  /// \errors data_corruption: the file ends before
  Status read(std::span<std::byte> into);
  template <class T>
  Status read(std::span<T> into) {
    return read(std::as_writable_bytes(into));
  }
  Result<Segment> segment(std::uint64_t bytes);
  template <class T>
  Result<std::vector<T>> vector(std::uint64_t count) {
    if (count > left_ / sizeof(T)) {
      return too_much(count);
    }
    std::vector<T> values(count);
    TROUPE_RETURN_IF_ERROR(read(std::span(values)));
    return values;
  }
  /// \errors data_corruption: more or other bytes than were written
  Status check(const FileInfo& file);

 private:
  Error too_much(std::uint64_t count) const;

  std::filesystem::path path_;
  std::ifstream in_;
  std::uint64_t left_;
  DigestBuilder digest_;
};

/// Writes the rows of a part into a new file `name`, each piece by `write_piece(PieceWriter&, piece)`.
/// \errors those of the source; failed_precondition: the disk
template <class Piece>
Result<FileInfo> write_pieces(const PieceSource<Piece>& from, std::uint32_t part,
                              const std::filesystem::path& path) {
  PieceWriter out(path);
  TROUPE_RETURN_IF_ERROR(from.read(part, [&](const Piece& piece) {
    write_piece(out, piece);
    return out.written();
  }));
  return out.close();
}

/// The files of a checkpoint, each piece read by `read_piece(PieceReader&, piece)`.
template <class Piece>
class PieceFiles final : public PieceSource<Piece> {
 public:
  /// \param files  by part
  PieceFiles(std::filesystem::path dir, std::vector<FileInfo> files)
      : dir_(std::move(dir)), files_(std::move(files)) {}
  std::uint32_t parts() const override { return static_cast<std::uint32_t>(files_.size()); }
  /// \errors data_corruption: not as it was written; what `take` was given is void then
  Status read(std::uint32_t part, const typename PieceSource<Piece>::Take& take) const override {
    const auto& file = files_[part];
    PieceReader in(dir_ / file.path, file.bytes);
    if (!in.open()) {
      return file_error(in.path(), "cannot read", errno);
    }
    while (in.left() > 0) {
      Piece piece;
      TROUPE_RETURN_IF_ERROR(read_piece(in, piece));
      TROUPE_RETURN_IF_ERROR(take(piece));
    }
    return in.check(file);
  }

 private:
  std::filesystem::path dir_;
  std::vector<FileInfo> files_;
};

}  // namespace troupe
