#pragma once
/// \file zip_archive.hpp
/// ZIP archives of any size (zip64), as NumPy's .npz files are: the list of members, and the bytes of
/// a member from begin to end, stored or deflated. Nothing is taken on trust: an archive that
/// contradicts itself is an error that names it. Writing and repairing archives is for others.
#include "runtime/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

enum class ZipMethod : std::uint16_t { stored = 0, deflated = 8 };

struct ZipMember {
  std::string name;  ///< Bytes that are not printable ASCII are '?'
  ZipMethod method = ZipMethod::stored;
  bool encrypted = false;
  std::uint32_t checksum = 0;      ///< CRC-32 of the member's bytes
  std::uint64_t bytes = 0;         ///< Uncompressed
  std::uint64_t packed_bytes = 0;  ///< In the archive
  std::uint64_t packed_begin = 0;  ///< Place in the archive
};

/// Threads: any number at once
class ZipArchive {
 public:
  /// Reads the directory at the archive's end and the header of every member. The file must not
  /// change while the archive is used.
  /// \param name  for messages
  /// \errors not_found; failed_precondition: not a regular file, or unreadable; data_corruption: not
  ///   an archive, cut off, or members out of bounds, over each other or with one name;
  ///   unimplemented: an archive in several files, or with more than 65536 members
  static Result<std::shared_ptr<const ZipArchive>> open(const std::filesystem::path& path,
                                                        const std::string& name);
  ~ZipArchive();
  ZipArchive(const ZipArchive&) = delete;
  ZipArchive& operator=(const ZipArchive&) = delete;

  const std::string& name() const { return name_; }
  /// In the order of the directory.
  std::span<const ZipMember> members() const { return members_; }
  const ZipMember* find(std::string_view member) const;  ///< null: there is none

  /// Fills `bytes` with those of the archive from `begin` on.
  Status read_at(std::uint64_t begin, std::span<std::byte> bytes) const;

 private:
  ZipArchive(int fd, std::uint64_t size, std::string name)
      : fd_(fd), size_(size), name_(std::move(name)) {}
  Status read_members();

  int fd_;
  std::uint64_t size_;
  std::string name_;
  std::vector<ZipMember> members_;
};

/// The bytes of a member from begin to end.
/// Lifecycle:  open(); read() and skip() up to the end; finish() once
/// Threads:    one at a time; several readers of an archive at once
/// Guarantees: memory for a block, whatever the member's size
class ZipReader {
 public:
  /// \param member  of `archive`
  /// \errors unimplemented: encrypted, or packed in another way
  static Result<ZipReader> open(std::shared_ptr<const ZipArchive> archive, const ZipMember& member);
  ~ZipReader();
  ZipReader(ZipReader&&) noexcept;
  ZipReader& operator=(ZipReader&&) noexcept;

  /// Fills `out` with the next bytes.
  /// \errors data_corruption: damaged, or the member ends before
  Status read(std::span<std::byte> out);
  Status skip(std::uint64_t bytes);
  /// Reads what is left and checks that it ends as the archive says.
  /// \errors data_corruption: damaged, longer than stated, or another checksum
  Status finish();

 private:
  struct Inflater;
  ZipReader(std::shared_ptr<const ZipArchive> archive, const ZipMember& member);
  Status fill();
  Status inflate_some(std::span<std::byte>& out);
  Status finish_inflating();
  Error damaged(std::string_view why) const;

  std::shared_ptr<const ZipArchive> archive_;
  ZipMember member_;
  std::unique_ptr<Inflater> inflater_;  ///< null: stored
  std::uint64_t packed_taken_ = 0;
  std::uint64_t taken_ = 0;
  std::uint32_t checksum_ = 0;
};

}  // namespace troupe
