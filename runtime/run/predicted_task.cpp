#include "runtime/run/predicted_task.hpp"

#include "runtime/job/job_file.hpp"
#include "runtime/job/link_rules.hpp"
#include "runtime/run/edges_as_links.hpp"
#include "runtime/run/state_pieces.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <span>
#include <string_view>
#include <utility>

namespace troupe {
namespace {

constexpr std::uint64_t most_outputs = std::uint64_t{1} << 24;  ///< Most classes of a job

std::string value_of(const ModelMetadata& metadata, const char* key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? std::string() : found->second;
}

template <class Type>
std::optional<std::size_t> place_of(const std::vector<Type>& types, std::string_view name) {
  const auto found = std::ranges::find(types, name, &Type::name);
  return found == types.end() ? std::nullopt
                              : std::optional(static_cast<std::size_t>(found - types.begin()));
}

template <class Type>
std::string names_in(const std::vector<Type>& types) {
  std::vector<std::string> names;
  for (const auto& type : types) {
    names.push_back(fmt::format("\"{}\"", type.name));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// A role of the job's split that has the type of its seeds or links: that of training if it is there.
template <class Role>
const Role* role_with_type(const std::map<std::string, Role>& roles) {
  const auto train = roles.find("train");
  if (train != roles.end() && train->second.count > 0) {
    return &train->second;
  }
  const auto any =
      std::ranges::find_if(roles, [](const auto& role) { return role.second.count > 0; });
  return any == roles.end() ? nullptr : &any->second;
}

Result<NodeTypeId> type_of_nodes(const GraphInfo& graph, const SplitInfo* split,
                                 const NamedModel& model) {
  const auto& types = graph.node_types;
  if (const auto name = value_of(model.metadata, "seed_type"); !name.empty()) {
    if (const auto type = place_of(types, name)) {
      return static_cast<NodeTypeId>(*type);
    }
    return Error(Errc::invalid_argument,
                 fmt::format("{}: expected a model of one of the node types {}, found outputs of "
                             "\"{}\" nodes",
                             model.file.string(), names_in(types), name));
  }
  if (types.size() == 1) {
    return NodeTypeId{0};
  }
  if (const auto* role = split == nullptr ? nullptr : role_with_type(split->roles)) {
    return role->node_type;
  }
  return Error(Errc::invalid_argument,
               fmt::format("{}: expected a model that says which of the node types {} has outputs "
                           "(\"seed_type\" in its metadata), found none\ntry: "
                           "model.safetensors of a run, or data with a split",
                           model.file.string(), names_in(types)));
}

/// "likes, buys" as the file of a model has it.
Result<std::vector<EdgeTypeId>> types_of_decoder(const GraphInfo& graph, const NamedModel& model,
                                                 std::string_view names) {
  constexpr std::string_view between = ", ";
  std::vector<EdgeTypeId> types;
  for (std::size_t begin = 0; begin <= names.size();) {
    const auto end = std::min(names.find(between, begin), names.size());
    const auto name = names.substr(begin, end - begin);
    const auto type = place_of(graph.edge_types, name);
    if (!type) {
      return Error(Errc::invalid_argument,
                   fmt::format("{}: expected a model of links of the edge types {}, found \"{}\"",
                               model.file.string(), names_in(graph.edge_types), name));
    }
    types.push_back(static_cast<EdgeTypeId>(*type));
    begin = end + between.size();
  }
  return types;
}

/// Edge types whose sources have the type that the model's file names, all where it names none.
std::vector<EdgeTypeId> possible_links(const GraphInfo& graph, const ModelMetadata& metadata) {
  const auto source = value_of(metadata, "seed_type");
  std::vector<EdgeTypeId> types;
  for (std::size_t t = 0; t < graph.edge_types.size(); ++t) {
    const auto from = graph.edge_types[t].source;
    if (source.empty() || graph.node_types[raw(from)].name == source) {
      types.push_back(static_cast<EdgeTypeId>(t));
    }
  }
  return types;
}

Result<std::vector<EdgeTypeId>> types_of_links(const GraphInfo& graph, const SplitInfo* split,
                                               const NamedModel& model) {
  if (const auto names = value_of(model.metadata, "decoder_edges"); !names.empty()) {
    return types_of_decoder(graph, model, names);
  }
  if (const auto* role = split == nullptr ? nullptr : role_with_type(split->links)) {
    return edge_types_of(*role);
  }
  if (const auto named = place_of(graph.edge_types, model.edge_type)) {
    return std::vector{static_cast<EdgeTypeId>(*named)};
  }
  auto possible = possible_links(graph, model.metadata);
  if (model.edge_type.empty() && possible.size() == 1) {
    return possible;
  }
  std::vector<std::string> names;
  for (const auto type : possible) {
    names.push_back(fmt::format("\"{}\"", graph.edge_types[raw(type)].name));
  }
  return Error(Errc::invalid_argument,
               fmt::format("--edge-type: expected the edge type of the model's links, which the "
                           "data have no split of, one of {}, found \"{}\"",
                           fmt::join(names, ", "), model.edge_type));
}

/// Outputs that the model's file states; 0: it states none.
Result<std::uint64_t> stated_outputs(const NamedModel& model) {
  const auto text = value_of(model.metadata, "out_dim");
  if (text.empty()) {
    return std::uint64_t{0};
  }
  std::uint64_t outputs = 0;
  const auto* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, outputs);
  if (read.ec != std::errc() || read.ptr != end || outputs == 0 || outputs > most_outputs) {
    return Error(Errc::data_corruption,
                 fmt::format("{}: expected \"out_dim\" from 1 to {} in the metadata, found \"{}\"",
                             model.file.string(), most_outputs, text.substr(0, 40)));
  }
  return outputs;
}

/// Outputs of nodes without labels; 0 where labels say them.
Result<std::uint64_t> missing_outputs(const Job& job, const GraphInfo& graph,
                                      const PredictedTask& task, const NamedModel& model) {
  auto fitted = job;
  fit_to_prediction(fitted, graph, task);
  const auto by_labels = fitted.model.out_dim;
  const auto& nodes = graph.node_types[raw(fitted.model.types.seeds)].name;
  TROUPE_ASSIGN_OR_RETURN(const auto stated, stated_outputs(model));
  if (by_labels == 0 && stated == 0) {
    return Error(Errc::invalid_argument,
                 fmt::format("{}: expected a model that says how many outputs it has (\"out_dim\" "
                             "in its metadata), as \"{}\" nodes have no labels, found none\ntry: "
                             "model.safetensors of a run, or data with labels",
                             model.file.string(), nodes));
  }
  if (by_labels > 0 && stated > 0 && by_labels != stated) {
    return Error(
        Errc::invalid_argument,
        fmt::format("{}: expected a model of out_dim {}, which the labels of \"{}\" nodes "
                    "in {} make, found {}\ntry: data with the labels of the model's own, "
                    "or without labels",
                    model.file.string(), by_labels, nodes, job.dataset.path.string(), stated));
  }
  return by_labels > 0 ? 0 : stated;
}

}  // namespace

Result<PredictedTask> predicted_task(const Job& job, const GraphInfo& graph,
                                     const NamedModel& model) {
  PredictedTask task;
  if (job.task.knowledge() || job.task.walks()) {
    return task;  // their types are those of the data alone
  }
  const auto* split = graph.find_split(job.dataset.split);
  if (job.task.links()) {
    const auto* train = training_links(job, graph);
    if (train == nullptr || (train->count == 0 && !train->pairs_of)) {
      TROUPE_ASSIGN_OR_RETURN(task.links, types_of_links(graph, split, model));
    }
    return task;
  }
  const auto* seeds = split == nullptr ? nullptr : role_with_type(split->roles);
  const bool trains =
      seeds != nullptr && split->roles.contains("train") && split->roles.at("train").count > 0;
  if (!trains) {
    TROUPE_ASSIGN_OR_RETURN(task.seeds, type_of_nodes(graph, split, model));
  }
  TROUPE_ASSIGN_OR_RETURN(task.outputs, missing_outputs(job, graph, task, model));
  return task;
}

void add_predicted(GraphInfo& graph, const Job& job, const PredictedTask& task) {
  if (task.seeds) {
    split_to_change(graph, job.dataset.split).roles["train"] = {*task.seeds, 0};
  }
  if (!task.links.empty()) {
    auto links = role_of_edges(graph, task.links);
    split_to_change(graph, job.dataset.split).links["train"] = std::move(links);
  }
}

PartitionedStore with_predicted_links(PartitionedStore store, const Job& job,
                                      const PredictedTask& task) {
  if (task.links.empty()) {
    return store;
  }
  const auto make = [from = store, types = task.links] { return edges_as_links(from, types); };
  return store.with_links_made(job.dataset.split, "train", role_of_edges(store.info(), task.links),
                               make);
}

void fit_to_prediction(Job& job, GraphInfo graph, const PredictedTask& task) {
  add_predicted(graph, job, task);
  fit_to_graph(job, graph);
  if (task.outputs > 0) {
    job.model.out_dim = task.outputs;
  }
}

void add_task(net::TrainingState& state, const PredictedTask& task) {
  std::vector<std::uint64_t> numbers{task.outputs, task.seeds ? 1 + raw(*task.seeds) : 0U};
  for (const auto type : task.links) {
    numbers.push_back(raw(type));
  }
  const auto bytes = std::as_bytes(std::span(numbers));
  state.blobs[task_blob] = {bytes.begin(), bytes.end()};
}

Result<PredictedTask> task_of_state(const net::TrainingState& state, const GraphInfo& graph) {
  const auto found = state.blobs.find(task_blob);
  const auto size = found == state.blobs.end() ? 0 : found->second.size();
  std::vector<std::uint64_t> numbers(size / sizeof(std::uint64_t));
  if (numbers.size() < 2 || size % sizeof(std::uint64_t) != 0) {
    return Error(
        Errc::data_corruption,
        fmt::format("task to predict: expected 16 bytes and 8 for each edge type, found {}", size));
  }
  std::memcpy(numbers.data(), found->second.data(), size);
  const auto links = std::span(numbers).subspan(2);
  const auto edge_types = graph.edge_types.size();
  if (numbers[0] > most_outputs || numbers[1] > graph.node_types.size() ||
      std::ranges::any_of(links, [&](std::uint64_t type) { return type >= edge_types; })) {
    return Error(Errc::data_corruption,
                 fmt::format("task to predict: expected types of the store, {} of nodes and {} of "
                             "edges, and at most {} outputs, found another",
                             graph.node_types.size(), edge_types, most_outputs));
  }
  PredictedTask task{.outputs = numbers[0]};
  if (numbers[1] > 0) {
    task.seeds = static_cast<NodeTypeId>(numbers[1] - 1);
  }
  for (const auto type : links) {
    task.links.push_back(static_cast<EdgeTypeId>(type));
  }
  return task;
}

}  // namespace troupe
