#include "runtime/run/piece_file.hpp"

namespace troupe {

Result<FileInfo> PieceWriter::close() {
  out_.close();
  TROUPE_RETURN_IF_ERROR(written());
  return FileInfo{path_.filename().string(), bytes_, to_string(digest_.digest())};
}

Status PieceReader::read(std::span<std::byte> into) {
  if (into.size() > left_ ||
      !in_.read(reinterpret_cast<char*>(into.data()), static_cast<std::streamsize>(into.size()))) {
    return Error(Errc::data_corruption, fmt::format("{}: expected {} more bytes, found its end",
                                                    path_.string(), into.size()));
  }
  digest_.add_bytes(into);
  left_ -= into.size();
  return ok_status();
}

Error PieceReader::too_much(std::uint64_t count) const {
  return {Errc::data_corruption, fmt::format("{}: expected at most {} bytes, found an array of {}",
                                             path_.string(), left_, count)};
}

Result<Segment> PieceReader::segment(std::uint64_t bytes) {
  if (bytes > left_) {
    return too_much(bytes);
  }
  Buffer buffer(bytes);
  TROUPE_RETURN_IF_ERROR(read(buffer.bytes()));
  return std::move(buffer).freeze();
}

Status PieceReader::check(const FileInfo& file) {
  const bool at_end = left_ == 0 && in_.peek() == std::ifstream::traits_type::eof();
  const auto checksum = to_string(digest_.digest());
  if (!at_end || checksum != file.checksum) {
    return Error(Errc::data_corruption,
                 fmt::format("{}: expected {} bytes with checksum {}, found {}", path_.string(),
                             file.bytes, file.checksum, at_end ? checksum : "more of them"));
  }
  return ok_status();
}

}  // namespace troupe
