#pragma once
/// \file edgelist_document.hpp
/// Reads a JSON document that names lists of edges in text, one for each edge type
/// (docs/formats.md).
#include "runtime/base/result.hpp"
#include "runtime/data/edgelist_import.hpp"

#include <filesystem>

namespace troupe {

/// \param document  paths in it are relative to its folder
/// \param edges  transforms for all edge types, in addition to those that the document states
/// \errors invalid_argument: a key or value that does not fit, with its JSON pointer; not_found: there
///   is no document
Result<Edgelists> read_edgelists(const std::filesystem::path& document,
                                 const EdgeTransforms& edges);

}  // namespace troupe
