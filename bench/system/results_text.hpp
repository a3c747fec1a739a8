#pragma once
/// \file results_text.hpp
/// The lines that troupe_bench prints: its figures beside the machine's limits.
#include <nlohmann/json_fwd.hpp>

#include <string>

namespace troupe::bench {

/// Lines for the sections that the result has.
/// \param result  as troupe_bench writes it
std::string results_text(const nlohmann::ordered_json& result);

}  // namespace troupe::bench
