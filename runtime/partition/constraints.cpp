#include "runtime/partition/constraints.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace troupe {

Result<Constraints> Constraints::make(const GraphStore& graph, const BalanceOptions& options) {
  if (!(options.imbalance >= 1 && options.imbalance <= 1000)) {
    return Error(
        Errc::invalid_argument,
        fmt::format("partition: expected an imbalance from 1 to 1000, got {}", options.imbalance));
  }
  const auto& info = graph.info();
  Constraints result;
  result.imbalance_ = options.imbalance;
  result.graph_ = graph.graph();
  result.first_vertex_.push_back(0);
  for (std::size_t type = 0; type < info.node_types.size(); ++type) {
    const auto count = info.node_types[type].count;
    result.first_vertex_.push_back(result.first_vertex_.back() + count);
    if (count > 0) {
      const auto name =
          info.node_types.size() == 1 ? "nodes" : "nodes of " + info.node_types[type].name;
      result.all_.push_back({Kind::nodes, name, type, {}, count, 1});
    }
  }
  result.edge_types_into_.resize(info.node_types.size());
  for (std::size_t e = 0; e < info.edge_types.size(); ++e) {
    result.edge_types_into_[raw(info.edge_types[e].destination)].push_back(e);
  }
  std::vector<std::string> names(options.names);
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (const auto& name : names) {
    if (name == "edges") {
      result.add_edges();
    } else if (name == "train" || name == "val" || name == "test") {
      TROUPE_RETURN_IF_ERROR(result.add_seeds(graph, options.split, name));
    } else if (name != "nodes") {
      return Error(Errc::invalid_argument,
                   fmt::format("partition: expected a balance among nodes, edges, train, val, "
                               "test, got \"{}\"",
                               name));
    }
  }
  return result;
}

Status Constraints::add_seeds(const GraphStore& graph, const std::string& split,
                              const std::string& role) {
  auto found = graph.seeds(split, role);
  if (!found) {
    return std::move(found).error().with(
        fmt::format("partition: balance \"{}\" needs nodes of that role", role));
  }
  const auto seeds = *std::move(found);
  const std::size_t type = raw(seeds.node_type);
  Constraint constraint{Kind::seeds, role, type, {}, 0, 1};
  constraint.bits.assign((first_vertex_[type + 1] - first_vertex_[type] + 63) / 64, 0);
  for (const auto id : seeds.original) {
    auto& word = constraint.bits[raw(id) / 64];
    const auto bit = std::uint64_t{1} << (raw(id) % 64);
    constraint.total += (word & bit) == 0 ? 1U : 0U;  // a seed given twice is one node
    word |= bit;
  }
  if (constraint.total > 0) {
    all_.push_back(std::move(constraint));
  }
  return ok_status();
}

void Constraints::add_edges() {
  Constraint constraint{Kind::edges, "edges", 0, {}, 0, 1};
  for (std::size_t type = 0; type + 1 < first_vertex_.size(); ++type) {
    for (std::uint64_t node = 0; node < first_vertex_[type + 1] - first_vertex_[type]; ++node) {
      const auto degree = in_degree(type, node);
      constraint.total += degree;
      constraint.heaviest = std::max(constraint.heaviest, degree);
    }
  }
  if (constraint.total > 0) {
    all_.push_back(std::move(constraint));
  }
}

std::size_t Constraints::type_of(std::uint64_t v) const {
  if (first_vertex_.size() == 2) {
    return 0;
  }
  const auto after = std::ranges::upper_bound(first_vertex_, v);
  return static_cast<std::size_t>(after - first_vertex_.begin()) - 1;
}

std::uint64_t Constraints::in_degree(std::size_t type, std::uint64_t node) const {
  std::uint64_t degree = 0;
  for (const auto e : edge_types_into_[type]) {
    degree += graph_->edges[e].in.degree(node);
  }
  return degree;
}

void Constraints::weights(std::uint64_t v, std::span<std::uint64_t> out) const {
  const auto type = type_of(v);
  const auto node = v - first_vertex_[type];
  for (std::size_t c = 0; c < all_.size(); ++c) {
    const auto& constraint = all_[c];
    switch (constraint.kind) {
      case Kind::nodes:
        out[c] = constraint.type == type ? 1 : 0;
        break;
      case Kind::edges:
        out[c] = in_degree(type, node);
        break;
      case Kind::seeds:
        out[c] = constraint.type == type ? constraint.bits[node / 64] >> (node % 64) & 1U : 0;
        break;
    }
  }
}

std::uint64_t Constraints::limit(std::size_t c, std::uint32_t parts, double slack) const {
  const auto& constraint = all_[c];
  const auto share = static_cast<double>(constraint.total) / parts;
  const auto asked = static_cast<std::uint64_t>(
      std::ceil((1 + slack * (imbalance_ - 1)) * share *
                (1 - 1e-12)));  // 1.05 * 100 is 105, whatever doubles say
  const auto needed = (constraint.total + std::uint64_t{parts - 1} * constraint.heaviest) / parts;
  return std::max(asked, needed);
}

}  // namespace troupe
