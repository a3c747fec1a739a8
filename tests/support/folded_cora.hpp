#pragma once
/// \file folded_cora.hpp
/// A graph that runs quickly, and the quickstart's job on it.
#include <filesystem>

namespace troupe::testing {

/// Cora with its 1,433 words folded into 64 columns, word w into column w mod 64: the same graph, roles and labels, and a run
/// takes a fraction of the time, most of which goes into columns otherwise. Made once per process.
/// \returns the folder of its arrays
const std::filesystem::path& folded_cora();

/// examples/quickstart.json with the dataset folded_cora(): a run takes a fifth of the time. Made once per process.
/// \returns the job file
const std::filesystem::path& quick_job();

}  // namespace troupe::testing
