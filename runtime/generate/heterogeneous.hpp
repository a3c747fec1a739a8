#pragma once
/// \file heterogeneous.hpp
/// Graphs with several node and edge types. Nodes of all types are of one of K classes, and each edge
/// type is a stochastic block model between them: a label can be learned through any edge type whose
/// homophily is far from 1 / K.
#include "runtime/base/executor.hpp"
#include "runtime/base/result.hpp"
#include "runtime/generate/heterogeneous_schema.hpp"

#include <filesystem>

namespace troupe {

struct HeterogeneousOptions : GenerateOptions {
  HeterogeneousSchema schema;  ///< says what is in it: of GenerateOptions only the rest counts
};

/// Writes the store `out`, piece by piece, with `generator.json` in it.
/// \errors invalid_argument: a schema that cannot be, by name; those of StoreWriter; out_of_memory
/// \cost   memory: that of `options.writer`, 4 bytes per node of the types of one edge type, 8 per
///   seed, 40 MB
Result<GraphInfo> generate_heterogeneous(const HeterogeneousOptions& options, Executor& executor,
                                         const std::filesystem::path& out);

}  // namespace troupe
