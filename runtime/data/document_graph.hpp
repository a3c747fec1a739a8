#pragma once
/// \file document_graph.hpp
/// The way from a document that describes a graph (JSON, YAML) to its source, for importers.
#include "runtime/base/executor.hpp"
#include "runtime/base/result.hpp"
#include "runtime/data/graph_source.hpp"
#include "runtime/data/json_document.hpp"
#include "runtime/data/npy_source.hpp"

#include <filesystem>
#include <string_view>
#include <utility>

namespace troupe::graph_source {

/// What `Reader(source, options, executor).read(root)` makes of a document beside the files that it
/// names in `dir`. What it says wrongly is its user's mistake.
/// \errors those of `document` and of the reader; data_corruption becomes invalid_argument
template <class Reader, class Options>
Result<Graph> graph_of_document(Result<nlohmann::json> document, const std::filesystem::path& dir,
                                const Options& options, Executor& executor) {
  TROUPE_ASSIGN_OR_RETURN(const auto json, std::move(document));
  const npy_source::Source source{dir, {}};
  auto graph = Reader(source, options, executor).read(JsonValue(json, ""));
  if (!graph) {
    return as_users_mistake(graph.error());
  }
  return graph;
}

/// The transforms that an edge type of a document has by its own keys, where all keys are known.
inline Result<EdgeTransforms> own_transforms(const KnownObject& type) {
  EdgeTransforms own;
  const auto read = [&](std::string_view key, bool& flag) -> Status {
    if (const auto* value = type.find(key)) {
      TROUPE_ASSIGN_OR_RETURN(flag, value->boolean());
    }
    return ok_status();
  };
  TROUPE_RETURN_IF_ERROR(read("symmetrize", own.symmetrize));
  TROUPE_RETURN_IF_ERROR(read("dedup", own.dedup));
  TROUPE_RETURN_IF_ERROR(read("drop_self_loops", own.drop_self_loops));
  TROUPE_RETURN_IF_ERROR(read("reverse_edges", own.reverse_edges));
  return own;
}

}  // namespace troupe::graph_source
