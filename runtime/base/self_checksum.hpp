#pragma once
/// \file self_checksum.hpp
/// A JSON text that carries its own checksum: the member `"self_checksum": "DIGITS"`, near its start,
/// is the digest of the text with zeros in place of the 32 digits.
#include "runtime/base/result.hpp"

#include <string>
#include <string_view>

namespace troupe {

/// What a writer puts as value of "self_checksum" before it seals the text.
inline constexpr std::string_view unsealed = "00000000000000000000000000000000";

/// Puts in the checksum.
/// \requires the text has the member, written `"self_checksum": "`, with 32 digits
std::string seal_text(std::string text);

/// \errors data_corruption: no such member, or another checksum than the text has
Status check_seal(std::string_view text, std::string_view name);

}  // namespace troupe
