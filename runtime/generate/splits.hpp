#pragma once
/// \file splits.hpp
/// Seeds of generated graphs.
#include "runtime/base/executor.hpp"
#include "runtime/data/graph_source.hpp"
#include "runtime/generate/options.hpp"

#include <cstdint>
#include <string>

namespace troupe::generate {

struct SplitDraw {
  std::string name;         ///< "" is the default split
  std::size_t nodes = 0;    ///< place of the node type
  std::uint64_t count = 0;  ///< its nodes
  SplitSize train;
  SplitSize val;
  SplitSize test;
  std::uint64_t seed = 0;
};
/// Adds the seeds of a split: the first nodes of a random permutation are train, the next val, the
/// next test. A role without nodes is left out.
/// \requires the sizes were checked
void draw_split(const SplitDraw& draw, Executor& executor, graph_source::AllSeeds& seeds);

}  // namespace troupe::generate
