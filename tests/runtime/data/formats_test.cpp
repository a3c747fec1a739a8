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

TEST(CheckRequest, RefusesOptionsThatTheFormatDoesNotRead) {
  const auto check = [](const char* format, const FormatOptions& options) {
    const auto* row = find_kind(import_formats(), format);
    return check_request(*row, {.sources = {"a"}, .store = "store", .more = options});
  };
  const auto code = Errc::invalid_argument;

  EXPECT_ERROR(check("edgelist", {.weights = "w"}), code,
               "--weights: expected a format that reads it (ogb, dgl, graphbolt), got edgelist");
  EXPECT_ERROR(check("dgl", {.weight_column = 2}), code,
               "--weight-column: expected a format that reads it (edgelist), got dgl");
  EXPECT_ERROR(check("npy", {.header = true}), code, "--header: expected a format that reads it");
  EXPECT_OK(check("edgelist", {.columns = {1, 0}, .weight_column = 2, .time_column = 3}));
  EXPECT_OK(check("graphbolt", {.features = "x", .weights = "w", .times = "t"}));
}

}  // namespace
}  // namespace troupe
