#pragma once
/// \file assembly_step.hpp
/// Steps of work that is put together from replies of parts, some on this host and some elsewhere. A
/// step takes the replies that have arrived and continues until it needs others. Driver:
/// actors/assembly.hpp.
#include "runtime/base/ids.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace troupe {

/// Reply of a part to one question of the work.
/// \tparam ReplyPointer  shared pointer, or a variant of several
template <class ReplyPointer>
struct ArrivedReply {
  std::uint32_t question = 0;
  ReplyPointer reply;
};

/// Outcome of a step.
/// \tparam Question  has `id`, unique in the work, `part` and `request`
template <class Question>
struct AssemblyStep {
  std::vector<Question> ask;  ///< Questions to be sent to their parts, which are elsewhere
  bool more = false;          ///< Another step can be made at once, while they are on their way
  bool done = false;          ///< Nothing is missing
};

}  // namespace troupe
