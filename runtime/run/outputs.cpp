#include "runtime/run/outputs.hpp"

#include "runtime/base/files.hpp"
#include "runtime/base/mapped_file.hpp"
#include "runtime/graph/npy.hpp"
#include "runtime/job/job.hpp"
#include "runtime/nn/catalog.hpp"
#include "runtime/nn/model_file.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>
#include <unordered_set>
#include <utility>

namespace troupe {
namespace {

namespace fs = std::filesystem;
using Bytes = std::span<const std::byte>;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

/// Rows of the first appearance of each id, ascending.
std::vector<std::size_t> first_rows(std::span<const OriginalId> ids) {
  std::vector<std::size_t> rows(ids.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  if (std::ranges::adjacent_find(ids, std::greater_equal()) == ids.end()) {
    return rows;  // ascending: none twice
  }
  std::unordered_set<std::uint64_t> seen;
  std::erase_if(rows, [&](std::size_t row) { return !seen.insert(raw(ids[row])).second; });
  return rows;
}

/// The header, then neighbouring rows in one piece.
std::vector<Bytes> row_pieces(const std::string& header, ConstMatrix matrix,
                              const std::vector<std::size_t>& rows) {
  std::vector<Bytes> pieces{bytes_of(header)};
  for (std::size_t i = 0; i < rows.size();) {
    auto end = i + 1;
    while (end < rows.size() && rows[end] == rows[i] + (end - i)) {
      ++end;
    }
    pieces.push_back(std::as_bytes(matrix.slice(rows[i], end - i).flat()));
    i = end;
  }
  return pieces;
}

Status check_predictions(std::span<const OriginalId> node_ids, ConstMatrix outputs) {
  if (node_ids.size() != outputs.rows) {
    return Error(Errc::invalid_argument,
                 fmt::format("predictions: expected a row for each of {} nodes, got {}",
                             node_ids.size(), outputs.rows));
  }
  constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  for (const auto id : node_ids) {
    if (raw(id) > largest) {
      return Error(
          Errc::invalid_argument,
          fmt::format("predictions: expected node ids of at most {}, got {}", largest, raw(id)));
    }
  }
  return ok_status();
}

Status remove_file(const fs::path& file) {
  std::error_code error;
  fs::remove(file, error);
  return error ? Status(file_error(file, "cannot remove", error.value())) : ok_status();
}

/// All but `node_ids.npy`, which each write replaces.
Status remove_outputs(const fs::path& dir) {
  for (const char* name : {"predictions.npy", "links.npy", "partners.npy", "queries.npy",
                           "triples.tsv", "partners.tsv", "nodes.tsv", "links.tsv"}) {
    TROUPE_RETURN_IF_ERROR(remove_file(dir / name));
  }
  return ok_status();
}

/// Makes the folder. Outputs that are there are not to be seen beside other ids.
Status begin_predictions(const fs::path& dir) {
  std::error_code error;
  fs::create_directories(dir, error);
  if (error) {
    return file_error(dir, "cannot create the folder", error.value());
  }
  return remove_outputs(dir);
}

Status write_ids(const fs::path& file, std::span<const std::int64_t> ids,
                 std::span<const std::uint64_t> shape) {
  const auto header = npy_header({'i', 8}, shape);
  const std::array pieces{bytes_of(header), std::as_bytes(ids)};
  return write_file_atomically(file, pieces);
}

/// \param rows  those that are written
Status write_outputs(const fs::path& dir, ConstMatrix outputs,
                     const std::vector<std::size_t>& rows) {
  const std::array<std::uint64_t, 2> shape{rows.size(), outputs.cols};
  const auto header = npy_header({'f', 4}, shape);
  return write_file_atomically(dir / "predictions.npy", row_pieces(header, outputs, rows));
}

/// \param name  file of the ids [outputs.rows, n]
Status write_all_rows(const fs::path& dir, const char* name, std::span<const std::int64_t> ids,
                      ConstMatrix outputs) {
  TROUPE_RETURN_IF_ERROR(begin_predictions(dir));
  TROUPE_RETURN_IF_ERROR(remove_file(dir / "node_ids.npy"));
  const auto columns = outputs.rows == 0 ? 2 : ids.size() / outputs.rows;
  TROUPE_RETURN_IF_ERROR(write_ids(dir / name, ids, std::array{outputs.rows, columns}));
  std::vector<std::size_t> rows(outputs.rows);
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  return write_outputs(dir, outputs, rows);
}

Status write_text(const fs::path& file, const fmt::memory_buffer& text) {
  const std::array pieces{std::as_bytes(std::span(text.data(), text.size()))};
  return write_file_atomically(file, pieces);
}

const char* name_of(nn::Aggregator aggregator) {
  switch (aggregator) {
    case nn::Aggregator::max:
      return "max";
    case nn::Aggregator::sum:
      return "sum";
    default:
      return "mean";
  }
}

const char* name_of(nn::Activation activation) {
  switch (activation) {
    case nn::Activation::elu:
      return "elu";
    case nn::Activation::leaky_relu:
      return "leaky_relu";
    default:
      return "relu";
  }
}

Status check_metadata(const ModelMetadata& found, const ModelMetadata& expected) {
  for (const auto& [key, value] : expected) {
    const auto entry = found.find(key);
    if (entry != found.end() && entry->second != value) {
      return Error(Errc::invalid_argument, fmt::format("expected a model of {} {}, found {}", key,
                                                       value, entry->second.substr(0, 80)));
    }
  }
  return ok_status();
}

Result<nn::TensorFile> read_tensors(const fs::path& file) {
  TROUPE_ASSIGN_OR_RETURN(const auto segment, load_file(file));
  auto tensors = nn::decode_tensors(segment.bytes);
  return tensors ? std::move(tensors) : std::move(tensors).error().with(file.string());
}

/// "author 334, paper 4231" and "writes author paper, …", in schema order.
void add_types(const nn::ModelTypes& types, ModelMetadata& metadata) {
  std::vector<std::string> nodes;
  for (const auto& type : types.nodes) {
    nodes.push_back(fmt::format("{} {}", type.name, type.cols));
  }
  std::vector<std::string> edges;
  for (const auto& type : types.edges) {
    edges.push_back(fmt::format("{} {} {}", type.name, types.nodes[raw(type.source)].name,
                                types.nodes[raw(type.destination)].name));
  }
  metadata["node_types"] = fmt::format("{}", fmt::join(nodes, ", "));
  metadata["edge_types"] = fmt::format("{}", fmt::join(edges, ", "));
  metadata["seed_type"] = types.nodes[raw(types.seeds)].name;
}

void add_score(const nn::TripleScore& score, ModelMetadata& metadata) {
  metadata["score"] = score.row().name;
  if (score.reads("norm")) {
    metadata["score_norm"] = fmt::to_string(score.norm);
  }
  if (score.reads("unit")) {
    metadata["score_unit"] = score.unit ? "true" : "false";
  }
}

/// What only layers of some kinds read.
void add_kind(const nn::ModelOptions& options, ModelMetadata& metadata) {
  metadata["kind"] = options.kind;
  const auto* kind = nn::find_model_kind(options.kind);
  const auto add = [&](const char* option, const std::string& value) {
    if (kind != nullptr && reads_option(*kind, option)) {
      metadata[option] = value;
    }
  };
  const auto text_of = [](bool value) { return value ? "true" : "false"; };
  add("aggregator", name_of(options.aggregator));
  add("edge_features", text_of(options.edge_features));
  add("edge_weights", text_of(options.edge_weights));
  add("heads", fmt::to_string(options.heads));
  add("concat", text_of(options.concat));
  add("loops", text_of(options.loops));
}

}  // namespace

Status write_predictions(const fs::path& dir, std::span<const OriginalId> node_ids,
                         ConstMatrix outputs) {
  TROUPE_RETURN_IF_ERROR(check_predictions(node_ids, outputs));
  TROUPE_RETURN_IF_ERROR(begin_predictions(dir));
  const auto rows = first_rows(node_ids);
  std::vector<std::int64_t> ids;
  ids.reserve(rows.size());
  for (const auto row : rows) {
    ids.push_back(static_cast<std::int64_t>(raw(node_ids[row])));
  }
  TROUPE_RETURN_IF_ERROR(write_ids(dir / "node_ids.npy", ids, std::array{ids.size()}));
  return write_outputs(dir, outputs, rows);
}

Status write_top_predictions(const fs::path& dir, std::span<const OriginalId> node_ids,
                             std::span<const std::int64_t> partners, ConstMatrix scores) {
  TROUPE_RETURN_IF_ERROR(write_predictions(dir, node_ids, scores));
  return write_ids(dir / "partners.npy", partners, std::array{scores.rows, scores.cols});
}

Status write_pair_predictions(const fs::path& dir, std::span<const std::int64_t> ids,
                              ConstMatrix outputs) {
  return write_all_rows(dir, "links.npy", ids, outputs);
}

Status write_top_entities(const fs::path& dir, std::span<const std::int64_t> queries,
                          std::span<const std::int64_t> partners, ConstMatrix scores) {
  TROUPE_RETURN_IF_ERROR(write_all_rows(dir, "queries.npy", queries, scores));
  return write_ids(dir / "partners.npy", partners, std::array{scores.rows, scores.cols});
}

Status write_named_triples(const fs::path& dir, std::span<const NamedTriple> triples) {
  fmt::memory_buffer text;
  for (const auto& [head, relation, tail, score] : triples) {
    fmt::format_to(std::back_inserter(text), "{}\t{}\t{}\t{}\n", head, relation, tail, score);
  }
  return write_text(dir / "triples.tsv", text);
}

Status write_named_partners(const fs::path& dir, std::span<const NamedPartner> partners) {
  fmt::memory_buffer text;
  for (const auto& [source, partner, score] : partners) {
    fmt::format_to(std::back_inserter(text), "{}\t{}\t{}\n", source, partner, score);
  }
  return write_text(dir / "partners.tsv", text);
}

Status write_named_rows(const fs::path& dir, const char* file,
                        const std::function<std::string(std::size_t)>& name_of,
                        ConstMatrix outputs) {
  fmt::memory_buffer text;
  for (std::size_t row = 0; row < outputs.rows; ++row) {
    fmt::format_to(std::back_inserter(text), "{}\t{}\n", name_of(row),
                   fmt::join(outputs.row(row), "\t"));
  }
  return write_text(dir / file, text);
}

Status remove_predictions(const fs::path& dir) {
  TROUPE_RETURN_IF_ERROR(remove_outputs(dir));
  return remove_file(dir / "node_ids.npy");
}

ModelMetadata model_metadata(const nn::ModelOptions& options) {
  ModelMetadata metadata{{"layers", fmt::to_string(options.layers)},
                         {"in_dim", fmt::to_string(options.in_dim)},
                         {"out_dim", fmt::to_string(options.out_dim)},
                         {"layer_norm", options.layer_norm ? "true" : "false"},
                         {"batch_norm", options.batch_norm ? "true" : "false"},
                         {"l2", options.l2 ? "true" : "false"},
                         {"residual", options.residual ? "true" : "false"},
                         {"input", options.linear_input ? "linear" : "features"}};
  if (options.layers > 1 || options.linear_input) {
    metadata["hidden"] = fmt::to_string(options.hidden);
  }
  if (options.layers > 1) {
    metadata["activation"] = name_of(options.activation);
  }
  if (options.activation == nn::Activation::leaky_relu) {
    metadata["slope"] = fmt::to_string(options.slope);
  }
  if (options.layers > 0) {
    add_kind(options, metadata);
  }
  if (options.out_heads > 0) {
    metadata["out_heads"] = fmt::to_string(options.out_heads);
  }
  if (options.heterogeneous()) {
    add_types(options.types, metadata);
  }
  if (!options.decoder.kind.empty()) {
    metadata["decoder"] = options.decoder.kind;
    metadata["decoder_outputs"] = fmt::to_string(options.decoder.outputs);
  }
  return metadata;
}

ModelMetadata metadata_of_model(const Job& job) {
  const auto& model = job.model;
  auto metadata = model_metadata(model);
  if (job.task.knowledge()) {
    add_score(job.task.completes.score, metadata);
  }
  if (model.decoder.kind == "distmult" && !model.decoder.relations.empty()) {
    std::vector<std::string> types;
    for (const auto type : model.decoder.relations) {
      types.push_back(model.types.edges[raw(type)].name);
    }
    metadata["decoder_edges"] = fmt::format("{}", fmt::join(types, ", "));
  }
  return metadata;
}

Status write_model(const fs::path& file, const nn::ParameterLayout& layout,
                   std::span<const float> parameters, const ModelMetadata& metadata) {
  const auto expected = nn::num_parameters(layout);
  if (parameters.size() != expected) {
    return Error(Errc::invalid_argument, fmt::format("{}: expected {} parameters, got {}",
                                                     file.string(), expected, parameters.size()));
  }
  return write_file_atomically(
      file, nn::encode_tensors(
                {.tensors = nn::split_parameters(layout, parameters), .metadata = metadata}));
}

Result<ModelMetadata> read_model_metadata(const fs::path& file) {
  TROUPE_ASSIGN_OR_RETURN(auto tensors, read_tensors(file));
  return std::move(tensors.metadata);
}

Result<SavedModel> read_model(const fs::path& file, const nn::ParameterLayout& layout,
                              const ModelMetadata& expected) {
  TROUPE_ASSIGN_OR_RETURN(auto tensors, read_tensors(file));
  auto same = check_metadata(tensors.metadata, expected);
  if (!same) {
    return std::move(same).error().with(file.string());
  }
  auto parameters = nn::join_parameters(layout, tensors.tensors);
  if (!parameters) {
    return std::move(parameters).error().with(file.string());
  }
  return SavedModel{*std::move(parameters), std::move(tensors.metadata)};
}

}  // namespace troupe
