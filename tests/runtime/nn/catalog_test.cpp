#include "runtime/nn/catalog.hpp"

#include "tests/support/document_rows.hpp"
#include "tests/support/expect.hpp"

#include <set>

namespace troupe::nn {
namespace {

TEST(ModelKinds, AreTheRowsOfTheDocumentation) {
  std::vector<std::string> expected;
  std::set<std::string_view> names;
  for (const auto& kind : model_kinds()) {
    EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
    expected.push_back(fmt::format("| `{}` | {}{} |", kind.name, kind.help,
                                   kind.make == nullptr ? "; not built yet" : ""));
  }

  EXPECT_EQ(troupe::testing::document_rows("job-file.md", "| kind | layer |"), expected);
}

TEST(ModelKinds, KnownOnesWithoutAConvolutionAreRefused) {
  const ModelOptions options{.layers = 1, .in_dim = 1, .out_dim = 1};
  const ModelKind planned{.name = "planned", .help = "for this test"};

  EXPECT_ERROR(make_network(options, planned), Errc::unimplemented, ", got \"planned\"");
}

}  // namespace
}  // namespace troupe::nn
