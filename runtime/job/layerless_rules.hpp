#pragma once
/// \file layerless_rules.hpp
/// Jobs without layers: rows of nodes, learned ones or features, are compared as they are.
#include "runtime/job/job.hpp"
#include "runtime/job/problems.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace troupe {

/// Nothing is sampled where there are no layers: fanouts, which other jobs need, are filled in.
void fill_fanout_without_hops(nlohmann::json& root);

/// Adds keys of layers and neighborhoods that are not at their defaults.
/// \param with  what they do not go with
void refuse_layer_keys(const Job& job, const std::string& with, ProblemList& problems);

/// Adds what a job with `model.layers` 0 has that does not go with it.
void check_layerless_keys(const Job& job, ProblemList& problems);

}  // namespace troupe
