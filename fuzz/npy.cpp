// Header and array of one .npy file, at any alignment.
#include "runtime/graph/npy.hpp"

#include "runtime/base/digest.hpp"

#include "fuzz/targets.hpp"

namespace troupe::fuzz {
namespace {

/// A copy that begins `shift` bytes behind an aligned place and ends where its memory ends.
Segment segment_at(Input input, std::size_t shift) {
  std::vector<std::byte> bytes(shift);
  const auto data = std::as_bytes(input);
  bytes.insert(bytes.end(), data.begin(), data.end());
  auto segment = Segment::of(std::move(bytes));
  segment.bytes = segment.bytes.subspan(shift);
  return segment;
}

}  // namespace

void run_npy(Input input) {
  for (const std::size_t shift : {0U, 1U}) {
    const auto array = parse_npy(segment_at(input, shift), "x.npy");
    if (!array.ok()) {
      require(array.error().what().find("x.npy") == 0, "an error begins with the file");
      continue;
    }
    require(array->data.bytes.size() == array->size() * array->type.bytes,
            "data are exactly the elements");
    const bool aligned = visit_elements(*array, [](auto values) {
      using T = typename decltype(values)::value_type;
      return reinterpret_cast<std::uintptr_t>(values.data()) % alignof(T) == 0;
    });
    require(aligned, "elements are aligned");
    require(digest_of(array->data.bytes) == digest_of(array->data.bytes), "data can be read");
    std::vector<std::byte> file;
    const auto header = npy_header(array->type, array->shape);
    const auto text = std::as_bytes(std::span(header));
    file.insert(file.end(), text.begin(), text.end());
    file.insert(file.end(), array->data.bytes.begin(), array->data.bytes.end());
    const auto again = parse_npy(Segment::of(std::move(file)), "y.npy");
    require(again.ok() && again->type == array->type && again->shape == array->shape &&
                std::ranges::equal(again->data.bytes, array->data.bytes),
            "an array comes back as it was written");
  }
}

}  // namespace troupe::fuzz

TROUPE_FUZZ_TARGET(troupe::fuzz::run_npy)
