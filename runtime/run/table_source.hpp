#pragma once
/// \file table_source.hpp
/// Copies of learned rows at one step, as checkpoints read and write them: part by part, in pieces, so
/// that no process holds a whole table.
#include "runtime/base/result.hpp"
#include "runtime/feature/embedding/messages.hpp"
#include "runtime/graph/graph_info.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace troupe {

/// Bytes of a piece, about.
inline constexpr std::uint64_t table_piece_bytes = std::uint64_t{4} << 20;

/// Threads: one at a time; may block
class TableSource {
 public:
  using Take = std::function<Status(const CopyPiece&)>;
  TableSource() = default;
  TableSource(const TableSource&) = delete;
  TableSource& operator=(const TableSource&) = delete;
  virtual ~TableSource() = default;
  /// That wrote it; those that read it may be others.
  virtual std::uint32_t parts() const = 0;
  /// All rows of a part, of one table after the other. \errors those of `take`, which ends it
  virtual Status read(std::uint32_t part, const Take& take) const = 0;
};

/// "learned-3.bin"
std::string table_file_name(std::uint32_t part);

/// Writes the rows of a part into a new file.
/// \returns its name, size and checksum
/// \errors those of the source; failed_precondition: the disk
Result<FileInfo> write_table_file(const TableSource& from, std::uint32_t part,
                                  const std::filesystem::path& dir);

/// The same for each part. \errors as write_table_file()
Result<std::vector<FileInfo>> write_table_files(const TableSource& from,
                                                const std::filesystem::path& dir);

/// What a model needs of a copy: the rows of the best epoch, or its own where none were kept, without the
/// state of optimizers.
class BestRows final : public TableSource {
 public:
  explicit BestRows(const TableSource& of) : of_(of) {}
  std::uint32_t parts() const override { return of_.parts(); }
  Status read(std::uint32_t part, const Take& take) const override;

 private:
  const TableSource& of_;
};

/// Files with their sizes and checksums as one line of text, for the metadata of a model.
std::string files_text(const std::vector<FileInfo>& files);
/// \errors data_corruption: not such a text
Result<std::vector<FileInfo>> files_of_text(const std::string& text);

/// The files of a checkpoint.
class TableFiles final : public TableSource {
 public:
  /// \param files  by part
  TableFiles(std::filesystem::path dir, std::vector<FileInfo> files)
      : dir_(std::move(dir)), files_(std::move(files)) {}
  std::uint32_t parts() const override { return static_cast<std::uint32_t>(files_.size()); }
  /// \errors data_corruption: not as it was written; what `take` was given is void then
  Status read(std::uint32_t part, const Take& take) const override;

 private:
  std::filesystem::path dir_;
  std::vector<FileInfo> files_;
};

}  // namespace troupe
