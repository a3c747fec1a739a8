#pragma once
/// \file section_cutter.hpp
/// Arrays that hold section after section, such as those of replies: where a section begins, and a
/// reader that checks sizes.
#include "runtime/base/result.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <span>
#include <string_view>

namespace troupe {

/// Place of a section of `size` bytes that follows `bytes` of others: the next multiple of 8, unless
/// it is empty.
constexpr std::uint64_t section_begin(std::uint64_t bytes, std::uint64_t size) noexcept {
  return size == 0 ? bytes : (bytes + 7) / 8 * 8;
}

/// Reads the sections of one array in their order.
/// Borrows: the array and both texts
template <class T>
class SectionCutter {
 public:
  /// \param message  name of the message, for errors
  /// \param what     name of the elements, for errors
  SectionCutter(std::span<const T> all, std::string_view message, std::string_view what)
      : all_(all), message_(message), what_(what) {}

  std::uint64_t taken() const { return taken_; }
  std::uint64_t left() const { return all_.size() - taken_; }
  /// From where a section that is not empty would begin.
  std::uint64_t left_aligned() const {
    return all_.size() - std::min<std::uint64_t>(section_begin(taken_, 1), all_.size());
  }

  /// \errors data_corruption: fewer elements are left
  Result<std::span<const T>> take(std::uint64_t count) {
    if (count > left()) {
      return Error(Errc::data_corruption,
                   fmt::format("{}: expected {} {} or more, found {}", message_, taken_ + count,
                               what_, all_.size()));
    }
    taken_ += count;
    return all_.subspan(taken_ - count, count);
  }

  /// The same for bytes, from section_begin() on.
  Result<std::span<const T>> take_aligned(std::uint64_t bytes) requires(sizeof(T) == 1) {
    TROUPE_RETURN_IF_ERROR(take(section_begin(taken_, bytes) - taken_));
    return take(bytes);
  }

  /// \errors data_corruption: some elements are left
  Status finish() const {
    if (left() != 0) {
      return Error(Errc::data_corruption, fmt::format("{}: expected {} {}, found {}", message_,
                                                      taken_, what_, all_.size()));
    }
    return ok_status();
  }

 private:
  std::span<const T> all_;
  std::string_view message_;
  std::string_view what_;
  std::uint64_t taken_ = 0;
};

}  // namespace troupe
