// Keys of the section `embedding`: a table of learned rows for each node type that it names.
#include "runtime/job/schema_fields.hpp"
#include "runtime/job/schema_rows.hpp"

#include <fmt/format.h>

namespace troupe {
namespace {

using namespace schema_fields;

/// Puts a value into a field of the table, or of a struct in it.
template <auto Field>
void put_named(const Json& json, const std::string& name, Job& job) {
  auto& field = job.embedding[name].*Field;
  field = json.get<std::remove_reference_t<decltype(field)>>();
}
template <auto Section, auto Field>
void put_named(const Json& json, const std::string& name, Job& job) {
  auto& field = (job.embedding[name].*Section).*Field;
  field = json.get<std::remove_reference_t<decltype(field)>>();
}

SchemaRow named_row(const char* key, ValueRule rule, Fallback fallback, std::string meaning,
                    decltype(SchemaRow::apply_named) apply) {
  SchemaRow row{fmt::format("/embedding/*/{}", key), std::move(rule), std::move(fallback),
                std::move(meaning)};
  row.apply_named = std::move(apply);
  return row;
}

void add_sparse_optimizer(std::vector<SchemaRow>& rows) {
  constexpr auto section = &EmbeddingOptions::optimizer;
  using Options = SparseOptimizerOptions;
  const auto kinds = sparse_optimizer_kinds();
  rows.push_back(named_row("optimizer/kind", choice_rule(names_of(kinds)), value("\"adagrad\""),
                           "what a step does with the rows that it names",
                           put_named<section, &Options::kind>));
  rows.push_back(named_row("optimizer/lr", number_rule({.low = 0, .high = 1000, .open_low = true}),
                           value("0.1"), "learning rate, the same in all epochs",
                           put_named<section, &Options::lr>));
  rows.push_back(named_row("optimizer/betas",
                           {.type = ValueType::number_list,
                            .numbers = {.low = 0, .high = 1, .open_high = true},
                            .min_items = 2,
                            .max_items = 2},
                           value("[0.9, 0.999]"), "`adam`: decay of the two moments",
                           [](const Json& v, const std::string& name, Job& job) {
                             job.embedding[name].optimizer.beta1 = v[0].get<double>();
                             job.embedding[name].optimizer.beta2 = v[1].get<double>();
                           }));
  rows.push_back(named_row("optimizer/eps", number_rule({.low = 0, .high = 1, .open_low = true}),
                           derived("`1e-10`, with `adam` `1e-8`"),
                           fmt::format("{}: added to the root", readers_of(kinds, "eps", "`")),
                           put_named<section, &Options::eps>));
  rows.push_back(named_row(
      "optimizer/initial_accumulator", number_rule({.low = 0, .high = 1e9}), value("0"),
      fmt::format("{}: sums before the first step", readers_of(kinds, "initial_accumulator", "`")),
      put_named<section, &Options::initial_accumulator>));
}

}  // namespace

std::vector<SchemaRow> embedding_rows() {
  constexpr auto section = &EmbeddingOptions::init;
  using Init = InitialRowsOptions;
  std::vector<SchemaRow> rows;
  rows.push_back(named_row("dim", integer_rule(1, max_embedding_cols), required(),
                           "columns of the learned rows, after those of the type's features",
                           put_named<&EmbeddingOptions::dim>));
  rows.push_back(named_row("features", boolean_rule(), value("true"),
                           "false: the learned rows take the place of the type's features, which "
                           "are not read",
                           put_named<&EmbeddingOptions::features>));
  add_sparse_optimizer(rows);
  rows.push_back(named_row("init/kind", choice_rule({"normal", "uniform", "zeros"}),
                           value("\"normal\""), "what rows start with",
                           put_named<section, &Init::kind>));
  rows.push_back(named_row("init/std", number_rule({.low = 0, .high = 1e6, .open_low = true}),
                           value("0.1"), "`normal`: standard deviation around 0",
                           put_named<section, &Init::std>));
  rows.push_back(named_row("init/scale", number_rule({.low = 0, .high = 1e6, .open_low = true}),
                           value("0.1"), "`uniform`: numbers from `-scale` to `scale`",
                           put_named<section, &Init::scale>));
  return rows;
}

}  // namespace troupe
