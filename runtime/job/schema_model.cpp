// Keys of the section `model`.
#include "runtime/job/schema_fields.hpp"
#include "runtime/job/schema_rows.hpp"

namespace troupe {
namespace {

using namespace schema_fields;

}  // namespace

// NOLINTNEXTLINE(readability-function-size): a table
std::vector<SchemaRow> model_rows() {
  using nn::ModelOptions;
  std::vector<SchemaRow> rows;
  for (auto& row : model_kind_rows(nn::model_kinds())) {
    rows.push_back(std::move(row));
  }
  rows.push_back(
      {"/model/layers",
       integer_rule(0, 16),
       derived("length of `sample.fanout`"),
       "number of layers, one per hop; 0, with `link` and `unsupervised`: the rows of the ends "
       "are compared as they are, and `sample.fanout` is left out",
       {},
       put<&Job::model, &ModelOptions::layers>});
  rows.push_back({"/model/hidden",
                  integer_rule(1, 65536),
                  value("64"),
                  "columns between layers",
                  {},
                  put<&Job::model, &ModelOptions::hidden>});
  rows.push_back({"/model/out_dim",
                  integer_rule(1, 65536),
                  absent(),
                  "with `task.kind` `link` and `edge`: columns after the last layer, which the "
                  "decoder reads; without it as many as `hidden`",
                  {},
                  [](const Json& v, Job& job) { job.out_dim = v.get<std::uint64_t>(); }});
  rows.push_back({"/model/norm",
                  choice_rule({"none", "layer", "batch"}),
                  value("\"none\""),
                  "normalization between a layer and its activation, not after the last: of each "
                  "row, or of columns over the rows that a rank's batch has there",
                  {},
                  [](const Json& v, Job& job) {
                    job.model.layer_norm = v == "layer";
                    job.model.batch_norm = v == "batch";
                  }});
  rows.push_back({"/model/activation",
                  choice_rule({"relu", "elu", "leaky_relu"}),
                  value("\"relu\""),
                  "of every layer but the last",
                  {},
                  [](const Json& v, Job& job) {
                    job.model.activation = v == "elu"          ? nn::Activation::elu
                                           : v == "leaky_relu" ? nn::Activation::leaky_relu
                                                               : nn::Activation::relu;
                  }});
  rows.push_back({"/model/slope",
                  number_rule({.low = 0, .high = 1}),
                  value("0.01"),
                  "`leaky_relu`: slope below 0",
                  {},
                  put<&Job::model, &ModelOptions::slope>});
  rows.push_back({"/model/l2",
                  boolean_rule(),
                  value("false"),
                  "divide rows of each layer's output by their length",
                  {},
                  put<&Job::model, &ModelOptions::l2>});
  rows.push_back({"/model/input",
                  choice_rule({"features", "linear"}),
                  value("\"features\""),
                  "what the first layer reads: features, or a product of each node type's with a "
                  "matrix of its own, of `hidden` columns, plus a bias",
                  {},
                  [](const Json& v, Job& job) { job.model.linear_input = v == "linear"; }});
  rows.push_back({"/model/dropout",
                  number_rule({.low = 0, .high = 1, .open_high = true}),
                  value("0"),
                  "on the input of every layer but the first",
                  {},
                  put<&Job::model, &ModelOptions::dropout>});
  rows.push_back({"/model/input_dropout",
                  number_rule({.low = 0, .high = 1, .open_high = true}),
                  value("0"),
                  "on the features",
                  {},
                  put<&Job::model, &ModelOptions::input_dropout>});
  return rows;
}

}  // namespace troupe
