#pragma once
/// \file fault_roles.hpp
/// Which process of which job stands for a victim.
#include "tests/support/fault_cell.hpp"

#include <string>
#include <vector>

namespace troupe::testing {

struct Role {
  const char* text;
  const char* process;  ///< its name
  std::vector<std::string> settings;
};

const Role& role_of(Victim victim);

}  // namespace troupe::testing
