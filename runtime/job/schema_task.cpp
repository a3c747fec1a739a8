// Keys of the section `task`: what seeds are.
#include "runtime/job/schema_fields.hpp"
#include "runtime/job/schema_rows.hpp"
#include "runtime/sample/walks/walk_options.hpp"

#include <type_traits>

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
  rows.push_back(
      {"/task/negatives/by",
       choice_rule({"uniform", "degree"}),
       value("\"uniform\""),
       "how their other ends are drawn: each node of the type as likely as the others, or as "
       "its edges of the links' type are many",
       {},
       [](const Json& v, Job& job) { job.task.negatives.by_degree = v == "degree"; }});
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

std::string decoder_help() {
  std::string help = "`link`, `edge`: what makes outputs of the rows of both ends:";
  for (const auto& kind : nn::decoder_kinds()) {
    help += fmt::format("{} `{}`, {}", help.ends_with(':') ? "" : ";", kind.name, kind.help);
  }
  return help;
}

void add_decoder(std::vector<SchemaRow>& rows) {
  rows.push_back({"/task/decoder/kind",
                  choice_rule(names_of(nn::decoder_kinds())),
                  derived("`\"dot\"`, with `edge` `\"mlp\"`"),
                  decoder_help(),
                  {},
                  [](const Json& v, Job& job) { job.task.decoder.kind = v.get<std::string>(); }});
  rows.push_back(
      {"/task/decoder/hidden",
       integer_rule(1, 65536),
       value("64"),
       "`mlp`: columns between its two products",
       {},
       [](const Json& v, Job& job) { job.task.decoder.hidden = v.get<std::uint64_t>(); }});
  rows.push_back({"/task/classes",
                  integer_rule(2, 1U << 24),
                  absent(),
                  "`edge` with `cross_entropy`, which needs it: labels are 0 up to this number",
                  {},
                  put<&Job::task, &TaskJob::classes>});
}

template <auto Field>
void put_walk(const Json& json, Job& job) {
  auto& field = job.task.walk.*Field;
  field = json.get<std::remove_reference_t<decltype(field)>>();
}

void add_walks(std::vector<SchemaRow>& rows) {
  const auto add = [&](const char* key, ValueRule rule, const char* fallback, std::string meaning,
                       void (*apply)(const Json&, Job&)) {
    rows.push_back({fmt::format("/task/walk/{}", key),
                    std::move(rule),
                    value(fallback),
                    fmt::format("`walk`: {}", meaning),
                    {},
                    apply});
  };
  add("length", integer_rule(1, WalkOptions::most_steps), "10", "steps of a walk",
      put_walk<&WalkJob::length>);
  add("per_seed", integer_rule(1, 1024), "1", "walks from each seed", put_walk<&WalkJob::per_seed>);
  add("restart", number_rule({.low = 0, .high = 0.999}), "0",
      "chance that a walk returns to its seed before a step, or where `along` begins again",
      put_walk<&WalkJob::restart>);
  add("p", number_rule({.low = 0.001, .high = 1000}), "1",
      "node2vec: the higher, the more seldom a walk turns back", put_walk<&WalkJob::p>);
  add("q", number_rule({.low = 0.001, .high = 1000}), "1",
      "node2vec: the higher, the more seldom a walk leaves the neighbors of the node before",
      put_walk<&WalkJob::q>);
  add("along", {.type = ValueType::text_list, .max_items = WalkOptions::most_steps}, "[]",
      "edge types of the steps, repeated; []: the only one of the graph",
      put_walk<&WalkJob::along>);
  rows.push_back(
      {"/task/walk/window",
       integer_rule(0, WalkOptions::most_steps),
       derived("0, with `task.positives` `\"walks\"` 5"),
       "`walk`: batches have the pairs of nodes that are at most so many steps apart; 0: none",
       {},
       put_walk<&WalkJob::window>});
  rows.push_back({"/task/walk/pairs",
                  choice_rule({"seeds", "all"}),
                  value("\"seeds\""),
                  "`task.positives` `\"walks\"`: which nodes make pairs: those of the type that "
                  "walks begin at, or "
                  "all on the walk, a batch those of one pair of types, by turns",
                  {},
                  [](const Json& v, Job& job) { job.task.walk.all_pairs = v == "all"; }});
}

}  // namespace

std::vector<SchemaRow> task_rows() {
  std::vector<SchemaRow> rows;
  rows.push_back({"/task/kind",
                  choice_rule({"node", "link", "edge", "unsupervised", "walk", "knowledge"}),
                  value("\"node\""),
                  "classes or targets of nodes; `link`: edges of the split against drawn ones, "
                  "`edge`: their labels; `unsupervised`: as `link`, with all edges of a type; "
                  "`walk`: random walks; "
                  "`knowledge`: triples of entities and relations to complete",
                  {},
                  put<&Job::task, &TaskJob::kind>});
  rows.push_back(
      {"/task/positives",
       choice_rule({"edges", "walks"}),
       value("\"edges\""),
       "`unsupervised`: what is learned: edges, or pairs of nodes that are near each other on "
       "random walks from all nodes (`task.walk`)",
       {},
       [](const Json& v, Job& job) { job.task.from_walks = v == "walks"; }});
  rows.push_back(
      {"/task/edges",
       {.type = ValueType::texts, .max_items = most_listed_types},
       value("\"\""),
       "`unsupervised`: type of the edges that are learned, or types; \"\": the only one",
       {},
       [](const Json& v, Job& job) {
         auto names =
             v.is_array() ? v.get<std::vector<std::string>>() : std::vector{v.get<std::string>()};
         job.task.edges = names.empty() ? std::string() : names.front();
         names.erase(names.begin(), names.empty() ? names.end() : names.begin() + 1);
         job.task.more_edges = std::move(names);
       }});
  rows.push_back({"/task/exclude",
                  choice_rule({"batch", "none"}),
                  derived("`\"batch\"`, of pairs on walks `\"none\"`"),
                  "`link`: no hop draws an edge of the batch's positive links, nor its reverse",
                  {},
                  [](const Json& v, Job& job) { job.task.exclude = v == "batch"; }});
  rows.push_back(
      {"/task/reverse",
       {.type = ValueType::texts, .max_items = most_listed_types},
       value("\"\""),
       "`link`: type of the edges that lead back, left out too; \"\": the links' own type "
       "where it joins nodes of one type, else none; of links of several edge types a list, one "
       "for each",
       {},
       [](const Json& v, Job& job) {
         job.task.reverse = v.is_array() ? std::string() : v.get<std::string>();
         job.task.reverses =
             v.is_array() ? v.get<std::vector<std::string>>() : std::vector<std::string>();
       }});
  add_decoder(rows);
  add_negatives(rows);
  add_walks(rows);
  for (auto& row : knowledge_rows()) {
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace troupe
