#include "actors/message.hpp"

#include <caf/sec.hpp>

namespace troupe {

std::string printed_message() {
  return "(a message)";
}

caf::error unserialized_message() {
  return caf::sec::unknown_type;
}

}  // namespace troupe
