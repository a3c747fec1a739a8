#include "launcher/bytes_option.hpp"

#include "runtime/base/value_rule.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace troupe {

Result<std::uint64_t> bytes_option(std::string_view option, const std::string& text) {
  const bool number =
      !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  const auto bytes = parse_bytes(nlohmann::json(number ? text + "B" : text));
  if (!bytes) {
    return Error(Errc::invalid_argument,
                 fmt::format("{}: expected bytes such as 4GB or 512MiB, got \"{}\"", option, text));
  }
  return *bytes;
}

}  // namespace troupe
