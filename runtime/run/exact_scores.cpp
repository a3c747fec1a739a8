// What exact inference gives for the seeds of a role.
#include "runtime/nn/scores.hpp"
#include "runtime/run/exact_inference.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <utility>
#include <vector>

namespace troupe {
namespace {

std::uint64_t cols_of(const nn::InferStage& stage, NodeTypeId type) {
  return std::ranges::find(stage.outputs, type, &nn::InferStage::Output::type)->cols;
}

void append_label(const NodeTypeInfo& type, const PartNodes& nodes, std::uint64_t local,
                  net::ScoreResult& result) {
  if (type.labels && type.labels->kind == LabelInfo::Kind::numbers) {
    const auto columns = type.labels->classes;
    const auto numbers = nodes.targets.subspan(local * columns, columns);
    result.numbers.insert(result.numbers.end(), numbers.begin(), numbers.end());
    result.labels.push_back(0);
    return;
  }
  if (nodes.targets.empty()) {
    result.labels.push_back(nodes.labels.empty() ? -1 : nodes.labels[local]);
    return;
  }
  const auto width = nodes.targets.size() / nodes.count;
  const auto known = nn::known_labels(nodes.targets.subspan(local * width, width));
  result.labels.insert(result.labels.end(), known.begin(), known.end());
}

}  // namespace

Result<net::ScoreResult> ExactInference::scores(const std::string& role) const {
  const auto seeds = options_.seeds.find(role);
  const auto type = seeds == options_.seeds.end() ? NodeTypeId{} : seeds->second->node_type;
  const auto of_type = std::ranges::count_if(
      logits_, [type](const auto& entry) { return entry.first.second == type; });
  if (seeds == options_.seeds.end() || static_cast<std::size_t>(of_type) != host_.parts.size()) {
    return Error(Errc::failed_precondition,
                 fmt::format("evaluator of {}: asked for scores of \"{}\" before exact "
                             "inference, or with no such seeds",
                             host_.process, role));
  }
  net::ScoreResult result;
  result.cols = static_cast<std::uint32_t>(cols_of(stages_.back(), type));
  const auto& global = seeds->second->global;
  std::map<PartId, std::vector<std::uint64_t>> owned;
  std::size_t rows = 0;
  for (const auto& [id, part] : host_.parts) {
    if (host_.scores(id)) {  // else another host has this replica's scores
      owned[id] = owned_positions(global, part->nodes_of(type));
      rows += owned[id].size();
    }
  }
  Buffer outputs(rows * result.cols * sizeof(float));
  float* to = outputs.as<float>().data();
  result.positions.reserve(rows);
  result.labels.reserve(rows);
  for (const auto& [id, positions] : owned) {
    const auto& nodes = host_.parts.at(id)->nodes_of(type);
    const auto logits = std::as_const(*logits_.at({id, type})).view();
    for (const auto position : positions) {
      const auto local = nodes.local(global[position]);
      to = std::ranges::copy(logits.row(local), to).out;
      append_label(host_.graph->node_types[raw(type)], nodes, local, result);
    }
    result.positions.insert(result.positions.end(), positions.begin(), positions.end());
  }
  result.outputs = std::move(outputs).freeze();
  return result;
}

}  // namespace troupe
