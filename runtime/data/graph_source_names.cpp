// Names of types as files state them.
#include "runtime/data/graph_source.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace troupe::graph_source {

Result<TypeTriple> parse_triple(const std::string& text, const std::string& place) {
  const auto first = text.find(':');
  const auto second = first == std::string::npos ? first : text.find(':', first + 1);
  if (second == std::string::npos || text.find(':', second + 1) != std::string::npos) {
    return Error(
        Errc::invalid_argument,
        fmt::format("{}: expected source:relation:destination, found \"{}\"", place, text));
  }
  return TypeTriple{text.substr(0, first), text.substr(first + 1, second - first - 1),
                    text.substr(second + 1)};
}

std::vector<std::string> edge_type_names(std::span<const TypeTriple> types) {
  std::map<std::string, int> uses;
  for (const auto& type : types) {
    ++uses[type.relation];
  }
  std::vector<std::string> names;
  for (const auto& type : types) {
    names.push_back(uses[type.relation] == 1
                        ? type.relation
                        : fmt::format("{}.{}.{}", type.source, type.relation, type.destination));
  }
  return names;
}

Result<std::size_t> find_nodes(const Graph& graph, const std::string& name,
                               const std::string& place) {
  const auto found = std::ranges::find(graph.nodes, name, &Nodes::name);
  if (found == graph.nodes.end()) {
    return Error(Errc::invalid_argument,
                 fmt::format("{}: expected the name of a node type, found \"{}\"", place, name));
  }
  return static_cast<std::size_t>(found - graph.nodes.begin());
}

}  // namespace troupe::graph_source
