#pragma once
/// \file triples_import.hpp
/// Imports a knowledge graph written as text, a triple a line, as a graph store (docs/formats.md).
#include "runtime/base/executor.hpp"
#include "runtime/base/result.hpp"
#include "runtime/data/import_options.hpp"
#include "runtime/graph/graph_info.hpp"

#include <filesystem>
#include <span>

namespace troupe {

struct TriplesOptions {
  ImportOptions import{};
  /// One edge type "triple" with the relation's number as its feature, instead of one per relation.
  bool one_type = false;
};

/// Reads a folder that holds train.txt and perhaps valid.txt and test.txt, each plain, .gz or .zst;
/// or one to three such files in this order. A line is head, relation and tail, separated by tabs
/// or, where there is no tab, by spaces. Entities and relations are numbered in order of first
/// appearance, head before tail; their names are kept in nodes-entity/names.txt and relations.txt,
/// and are all in memory while importing, beside `memory_bytes`. Training triples are the edges, of
/// types r0, r1, …; the others are kept as triples/valid.npy and triples/test.npy, [n, 3] u64. All are
/// links of the default split, whose labels are the relations, unless there is an edge split.
/// \errors not_found: a file is missing; invalid_argument: a line that does not fit, with file, line
///   and text; too many relations; data_corruption: compressed bytes that are damaged;
///   failed_precondition: `out` exists or cannot be written
Result<GraphInfo> import_triples(std::span<const std::filesystem::path> sources,
                                 const std::filesystem::path& out, const TriplesOptions& options,
                                 Executor& executor);

}  // namespace troupe
