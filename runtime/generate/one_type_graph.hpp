#pragma once
/// \file one_type_graph.hpp
/// A generated graph of one node type and one edge type, before it is written, and the two ways of
/// writing it: as a graph store, or as NumPy files for other programs.
#include "runtime/base/executor.hpp"
#include "runtime/base/result.hpp"
#include "runtime/generate/edge_draw.hpp"
#include "runtime/generate/node_classes.hpp"
#include "runtime/generate/options.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace troupe {

/// What was written as NumPy files.
struct NpySummary {
  std::uint64_t edges = 0;  ///< in the files: twice those drawn if symmetrised
  std::uint64_t max_degree = 0;
  std::uint64_t median_degree = 0;
  std::uint64_t isolated_nodes = 0;  ///< without in-neighbours
  std::uint64_t memory_bytes = 0;    ///< of the largest arrays held at once
};

namespace generate {

struct OneTypeGraph {
  std::string kind;        ///< "rmat", …
  std::string parameters;  ///< of the kind, as members of a JSON object: `"a": 0.57, …, `
  std::uint64_t nodes = 0;
  std::uint64_t edges = 0;                       ///< drawn
  std::shared_ptr<const NodeClasses> classes{};  ///< of learnable labels; null: none
  MakeEdgeDraw draw{};
  std::uint64_t table_bytes = 0;  ///< of them
};

/// What of the options says which graph it is, as a JSON object.
std::string description(const OneTypeGraph& graph, const GenerateOptions& options);

/// The rows of its nodes; null without features or labels.
std::unique_ptr<graph_source::FeatureRows> features_of(const OneTypeGraph& graph,
                                                       const GenerateOptions& options);
std::unique_ptr<graph_source::LabelRows> labels_of(const OneTypeGraph& graph,
                                                   const GenerateOptions& options);

graph_source::AllSeeds seeds_of(const OneTypeGraph& graph, const GenerateOptions& options,
                                Executor& executor);

/// Writes the store `out`, piece by piece, with `generator.json` in it, which says how it was made.
/// \errors those of StoreWriter; out_of_memory: of the tables
/// \cost   memory: that of `options.writer`, the tables, 8 bytes per seed, 40 MB
Result<GraphInfo> write_store(const OneTypeGraph& graph, const GenerateOptions& options,
                              Executor& executor, const std::filesystem::path& out);

/// Writes the new folder `out`, atomically (not flushed): `indptr.npy` (i64, [N + 1]) and
/// `indices64.npy` (i64, [E]), the in-neighbours of each node in ascending order, `x.npy` (f32),
/// `y.npy`, `train_idx.npy`, `val_idx.npy`, `test_idx.npy`, `meta.json`. import_npy() and the peers'
/// scripts read the same files.
/// \errors invalid_argument: an option that only stores have; failed_precondition: `out` exists or
///   cannot be written; out_of_memory: more than this machine has, with the bytes
/// \cost   edges are drawn twice and never kept: memory of 4 bytes per edge in the files + 8 per
///   node, and the tables
Result<NpySummary> write_npy(const OneTypeGraph& graph, const GenerateOptions& options,
                             Executor& executor, const std::filesystem::path& out);

}  // namespace generate
}  // namespace troupe
