#pragma once
/// \file ogb_arrays.hpp
/// Arrays of OGB's layouts beside nodes and edges: which become weights, times, named columns or
/// features.
#include "runtime/base/result.hpp"
#include "runtime/data/edge_columns.hpp"
#include "runtime/data/graph_source.hpp"
#include "runtime/data/named_columns.hpp"
#include "runtime/data/ogb_import.hpp"
#include "runtime/data/table.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace troupe {

/// The two ways to open an array; only those that are taken are opened.
struct OgbOpen {
  std::function<Result<Table>()> table;
  graph_source::NamedColumns::Open column;
};

/// Lifecycle: offer() for every array of nodes and edges; check_found() at the end
class OgbArrays {
 public:
  explicit OgbArrays(const OgbOptions& options) : values_(options.columns), named_(options.named) {}
  /// Makes an array a column of `nodes` where the user named it.
  /// \returns whether it is one
  Result<bool> offer(const std::string& array, graph_source::Nodes& nodes, const OgbOpen& open) {
    if (!named_.wants(array)) {
      return false;
    }
    TROUPE_RETURN_IF_ERROR(named_.take(array, nodes.name, nodes.columns, open.column));
    return true;
  }
  /// Makes an array what the user named it for, else features where its name is `features`.
  Status offer(const std::string& array, std::string_view features, graph_source::Edges& edges,
               const OgbOpen& open) {
    if (!named_.wants(array)) {
      return values_.offer(array, features, edges, open.table);
    }
    TROUPE_RETURN_IF_ERROR(named_.take(array, edges.name, edges.columns, open.column));
    return values_.wants(array) ? values_.take(array, edges, open.table) : ok_status();
  }
  /// \errors not_found: no type has an array of a stated name
  Status check_found(std::string_view place) const {
    TROUPE_RETURN_IF_ERROR(values_.check_found(place));
    return named_.check_found(place);
  }

 private:
  graph_source::NamedEdgeColumns values_;
  graph_source::NamedColumns named_;
};

}  // namespace troupe
