// Keys of the section `eval`: how a run is scored.
#include "runtime/job/schema_fields.hpp"
#include "runtime/job/schema_rows.hpp"
#include "runtime/job/task_rules.hpp"

#include <array>

namespace troupe {
namespace {

using namespace schema_fields;

std::vector<std::filesystem::path> files_of(const Json& v) {
  const auto names =
      v.is_array() ? v.get<std::vector<std::string>>() : std::vector{v.get<std::string>()};
  return {names.begin(), names.end()};
}

void add_evaluation_negatives(std::vector<SchemaRow>& rows) {
  rows.push_back({"/eval/negatives/kind",
                  choice_rule({"none", "binary", "triplet"}),
                  derived("`\"triplet\"`; `\"none\"` with files, and without `link`"),
                  "`link`: links drawn for each link that is scored, as `task.negatives.kind`; the "
                  "same in every evaluation of a run",
                  {},
                  [](const Json& v, Job& job) {
                    job.eval.negatives.kind = v == "binary"    ? Negatives::binary
                                              : v == "triplet" ? Negatives::triplet
                                                               : Negatives::none;
                  }});
  rows.push_back(
      {"/eval/negatives/per_positive",
       integer_rule(1, 1024),
       value("1"),
       "drawn links for each link",
       {},
       [](const Json& v, Job& job) { job.eval.negatives.per_positive = v.get<std::uint32_t>(); }});
  rows.push_back({"/eval/negatives/strict",
                  boolean_rule(),
                  value("false"),
                  "draw again where a drawn link is an edge of the graph, 4 times in all",
                  {},
                  [](const Json& v, Job& job) { job.eval.negatives.strict = v.get<bool>(); }});
}

void add_ranks(std::vector<SchemaRow>& rows) {
  rows.push_back(
      {"/eval/ranks",
       choice_rule({"given", "all"}),
       value("\"given\""),
       "`link`: what each link is ranked among: its drawn ones or candidates, or all nodes of "
       "the type of each of its ends (`eval.ends`) but those that make another known link",
       {},
       [](const Json& v, Job& job) { job.eval.rank_all = v == "all"; }});
  rows.push_back({"/eval/ends",
                  choice_rule({"both", "source", "destination"}),
                  value("\"both\""),
                  "ends of links or triples that are ranked among all nodes; of triples heads are "
                  "sources, tails destinations",
                  {},
                  [](const Json& v, Job& job) {
                    job.eval.ends = v == "source"        ? RankedEnds::source
                                    : v == "destination" ? RankedEnds::destination
                                                         : RankedEnds::both;
                  }});
}

void add_files(std::vector<SchemaRow>& rows) {
  struct FileKey {
    const char* role;
    const char* negatives;
    const char* candidates;
  };
  constexpr std::array<FileKey, 2> keys{
      {{"val", "/eval/negatives/val", "/eval/candidates/val"},
       {"test", "/eval/negatives/test", "/eval/candidates/test"}}};
  for (const auto& key : keys) {
    rows.push_back(
        {key.negatives,
         {.type = ValueType::texts, .min_items = 1, .max_items = most_listed_types},
         absent(),
         fmt::format("`link`: file of false links, against which the {} links are scored, "
                     "integers [n, 2]; relative to the job file; of links of several "
                     "edge types a list, one for each",
                     key.role),
         {},
         [role = key.role](const Json& v, Job& job) {
           job.eval.negative_files[role] = files_of(v);
         }});
  }
  for (const auto& key : keys) {
    rows.push_back(
        {key.candidates,
         {.type = ValueType::texts, .min_items = 1, .max_items = most_listed_types},
         absent(),
         fmt::format("`link`: file of other destinations for each of the {} links, which "
                     "it is ranked among, integers [links, candidates]; relative to the "
                     "job file; of links of several edge types a list, one for each",
                     key.role),
         {},
         [role = key.role](const Json& v, Job& job) {
           job.eval.candidate_files[role] = files_of(v);
         }});
  }
}

}  // namespace

std::vector<SchemaRow> eval_rows() {
  std::vector<SchemaRow> rows;
  rows.push_back({"/eval/every",
                  integer_rule(0, 1000000),
                  value("1"),
                  "evaluate after epochs 1, 1+n, ... and the last; 0: only after the last",
                  {},
                  put<&Job::eval, &EvalJob::every>});
  rows.push_back({"/eval/mode",
                  choice_rule({"exact", "sampled"}),
                  value("\"exact\""),
                  "on whole neighbourhoods, layer by layer, or on sampled batches",
                  {},
                  put<&Job::eval, &EvalJob::mode>});
  rows.push_back({"/eval/metric",
                  choice_rule(metric_names()),
                  derived("`\"accuracy\"`, with `link` `\"auc\"`, with `knowledge` `\"mrr\"`, of "
                          "numbers `\"rmse\"`, with the loss `mae` `\"mae\"`"),
                  "what the best epoch is chosen by: see below",
                  {},
                  put<&Job::eval, &EvalJob::metric>});
  rows.push_back({"/eval/split",
                  text_rule(0),
                  value("\"\""),
                  "another split whose val and test seeds are scored; \"\": `dataset.split`",
                  {},
                  [](const Json& v, Job& job) {
                    if (const auto split = v.get<std::string>(); !split.empty()) {
                      job.eval.split = split;
                    }
                  }});
  rows.push_back({"/eval/max_batches",
                  integer_rule(0, 1000000000),
                  value("0"),
                  "most batches of all ranks per evaluation by ranks, that is `sampled`, without "
                  "layers or of triples; 0: all, as at the end of the run",
                  {},
                  put<&Job::eval, &EvalJob::max_batches>});
  rows.push_back(
      {"/eval/predictions",
       boolean_rule(),
       value("true"),
       "write `predictions.npy` and `node_ids.npy` at the end: the logits of the test seeds",
       {},
       put<&Job::eval, &EvalJob::predictions>});
  add_evaluation_negatives(rows);
  add_ranks(rows);
  add_files(rows);
  return rows;
}

}  // namespace troupe
