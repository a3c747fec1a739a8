#include "runtime/partition/methods.hpp"

#include "runtime/graph/store_layout.hpp"
#include "tests/runtime/partition/partition_fixture.hpp"
#include "tests/support/document_rows.hpp"

#include <fmt/ranges.h>
#include <set>

namespace troupe {
namespace {

using namespace testing;

/// A method as its row in docs/partitioning.md.
std::string row_of(const PartitionMethod& method) {
  std::vector<std::string> needs;
  if (method.assign_vertices) {
    needs.emplace_back("undirected view");
  }
  if (method.metis) {
    needs.emplace_back("METIS");
  }
  return fmt::format("| `{}` | {} | {} | {} |", method.name, method.help, code_list(method.options),
                     fmt::join(needs, ", "));
}

TEST(PartitionMethods, AreTheRowsOfTheDocumentation) {
  std::vector<std::string> expected;
  for (const auto& method : partition_methods()) {
    expected.push_back(row_of(method));
  }
  EXPECT_EQ(document_rows("partitioning.md", "| method | looks at; good for |"), expected);
}

TEST(PartitionMethods, HaveDistinctNamesOneAssignerAndKnownOptions) {
  std::set<std::string_view> names;
  for (const auto& method : partition_methods()) {
    EXPECT_TRUE(names.insert(method.name).second) << method.name;
    EXPECT_TRUE(store_layout::is_valid_name(std::string(method.name))) << method.name;
    EXPECT_NE(method.assign_nodes == nullptr, method.assign_vertices == nullptr) << method.name;
    for (const auto option : method.options) {
      EXPECT_NE(find_kind(partition_options(), option), nullptr) << method.name << ": " << option;
    }
  }
  for (const auto& option : partition_options()) {
    EXPECT_NE(readers_of(partition_methods(), option.name), "") << option.name;
  }
}

/// A method that is in no table, on a path of six nodes.
class MadeUpMethod : public ::testing::Test {
 protected:
  void SetUp() override {
    auto store = store_of(plain_contents({6}, {{0, 0, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}}}}),
                          temp_ / "graph");
    ASSERT_OK(store);
    store_ = *std::move(store);
  }
  Result<Assigned> assign_by(const PartitionMethod& method) {
    InlineExecutor executor;
    options_.on_stage = [&](std::string_view stage) { stages_.emplace_back(stage); };
    return assign(store_, options_, method, executor);
  }

  const TempDir temp_;
  GraphStore store_;
  AssignOptions options_{.parts = 2};
  std::vector<std::string> stages_;
};

TEST_F(MadeUpMethod, OfNodesIsMeasuredAsTheOthers) {
  const PartitionMethod odd{.name = "odd",
                            .help = "odd ids and even ids",
                            .assign_nodes = [](const GraphStore& graph, const AssignOptions&,
                                               Executor&) -> Result<Assignment> {
                              Assignment parts(1);
                              for (std::uint64_t i = 0; i < graph.info().node_types[0].count; ++i) {
                                parts[0].push_back(static_cast<PartId>(i % 2));
                              }
                              return parts;
                            }};

  ASSERT_OK_AND_ASSIGN(const auto assigned, assign_by(odd));

  EXPECT_EQ(assigned.measures.cut_edges, 5U);
  EXPECT_EQ(stages_, (std::vector<std::string>{"odd", "measures"}));
}

TEST_F(MadeUpMethod, OfVerticesGetsTheViewAndTheLimits) {
  std::uint64_t limit = 0;
  const PartitionMethod halves{
      .name = "halves",
      .help = "the smaller ids and the larger ids",
      .assign_vertices = [&](const Adjacency& graph, const Constraints& constraints,
                             const AssignOptions& options,
                             Executor&) -> Result<std::vector<std::uint32_t>> {
        limit = constraints.limit(0, options.parts);
        std::vector<std::uint32_t> part_of;
        for (std::uint64_t v = 0; v < graph.vertices(); ++v) {
          part_of.push_back(static_cast<std::uint32_t>(v * options.parts / graph.vertices()));
        }
        return part_of;
      }};

  ASSERT_OK_AND_ASSIGN(const auto assigned, assign_by(halves));

  EXPECT_EQ(assigned.measures.cut_edges, 1U);
  EXPECT_EQ(limit, 4U);  // 1.03 * 3, rounded up
  EXPECT_EQ(stages_, (std::vector<std::string>{"view", "halves", "measures"}));
}

TEST_F(MadeUpMethod, IsCheckedAsTheOthers) {
  const PartitionMethod short_one{
      .name = "short",
      .help = "leaves nodes out",
      .assign_nodes = [](const GraphStore&, const AssignOptions&, Executor&) -> Result<Assignment> {
        return Assignment{{PartId{0}}};
      }};

  EXPECT_ERROR(assign_by(short_one), Errc::invalid_argument,
               "partition method \"short\": expected parts of 6 nodes of type \"t0\", found 1");
}

TEST_F(MadeUpMethod, ShowsTheOptionsThatItReads) {
  const PartitionMethod method{
      .name = "steps", .help = "reads some", .options = {"seed", "passes", "balance", "file"}};
  options_.seed = 7;
  options_.more.passes = 4;
  options_.more.balance = {"edges", "train"};

  const auto shown = options_of(options_, method);

  EXPECT_EQ(shown, (std::vector<std::pair<std::string, std::string>>{
                       {"balance", "edges,train"}, {"passes", "4"}, {"seed", "7"}}));
}

}  // namespace
}  // namespace troupe
