#include "runtime/data/zip_archive.hpp"

#include "runtime/base/files.hpp"

#include <algorithm>
#include <cerrno>
#include <concepts>
#include <fcntl.h>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace troupe {
namespace {

using ZipBytes = std::span<const std::byte>;

constexpr std::uint32_t end_signature = 0x06054b50;
constexpr std::uint32_t wide_end_signature = 0x06064b50;
constexpr std::uint32_t wide_locator_signature = 0x07064b50;
constexpr std::uint32_t entry_signature = 0x02014b50;
constexpr std::uint32_t local_signature = 0x04034b50;
constexpr std::size_t end_bytes = 22;
constexpr std::size_t wide_end_bytes = 56;
constexpr std::size_t wide_locator_bytes = 20;
constexpr std::size_t entry_bytes = 46;
constexpr std::size_t local_bytes = 30;
constexpr std::size_t longest_comment = 0xFFFF;
constexpr std::uint64_t most_members = std::uint64_t{1} << 16;
constexpr std::uint64_t largest_directory = std::uint64_t{1} << 26;
constexpr std::uint32_t in_wide = 0xFFFF'FFFF;  ///< The number is in a field of 64 bits
constexpr std::uint16_t in_wide_short = 0xFFFF;
constexpr std::uint16_t wide_field = 1;  ///< Kind of the extra field with numbers of 64 bits
constexpr std::size_t largest_read = std::size_t{1} << 30;

/// The little-endian number at a place. \requires it lies within `bytes`
template <std::unsigned_integral T>
T zip_number(ZipBytes bytes, std::size_t at) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    value |= std::to_integer<std::uint64_t>(bytes[at + i]) << (8 * i);
  }
  return static_cast<T>(value);
}

std::string printable(ZipBytes bytes) {
  std::string text;
  for (const auto byte : bytes) {
    const auto c = std::to_integer<char>(byte);
    text.push_back(c >= ' ' && c <= '~' ? c : '?');
  }
  return text;
}

/// Where the directory lies.
struct ZipDirectory {
  std::uint64_t members = 0;
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
};

/// An entry of the directory, and where the member's own header is.
struct ZipEntry {
  ZipMember member;
  ZipBytes name;
  std::uint64_t header_begin = 0;
};

/// Finds the directory and reads its entries.
class ZipDirectoryReader {
 public:
  ZipDirectoryReader(const ZipArchive& archive, std::uint64_t size)
      : archive_(archive), size_(size) {}

  /// \returns the entries; their names lie in this reader
  Result<std::vector<ZipEntry>> read() {
    TROUPE_ASSIGN_OR_RETURN(directory_, find());
    if (directory_.members > most_members) {
      return Error(Errc::unimplemented,
                   fmt::format("{}: expected at most {} members, the archive says {}",
                               archive_.name(), most_members, directory_.members));
    }
    if (directory_.bytes > largest_directory ||
        directory_.bytes < directory_.members * entry_bytes) {
      return corrupt(fmt::format("expected a directory of {} to {} bytes for {} members, found {}",
                                 directory_.members * entry_bytes, largest_directory,
                                 directory_.members, directory_.bytes));
    }
    bytes_.resize(directory_.bytes);
    TROUPE_RETURN_IF_ERROR(archive_.read_at(directory_.begin, bytes_));
    std::vector<ZipEntry> entries;
    ZipBytes rest(bytes_);
    while (entries.size() < directory_.members) {
      TROUPE_RETURN_IF_ERROR(read_entry(rest, entries.emplace_back()));
    }
    return rest.empty() ? Result<std::vector<ZipEntry>>(std::move(entries))
                        : corrupt(fmt::format("expected the directory to end after {} members, "
                                              "found {} more bytes",
                                              entries.size(), rest.size()));
  }

  std::uint64_t directory_begin() const { return directory_.begin; }

