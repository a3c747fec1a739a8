#pragma once
/// \file zip_writer.hpp
/// Writes ZIP archives for tests, also ones that lie: independent of the reader in the product.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include <zlib.h>

namespace troupe::testing {

/// A member. What is not stated is the truth.
struct ZipPart {
  std::string name{};
  std::string bytes{};
  bool deflate = false;
  bool wide = false;        ///< its numbers in fields of 64 bits
  bool descriptor = false;  ///< sizes behind the data, as writers into a pipe have them
  std::uint64_t hole = 0;   ///< so many zeros behind `bytes`, not written: the file is sparse
  std::uint16_t flags = 0;  ///< 1: encrypted
  std::optional<std::uint16_t> method{};
  std::optional<std::uint32_t> checksum{};
  std::optional<std::uint64_t> size{};
  std::optional<std::uint64_t> packed_size{};
  std::optional<std::uint64_t> header_begin{};
  std::optional<std::string> local_name{};
};

/// The record at the end.
struct ZipEnd {
  std::string comment{};
  bool wide = false;
  std::optional<std::uint64_t> members{};
  std::optional<std::uint64_t> directory_begin{};
  std::optional<std::uint64_t> directory_bytes{};
  std::optional<std::uint64_t> record_begin{};  ///< of zip64
  std::uint16_t disk = 0;
};

class ZipWriter {
 public:
  ZipWriter& add(const ZipPart& part) {
    const auto packed = part.deflate ? deflated(part.bytes) : part.bytes;
    const auto crc =
        static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(part.bytes.data()),
                                         static_cast<uInt>(part.bytes.size())));
    Fields fields;
    fields.flags = static_cast<std::uint16_t>(part.flags | (part.descriptor ? 8 : 0));
    fields.method = part.method.value_or(part.deflate ? 8 : 0);
    fields.crc = part.checksum.value_or(crc);
    fields.size = part.size.value_or(part.bytes.size() + part.hole);
    fields.packed = part.packed_size.value_or(packed.size() + part.hole);
    const auto begin = size_;
    put(local_header(part, fields));
    put(packed);
    size_ += part.hole;
    if (part.descriptor) {
      put(together({number(0x08074b50, 4), number(fields.crc, 4), number(fields.packed, 4),
                    number(fields.size, 4)}));
    }
    directory_ += entry(part, fields, part.header_begin.value_or(begin));
    ++members_;
    return *this;
  }

  ZipWriter& finish(const ZipEnd& end = {}) {
    const auto begin = end.directory_begin.value_or(size_);
    const auto bytes = end.directory_bytes.value_or(directory_.size());
    const auto members = end.members.value_or(members_);
    put(directory_);
    if (end.wide) {
      const auto record = size_;
      put(together({number(0x06064b50, 4), number(44, 8), number(45, 2), number(45, 2),
                    number(end.disk, 4), number(0, 4), number(members, 8), number(members, 8),
                    number(bytes, 8), number(begin, 8)}));
      put(together({number(0x07064b50, 4), number(0, 4),
                    number(end.record_begin.value_or(record), 8), number(1, 4)}));
    }
    const auto narrow = [&](std::uint64_t value, unsigned size) {
      return number(end.wide ? ~std::uint64_t{0} : value, size);
    };
    put(together({number(0x06054b50, 4), number(end.disk, 2), number(0, 2), narrow(members, 2),
                  narrow(members, 2), narrow(bytes, 4), narrow(begin, 4),
                  number(end.comment.size(), 2), end.comment}));
    return *this;
  }

  /// Without holes.
  std::string text() const {
    std::string all;
    for (const auto& [at, piece] : pieces_) {
      all += piece;
    }
    return all;
  }
  void write(const std::filesystem::path& path) const {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    for (const auto& [at, piece] : pieces_) {
      file.seekp(static_cast<std::streamoff>(at));
      file << piece;
    }
  }
  std::uint64_t size() const { return size_; }

  static std::string deflated(const std::string& bytes) {
    z_stream stream{};
    deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
    std::string out(deflateBound(&stream, static_cast<uLong>(bytes.size())) + 16, '\0');
    stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    deflate(&stream, Z_FINISH);
    const auto used = static_cast<std::size_t>(stream.total_out);
    deflateEnd(&stream);
    return out.substr(0, used);
  }

 private:
  struct Fields {
    std::uint16_t flags = 0;
    std::uint16_t method = 0;
    std::uint32_t crc = 0;
    std::uint64_t size = 0;
    std::uint64_t packed = 0;
  };

  static std::string together(std::initializer_list<std::string> pieces) {
    std::string text;
    for (const auto& piece : pieces) {
      text += piece;
    }
    return text;
  }
  static std::string number(std::uint64_t value, unsigned bytes) {
    std::string text;
    for (unsigned i = 0; i < bytes; ++i) {
      text.push_back(static_cast<char>(value >> (8 * i) & 0xFF));
    }
    return text;
  }
  static std::string common(const Fields& fields, bool wide) {
    const auto saturated = ~std::uint64_t{0};
    return together({number(45, 2), number(fields.flags, 2), number(fields.method, 2), number(0, 4),
                     number(fields.crc, 4), number(wide ? saturated : fields.packed, 4),
                     number(wide ? saturated : fields.size, 4)});
  }
  static std::string local_header(const ZipPart& part, const Fields& fields) {
    const auto name = part.local_name.value_or(part.name);
    const auto extra = part.wide ? together({number(1, 2), number(16, 2), number(fields.size, 8),
                                             number(fields.packed, 8)})
                                 : std::string();
    const auto shown = part.descriptor ? Fields{fields.flags, fields.method, 0, 0, 0} : fields;
    return together({number(0x04034b50, 4), common(shown, part.wide), number(name.size(), 2),
                     number(extra.size(), 2), name, extra});
  }
  /// With an extra field of another kind before that of zip64.
  static std::string entry(const ZipPart& part, const Fields& fields, std::uint64_t begin) {
    const auto extra =
        part.wide ? together({number(0x5455, 2), number(1, 2), "x", number(1, 2), number(24, 2),
                              number(fields.size, 8), number(fields.packed, 8), number(begin, 8)})
                  : std::string();
    return together({number(0x02014b50, 4), number(45, 2), common(fields, part.wide),
                     number(part.name.size(), 2), number(extra.size(), 2), number(2, 2),
                     number(0, 2), number(0, 2), number(0, 4),
                     number(part.wide ? ~std::uint64_t{0} : begin, 4), part.name, extra, "no"});
  }
  void put(std::string piece) {
    const auto at = size_;
    size_ += piece.size();
    pieces_.emplace_back(at, std::move(piece));
  }

  std::vector<std::pair<std::uint64_t, std::string>> pieces_;
  std::uint64_t size_ = 0;
  std::uint64_t members_ = 0;
  std::string directory_;
};

}  // namespace troupe::testing
