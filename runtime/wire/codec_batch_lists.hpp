#pragma once
/// \file codec_batch_lists.hpp
/// The many lists of a ReadyBatch, packed into few segments and taken out again. Only for
/// runtime/wire/*.cpp.
#include "runtime/base/matrix.hpp"
#include "runtime/wire/codec_support.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace troupe::net {

inline constexpr std::string_view ready_batch_name = "ReadyBatch";

inline Error corrupt_batch(const std::string& what) {
  return corrupt_message(ready_batch_name, what);
}

/// Lists of one message, one behind the other in the order of schema/batches.capnp.
class Packer {
 public:
  /// Numbers keep their value, floating-point numbers their bits.
  template <class T>
  void add(const PooledVector<T>& list, unsigned width = 4) {
    if (width == 4) {
      append(narrow_, list);
    } else {
      append(wide_, list);
    }
  }
  /// In whole words, zeros after the last byte.
  void add_bytes(std::span<const std::byte> bytes) {
    const auto before = wide_.size();
    wide_.resize(before + (bytes.size() + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
    if (!bytes.empty()) {
      std::memcpy(wide_.data() + before, bytes.data(), bytes.size());
    }
  }
  Segment narrow() { return Segment::of(std::move(narrow_)); }
  Segment wide() { return Segment::of(std::move(wide_)); }

 private:
  template <class Word, class T>
  static void append(PooledVector<Word>& words, const PooledVector<T>& list) {
    const auto before = words.size();
    words.resize(before + list.size());
    std::ranges::transform(list, words.begin() + static_cast<std::ptrdiff_t>(before), [](T value) {
      if constexpr (std::is_floating_point_v<T>) {
        static_assert(sizeof(T) == sizeof(std::uint32_t));
        return std::bit_cast<std::uint32_t>(value);
      } else {
        return static_cast<Word>(value);
      }
    });
  }
  PooledVector<std::uint32_t> narrow_;
  PooledVector<std::uint64_t> wide_;
};

class Unpacker {
 public:
  Unpacker(Segment narrow, Segment wide) : narrow_(std::move(narrow)), wide_(std::move(wide)) {}

  template <class T>
  Result<PooledVector<T>> take(std::string_view what, std::uint64_t size, unsigned width = 4) {
    return width == 4 ? take_from<T>(what, narrow_.as<std::uint32_t>(), narrow_at_, size)
                      : take_from<T>(what, wide_.as<std::uint64_t>(), wide_at_, size);
  }
  /// Bytes in whole words of the wide list.
  Result<Segment> take_bytes(std::string_view what, std::uint64_t size) {
    const auto words = size / sizeof(std::uint64_t) + (size % sizeof(std::uint64_t) != 0 ? 1 : 0);
    TROUPE_ASSIGN_OR_RETURN(auto list, take<std::uint64_t>(what, words, sizeof(std::uint64_t)));
    auto segment = Segment::of(std::move(list));
    segment.bytes = segment.bytes.first(size);
    return segment;
  }
  Status all_taken() const {
    TROUPE_RETURN_IF_ERROR(expect_equal(ready_batch_name, "elements of segment 0", narrow_at_,
                                        narrow_.as<std::uint32_t>().size()));
    return expect_equal(ready_batch_name, "elements of segment 1", wide_at_,
                        wide_.as<std::uint64_t>().size());
  }

 private:
  template <class T, class Word>
  static Result<PooledVector<T>> take_from(std::string_view what, std::span<const Word> words,
                                           std::size_t& at, std::uint64_t size) {
    if (size > words.size() - at) {
      return corrupt_batch(
          fmt::format("{}: expected {} elements, found {}", what, size, words.size() - at));
    }
    PooledVector<T> list(size);
    std::ranges::transform(words.subspan(at, size), list.begin(), [](Word word) {
      if constexpr (std::is_floating_point_v<T>) {
        return std::bit_cast<T>(static_cast<std::uint32_t>(word));
      } else {
        return static_cast<T>(word);
      }
    });
    at += size;
    return list;
  }
  Segment narrow_;
  Segment wide_;
  std::size_t narrow_at_ = 0;
  std::size_t wide_at_ = 0;
};

/// 4 where the ids of all lists fit, else 8.
template <class Lists, class List>
std::uint8_t width_of(const Lists& lists, List list) {
  std::uint64_t bits = 0;
  for (const auto& of_type : lists) {
    for (const auto id : of_type.*list) {
      bits |= raw(id);
    }
  }
  return bits >> 32 == 0 ? 4 : 8;
}

struct Widths {
  std::uint8_t ids = 8;
  std::uint8_t originals = 8;
  std::uint8_t edge_ids = 8;
};

/// The type whose feature rows are a segment of their own: the most numbers, the first of these.
template <class Sizes>
std::size_t largest(const Sizes& sizes) {
  return static_cast<std::size_t>(std::ranges::max_element(sizes) - sizes.begin());
}

/// Takes matrices from the front of a segment.
class RowCutter {
 public:
  RowCutter(Segment segment, std::string_view what) : rest_(std::move(segment)), what_(what) {}

  Result<Matrix> take(std::uint64_t rows, std::uint64_t cols) {
    const std::uint64_t most = rest_.bytes.size() / sizeof(float);
    if (rows * cols > most) {  // both below 2^32
      return corrupt_batch(fmt::format("{}: expected {} rows of {} numbers, found {} numbers",
                                       what_, rows, cols, most));
    }
    const std::size_t bytes = rows * cols * sizeof(float);
    auto matrix = Matrix::of({rest_.owner, rest_.bytes.first(bytes)}, rows, cols);
    rest_.bytes = rest_.bytes.subspan(bytes);
    return matrix;
  }
  Status all_taken() const {
    return expect_equal(ready_batch_name, fmt::format("bytes left of {}", what_), 0,
                        rest_.bytes.size());
  }

 private:
  Segment rest_;
  std::string_view what_;
};

}  // namespace troupe::net
