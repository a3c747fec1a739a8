#include "runtime/data/text_blocks.hpp"

#include "runtime/base/files.hpp"

#include <fmt/format.h>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>
#include <zlib.h>
#include <zstd.h>

namespace troupe {
namespace {

using Bytes = std::span<const std::byte>;
using TakeBlock = std::function<Status(Bytes)>;

Error damaged(const std::filesystem::path& path, std::string_view format, std::string_view why) {
  return Error(Errc::data_corruption, fmt::format("{}: expected whole {} data, found damage: {}",
                                                  path.string(), format, why));
}

/// Enough for a row of as many numbers as a node type may have feature columns.
constexpr std::size_t longest_line = std::size_t{1} << 25;

Error line_too_long(const std::filesystem::path& path, std::uint64_t begin) {
  return Error(
      Errc::invalid_argument,
      fmt::format("{}: expected lines of at most {} bytes, found a longer one from byte {} "
                  "on\ntry: see whether the file is text, with one row or edge per line",
                  path.string(), longest_line, begin));
}

constexpr std::size_t out_bytes = std::size_t{1} << 18;
/// Of UTF-8: spreadsheets write it before the text.
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// Undoes gzip, also several members in a row and zeros after them.
class Gunzip {
 public:
  explicit Gunzip(std::filesystem::path path) : path_(std::move(path)), out_(out_bytes) {
    ready_ = inflateInit2(&stream_, 16 + MAX_WBITS) == Z_OK;
  }
  ~Gunzip() { inflateEnd(&stream_); }
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  Status add(Bytes bytes, const TakeBlock& take) {
    if (!ready_) {
      return Error(Errc::out_of_memory, fmt::format("{}: no memory to decompress", path_.string()));
    }
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    while (stream_.avail_in > 0) {
      if (ended_) {
        if (*stream_.next_in == 0) {  // Padding, which no member begins with
          ++stream_.next_in;
          --stream_.avail_in;
          continue;
        }
        inflateReset(&stream_);
        ended_ = false;
      }
      TROUPE_RETURN_IF_ERROR(step(take));
    }
    return ok_status();
  }
  Status finish() const {
    return ended_ ? ok_status() : Status(damaged(path_, "gzip", "it ends early"));
  }

 private:
  Status step(const TakeBlock& take) {
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(out_.data());
      stream_.avail_out = static_cast<uInt>(out_.size());
      const int result = inflate(&stream_, Z_NO_FLUSH);
      if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
        return damaged(path_, "gzip", stream_.msg != nullptr ? stream_.msg : "unknown");
      }
      ended_ = result == Z_STREAM_END;
      TROUPE_RETURN_IF_ERROR(take(std::span(out_).first(out_.size() - stream_.avail_out)));
    } while (stream_.avail_out == 0 && !ended_);
    return ok_status();
  }

  std::filesystem::path path_;
  std::vector<std::byte> out_;
  z_stream stream_{};
  bool ready_ = false;
  bool ended_ = false;
};

/// Undoes zstd, also several frames in a row.
class Unzstd {
 public:
  explicit Unzstd(std::filesystem::path path)
      : path_(std::move(path)), out_(out_bytes), stream_(ZSTD_createDStream()) {}

  Status add(Bytes bytes, const TakeBlock& take) {
    if (stream_ == nullptr) {
      return Error(Errc::out_of_memory, fmt::format("{}: no memory to decompress", path_.string()));
    }
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    bool full = false;
    while (in.pos < in.size || full) {
      ZSTD_outBuffer out{out_.data(), out_.size(), 0};
      left_ = ZSTD_decompressStream(stream_.get(), &out, &in);
      if (ZSTD_isError(left_) != 0) {
        return damaged(path_, "zstd", ZSTD_getErrorName(left_));
      }
      full = out.pos == out.size && left_ != 0;
      TROUPE_RETURN_IF_ERROR(take(std::span(out_).first(out.pos)));
    }
    return ok_status();
  }
  Status finish() const {
    return left_ == 0 ? ok_status() : Status(damaged(path_, "zstd", "it ends early"));
  }

 private:
  struct Closer {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };
  std::filesystem::path path_;
  std::vector<std::byte> out_;
  std::unique_ptr<ZSTD_DStream, Closer> stream_;
  std::size_t left_ = 1;
};

template <class Decoder>
Status decode(const std::filesystem::path& path, const TakeBlock& take) {
  Decoder decoder(path);
  TROUPE_RETURN_IF_ERROR(
      for_each_block(path, [&](Bytes bytes) { return decoder.add(bytes, take); }));
  return decoder.finish();
}

enum class Packing : std::uint8_t { plain, gzip, zstd };

/// What the first bytes say. Plain for a file that cannot be read: reading it says why.
Packing packing_of(const std::filesystem::path& path) {
  std::string magic(4, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(magic.data(), static_cast<std::streamsize>(magic.size()));
  magic.resize(static_cast<std::size_t>(file.gcount()));
  if (magic.starts_with("\x1F\x8B")) {
    return Packing::gzip;
  }
  return magic == "\x28\xB5\x2F\xFD" ? Packing::zstd : Packing::plain;
}

}  // namespace

Status for_each_line_block(const std::filesystem::path& path, std::size_t block_bytes,
                           const std::function<Status(std::string_view)>& take) {
  std::string text;
  std::size_t whole = 0;    // bytes of `text` up to its last line's end
  std::uint64_t begin = 0;  // of `text` in the file
  bool at_begin = true;
  const auto take_lines = [&](std::string_view lines) {
    if (std::exchange(at_begin, false) && lines.starts_with(byte_order_mark)) {
      lines.remove_prefix(byte_order_mark.size());
    }
    return take(lines);
  };
  const TakeBlock gather = [&](Bytes bytes) -> Status {
    const std::string_view added(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (const auto last = added.rfind('\n'); last != std::string_view::npos) {
      whole = text.size() + last + 1;
    }
    text += added;
    if (text.size() - whole > longest_line) {
      return line_too_long(path, begin + whole);
    }
    if (text.size() < block_bytes || whole == 0) {
      return ok_status();
    }
    TROUPE_RETURN_IF_ERROR(take_lines(std::string_view(text).substr(0, whole)));
    text.erase(0, whole);
    begin += std::exchange(whole, 0);
    return ok_status();
  };
  std::error_code ignored;
  const auto kind = std::filesystem::status(path, ignored).type();
  if (kind != std::filesystem::file_type::regular &&
      kind != std::filesystem::file_type::not_found) {
    return Error(Errc::failed_precondition,
                 fmt::format("{}: expected a regular file, found something else", path.string()));
  }
  switch (packing_of(path)) {
    case Packing::gzip:
      TROUPE_RETURN_IF_ERROR(decode<Gunzip>(path, gather));
      break;
    case Packing::zstd:
      TROUPE_RETURN_IF_ERROR(decode<Unzstd>(path, gather));
      break;
    case Packing::plain:
      TROUPE_RETURN_IF_ERROR(for_each_block(path, gather));
      break;
  }
  return text.empty() ? ok_status() : take_lines(text);
}

}  // namespace troupe
