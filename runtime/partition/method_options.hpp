#pragma once
/// \file method_options.hpp
/// What partition methods can be told besides parts and seed.
#include "runtime/partition/hotness.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace troupe {

/// What methods can be told; each ignores what it has no use for.
struct MethodOptions {
  std::uint32_t passes = 3;  ///< ldg, fennel: over all vertices
  double imbalance = 1.03;   ///< ldg, fennel, metis, multilevel: largest part over average part
  std::vector<std::string> balance;  ///< of those: besides nodes (constraints.hpp)
  std::string split;                 ///< whose seeds are balanced
  bool recursive = false;            ///< metis, multilevel: recursive bisection instead of k-way
  std::string objective = "cut";     ///< metis, multilevel: "cut" or "volume"
  std::uint32_t tries = 0;           ///< metis, multilevel: cuts, of which the best counts; 0: auto
  std::filesystem::path file;        ///< file: the array of parts
  HotnessOptions hotness = {};       ///< hotness, and order "hotness"; `split` says whose seeds
};

}  // namespace troupe
