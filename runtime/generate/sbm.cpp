#include "runtime/generate/sbm.hpp"

#include "runtime/generate/block_draw.hpp"
#include "runtime/generate/streams.hpp"
#include "runtime/graph/store_layout.hpp"

namespace troupe {

using namespace generate;

Result<OneTypeGraph> sbm_graph(const SbmOptions& options) {
  TROUPE_RETURN_IF_ERROR(check_count("nodes", options.nodes, 1, most_nodes));
  TROUPE_RETURN_IF_ERROR(check_count("classes", options.classes, 1, store_layout::largest_cols));
  if (!options.learnable()) {
    return Error(Errc::invalid_argument,
                 "labels: expected learnable, as the labels of sbm are its blocks, got random");
  }
  TROUPE_RETURN_IF_ERROR(check_options(options, options.nodes, options.edges));
  OneTypeGraph graph;
  graph.kind = "sbm";
  graph.nodes = options.nodes;
  graph.edges = options.edges;
  graph.classes = std::make_shared<const NodeClasses>(stream(options.seed, Stream::ids),
                                                      options.nodes, options.classes);
  graph.draw = block_draw({.sources = graph.classes,
                           .destinations = graph.classes,
                           .homophily = options.homophily,
                           .seed = options.seed});
  graph.table_bytes = 4 * options.nodes;
  return graph;
}

}  // namespace troupe
