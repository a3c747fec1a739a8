#include "runtime/data/formats.hpp"

#include "tests/support/document_rows.hpp"
#include "tests/support/expect.hpp"

#include <set>

namespace troupe {
namespace {

using namespace testing;

TEST(ImportFormats, AreTheRowsOfTheDocumentation) {
  std::vector<std::string> expected;
  for (const auto& format : import_formats()) {
    expected.push_back(fmt::format("| `{}` | {} | {} | {} |", format.name, format.source,
                                   format.help, code_list(format.options)));
  }

  EXPECT_EQ(document_rows("formats.md", "| `--from` | SOURCE |"), expected);
}

TEST(ImportFormats, HaveDistinctNamesAndMarkersAnImporterAndKnownOptions) {
  std::set<std::string_view> names;
  std::set<std::string_view> markers;
  for (const auto& format : import_formats()) {
    EXPECT_TRUE(names.insert(format.name).second) << format.name;
    EXPECT_TRUE(format.marker.empty() || markers.insert(format.marker).second) << format.name;
    EXPECT_NE(format.make, nullptr) << format.name;
    for (const auto option : format.options) {
      EXPECT_NE(find_kind(format_options(), option), nullptr) << format.name << ": " << option;
    }
  }
  for (const auto& option : format_options()) {
    EXPECT_NE(readers_of(import_formats(), option.name), "") << option.name;
  }
}

TEST(CheckRequest, HoldsAMadeUpFormatToItsRow) {
  const ImportFormat one{.name = "made_up", .source = "a file", .help = "none", .features = false};
  ImportFormat several = one;
  several.several = true;
  ImportRequest request{.sources = {"a", "b"}, .store = "store"};

  EXPECT_ERROR(check_request(one, request), Errc::invalid_argument,
               "--from made_up: expected one source and the store to make, got 3 paths");
  EXPECT_OK(check_request(several, request));

  request.import.features.normalize = Normalize::row;
  EXPECT_ERROR(check_request(several, request), Errc::invalid_argument,
               "expected a format with features of nodes, got made_up");
}

}  // namespace
}  // namespace troupe
