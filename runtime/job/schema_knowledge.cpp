// Keys of the section `task` that tasks on knowledge graphs read.
#include "runtime/job/schema_fields.hpp"
#include "runtime/job/schema_rows.hpp"

namespace troupe {
namespace {

using namespace schema_fields;

void add_candidates(std::vector<SchemaRow>& rows) {
  rows.push_back(
      {"/task/chunk",
       integer_rule(1, 65536),
       value("256"),
       "`knowledge`: triples of a batch that share their candidates",
       {},
       [](const Json& v, Job& job) { job.task.completes.chunk = v.get<std::uint64_t>(); }});
  rows.push_back(
      {"/task/negatives/per_chunk",
       integer_rule(1, 65536),
       value("256"),
       "`knowledge`: entities that each triple of a chunk is compared with, in the place of "
       "its tail, or in every second batch of its head",
       {},
       [](const Json& v, Job& job) { job.task.completes.negatives = v.get<std::uint32_t>(); }});
  rows.push_back(
      {"/task/negatives/from",
       choice_rule({"all", "own"}),
       value("\"all\""),
       "`knowledge`: all entities, or those of the rank's own parts: fewer rows travel, and "
       "batches depend on the partitioning",
       {},
       [](const Json& v, Job& job) { job.task.own_candidates = v == "own"; }});
}

}  // namespace

std::vector<SchemaRow> knowledge_rows() {
  std::vector<SchemaRow> rows;
  rows.push_back({"/task/score/kind",
                  choice_rule(names_of(nn::score_kinds)),
                  value("\"distmult\""),
                  "`knowledge`: score of a triple, see [tasks.md](tasks.md#knowledge-graphs)",
                  {},
                  [](const Json& v, Job& job) {
                    job.task.completes.score.kind = static_cast<nn::ScoreKind>(
                        place_of_kind(nn::score_kinds, v.get<std::string>()));
                  }});
  rows.push_back({"/task/score/norm",
                  integer_rule(1, 2),
                  value("2"),
                  readers_of(nn::score_kinds, "norm", "`") + ": norm of the distance",
                  {},
                  [](const Json& v, Job& job) { job.task.completes.score.norm = v.get<int>(); }});
  rows.push_back(
      {"/task/score/unit",
       boolean_rule(),
       value("false"),
       readers_of(nn::score_kinds, "unit", "`") + ": entities are divided by their length",
       {},
       [](const Json& v, Job& job) { job.task.completes.score.unit = v.get<bool>(); }});
  add_candidates(rows);
  rows.push_back(
      {"/task/regularization/kind",
       choice_rule({"none", "l2", "n3"}),
       value("\"none\""),
       "`knowledge`: added to the loss of each triple, of the rows of its entities and its "
       "relation: the sum of squares, or of cubes of absolute values",
       {},
       [](const Json& v, Job& job) {
         job.task.completes.regularization = v == "l2"   ? nn::Regularization::l2
                                             : v == "n3" ? nn::Regularization::n3
                                                         : nn::Regularization::none;
       }});
  rows.push_back({"/task/regularization/factor",
                  number_rule({.low = 0, .high = 1000}),
                  value("0"),
                  "`knowledge`: times this",
                  {},
                  [](const Json& v, Job& job) { job.task.completes.factor = v.get<double>(); }});
  return rows;
}

}  // namespace troupe
