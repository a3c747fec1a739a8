#include "runtime/graph/graph_info.hpp"

#include <algorithm>
#include <array>

namespace troupe {
namespace {

struct DTypeName {
  DType dtype;
  std::string_view name;
  std::size_t bytes;
};
constexpr std::array<DTypeName, 11> dtypes{{{DType::u8, "u8", 1},
                                            {DType::u16, "u16", 2},
                                            {DType::i32, "i32", 4},
                                            {DType::i64, "i64", 8},
                                            {DType::u32, "u32", 4},
                                            {DType::u64, "u64", 8},
                                            {DType::f16, "f16", 2},
                                            {DType::bf16, "bf16", 2},
                                            {DType::f32, "f32", 4},
                                            {DType::f64, "f64", 8},
                                            {DType::boolean, "bool", 1}}};

constexpr DTypeName unknown_dtype{DType::u8, "?", 0};

const DTypeName& entry(DType dtype) noexcept {
  const auto* const found = std::ranges::find(dtypes, dtype, &DTypeName::dtype);
  return found == dtypes.end() ? unknown_dtype : *found;
}

}  // namespace

std::size_t size_bytes(DType dtype) noexcept {
  return entry(dtype).bytes;
}
std::string_view to_string(DType dtype) noexcept {
  return entry(dtype).name;
}

std::optional<DType> parse_dtype(std::string_view text) noexcept {
  const auto* found = std::ranges::find(dtypes, text, &DTypeName::name);
  return found == dtypes.end() ? std::nullopt : std::optional(found->dtype);
}

std::string_view to_string(CompleteFor complete) noexcept {
  switch (complete) {
    case CompleteFor::in:
      return "in";
    case CompleteFor::out:
      return "out";
    case CompleteFor::both:
      return "both";
  }
  return "?";
}

std::optional<CompleteFor> parse_complete_for(std::string_view text) noexcept {
  for (const auto complete : {CompleteFor::in, CompleteFor::out, CompleteFor::both}) {
    if (to_string(complete) == text) {
      return complete;
    }
  }
  return std::nullopt;
}

std::string_view to_string(EdgeDir dir) noexcept {
  return dir == EdgeDir::in ? "in" : "out";
}

const SplitInfo* GraphInfo::find_split(std::string_view name) const {
  const auto found = std::ranges::find(splits, name, &SplitInfo::name);
  return found == splits.end() ? nullptr : &*found;
}

std::uint64_t ColumnInfo::row_values() const noexcept {
  std::uint64_t values = 1;
  for (const auto extent : shape) {
    values *= extent;
  }
  return values;
}

}  // namespace troupe
