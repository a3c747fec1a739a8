// Text -> job -> the job with its defaults -> the same again; then the plan of it on a small graph.
#include "runtime/job/job_file.hpp"
#include "runtime/job/plan.hpp"

#include "fuzz/targets.hpp"

namespace troupe::fuzz {
namespace {

GraphInfo paper_graph() {
  GraphInfo graph;
  NodeTypeInfo nodes{"node", 2708, FeatureInfo{DType::f32, 1433, 1.0F}, LabelInfo{{}, 7}, {}};
  graph.node_types.push_back(nodes);
  EdgeTypeInfo edges;
  edges.name = "edge";
  edges.count = 10556;
  graph.edge_types.push_back(edges);
  graph.splits.push_back({"", {{"train", {NodeTypeId{0}, 140}}}});
  return graph;
}

}  // namespace

void run_job(Input input) {
  const auto first = parse_job(std::string(text_of(input)), "", {});
  if (!first.ok()) {
    require(!first.error().what().empty(), "an error has a sentence");
    return;
  }
  if (!first->problems.empty()) {
    require(!to_string(first->problems).empty(), "problems have a text");
    return;
  }
  const auto again = parse_job(first->job.json, "", {});
  require(again.ok() && again->problems.empty(), "a job with its defaults is a job");
  require(again->job.json == first->job.json, "and prints as the same text");
  const auto graph = paper_graph();
  const auto problems = check_against_graph(first->job, graph);
  if (problems.empty()) {
    require(!to_string(make_plan(first->job, graph), first->job).empty(), "a job has a plan");
  }
}

}  // namespace troupe::fuzz

TROUPE_FUZZ_TARGET(troupe::fuzz::run_job)
