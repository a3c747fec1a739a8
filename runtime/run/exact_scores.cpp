// What exact inference gives for the seeds of a role.
#include "runtime/nn/scores.hpp"
#include "runtime/run/exact_inference.hpp"

#include <algorithm>
#include <fmt/format.h>

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
  std::vector<float> outputs;
  for (const auto& [key, logits] : logits_) {
    if (key.second != type || !host_.scores(key.first)) {
      continue;  // another host has this replica's scores
    }
    const auto& nodes = host_.parts.at(key.first)->nodes_of(type);
    for (const auto position : owned_positions(seeds->second->global, nodes)) {
      const auto local = nodes.local(seeds->second->global[position]);
      const auto row = logits->view().row(local);
      outputs.insert(outputs.end(), row.begin(), row.end());
      result.positions.push_back(position);
      append_label(host_.graph->node_types[raw(type)], nodes, local, result);
    }
  }
  result.outputs = Segment::of(std::move(outputs));
  return result;
}

}  // namespace troupe
