#include "runtime/run/table_source.hpp"

#include "runtime/base/buffer.hpp"
#include "runtime/base/digest.hpp"
#include "runtime/base/files.hpp"

#include <array>
#include <cerrno>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <utility>

namespace troupe {
namespace {

/// In front of the arrays of a piece: ids, rows, state and best, little endian.
struct PieceHead {
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
static_assert(sizeof(PieceHead) == 64);

class PieceReader {
 public:
  PieceReader(const std::filesystem::path& path, std::uint64_t bytes)
      : path_(path), in_(path, std::ios::binary), left_(bytes) {}

  bool open() const { return in_.is_open(); }
  std::uint64_t left() const { return left_; }
  Status read(std::span<std::byte> into) {
    if (into.size() > left_ || !in_.read(reinterpret_cast<char*>(into.data()),
                                         static_cast<std::streamsize>(into.size()))) {
      return Error(Errc::data_corruption, fmt::format("{}: expected {} more bytes, found its end",
                                                      path_.string(), into.size()));
    }
    digest_.add_bytes(into);
    left_ -= into.size();
    return ok_status();
  }
  Result<Segment> segment(std::uint64_t bytes) {
    if (bytes > left_) {
      return Error(Errc::data_corruption, fmt::format("{}: expected at most {} bytes, found {}",
                                                      path_.string(), left_, bytes));
    }
    Buffer buffer(bytes);
    TROUPE_RETURN_IF_ERROR(read(buffer.bytes()));
    return std::move(buffer).freeze();
  }
  bool at_end() { return left_ == 0 && in_.peek() == std::ifstream::traits_type::eof(); }
  std::string checksum() const { return to_string(digest_.digest()); }

 private:
  const std::filesystem::path& path_;
  std::ifstream in_;
  std::uint64_t left_;
  DigestBuilder digest_;
};

Result<CopyPiece> read_piece(PieceReader& in, const std::filesystem::path& path) {
  PieceHead head;
  TROUPE_RETURN_IF_ERROR(in.read(std::as_writable_bytes(std::span(&head, 1))));
  if (head.magic != PieceHead::expected_magic || head.node_type > 0xFFFF ||
      head.ids > in.left() / sizeof(std::uint64_t)) {
    return Error(
        Errc::data_corruption,
        fmt::format("{}: expected a piece of learned rows, found another head", path.string()));
  }
  CopyPiece piece;
  piece.step = head.step;
  piece.node_type = static_cast<NodeTypeId>(head.node_type);
  piece.steps = head.steps;
  piece.ids.resize(head.ids);
  TROUPE_RETURN_IF_ERROR(in.read(std::as_writable_bytes(std::span(piece.ids))));
  TROUPE_ASSIGN_OR_RETURN(piece.rows, in.segment(head.rows_bytes));
  TROUPE_ASSIGN_OR_RETURN(piece.state, in.segment(head.state_bytes));
  TROUPE_ASSIGN_OR_RETURN(piece.best, in.segment(head.best_bytes));
  return piece;
}

}  // namespace

std::string table_file_name(std::uint32_t part) {
  return fmt::format("learned-{}.bin", part);
}

Result<FileInfo> write_table_file(const TableSource& from, std::uint32_t part,
                                  const std::filesystem::path& dir) {
  const auto path = dir / table_file_name(part);
  std::ofstream out(path, std::ios::binary);
  DigestBuilder digest;
  std::uint64_t bytes = 0;
  const auto put = [&](std::span<const std::byte> array) {
    out.write(reinterpret_cast<const char*>(array.data()),
              static_cast<std::streamsize>(array.size()));
    digest.add_bytes(array);
    bytes += array.size();
  };
  TROUPE_RETURN_IF_ERROR(from.read(part, [&](const CopyPiece& piece) -> Status {
    const PieceHead head{.step = piece.step,
                         .node_type = raw(piece.node_type),
                         .steps = piece.steps,
                         .ids = piece.ids.size(),
                         .rows_bytes = piece.rows.bytes.size(),
                         .state_bytes = piece.state.bytes.size(),
                         .best_bytes = piece.best.bytes.size()};
    put(std::as_bytes(std::span(&head, 1)));
    put(std::as_bytes(std::span(piece.ids)));
    for (const auto* array : {&piece.rows, &piece.state, &piece.best}) {
      put(array->bytes);
    }
    return out ? ok_status() : Status(file_error(path, "cannot write", errno));
  }));
  out.close();
  if (!out) {
    return file_error(path, "cannot write", errno);
  }
  return FileInfo{table_file_name(part), bytes, to_string(digest.digest())};
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

Status TableFiles::read(std::uint32_t part, const Take& take) const {
  const auto& file = files_[part];
  const auto path = dir_ / file.path;
  PieceReader in(path, file.bytes);
  if (!in.open()) {
    return file_error(path, "cannot read", errno);
  }
  while (in.left() > 0) {
    TROUPE_ASSIGN_OR_RETURN(const auto piece, read_piece(in, path));
    TROUPE_RETURN_IF_ERROR(take(piece));
  }
  if (!in.at_end() || in.checksum() != file.checksum) {
    return Error(
        Errc::data_corruption,
        fmt::format("{}: expected {} bytes with checksum {}, found {}", path.string(), file.bytes,
                    file.checksum, in.at_end() ? in.checksum() : "more of them"));
  }
  return ok_status();
}

}  // namespace troupe
