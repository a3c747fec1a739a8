#pragma once
/// \file assignment.hpp
/// Which part each node goes to.
#include "runtime/base/ids.hpp"

#include <vector>

namespace troupe {

/// Node -> part, for every node type, by original id.
using Assignment = std::vector<std::vector<PartId>>;

}  // namespace troupe
