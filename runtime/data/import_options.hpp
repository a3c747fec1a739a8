#pragma once
/// \file import_options.hpp
/// What all importers can be told.
#include "runtime/data/stream_store.hpp"
#include "runtime/graph/normalize.hpp"

namespace troupe {

/// How features are stored.
struct FeatureOptions {
  /// Nothing: as the source has them; f32 where they are normalised.
  std::optional<DType> dtype{};
  Normalize normalize = Normalize::none;
};

struct ImportOptions {
  StoreWriterOptions writer{};
  EdgeTransforms edges{};  ///< for all edge types
  /// Told about what is in the source and not taken, e.g. "node_data/paper/year".
  std::function<void(const std::string&)> left_out{};
  FeatureOptions features{};  ///< dtype: of nodes and edges; normalize: of nodes
};

}  // namespace troupe
