#pragma once
/// \file hop_checks.hpp
/// Checks of a hop request that need no lists. For one_hop.cpp only.
#include "runtime/base/result.hpp"
#include "runtime/graph/part.hpp"
#include "runtime/sample/choice/choices.hpp"
#include "runtime/sample/hop_request.hpp"

#include <span>
#include <string>

namespace troupe {

/// The error that a part answers a hop request with.
Error sampling_refused(const Part& part, Errc code, const std::string& what);

/// \errors invalid_argument, unimplemented: as sample_one_hop()
Status check_hop_request(const Part& part, const HopRequest& request,
                         std::span<const ChoiceKind> kinds);

}  // namespace troupe
