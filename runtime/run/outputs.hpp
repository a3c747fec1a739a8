#pragma once
/// \file outputs.hpp
/// What a run leaves besides report.json, metrics.jsonl (metrics_log.hpp) and checkpoints:
/// predictions and the trained model (docs/outputs.md).
#include "runtime/base/ids.hpp"
#include "runtime/base/matrix.hpp"
#include "runtime/base/result.hpp"
#include "runtime/nn/network.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

struct Job;

/// Writes `predictions.npy` (float32 [n, cols]) and `node_ids.npy` (int64 [n]) into `dir`, which is
/// made if it is missing. A node that is given again is left out: its first row counts.
/// \param node_ids  in any order, which is kept
/// \param outputs   [node_ids, cols]; predictions or embeddings
/// Guarantees: each file is replaced whole; a `predictions.npy` that is there has its own
///   `node_ids.npy` beside it
/// \errors invalid_argument: another number of rows, or an id past 2^63 - 1; failed_precondition: the
///   disk
Status write_predictions(const std::filesystem::path& dir, std::span<const OriginalId> node_ids,
                         ConstMatrix outputs);

/// Besides `partners.npy` (int64 [nodes, k]): original ids of the nodes that have the scores, -1 where there is none.
/// \param node_ids  each once
/// \param scores  [nodes, k]
/// Guarantees, errors: as write_predictions()
Status write_top_predictions(const std::filesystem::path& dir, std::span<const OriginalId> node_ids,
                             std::span<const std::int64_t> partners, ConstMatrix scores);

/// For triples one end of which was asked for: `predictions.npy` and `partners.npy` [triples, k], and `queries.npy`
/// (int64 [triples, 2]), head and relation, or relation and tail.
/// Guarantees, errors: as write_pair_predictions()
Status write_top_entities(const std::filesystem::path& dir, std::span<const std::int64_t> queries,
                          std::span<const std::int64_t> partners, ConstMatrix scores);

/// Triple by names, with its score.
struct NamedTriple {
  std::string_view head;
  std::string_view relation;
  std::string_view tail;
  float score = 0;
};
/// Writes `triples.tsv` beside the predictions of triples: head, relation, tail and score a line, separated by tabs, in the
/// order given. The next predictions remove it.
/// Guarantees, errors: as write_predictions()
Status write_named_triples(const std::filesystem::path& dir, std::span<const NamedTriple> triples);

/// Node that is recommended to another, by names, with its score.
struct NamedPartner {
  std::string source;
  std::string partner;
  float score = 0;
};
/// Writes `partners.tsv` beside the predictions of partners: source, partner and score a line, separated by tabs, in
/// the order given. The next predictions remove it.
/// Guarantees, errors: as write_predictions()
Status write_named_partners(const std::filesystem::path& dir,
                            std::span<const NamedPartner> partners);

/// Writes `nodes.tsv` or `links.tsv` beside predictions: a line for each row, its name or names and then its outputs,
/// separated by tabs. The next predictions remove it.
/// \param name_of  of a row: the name, or several with tabs between them
/// Guarantees, errors: as write_predictions()
Status write_named_rows(const std::filesystem::path& dir, const char* file,
                        const std::function<std::string(std::size_t row)>& name_of,
                        ConstMatrix outputs);

/// Writes `predictions.npy` (float32 [pairs, outputs]) and `links.npy` (int64 [pairs, 2], of triples [pairs, 3]);
/// `node_ids.npy` of other predictions is removed.
/// \param ids  [pairs, 2 or 3]
/// Guarantees, errors: as write_predictions(), with `links.npy` in the place of `node_ids.npy`
Status write_pair_predictions(const std::filesystem::path& dir, std::span<const std::int64_t> ids,
                              ConstMatrix outputs);

/// Removes all of these files, if they are there. \errors failed_precondition: the disk
Status remove_predictions(const std::filesystem::path& dir);

using ModelMetadata = std::map<std::string, std::string>;
/// In the metadata of a model with learned rows: files_text() of those that belong to it, beside it.
inline constexpr const char* learned_rows_key = "learned_rows";
/// Beside it: what says which node has which row.
inline constexpr const char* learned_nodes_key = "learned_nodes";

/// What of the options decides what a model computes from its parameters (not dropout).
ModelMetadata model_metadata(const nn::ModelOptions& options);
/// Also what its task decides: the score of triples, and the edge types that a decoder has vectors of.
/// \param job  fitted to its graph
ModelMetadata metadata_of_model(const Job& job);

/// Writes `model.safetensors`: the parameters by name, and `metadata`.
/// \errors invalid_argument: another number of parameters than the layout says; failed_precondition:
///   the disk
Status write_model(const std::filesystem::path& file, const nn::ParameterLayout& layout,
                   std::span<const float> parameters, const ModelMetadata& metadata);

/// The metadata of such a file. \errors not_found; data_corruption: not such a file
Result<ModelMetadata> read_model_metadata(const std::filesystem::path& file);

struct SavedModel {
  std::vector<float> parameters;
  ModelMetadata metadata;
};
/// Reads what write_model wrote, or a file with the same tensors from elsewhere.
/// \param expected  that the file's metadata must not contradict; keys that it lacks are not checked
/// \errors not_found; data_corruption: not such a file; invalid_argument: another model's, with the
///   first difference
Result<SavedModel> read_model(const std::filesystem::path& file, const nn::ParameterLayout& layout,
                              const ModelMetadata& expected = {});

}  // namespace troupe
