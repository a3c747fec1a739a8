#pragma once
/// \file peers.hpp
/// The table that troupe_bench prints: its figures, the machine's limits, and other systems'.
#include <nlohmann/json_fwd.hpp>

#include <string>

namespace troupe::bench {

/// \param result  as troupe_bench writes it
/// \param peers   bench/peers.json
std::string results_table(const nlohmann::ordered_json& result, const nlohmann::json& peers);

}  // namespace troupe::bench
