#include "runtime/data/npy_stream.hpp"

#include "runtime/base/files.hpp"

#include <cerrno>
#include <fmt/format.h>
#include <limits>

namespace troupe {
namespace {

Result<std::FILE*> open_new(const std::filesystem::path& path) {
  std::FILE* file = std::fopen(path.c_str(), "wbxe");
  if (file == nullptr) {
    return file_error(path, "cannot create", errno);
  }
  return file;
}

}  // namespace

Result<NpyStream> NpyStream::create(const std::filesystem::path& path, NpyType type,
                                    std::vector<std::uint64_t> shape) {
  TROUPE_ASSIGN_OR_RETURN(auto* file, open_new(path));
  NpyStream stream(path, file, type);
  const auto header = npy_header(type, shape);
  TROUPE_RETURN_IF_ERROR(stream.put(std::as_bytes(std::span(header))));
  stream.header_bytes_ = header.size();
  stream.missing_bytes_ = type.bytes;
  for (const auto n : shape) {
    stream.missing_bytes_ *= n;
  }
  return stream;
}

Result<NpyStream> NpyStream::create_open_ended(const std::filesystem::path& path, NpyType type) {
  TROUPE_ASSIGN_OR_RETURN(auto stream, create(path, type, {0}));
  stream.open_ended_ = true;
  stream.missing_bytes_ = std::numeric_limits<std::uint64_t>::max();
  return stream;
}

Status NpyStream::put(std::span<const std::byte> bytes) {
  if (bytes.empty()) {
    return ok_status();  // fwrite takes no null pointer
  }
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) {
    return file_error(path_, "cannot write", errno);
  }
  written_bytes_ += bytes.size();
  if (!open_ended_) {
    digest_.add_bytes(bytes);
  }
  return ok_status();
}

Status NpyStream::write(std::span<const std::byte> bytes) {
  if (bytes.size() > missing_bytes_) {
    return Error(Errc::internal,
                 fmt::format("{}: expected at most {} more bytes for its shape, got {}",
                             path_.string(), missing_bytes_, bytes.size()));
  }
  missing_bytes_ -= bytes.size();
  return put(bytes);
}

Status NpyStream::close() {
  if (open_ended_) {
    return close_open_ended();
  }
  if (missing_bytes_ != 0) {
    return Error(Errc::internal, fmt::format("{}: {} bytes of its shape were not written",
                                             path_.string(), missing_bytes_));
  }
  if (std::fclose(file_.release()) != 0) {
    return file_error(path_, "cannot write", errno);
  }
  return ok_status();
}

Status NpyStream::close_open_ended() {
  const std::uint64_t shape[] = {(written_bytes_ - header_bytes_) / type_.bytes};
  const auto header = npy_header(type_, shape);  // padded: as long as that of an empty array
  if (header.size() != header_bytes_) {
    return Error(Errc::internal, fmt::format("{}: expected a header of {} bytes, got {}",
                                             path_.string(), header_bytes_, header.size()));
  }
  if (std::fseek(file_.get(), 0, SEEK_SET) != 0 ||
      std::fwrite(header.data(), 1, header.size(), file_.get()) != header.size() ||
      std::fclose(file_.release()) != 0) {
    return file_error(path_, "cannot write", errno);
  }
  digest_ = DigestBuilder();
  return for_each_block(path_, [this](std::span<const std::byte> block) {
    digest_.add_bytes(block);
    return ok_status();
  });
}

FileInfo NpyStream::info(std::string relative_path) const {
  return {std::move(relative_path), written_bytes_, to_string(digest_.digest())};
}

}  // namespace troupe
