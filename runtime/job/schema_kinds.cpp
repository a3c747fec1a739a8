// Keys of the sections `sample`, `features` and `model` whose choices are tables of kinds.
#include "runtime/job/schema_fields.hpp"
#include "runtime/job/schema_rows.hpp"

namespace troupe {
namespace {

using namespace schema_fields;

}  // namespace

// NOLINTNEXTLINE(readability-function-size): a table
std::vector<SchemaRow> model_kind_rows(std::span<const nn::ModelKind> kinds) {
  using nn::ModelOptions;
  std::vector<SchemaRow> rows;
  auto& kind = rows.emplace_back(kind_row("/model/kind", kinds, &nn::ModelKind::make,
                                          value("\"graphsage\""), "the kind of layer"));
  kind.apply = put<&Job::model, &ModelOptions::kind>;
  rows.push_back(
      {"/model/aggregator",
       choice_rule({"mean", "max", "sum"}),
       value("\"mean\""),
       readers_of(kinds, "aggregator", "`") + ": what a layer makes of a node's neighbours",
       {},
       [](const Json& v, Job& job) {
         job.model.aggregator = v == "max"   ? nn::Aggregator::max
                                : v == "sum" ? nn::Aggregator::sum
                                             : nn::Aggregator::mean;
       }});
  rows.push_back(
      {"/model/heads",
       integer_rule(1, 256),
       value("1"),
       readers_of(kinds, "heads", "`") +
           ": attention heads; they divide `hidden`, and the last layer gives their mean",
       {},
       put<&Job::model, &ModelOptions::heads>});
  rows.push_back({"/model/out_heads",
                  integer_rule(0, 256),
                  value("0"),
                  readers_of(kinds, "out_heads", "`") + ": heads of the last layer; 0: as many",
                  {},
                  put<&Job::model, &ModelOptions::out_heads>});
  rows.push_back({"/model/concat",
                  boolean_rule(),
                  value("true"),
                  readers_of(kinds, "concat", "`") +
                      ": heads stand one after the other between layers; false: their mean, each "
                      "of `hidden` columns",
                  {},
                  put<&Job::model, &ModelOptions::concat>});
  rows.push_back({"/model/loops",
                  boolean_rule(),
                  value("true"),
                  readers_of(kinds, "loops", "`") +
                      ": each node has exactly one self loop; false: edges as they are",
                  {},
                  put<&Job::model, &ModelOptions::loops>});
  rows.push_back(
      {"/model/share_weights",
       boolean_rule(),
       value("false"),
       readers_of(kinds, "share_weights", "`") + ": one matrix for sources and destinations",
       {},
       put<&Job::model, &ModelOptions::share_weights>});
  rows.push_back({"/model/bases",
                  integer_rule(0, 4096),
                  value("0"),
                  readers_of(kinds, "bases", "`") +
                      ": matrices that those of a layer's edge types are mixed from; 0: each has "
                      "its own",
                  {},
                  put<&Job::model, &ModelOptions::bases>});
  rows.push_back({"/model/train_eps",
                  boolean_rule(),
                  value("false"),
                  readers_of(kinds, "train_eps", "`") + ": eps is a parameter that starts at 0",
                  {},
                  put<&Job::model, &ModelOptions::train_eps>});
  rows.push_back({"/model/edge_features",
                  boolean_rule(),
                  value("false"),
                  readers_of(kinds, "edge_features", "`") +
                      ": layers read the edges' features, which `sample.edge_data` asks for; "
                      "attention with `loops` false",
                  {},
                  put<&Job::model, &ModelOptions::edge_features>});
  rows.push_back({"/model/edge_weights",
                  boolean_rule(),
                  value("false"),
                  readers_of(kinds, "edge_weights", "`") +
                      ": neighbors count by the weights of their edges, which `sample.edge_data` "
                      "asks for",
                  {},
                  put<&Job::model, &ModelOptions::edge_weights>});
  rows.push_back({"/model/residual",
                  boolean_rule(),
                  value("false"),
                  readers_of(kinds, "residual", "`") +
                      ": each layer adds the node's row before it, times a matrix of its own where "
                      "the columns differ",
                  {},
                  put<&Job::model, &ModelOptions::residual>});
  rows.push_back(
      {"/model/attention_dropout",
       number_rule({.low = 0, .high = 1, .open_high = true}),
       value("0"),
       readers_of(kinds, "attention_dropout", "`") + ": dropout of the weights of attention",
       {},
       put<&Job::model, &ModelOptions::attention_dropout>});
  return rows;
}

std::vector<SchemaRow> choice_rows(std::span<const ChoiceKind> kinds) {
  std::vector<SchemaRow> rows;
  auto& choice =
      rows.emplace_back(kind_row("/sample/choice", kinds, &ChoiceKind::make, value("\"uniform\""),
                                 "which neighbours a hop takes of a node's list"));
  choice.apply = put<&Job::sample, &SampleJob::choice>;
  rows.push_back({"/sample/replace",
                  boolean_rule(),
                  value("false"),
                  readers_of(kinds, "replace", "`") + ": draw neighbours with replacement",
                  {},
                  put<&Job::sample, &SampleJob::replace>});
  rows.push_back({"/sample/shared",
                  boolean_rule(),
                  value("false"),
                  readers_of(kinds, "shared", "`") +
                      ": a neighbor that one hop takes is taken by all hops where it is as likely",
                  {},
                  put<&Job::sample, &SampleJob::shared>});
  return rows;
}

SchemaRow cache_policy_row(std::span<const CachePolicy> policies) {
  auto row = kind_row("/features/cache/policy", policies, &CachePolicy::policy, value("\"none\""),
                      "which rows of other hosts a rank keeps: the hottest by `partition.order`, "
                      "which must be the same, those that its first batches read most often, or "
                      "those that its next batches read first");
  row.apply = put<&Job::features, &FeaturesJob::cache_policy>;
  return row;
}

}  // namespace troupe
