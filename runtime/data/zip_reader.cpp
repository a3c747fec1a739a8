// Reading a member of a ZIP archive.
#include "runtime/data/zip_archive.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>
#include <zlib.h>

namespace troupe {
namespace {

constexpr std::size_t zip_block_bytes = std::size_t{1} << 18;

}  // namespace

/// Undoes the compression of a member, which is without a header of its own.
struct ZipReader::Inflater {
  Inflater() : ready(inflateInit2(&stream, -MAX_WBITS) == Z_OK) {}
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  z_stream stream{};
  std::vector<std::byte> packed = std::vector<std::byte>(zip_block_bytes);
  bool ready;
  bool ended = false;
};

ZipReader::ZipReader(std::shared_ptr<const ZipArchive> archive, const ZipMember& member)
    : archive_(std::move(archive)), member_(member) {}
ZipReader::~ZipReader() = default;
ZipReader::ZipReader(ZipReader&&) noexcept = default;
ZipReader& ZipReader::operator=(ZipReader&&) noexcept = default;

Result<ZipReader> ZipReader::open(std::shared_ptr<const ZipArchive> archive,
                                  const ZipMember& member) {
  ZipReader reader(std::move(archive), member);
  if (member.encrypted) {
    return Error(Errc::unimplemented, fmt::format("{}: {}: expected plain data, found it encrypted",
                                                  reader.archive_->name(), member.name));
  }
  if (member.method == ZipMethod::deflated) {
    reader.inflater_ = std::make_unique<Inflater>();
    if (!reader.inflater_->ready) {
      return Error(Errc::out_of_memory, fmt::format("{}: no memory to decompress {}",
                                                    reader.archive_->name(), member.name));
    }
  } else if (member.method != ZipMethod::stored) {
    return Error(
        Errc::unimplemented,
        fmt::format("{}: {}: expected it stored or deflated, found method {}\n"
                    "try: numpy.savez or numpy.savez_compressed",
                    reader.archive_->name(), member.name, static_cast<unsigned>(member.method)));
  } else if (member.packed_bytes != member.bytes) {
    return reader.damaged(
        fmt::format("expected {} bytes stored, found {}", member.bytes, member.packed_bytes));
  }
  return reader;
}

Error ZipReader::damaged(std::string_view why) const {
  return {Errc::data_corruption, fmt::format("{}: {}: {}", archive_->name(), member_.name, why)};
}

Status ZipReader::read(std::span<std::byte> out) {
  if (out.size() > member_.bytes - taken_) {
    return damaged(
        fmt::format("expected {} bytes from {} on, it has {}", out.size(), taken_, member_.bytes));
  }
  const auto all = out;
  if (inflater_) {
    while (!out.empty()) {
      TROUPE_RETURN_IF_ERROR(inflate_some(out));
    }
  } else {
    TROUPE_RETURN_IF_ERROR(archive_->read_at(member_.packed_begin + taken_, out));
  }
  taken_ += all.size();
  checksum_ = static_cast<std::uint32_t>(
      crc32_z(checksum_, reinterpret_cast<const Bytef*>(all.data()), all.size()));
  return ok_status();
}

Status ZipReader::skip(std::uint64_t bytes) {
  std::vector<std::byte> block(std::min<std::uint64_t>(bytes, zip_block_bytes));
  while (bytes > 0) {
    const auto some = std::min<std::uint64_t>(bytes, block.size());
    TROUPE_RETURN_IF_ERROR(read(std::span(block).first(some)));
    bytes -= some;
  }
  return ok_status();
}

/// Reads packed bytes, if all were used and there are more.
Status ZipReader::fill() {
  auto& stream = inflater_->stream;
  if (stream.avail_in > 0 || packed_taken_ == member_.packed_bytes) {
    return ok_status();
  }
  const auto some = std::min<std::uint64_t>(member_.packed_bytes - packed_taken_, zip_block_bytes);
  const auto block = std::span(inflater_->packed).first(some);
  TROUPE_RETURN_IF_ERROR(archive_->read_at(member_.packed_begin + packed_taken_, block));
  packed_taken_ += some;
  stream.next_in = reinterpret_cast<Bytef*>(block.data());
  stream.avail_in = static_cast<uInt>(block.size());
  return ok_status();
}

/// Fills the front of `out` and takes it off.
Status ZipReader::inflate_some(std::span<std::byte>& out) {
  if (inflater_->ended) {
    return damaged(fmt::format("expected {} bytes, its data end before", member_.bytes));
  }
  TROUPE_RETURN_IF_ERROR(fill());
  auto& stream = inflater_->stream;
  const auto room = std::min(out.size(), zip_block_bytes);
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(room);
  const int result = inflate(&stream, Z_NO_FLUSH);
  if (result == Z_BUF_ERROR) {  // no progress: fill() found nothing
    return damaged("expected more compressed data, found them cut off");
  }
  if (result != Z_OK && result != Z_STREAM_END) {
    return damaged(fmt::format("expected compressed data, found damage: {}",
                               stream.msg != nullptr ? stream.msg : "unknown"));
  }
  inflater_->ended = result == Z_STREAM_END;
  out = out.subspan(room - stream.avail_out);
  return ok_status();
}

Status ZipReader::finish_inflating() {
  std::byte more{};
  std::span<std::byte> out(&more, 1);
  while (!inflater_->ended && !out.empty()) {
    TROUPE_RETURN_IF_ERROR(inflate_some(out));
  }
  if (out.empty()) {
    return damaged(fmt::format("expected {} bytes, its data go on", member_.bytes));
  }
  const auto left = member_.packed_bytes - packed_taken_ + inflater_->stream.avail_in;
  return left == 0 ? ok_status()
                   : Status(damaged(fmt::format("expected compressed data of {} bytes, they end {} "
                                                "bytes before",
                                                member_.packed_bytes, left)));
}

Status ZipReader::finish() {
  TROUPE_RETURN_IF_ERROR(skip(member_.bytes - taken_));
  if (inflater_) {
    TROUPE_RETURN_IF_ERROR(finish_inflating());
  }
  if (checksum_ != member_.checksum) {
    return damaged(fmt::format("expected checksum {:08x}, found {:08x}: damaged", member_.checksum,
                               checksum_));
  }
  return ok_status();
}

}  // namespace troupe
