#pragma once
/// \file self_checksum.hpp
/// Makes the checksum inside graph.json and partition.json right, so that mutated documents reach
/// the code behind it.
#include "runtime/base/digest.hpp"

#include <span>
#include <string>

namespace troupe::fuzz {

/// `text` with the digits after "self_checksum" replaced by the right ones; unchanged without them.
inline std::string with_self_checksum(std::string text) {
  const std::string key = "\"self_checksum\": \"";
  const auto at = text.find(key);
  if (at == std::string::npos || text.size() < at + key.size() + 33) {
    return text;
  }
  text.replace(at + key.size(), 32, std::string(32, '0'));
  const auto digest = to_string(digest_of(std::as_bytes(std::span(text))));
  return text.replace(at + key.size(), 32, digest);
}

}  // namespace troupe::fuzz
