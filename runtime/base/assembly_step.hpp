#pragma once
/// \file assembly_step.hpp
/// Work that is put together from answers of parts, some here and some elsewhere: one step of it
/// takes the answers that have come and goes on until it needs others. Drivers: actors/assembly.hpp.
#include "runtime/base/ids.hpp"

#include <cstdint>
#include <vector>

namespace troupe {

/// What a step leaves to be done.
/// \tparam Question  has `id`, unique in the work, `part` and `request`
template <class Question>
struct AssemblyStep {
  std::vector<Question> ask;  ///< To be asked of their parts, which lie elsewhere
  bool more = false;          ///< Another step can be made at once, while they are on their way
  bool done = false;          ///< Nothing is missing
};

}  // namespace troupe
