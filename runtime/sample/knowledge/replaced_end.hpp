#pragma once
/// \file replaced_end.hpp
/// The end of triples (head, relation, tail) that negative candidates replace.
#include <cstdint>

namespace troupe {

enum class ReplacedEnd : std::uint8_t { tail, head };

}  // namespace troupe
