#include "runtime/feature/cache_policies.hpp"

#include "tests/support/document_rows.hpp"
#include "tests/support/expect.hpp"

namespace troupe {
namespace {

using namespace testing;

TEST(CachePolicies, AreTheRowsOfTheDocumentation) {
  std::vector<std::string> expected;
  for (const auto& policy : cache_policies()) {
    expected.push_back(fmt::format("| `{}` | {}{} | {} | {} |", policy.name, policy.help,
                                   policy.policy ? "" : "; not built yet",
                                   policy.order.empty() ? "" : fmt::format("`{}`", policy.order),
                                   code_list(policy.options)));
  }

  EXPECT_EQ(document_rows("partitioning.md", "| policy | rows that a rank keeps |"), expected);
}

TEST(CachePolicies, NeedAnOrderExactlyWhereTheyKeepFirstRows) {
  for (const auto& policy : cache_policies()) {
    EXPECT_EQ(policy.policy == CacheOptions::Policy::order, !policy.order.empty()) << policy.name;
  }
}

}  // namespace
}  // namespace troupe
