#pragma once
/// \file idle_actor.hpp
/// An actor that only lives: stands for one that the test does not ask anything.
#include <caf/all.hpp>

namespace troupe::testing {

inline caf::behavior idle(caf::event_based_actor* /*self*/) {
  return {[](int) {}};
}

}  // namespace troupe::testing
