// Keys of the section `task`: what seeds are.
#include "runtime/job/schema_fields.hpp"
#include "runtime/job/schema_rows.hpp"

namespace troupe {
namespace {

using namespace schema_fields;

void add_negatives(std::vector<SchemaRow>& rows) {
  rows.push_back(
      {"/task/negatives/kind",
       choice_rule({"none", "binary", "triplet"}),
       value("\"none\""),
       "`link`: no negative links, some that share an end with each positive one by turns, "
       "the source first, or some that share its source",
       {},
       [](const Json& v, Job& job) {
         job.task.negatives.kind = v == "binary"    ? Negatives::binary
                                   : v == "triplet" ? Negatives::triplet
                                                    : Negatives::none;
       }});
  rows.push_back(
      {"/task/negatives/per_positive",
       integer_rule(1, 1024),
       value("1"),
       "negative links for each positive one",
       {},
       [](const Json& v, Job& job) { job.task.negatives.per_positive = v.get<std::uint32_t>(); }});
  rows.push_back({"/task/negatives/by", choice_rule({"uniform", "degree"}), value("\"uniform\""),
                  "how their other ends are drawn of all nodes of the type",
                  words({"degree"}, "\"uniform\" works"), put<&Job::task, &TaskJob::negatives_by>});
  rows.push_back({"/task/negatives/strict",
                  boolean_rule(),
                  value("false"),
                  "draw again where a negative link is an edge of the graph, `tries` times in all",
                  {},
                  [](const Json& v, Job& job) { job.task.negatives.strict = v.get<bool>(); }});
  rows.push_back(
      {"/task/negatives/tries",
       integer_rule(1, 64),
       value("4"),
       "draws of each negative link with `strict`; where all are edges the first one stays",
       {},
       [](const Json& v, Job& job) { job.task.negatives.tries = v.get<std::uint32_t>(); }});
}

}  // namespace

std::vector<SchemaRow> task_rows() {
  std::vector<SchemaRow> rows;
  rows.push_back({"/task/kind",
                  choice_rule({"node", "link"}),
                  value("\"node\""),
                  "seeds are nodes, or links: edges of the split, with the nodes at their ends",
                  {},
                  put<&Job::task, &TaskJob::kind>});
  rows.push_back({"/task/exclude",
                  choice_rule({"batch", "none"}),
                  value("\"batch\""),
                  "`link`: no hop draws an edge of the batch's positive links, nor its reverse",
                  {},
                  [](const Json& v, Job& job) { job.task.exclude = v == "batch"; }});
  rows.push_back(
      {"/task/reverse",
       text_rule(0),
       value("\"\""),
       "`link`: type of the edges that lead back, left out too; \"\": the links' own type "
       "where it joins nodes of one type, else none",
       {},
       put<&Job::task, &TaskJob::reverse>});
  add_negatives(rows);
  return rows;
}

}  // namespace troupe
