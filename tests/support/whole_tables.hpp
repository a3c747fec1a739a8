#pragma once
/// \file whole_tables.hpp
/// How much of a large table of cases a test goes through.
#include <cstdlib>

namespace troupe::testing {

/// All cases, as the nightly tests do, or a share of them that still has each row and each column.
/// Environment: TROUPE_WHOLE_TABLES, set to anything
inline bool whole_tables() {
  return std::getenv("TROUPE_WHOLE_TABLES") != nullptr;
}

}  // namespace troupe::testing
