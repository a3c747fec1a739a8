#pragma once
/// \file table_source.hpp
/// Copies of learned rows at one step, as checkpoints read and write them: part by part, in pieces, so
/// that no process holds a whole table.
#include "runtime/base/result.hpp"
#include "runtime/feature/embedding/messages.hpp"
#include "runtime/graph/graph_info.hpp"
#include "runtime/run/piece_file.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace troupe {

/// Bytes of a piece, about.
inline constexpr std::uint64_t table_piece_bytes = std::uint64_t{4} << 20;

/// Learned rows of one table after the other.
using TableSource = PieceSource<CopyPiece>;
/// The files of a checkpoint.
using TableFiles = PieceFiles<CopyPiece>;

void write_piece(PieceWriter& out, const CopyPiece& piece);
/// \errors data_corruption: no such piece
Status read_piece(PieceReader& in, CopyPiece& piece);

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

}  // namespace troupe