 private:
  Error corrupt(const std::string& what) const {
    return {Errc::data_corruption, fmt::format("{}: {}", archive_.name(), what)};
  }

  /// The record at the end of the archive, perhaps with a comment behind it.
  Result<ZipDirectory> find() const {
    const auto length = std::min<std::uint64_t>(size_, end_bytes + longest_comment);
    std::vector<std::byte> tail(length);
    TROUPE_RETURN_IF_ERROR(archive_.read_at(size_ - length, tail));
    for (std::size_t back = end_bytes; back <= length; ++back) {
      const auto record = ZipBytes(tail).last(back);
      if (zip_number<std::uint32_t>(record, 0) == end_signature &&
          zip_number<std::uint16_t>(record, 20) == back - end_bytes) {
        return read_end(record, size_ - back);
      }
    }
    return corrupt("expected a ZIP archive (.npz), found no directory at its end: cut off?");
  }

  Result<ZipDirectory> read_end(ZipBytes record, std::uint64_t at) const {
    const ZipDirectory found{zip_number<std::uint16_t>(record, 10),
                             zip_number<std::uint32_t>(record, 16),
                             zip_number<std::uint32_t>(record, 12)};
    const bool wide =
        found.members == in_wide_short || found.begin == in_wide || found.bytes == in_wide;
    if (wide && at >= wide_locator_bytes) {
      std::vector<std::byte> locator(wide_locator_bytes);
      TROUPE_RETURN_IF_ERROR(archive_.read_at(at - wide_locator_bytes, locator));
      if (zip_number<std::uint32_t>(locator, 0) == wide_locator_signature) {
        return read_wide_end(locator, at - wide_locator_bytes);
      }
    }
    const auto disk = zip_number<std::uint16_t>(record, 4);
    const auto first_disk = zip_number<std::uint16_t>(record, 6);
    return checked(
        found, at,
        disk == 0 && first_disk == 0 && zip_number<std::uint16_t>(record, 8) == found.members);
  }

  /// \param locator_at  the record that it points to lies before
  Result<ZipDirectory> read_wide_end(ZipBytes locator, std::uint64_t locator_at) const {
    const auto at = zip_number<std::uint64_t>(locator, 8);
    if (locator_at < wide_end_bytes || at > locator_at - wide_end_bytes) {
      return corrupt(
          fmt::format("expected the zip64 record before byte {}, found it at {}", locator_at, at));
    }
    std::vector<std::byte> record(wide_end_bytes);
    TROUPE_RETURN_IF_ERROR(archive_.read_at(at, record));
    if (zip_number<std::uint32_t>(record, 0) != wide_end_signature) {
      return corrupt(fmt::format("expected the zip64 record at byte {}, found none", at));
    }
    const ZipDirectory found{zip_number<std::uint64_t>(record, 32),
                             zip_number<std::uint64_t>(record, 48),
                             zip_number<std::uint64_t>(record, 40)};
    const bool one_file = zip_number<std::uint32_t>(record, 16) == 0 &&
                          zip_number<std::uint32_t>(record, 20) == 0 &&
                          zip_number<std::uint64_t>(record, 24) == found.members &&
                          zip_number<std::uint32_t>(locator, 4) == 0;
    return checked(found, at, one_file);
  }

  /// \param end  where the directory must end
  Result<ZipDirectory> checked(const ZipDirectory& found, std::uint64_t end, bool one_file) const {
    if (!one_file) {
      return Error(Errc::unimplemented,
                   fmt::format("{}: expected an archive in one file, found one of several",
                               archive_.name()));
    }
    if (found.begin > end || found.bytes > end - found.begin) {
      return corrupt(fmt::format("expected the directory before byte {}, found {} bytes from {} on",
                                 end, found.bytes, found.begin));
    }
    return found;
  }

