#pragma once
/// \file heterogeneous_schema.hpp
/// Which heterogeneous graph is to be generated: from a JSON file (docs/generate.md), or built in.
#include "runtime/base/result.hpp"
#include "runtime/generate/options.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace troupe {

struct HeterogeneousSchema {
  struct Nodes {
    std::string name;
    std::uint64_t count = 0;
    std::uint64_t features = 0;
    double noise = 1;
    bool labels = false;  ///< whether its classes are labels
  };
  struct Edges {
    std::string name;
    std::size_t source = 0;  ///< place among the node types
    std::size_t destination = 0;
    std::uint64_t count = 0;  ///< drawn
    double homophily = 0.8;
    bool weights = false;
    bool times = false;
    EdgeTransforms transforms{};
    std::uint64_t features = 0;
  };
  struct Split {
    std::string name;       ///< "" is the default split
    std::size_t nodes = 0;  ///< place among the node types
    SplitSize train;
    SplitSize val;
    SplitSize test;
  };

  std::uint64_t classes = 0;  ///< the same of all types
  std::vector<Nodes> nodes;
  std::vector<Edges> edges;
  std::vector<Split> splits;
};

/// Reads a schema. What an edge or node type does not say is as in `options`: homophily, noise,
/// symmetrize (where both ends are of one type), dedup. So is the default split, of the first type
/// with labels, where the schema has no splits.
/// \errors not_found; invalid_argument: not JSON, a key or value that cannot be, with its place
Result<HeterogeneousSchema> read_heterogeneous_schema(const std::filesystem::path& file,
                                                      const GenerateOptions& options);

/// Authors, papers with labels and venues: of `nodes` nodes half are papers, one in a hundred, but at
/// least one per class, is a venue. On average a paper has three authors, cites five others and
/// appears in one venue; all edge types have their reverses. Papers have `options.features` columns,
/// the others half of them.
/// \errors invalid_argument: too few nodes for the classes, or no features
Result<HeterogeneousSchema> citation_schema(std::uint64_t nodes, const GenerateOptions& options);

}  // namespace troupe
