#include "launcher/bytes_option.hpp"

#include "runtime/base/value_rule.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace troupe {

namespace {

/// With less, sorting takes many times as long; a number without a unit is counted in bytes.
constexpr std::uint64_t least_memory = 64'000;

}  // namespace

Result<std::uint64_t> bytes_option(std::string_view option, const std::string& text) {
  const bool number =
      !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  const auto bytes = parse_bytes(nlohmann::json(number ? text + "B" : text));
  if (!bytes) {
    return Error(
        Errc::invalid_argument,
        fmt::format("{}: expected bytes such as 4GB or 512MiB, got \"{}\"\ntry: a whole number "
                    "with one of B, KB, KiB, MB, MiB, GB, GiB, TB, TiB",
                    option, text));
  }
  if (*bytes < least_memory) {
    return Error(Errc::invalid_argument,
                 fmt::format("{}: expected at least 64KB, got {}\ntry: a unit, as in 4GB", option,
                             number ? text + " bytes" : text));
  }
  return *bytes;
}

}  // namespace troupe