  /// Takes an entry from the front of `rest`.
  Status read_entry(ZipBytes& rest, ZipEntry& entry) const {
    if (rest.size() < entry_bytes || zip_number<std::uint32_t>(rest, 0) != entry_signature) {
      return corrupt("expected an entry of the directory, found something else");
    }
    const std::size_t name_bytes = zip_number<std::uint16_t>(rest, 28);
    const std::size_t extra_bytes = zip_number<std::uint16_t>(rest, 30);
    const std::size_t length =
        entry_bytes + name_bytes + extra_bytes + zip_number<std::uint16_t>(rest, 32);
    if (length > rest.size()) {
      return corrupt("expected an entry of the directory, found it cut off");
    }
    entry.name = rest.subspan(entry_bytes, name_bytes);
    auto& member = entry.member;
    member.name = printable(entry.name);
    member.encrypted = (zip_number<std::uint16_t>(rest, 8) & 1U) != 0;
    member.method = static_cast<ZipMethod>(zip_number<std::uint16_t>(rest, 10));
    member.checksum = zip_number<std::uint32_t>(rest, 16);
    member.packed_bytes = zip_number<std::uint32_t>(rest, 20);
    member.bytes = zip_number<std::uint32_t>(rest, 24);
    entry.header_begin = zip_number<std::uint32_t>(rest, 42);
    TROUPE_RETURN_IF_ERROR(
        read_wide_numbers(rest.subspan(entry_bytes + name_bytes, extra_bytes), entry));
    rest = rest.subspan(length);
    return ok_status();
  }

  /// Numbers that do not fit into 32 bits lie in an extra field, those alone and in this order.
  Status read_wide_numbers(ZipBytes extra, ZipEntry& entry) const {
    auto& member = entry.member;
    if (member.bytes != in_wide && member.packed_bytes != in_wide &&
        entry.header_begin != in_wide) {
      return ok_status();
    }
    auto field = find_wide_field(extra);
    if (!field) {
      return ok_status();  // then 2^32 - 1 is the number itself
    }
    for (auto* number : {&member.bytes, &member.packed_bytes, &entry.header_begin}) {
      if (*number != in_wide) {
        continue;
      }
      if (field->size() < sizeof(std::uint64_t)) {
        return corrupt(
            fmt::format("{}: expected its sizes in 64 bits, found a field cut off", member.name));
      }
      *number = zip_number<std::uint64_t>(*field, 0);
      field = field->subspan(sizeof(std::uint64_t));
    }
    return ok_status();
  }

  static std::optional<ZipBytes> find_wide_field(ZipBytes extra) {
    while (extra.size() >= 4) {
      const auto kind = zip_number<std::uint16_t>(extra, 0);
      const std::size_t length = zip_number<std::uint16_t>(extra, 2);
      extra = extra.subspan(4);
      if (length > extra.size()) {
        break;
      }
      if (kind == wide_field) {
        return extra.first(length);
      }
      extra = extra.subspan(length);
    }
    return std::nullopt;
  }

  const ZipArchive& archive_;
  std::uint64_t size_;
  ZipDirectory directory_;
  std::vector<std::byte> bytes_;
};

/// Finds a member's bytes behind its own header, which must agree with the directory.
Status locate(const ZipArchive& archive, std::uint64_t end, ZipEntry& entry) {
  auto& member = entry.member;
  const auto corrupt = [&](const std::string& what) {
    return Error(Errc::data_corruption,
                 fmt::format("{}: {}: {}", archive.name(), member.name, what));
  };
  const auto header_bytes = local_bytes + entry.name.size();
  if (entry.header_begin > end || end - entry.header_begin < header_bytes) {
    return corrupt(
        fmt::format("expected it before byte {}, found it at {}", end, entry.header_begin));
  }
  std::vector<std::byte> header(header_bytes);
  TROUPE_RETURN_IF_ERROR(archive.read_at(entry.header_begin, header));
  const bool agrees =
      zip_number<std::uint32_t>(header, 0) == local_signature &&
      zip_number<std::uint16_t>(header, 8) == static_cast<std::uint16_t>(member.method) &&
      zip_number<std::uint16_t>(header, 26) == entry.name.size() &&
      std::ranges::equal(ZipBytes(header).subspan(local_bytes), entry.name);
  if (!agrees) {
    return corrupt(
        fmt::format("expected its header at byte {}, found something else", entry.header_begin));
  }
  member.packed_begin = entry.header_begin + header_bytes + zip_number<std::uint16_t>(header, 28);
  if (member.packed_begin > end || member.packed_bytes > end - member.packed_begin) {
    return corrupt(fmt::format("expected its {} bytes before byte {}, found them from {} on",
                               member.packed_bytes, end, member.packed_begin));
  }
  return ok_status();
}

