#pragma once
/// \file array_source.hpp
/// Arrays that importers read in order: .npy files, which are mapped, and members of .npz archives,
/// of which a block at a time is in memory.
#include "runtime/base/result.hpp"
#include "runtime/data/zip_archive.hpp"
#include "runtime/graph/npy.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

class ArrayCursor;

/// Threads: any number at once
class ArraySource {
 public:
  explicit ArraySource(NpyArray array);
  /// Reads the header of an array in an archive.
  /// \param array  its name in NumPy: the member's without .npy
  /// \errors not_found: no such member; as parse_npy and ZipReader, but invalid_argument for what is
  ///   no array
  static Result<ArraySource> open(std::shared_ptr<const ZipArchive> archive,
                                  const std::string& array);

  NpyType type() const { return type_; }
  const std::vector<std::uint64_t>& shape() const { return shape_; }
  std::uint64_t size() const;  ///< Elements
  /// \param element  where the cursor begins
  Result<ArrayCursor> cursor(std::uint64_t element = 0) const;

 private:
  ArraySource() = default;

  NpyType type_;
  std::vector<std::uint64_t> shape_;
  Segment mapped_;                             ///< Of a file
  std::shared_ptr<const ZipArchive> archive_;  ///< Null: a file
  const ZipMember* member_ = nullptr;
  std::uint64_t data_begin_ = 0;  ///< In the member
};

/// A place in an array that moves to its end. It may outlive its source.
/// Threads: one at a time
class ArrayCursor {
 public:
  /// The next elements as an array of one dimension.
  /// \param count  no more than there are
  /// \returns what is valid until the next call
  /// \errors data_corruption: the archive is damaged
  Result<NpyArray> next(std::uint64_t count);
  /// Reads what is left of an archive's member and checks its checksum.
  Status finish();

 private:
  friend class ArraySource;
  ArrayCursor(NpyType type, Segment mapped) : type_(type), mapped_(std::move(mapped)) {}

  NpyType type_;
  Segment mapped_;  ///< What is left of a file
  std::optional<ZipReader> reader_{};
  std::shared_ptr<std::vector<std::byte>> block_{};
};

/// The name of a member in messages: "ARCHIVE: ARRAY".
std::string member_name(const ZipArchive& archive, std::string_view array);

}  // namespace troupe
