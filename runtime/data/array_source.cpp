#include "runtime/data/array_source.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace troupe {

std::string member_name(const ZipArchive& archive, std::string_view array) {
  return fmt::format("{}: {}", archive.name(), array);
}

ArraySource::ArraySource(NpyArray array)
    : type_(array.type), shape_(std::move(array.shape)), mapped_(std::move(array.data)) {}

Result<ArraySource> ArraySource::open(std::shared_ptr<const ZipArchive> archive,
                                      const std::string& array) {
  ArraySource source;
  source.member_ = archive->find(array + ".npy");
  if (source.member_ == nullptr) {
    return Error(Errc::not_found,
                 fmt::format("{}: expected an array {}, found none", archive->name(), array));
  }
  TROUPE_ASSIGN_OR_RETURN(auto reader, ZipReader::open(archive, *source.member_));
  std::vector<std::byte> start(std::min<std::uint64_t>(source.member_->bytes, longest_npy_header));
  TROUPE_RETURN_IF_ERROR(reader.read(start));
  auto header = parse_npy_header(start, source.member_->bytes, member_name(*archive, array));
  if (!header) {  // a user's file, not a damaged store
    return Error(Errc::invalid_argument, header.error().what());
  }
  source.type_ = header->type;
  source.shape_ = std::move(header->shape);
  source.data_begin_ = header->data_begin;
  source.archive_ = std::move(archive);
  return source;
}

std::uint64_t ArraySource::size() const {
  std::uint64_t product = 1;
  for (const auto extent : shape_) {
    product *= extent;
  }
  return product;
}

Result<ArrayCursor> ArraySource::cursor(std::uint64_t element) const {
  const auto begin = element * type_.bytes;
  if (!archive_) {
    return ArrayCursor(type_, {mapped_.owner, mapped_.bytes.subspan(begin)});
  }
  ArrayCursor cursor(type_, {});
  TROUPE_ASSIGN_OR_RETURN(cursor.reader_, ZipReader::open(archive_, *member_));
  TROUPE_RETURN_IF_ERROR(cursor.reader_->skip(data_begin_ + begin));
  cursor.block_ = std::make_shared<std::vector<std::byte>>();
  return cursor;
}

Result<NpyArray> ArrayCursor::next(std::uint64_t count) {
  const auto bytes = count * type_.bytes;
  if (!reader_) {
    const NpyArray array{type_, {count}, {mapped_.owner, mapped_.bytes.first(bytes)}};
    mapped_.bytes = mapped_.bytes.subspan(bytes);
    return array;
  }
  block_->resize(bytes);
  TROUPE_RETURN_IF_ERROR(reader_->read(*block_));
  return NpyArray{type_, {count}, {block_, *block_}};
}

Status ArrayCursor::finish() {
  return reader_ ? reader_->finish() : ok_status();
}

}  // namespace troupe
