#include "runtime/run/table_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <span>
#include <sstream>
#include <string>
#include <utility>

namespace troupe {
namespace {

/// In front of the arrays of a piece: ids, rows, state and best, little endian.
struct TableHead {
  static constexpr std::uint64_t expected_magic = 0x31304e5241454c54;  // "TLEARN01"
  std::uint64_t magic = expected_magic;
  std::uint64_t step = 0;
  std::uint64_t node_type = 0;
  std::uint64_t steps = 0;
  std::uint64_t ids = 0;
  std::uint64_t rows_bytes = 0;
  std::uint64_t state_bytes = 0;
  std::uint64_t best_bytes = 0;
};
static_assert(sizeof(TableHead) == 64);

}  // namespace

std::string table_file_name(std::uint32_t part) {
  return fmt::format("learned-{}.bin", part);
}

void write_piece(PieceWriter& out, const CopyPiece& piece) {
  const TableHead head{.step = piece.step,
                       .node_type = raw(piece.node_type),
                       .steps = piece.steps,
                       .ids = piece.ids.size(),
                       .rows_bytes = piece.rows.bytes.size(),
                       .state_bytes = piece.state.bytes.size(),
                       .best_bytes = piece.best.bytes.size()};
  out.put(std::span(&head, 1));
  out.put(std::span(piece.ids));
  for (const auto* array : {&piece.rows, &piece.state, &piece.best}) {
    out.put(array->bytes);
  }
}

Status read_piece(PieceReader& in, CopyPiece& piece) {
  TableHead head;
  TROUPE_RETURN_IF_ERROR(in.read(std::span(&head, 1)));
  if (head.magic != TableHead::expected_magic || head.node_type > 0xFFFF) {
    return Error(Errc::data_corruption,
                 fmt::format("{}: expected a piece of learned rows, found another head",
                             in.path().string()));
  }
  piece.step = head.step;
  piece.node_type = static_cast<NodeTypeId>(head.node_type);
  piece.steps = head.steps;
  TROUPE_ASSIGN_OR_RETURN(piece.ids, in.vector<std::uint64_t>(head.ids));
  TROUPE_ASSIGN_OR_RETURN(piece.rows, in.segment(head.rows_bytes));
  TROUPE_ASSIGN_OR_RETURN(piece.state, in.segment(head.state_bytes));
  TROUPE_ASSIGN_OR_RETURN(piece.best, in.segment(head.best_bytes));
  return ok_status();
}

Result<FileInfo> write_table_file(const TableSource& from, std::uint32_t part,
                                  const std::filesystem::path& dir) {
  return write_pieces(from, part, dir / table_file_name(part));
}

Result<std::vector<FileInfo>> write_table_files(const TableSource& from,
                                                const std::filesystem::path& dir) {
  std::vector<FileInfo> files;
  for (std::uint32_t part = 0; part < from.parts(); ++part) {
    TROUPE_ASSIGN_OR_RETURN(auto file, write_table_file(from, part, dir));
    files.push_back(std::move(file));
  }
  return files;
}

Status BestRows::read(std::uint32_t part, const Take& take) const {
  return of_.read(part, [&](const CopyPiece& piece) {
    auto best = piece;
    if (!best.best.empty()) {
      best.rows = std::exchange(best.best, {});
    }
    best.state = {};
    return take(best);
  });
}

std::string files_text(const std::vector<FileInfo>& files) {
  std::vector<std::string> words;
  for (const auto& file : files) {
    words.push_back(fmt::format("{} {} {}", file.path, file.bytes, file.checksum));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

Result<std::vector<FileInfo>> files_of_text(const std::string& text) {
  std::vector<FileInfo> files;
  std::istringstream in(text);
  for (std::string file; std::getline(in, file, ',');) {
    std::istringstream words(file);
    FileInfo info;
    std::string more;
    const bool read = static_cast<bool>(words >> info.path >> info.bytes >> info.checksum);
    if (!read || words >> more ||
        info.path != table_file_name(static_cast<std::uint32_t>(files.size()))) {
      return Error(Errc::data_corruption,
                   fmt::format("learned rows: expected a name, bytes and a checksum of {}, found "
                               "\"{}\"",
                               table_file_name(static_cast<std::uint32_t>(files.size())),
                               file.substr(0, 100)));
    }
    files.push_back(std::move(info));
  }
  return files;
}

}  // namespace troupe
