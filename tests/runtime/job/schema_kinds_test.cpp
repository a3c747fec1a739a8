// Keys of the job file that come from tables of kinds, with kinds that are in no table.
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

}  // namespace
}  // namespace troupe
