// Keys of the job file that come from tables of kinds, with kinds that are in no table.
#include "runtime/job/problems.hpp"
#include "runtime/job/schema_rows.hpp"
#include "tests/support/expect.hpp"

#include <nlohmann/json.hpp>

namespace troupe {
namespace {

const SchemaRow& row_of_key(const std::vector<SchemaRow>& rows, std::string_view pointer) {
  const auto found = std::ranges::find(rows, pointer, &SchemaRow::pointer);
  EXPECT_NE(found, rows.end()) << pointer;
  return found == rows.end() ? rows.front() : *found;
}

TEST(SchemaKinds, AMadeUpPartitionMethodIsAChoiceAndAReaderOfItsOptions) {
  std::vector<PartitionMethod> methods(partition_methods().begin(), partition_methods().end());
  methods.push_back({.name = "halves", .help = "made up", .options = {"passes"}});

  const auto rows = method_rows(methods, partition_options());

  EXPECT_EQ(row_of_key(rows, "/partition/method").rule.words.back(), "halves");
  EXPECT_EQ(row_of_key(rows, "/partition/passes").meaning,
            "`ldg`, `fennel`, `halves`: passes over all nodes; 10 cut better");
  EXPECT_EQ(rows.size(), method_rows(partition_methods(), partition_options()).size());
}

TEST(SchemaKinds, AMadeUpOptionIsAKeyWithRuleDefaultAndMeaning) {
  const std::vector<PartitionMethod> methods{
      {.name = "halves", .help = "made up", .options = {"rounds"}}};
  const std::vector<PartitionOption> options{
      {{"rounds", "rounds of halving", integer_rule(1, 9), &MethodOptions::passes}}};

  const auto rows = method_rows(methods, options);

  const auto& row = row_of_key(rows, "/partition/rounds");
  EXPECT_EQ(row.meaning, "`halves`: rounds of halving");
  EXPECT_EQ(row.fallback.text, "3");
  EXPECT_TRUE(fits(row.rule, nlohmann::json(9)));
  EXPECT_FALSE(fits(row.rule, nlohmann::json(10)));
  Job job;
  row.apply(nlohmann::json(5), job);
  EXPECT_EQ(job.partition.more.passes, 5U);
}

TEST(SchemaKinds, AMadeUpModelIsAChoiceAndRefusedOnlyUntilItIsBuilt) {
  std::vector<nn::ModelKind> kinds(nn::model_kinds().begin(), nn::model_kinds().end());
  constexpr std::array<std::string_view, 1> options = {"aggregator"};
  kinds.push_back({.name = "planned", .help = "made up"});
  kinds.push_back({.name = "built",
                   .help = "made up",
                   .options = options,
                   .make = nn::find_model_kind("gcn")->make});

  const auto rows = model_kind_rows(kinds);

  const auto& row = row_of_key(rows, "/model/kind");
  EXPECT_TRUE(fits(row.rule, nlohmann::json("planned")));
  EXPECT_TRUE(is_not_built(row, nlohmann::json("planned")));
  EXPECT_FALSE(is_not_built(row, nlohmann::json("built")));
  EXPECT_TRUE(row.not_built.instead.starts_with("\"graphsage\", \"gcn\", "));
  EXPECT_TRUE(row.not_built.instead.ends_with(" or \"built\""));
  EXPECT_TRUE(row_of_key(rows, "/model/aggregator").meaning.starts_with("`graphsage`, `built`: "));
}

TEST(SchemaKinds, AMadeUpCachePolicyIsAChoiceAndRefusedOnlyUntilItIsBuilt) {
  const std::vector<CachePolicy> policies{
      {.name = "none", .help = "none", .policy = CacheOptions::Policy::none},
      {.name = "planned", .help = "made up", .policy = {}}};

  const auto row = cache_policy_row(policies);

  EXPECT_FALSE(is_not_built(row, nlohmann::json("none")));
  EXPECT_TRUE(is_not_built(row, nlohmann::json("planned")));
  const auto refused = not_built_problem(row, nlohmann::json("planned"));
  EXPECT_EQ(to_string(std::span(&refused, 1)),
            "/features/cache/policy: expected \"none\", found \"planned\", which is not built "
            "yet\n");
  Job job;
  row.apply(nlohmann::json("none"), job);
  EXPECT_EQ(job.features.cache_policy, "none");
}

TEST(SchemaKinds, AMadeUpChoiceOfNeighborsIsAChoiceAndAReaderOfItsOptions) {
  constexpr std::array<std::string_view, 1> options = {"replace"};
  const std::vector<ChoiceKind> kinds{
      {.name = "first", .help = "made up", .make = choice_kinds()[0].make},
      {.name = "planned", .help = "made up", .options = options}};

  const auto rows = choice_rows(kinds);

  const auto& row = row_of_key(rows, "/sample/choice");
  EXPECT_FALSE(is_not_built(row, nlohmann::json("first")));
  EXPECT_TRUE(is_not_built(row, nlohmann::json("planned")));
  EXPECT_EQ(row.not_built.instead, "\"first\"");
  EXPECT_TRUE(row_of_key(rows, "/sample/replace").meaning.starts_with("`planned`: "));
  Job job;
  row.apply(nlohmann::json("first"), job);
  EXPECT_EQ(job.sample.choice, "first");
}

}  // namespace
}  // namespace troupe
