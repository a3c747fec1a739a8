#include "runtime/data/npy_stream.hpp"

#include "runtime/base/files.hpp"

#include <cerrno>
#include <fmt/format.h>

namespace troupe {

Result<NpyStream> NpyStream::create(const std::filesystem::path& path, NpyType type,
                                    std::vector<std::uint64_t> shape) {
  std::FILE* file = std::fopen(path.c_str(), "wbx");
  if (file == nullptr) {
    return file_error(path, "cannot create", errno);
  }
  std::uint64_t bytes = type.bytes;
  for (const auto n : shape) {
    bytes *= n;
  }
  const auto header = npy_header(type, shape);
  NpyStream stream(path, file, bytes + header.size());
  TROUPE_RETURN_IF_ERROR(stream.write(std::as_bytes(std::span(header))));
  return stream;
}

Status NpyStream::write(std::span<const std::byte> bytes) {
  if (bytes.size() > missing_bytes_) {
    return Error(Errc::internal,
                 fmt::format("{}: expected at most {} more bytes for its shape, got {}",
                             path_.string(), missing_bytes_, bytes.size()));
  }
  missing_bytes_ -= bytes.size();
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) {
    return file_error(path_, "cannot write", errno);
  }
  return ok_status();
}

Status NpyStream::close() {
  if (missing_bytes_ != 0) {
    return Error(Errc::internal, fmt::format("{}: {} bytes of its shape were not written",
                                             path_.string(), missing_bytes_));
  }
  if (std::fclose(file_.release()) != 0) {
    return file_error(path_, "cannot write", errno);
  }
  return ok_status();
}

}  // namespace troupe
