#include "runtime/wire/codec_support.hpp"

#include <algorithm>
#include <cstring>

namespace troupe::net {

Status SegmentReader::at_most(std::size_t count) const {
  for (std::size_t i = count; i < frame_.segments.size(); ++i) {
    if (!frame_.segments[i].empty()) {
      return corrupt_message(message_, fmt::format("expected at most {} segments, found {}", count,
                                                   frame_.segments.size()));
    }
  }
  return ok_status();
}

Result<Segment> SegmentReader::elements(std::size_t i, std::size_t element_bytes) const {
  if (i >= frame_.segments.size() || frame_.segments[i].empty()) {
    return Segment{};
  }
  const Segment& segment = frame_.segments[i];
  if (segment.bytes.size() % element_bytes != 0) {
    return corrupt_message(
        message_, fmt::format("segment {}: expected elements of {} bytes each, found {} bytes", i,
                              element_bytes, segment.bytes.size()));
  }
  if (reinterpret_cast<std::uintptr_t>(segment.bytes.data()) % element_bytes == 0) {
    return segment;
  }
  Buffer copy(segment.bytes.size());
  std::memcpy(copy.data(), segment.bytes.data(), segment.bytes.size());
  return std::move(copy).freeze();
}

Segment SegmentReader::aligned(std::size_t i) const {
  if (i >= frame_.segments.size()) {
    return {};
  }
  const Segment& segment = frame_.segments[i];
  if (reinterpret_cast<std::uintptr_t>(segment.bytes.data()) % alignof(std::uint64_t) == 0) {
    return segment;
  }
  Buffer copy(segment.bytes.size());
  std::memcpy(copy.data(), segment.bytes.data(), segment.bytes.size());
  return std::move(copy).freeze();
}

Result<IdList> SegmentReader::ids(std::size_t i, std::uint64_t width_bytes) const {
  if (width_bytes != 4 && width_bytes != 8) {
    return corrupt_message(
        message_, fmt::format("width of ids: expected 4 or 8 bytes, found {}", width_bytes));
  }
  TROUPE_ASSIGN_OR_RETURN(Segment segment, elements(i, width_bytes));
  return IdList{std::move(segment), static_cast<std::uint8_t>(width_bytes)};
}

IdList pack_ids(std::span<const NodeId> ids) {
  std::uint64_t all_bits = 0;
  for (const auto id : ids) {
    all_bits |= raw(id);
  }
  const auto pack = [&]<class T>(T) {
    Buffer packed(ids.size() * sizeof(T));
    std::ranges::transform(ids, packed.as<T>().begin(),
                           [](NodeId id) { return static_cast<T>(raw(id)); });
    return IdList{std::move(packed).freeze(), sizeof(T)};
  };
  return all_bits >> 32 == 0 ? pack(std::uint32_t{}) : pack(std::uint64_t{});
}

namespace {

PooledVector<NodeId> unpack(const IdList& ids, std::size_t first, std::size_t count) {
  PooledVector<NodeId> out(count);
  ids.ids().visit([&](auto values) {
    std::ranges::transform(values.subspan(first, count), out.begin(),
                           [](auto id) { return static_cast<NodeId>(id); });
  });
  return out;
}

}  // namespace

PooledVector<NodeId> unpack_ids(const IdList& ids) {
  return unpack(ids, 0, ids.size());
}

Result<PooledVector<NodeId>> IdUnpacker::take(std::uint64_t count) {
  if (count > ids_.size() - taken_) {
    return corrupt_message(
        message_, fmt::format("ids: expected at least {}, found {}", taken_ + count, ids_.size()));
  }
  taken_ += count;
  return unpack(ids_, taken_ - count, count);
}

Status IdUnpacker::finish() const {
  return expect_equal(message_, "ids", taken_, ids_.size());
}

Status expect_equal(std::string_view message, std::string_view what, std::uint64_t expected,
                    std::uint64_t found) {
  if (expected != found) {
    return corrupt_message(message,
                           fmt::format("{}: expected {}, found {}", what, expected, found));
  }
  return ok_status();
}

Result<std::string> read_text(std::string_view message, capnp::Text::Reader text,
                              std::size_t most) {
  if (text.size() > most) {
    return corrupt_message(
        message, fmt::format("text: expected at most {} bytes, found {}", most, text.size()));
  }
  return std::string(text.begin(), text.end());
}

}  // namespace troupe::net
