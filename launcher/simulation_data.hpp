#pragma once
/// \file simulation_data.hpp
/// Small graphs for simulated runs, equal on every machine; only for launcher/simulation*.cpp.
#include "runtime/base/result.hpp"

#include <cstdint>
#include <filesystem>

namespace troupe {

/// 96 nodes of one type as arrays: the first 40 are scored for validation, the next 40 as test.
Status make_simulation_data(const std::filesystem::path& dir, std::uint64_t train_seeds);
/// A graph store of authors and papers, whose edges lead both ways.
Status make_heterogeneous_simulation_data(const std::filesystem::path& dir,
                                          std::uint64_t train_seeds);

}  // namespace troupe