/// No member lies over another, and none has the name of another.
Status check_apart(const ZipArchive& archive, std::vector<ZipEntry>& entries) {
  std::set<std::string_view> names;
  for (const auto& entry : entries) {
    if (!names.insert(entry.member.name).second) {
      return Error(Errc::data_corruption,
                   fmt::format("{}: expected members of different names, found {} twice",
                               archive.name(), entry.member.name));
    }
  }
  std::vector<const ZipEntry*> order;
  for (const auto& entry : entries) {
    order.push_back(&entry);
  }
  std::ranges::sort(order, {}, &ZipEntry::header_begin);
  for (std::size_t i = 1; i < order.size(); ++i) {
    const auto& before = order[i - 1]->member;
    if (order[i]->header_begin < before.packed_begin + before.packed_bytes) {
      return Error(
          Errc::data_corruption,
          fmt::format("{}: expected members that lie apart, found {} at byte {}, within {}",
                      archive.name(), order[i]->member.name, order[i]->header_begin, before.name));
    }
  }
  return ok_status();
}

}  // namespace

Result<std::shared_ptr<const ZipArchive>> ZipArchive::open(const std::filesystem::path& path,
                                                           const std::string& name) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    return file_error(path, "cannot open", errno);
  }
  std::shared_ptr<ZipArchive> archive(new ZipArchive(fd, 0, name));
  struct ::stat status {};
  if (::fstat(fd, &status) != 0) {
    return file_error(path, "cannot open", errno);
  }
  if (!S_ISREG(status.st_mode)) {
    return file_error(path, "cannot open", S_ISDIR(status.st_mode) ? EISDIR : EINVAL);
  }
  archive->size_ = static_cast<std::uint64_t>(status.st_size);
  TROUPE_RETURN_IF_ERROR(archive->read_members());
  return std::shared_ptr<const ZipArchive>(std::move(archive));
}

ZipArchive::~ZipArchive() {
  ::close(fd_);
}

Status ZipArchive::read_members() {
  ZipDirectoryReader reader(*this, size_);
  TROUPE_ASSIGN_OR_RETURN(auto entries, reader.read());
  for (auto& entry : entries) {
    TROUPE_RETURN_IF_ERROR(locate(*this, reader.directory_begin(), entry));
  }
  TROUPE_RETURN_IF_ERROR(check_apart(*this, entries));
  for (auto& entry : entries) {
    members_.push_back(std::move(entry.member));
  }
  return ok_status();
}

const ZipMember* ZipArchive::find(std::string_view member) const {
  const auto found = std::ranges::find(members_, member, &ZipMember::name);
  return found == members_.end() ? nullptr : &*found;
}

Status ZipArchive::read_at(std::uint64_t begin, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const auto n =
        ::pread(fd_, bytes.data(), std::min(bytes.size(), largest_read), static_cast<off_t>(begin));
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      return file_error(name_, "cannot read", errno);
    }
    if (n == 0) {
      return Error(Errc::data_corruption,
                   fmt::format("{}: expected {} more bytes at {}, found the file's end", name_,
                               bytes.size(), begin));
    }
    begin += static_cast<std::uint64_t>(n);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return ok_status();
}

}  // namespace troupe
