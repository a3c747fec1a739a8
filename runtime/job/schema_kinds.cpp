// Keys of the sections `sample`, `features` and `model` whose choices are tables of kinds.
#include "runtime/job/schema_fields.hpp"
#include "runtime/job/schema_rows.hpp"

namespace troupe {
namespace {

using namespace schema_fields;

}  // namespace

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
  rows.push_back({"/model/residual",
                  boolean_rule(),
                  value("false"),
                  readers_of(kinds, "residual", "`") +
                      ": each layer adds the node's row before it, times a matrix of its own where "
                      "the columns differ",
                  {},
                  put<&Job::model, &ModelOptions::residual>});
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
                      "which must be the same, or those that its first batches read most often");
  row.apply = put<&Job::features, &FeaturesJob::cache_policy>;
  return row;
}

}  // namespace troupe
