#pragma once
/// \file bytes_option.hpp
/// Amounts of memory on the command line.
#include "runtime/base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

/// Bytes from "67108864", "64MB" or "64MiB".
/// \errors invalid_argument: none of these, or less than 64KB, naming the option
Result<std::uint64_t> bytes_option(std::string_view option, const std::string& text);

}  // namespace troupe
