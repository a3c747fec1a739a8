#pragma once
/// \file cut_text.hpp
/// Bounds for sentences that travel.
#include <cstddef>
#include <string_view>

namespace troupe {

/// The first `max_bytes` bytes of `text` at most, not cut inside a UTF-8 character.
inline std::string_view cut_text(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) {
    return text;
  }
  std::size_t n = max_bytes;
  while (n > 0 && (static_cast<unsigned char>(text[n]) & 0xC0) == 0x80) {
    --n;
  }
  return text.substr(0, n);
}

}  // namespace troupe
