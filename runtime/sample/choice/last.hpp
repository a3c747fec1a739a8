#pragma once
/// \file last.hpp
/// The choice of the last entries: in lists in order of time, the most recent edges.
#include "runtime/sample/choice/choice.hpp"

#include <memory>

namespace troupe {

/// Takes the last `fanout` entries of each stretch. Nothing is drawn.
std::unique_ptr<Choice> make_last(const ChoiceOptions& options);

}  // namespace troupe
