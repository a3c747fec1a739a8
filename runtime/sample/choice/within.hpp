#pragma once
/// \file within.hpp
/// The entries of a list that lead to nodes of a set: edges among the nodes of a batch.
#include "runtime/base/ids.hpp"
#include "runtime/sample/choice/choice.hpp"

#include <memory>
#include <span>
#include <vector>

namespace troupe {

/// Takes every entry whose neighbor is in the set, parallel edges too. No job names it: a section of a
/// hop request with a set is answered so (HopSection::within).
/// \param nodes  the set; any order. Not needed afterwards
/// \cost  reads whole lists; 1 bit for each id between the lowest and the highest of the set, or 16
///   bytes a node where that is less
std::unique_ptr<Choice> make_within(const ChoiceOptions& options, std::span<const NodeId> nodes);

}  // namespace troupe
