#pragma once
/// \file method_options.hpp
/// Options of partition methods besides parts and seed.
#include "runtime/partition/hotness.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace troupe {

/// Options of all methods with their defaults; partition_options() has their meanings, and each
/// method ignores those that it does not read.
struct MethodOptions {
  std::uint32_t passes = 3;
  double imbalance = 1.03;
  std::vector<std::string> balance;  ///< Names of constraints besides nodes (constraints.hpp)
  std::string split;
  bool recursive = false;
  std::string objective = "cut";
  std::uint32_t tries = 0;  ///< Cuts, of which the best counts; 0: 4 on small graphs, else 1
  std::filesystem::path file;
  HotnessOptions hotness = {};  ///< Of method and order "hotness"; `split` names the seeds
};

}  // namespace troupe
