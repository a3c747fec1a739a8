#include "runtime/generate/one_type_graph.hpp"

#include "runtime/generate/node_rows.hpp"
#include "runtime/generate/splits.hpp"

#include <fmt/format.h>

namespace troupe::generate {

std::string description(const OneTypeGraph& graph, const GenerateOptions& options) {
  auto text = fmt::format(
      "{{ \"kind\": \"{}\", \"nodes\": {}, \"edges\": {}, {}\"symmetrize\": {}, \"features\": {}, "
      "\"classes\": {}, \"train\": {}, ",
      graph.kind, graph.nodes, graph.edges, graph.parameters, options.symmetrize, options.features,
      options.classes, options.train.of(graph.nodes));
  const auto add = [&text](bool there, std::string_view key, const auto& value) {
    if (there) {
      text += fmt::format("\"{}\": {}, ", key, value);
    }
  };
  const auto val = options.val.of(graph.nodes);
  const auto test = options.test.of(graph.nodes);
  add(val > 0, "val", val);
  add(test > 0, "test", test);
  add(graph.classes != nullptr, "homophily", options.homophily);
  add(graph.classes != nullptr && options.features > 0, "noise", options.noise);
  add(options.feature_dtype != DType::f32 && options.features > 0, "feature_dtype",
      fmt::format("\"{}\"", to_string(options.feature_dtype)));
  add(options.dedup, "dedup", true);
  add(options.drop_self_loops, "drop_self_loops", true);
  text += fmt::format("\"seed\": {} }}", options.seed);
  return text;
}

std::unique_ptr<graph_source::FeatureRows> features_of(const OneTypeGraph& graph,
                                                       const GenerateOptions& options) {
  if (options.features == 0) {
    return nullptr;
  }
  const FeatureDraw draw{.nodes = graph.nodes,
                         .cols = options.features,
                         .dtype = options.feature_dtype,
                         .noise = options.noise,
                         .seed = options.seed};
  return graph.classes ? class_features(draw, graph.classes) : uniform_features(draw);
}

std::unique_ptr<graph_source::LabelRows> labels_of(const OneTypeGraph& graph,
                                                   const GenerateOptions& options) {
  if (options.classes == 0) {
    return nullptr;
  }
  return graph.classes ? class_labels(graph.classes)
                       : random_labels(graph.nodes, options.classes, options.seed);
}

graph_source::AllSeeds seeds_of(const OneTypeGraph& graph, const GenerateOptions& options,
                                Executor& executor) {
  graph_source::AllSeeds seeds;
  draw_split({.name = "",
              .nodes = 0,
              .count = graph.nodes,
              .train = options.train,
              .val = options.val,
              .test = options.test,
              .seed = options.seed},
             executor, seeds);
  return seeds;
}

Result<GraphInfo> write_store(const OneTypeGraph& graph, const GenerateOptions& options,
                              Executor& executor, const std::filesystem::path& out) {
  const auto seeds =
      options.train.of(graph.nodes) + options.val.of(graph.nodes) + options.test.of(graph.nodes);
  TROUPE_RETURN_IF_ERROR(check_memory(graph.table_bytes + 8 * seeds,
                                      fmt::format("{} nodes with {} seeds", graph.nodes, seeds)));
  ImportOptions import;
  import.writer = options.writer;
  return graph_source::import_graph(
      {graph.kind, out, "drawing"}, import, executor, [&]() -> Result<graph_source::Graph> {
        graph_source::Graph source;
        auto& nodes = source.nodes.emplace_back();
        nodes.name = "node";
        nodes.count = graph.nodes;
        nodes.features = features_of(graph, options);
        nodes.labels = labels_of(graph, options);
        auto& edges = source.edges.emplace_back();
        edges.name = "edge";
        edges.transforms = {.symmetrize = options.symmetrize,
                            .dedup = options.dedup,
                            .drop_self_loops = options.drop_self_loops};
        edges.rows = drawn_edges(
            {.count = graph.edges, .piece = options.piece, .seed = options.seed}, graph.draw);
        source.seeds = seeds_of(graph, options, executor);
        source.files.emplace_back("generator.json", description(graph, options) + "\n");
        return source;
      });
}

}  // namespace troupe::generate
