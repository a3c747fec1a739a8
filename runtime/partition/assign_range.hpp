#pragma once
/// \file assign_range.hpp
/// The partition method `range`: contiguous ranges of ids.
#include "runtime/base/result.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/partition/assignment.hpp"

#include <cstdint>

namespace troupe {

/// Node i of a type with `count` nodes goes to part i * parts / count: shares that differ by at most
/// one node.
/// \requires 1 <= parts <= nodes of the largest type (assign() checks it)
Assignment assign_range(const GraphInfo& graph, std::uint32_t parts);

}  // namespace troupe
