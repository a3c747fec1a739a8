#include "runtime/base/self_checksum.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/base/digest.hpp"

#include <fmt/format.h>
#include <span>

namespace troupe {
namespace {

constexpr std::string_view key = "\"self_checksum\": \"";

std::string checksum_of(std::string_view text) {
  return to_string(digest_of(std::as_bytes(std::span(text))));
}

/// Where the digits begin, or npos.
std::size_t find_digits(std::string_view text) {
  const auto found = text.find(key);
  const auto begin = found + key.size();
  const auto end = begin + unsealed.size();
  const bool complete = found != std::string_view::npos && end < text.size() && text[end] == '"';
  return complete ? begin : std::string_view::npos;
}

}  // namespace

std::string seal_text(std::string text) {
  const auto begin = find_digits(text);
  TROUPE_ASSERT(begin != std::string::npos && text.compare(begin, unsealed.size(), unsealed) == 0,
                "text without a place for its checksum", text.substr(0, 100));
  return text.replace(begin, unsealed.size(), checksum_of(text));
}

Status check_seal(std::string_view text, std::string_view name) {
  const auto begin = find_digits(text);
  if (begin == std::string_view::npos) {
    return Error(Errc::data_corruption,
                 fmt::format("{}: expected a \"self_checksum\" of {} digits, found none", name,
                             unsealed.size()));
  }
  std::string zeroed(text);
  zeroed.replace(begin, unsealed.size(), unsealed);
  const auto expected = text.substr(begin, unsealed.size());
  if (const auto found = checksum_of(zeroed); found != expected) {
    return Error(Errc::data_corruption,
                 fmt::format("{}: expected checksum {}, found {}", name, expected, found));
  }
  return ok_status();
}

}  // namespace troupe
