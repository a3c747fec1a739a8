// Edge lists between several node types: one list by options, several by a JSON document.
#include "runtime/data/edgelist_document.hpp"
#include "runtime/data/edgelist_import.hpp"
#include "runtime/data/formats.hpp"
#include "tests/runtime/data/import_fixture.hpp"
#include "tests/support/file_text.hpp"

#include <zlib.h>

namespace troupe {
namespace {

using namespace testing;
using Lines = std::vector<std::string>;

class EdgelistTypes : public ImportTest {
 protected:
  /// Imports one list in files with these contents.
  Result<GraphInfo> import(const Lines& contents, EdgelistOptions options) {
    begin(options.import);
    std::vector<std::filesystem::path> files;
    for (const auto& text : contents) {
      files.push_back(in_ / fmt::format("edges{}", files.size()));
      write_all(files.back(), text);
    }
    return import_edgelist(files, out_, options, pool_);
  }
  /// Imports what a document beside the files of `write()` names.
  Result<GraphInfo> import_document(const std::string& document, ImportOptions options = {}) {
    begin(options);
    write_all(in_ / "shop.json", document);
    TROUPE_ASSIGN_OR_RETURN(const auto lists, read_edgelists(in_ / "shop.json", options.edges));
    return import_edgelists(lists, out_, options, pool_);
  }
  void write(const std::string& name, const std::string& text) const {
    write_all(in_ / name, text);
  }
  void write_gzip(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((in_ / name).parent_path());
    gzFile file = gzopen((in_ / name).c_str(), "wb");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
  }
  std::string names_of_type(const std::string& type) const {
    return file_text(out_ / ("nodes-" + type) / "names.txt");
  }

  ComputePool pool_{3};
};

EdgelistOptions ratings() {
  EdgelistOptions options;
  options.types = {"user", "rates", "item"};
  return options;
}

Lines counts_of(const GraphInfo& info) {
  Lines counts;
  for (const auto& type : info.node_types) {
    counts.push_back(fmt::format("{} {}", type.name, type.count));
  }
  return counts;
}

TEST_F(EdgelistTypes, EachTypeHasIdsOfItsOwn) {
  ASSERT_OK_AND_ASSIGN(const auto graph, opened(import({"0 5\n3 5\n1 0\n"}, ratings())));
  EXPECT_EQ(counts_of(graph.info()), (Lines{"user 4", "item 6"})) << "the largest id + 1";
  EXPECT_EQ(graph.info().edge_types[0].name, "rates");
  EXPECT_EQ(raw(graph.info().edge_types[0].source), 0U);
  EXPECT_EQ(raw(graph.info().edge_types[0].destination), 1U);
  EXPECT_EQ(edges_with_values(graph), (Lines{"0>5", "3>5", "1>0"}));
  EXPECT_FALSE(std::filesystem::exists(out_ / "nodes-user/names.txt"));

  auto options = ratings();
  options.first_id = 1;
  options.counts = {{"item", 9}};
  ASSERT_OK_AND_ASSIGN(const auto from_one, opened(import({"1,9\n4,1\n"}, options)));
  EXPECT_EQ(counts_of(from_one.info()), (Lines{"user 4", "item 9"}));
  EXPECT_EQ(edges_with_values(from_one), (Lines{"0>8", "3>0"}));
}

TEST_F(EdgelistTypes, NamesAreNumberedAndKeptByType) {
  auto options = ratings();
  options.text_ids = true;
  options.header = true;
  ASSERT_OK_AND_ASSIGN(
      const auto graph,
      opened(import({"user,item\nann,x1\nx1,ann\nann,ann\n", "user,item\nbob,x1\n"}, options)));
  EXPECT_EQ(counts_of(graph.info()), (Lines{"user 3", "item 2"}));
  EXPECT_EQ(edges_with_values(graph), (Lines{"0>0", "1>1", "0>1", "2>0"}));
  EXPECT_EQ(names_of_type("user"), "ann\nx1\nbob\n");
  EXPECT_EQ(names_of_type("item"), "x1\nann\n");
}

TEST_F(EdgelistTypes, OneTypeAtBothEndsIsOneIdSpace) {
  EdgelistOptions options;
  options.types = {"person", "knows", "person"};
  options.text_ids = true;
  options.import.edges.symmetrize = true;
  ASSERT_OK_AND_ASSIGN(const auto graph, opened(import({"ann bob\nbob ann\n"}, options)));
  EXPECT_EQ(counts_of(graph.info()), (Lines{"person 2"}));
  EXPECT_EQ(names_of_type("person"), "ann\nbob\n");
  EXPECT_EQ(edges_with_values(graph), (Lines{"0>1", "1>0", "1>0", "0>1"}));

  options = {};
  options.types = {"person", "knows", "person"};
  options.nodes = 7;
  ASSERT_OK_AND_ASSIGN(const auto counted, opened(import({"0 1\n"}, options)));
  EXPECT_EQ(counts_of(counted.info()), (Lines{"person 7"}));
}

TEST_F(EdgelistTypes, ValuesReversesAndSplitsGoWithThem) {
  auto options = ratings();
  options.text_ids = true;
  options.weight_column = 2;
  options.time_column = 3;
  ASSERT_OK_AND_ASSIGN(options.columns, parse_line_columns(Lines{"stars=2:u8"}));
  options.import.edges.reverse_edges = true;
  options.import.writer.edge_split = EdgeSplit{.times = {{20, 30}}};
  ASSERT_OK_AND_ASSIGN(const auto graph, opened(import({"\xEF\xBB\xBF"
                                                        "ann,x,5,10\r\nbob,x,3,25\r\nann,y,4,30\r\n"
                                                        "bob,z,1,-5\r\n"},
                                                       options)));
  ASSERT_EQ(graph.info().edge_types.size(), 2U);
  EXPECT_EQ(graph.info().edge_types[1].name, "rev_rates");
  EXPECT_EQ(edges_with_values(graph, 0), (Lines{"0>0 5 10", "1>2 1 -5"}));
  EXPECT_EQ(edges_with_values(graph, 1), (Lines{"0>0 5 10", "2>1 1 -5"}));
  EXPECT_EQ(values_by_edge<std::uint8_t>(graph, 0, 0),
            (std::map<std::uint64_t, std::uint8_t>{{0, 5}, {3, 1}}));
  const auto& links = graph.info().find_split("")->links;
  EXPECT_EQ(links.at("train").count, 2U);
  EXPECT_EQ(links.at("val").count, 1U);
  EXPECT_EQ(links.at("test").count, 1U);
  EXPECT_EQ(counts_of(graph.info()), (Lines{"user 2", "item 3"})) << "also nodes of links alone";
}

TEST_F(EdgelistTypes, MemoryAndThreadsChangeNoByte) {
  std::string text;
  for (std::uint64_t i = 0; i < 150'000; ++i) {  // several chunks, sorted on disk
    text += fmt::format("u{},i{},{}\n", i * 7919 % 1009, i * 104'729 % 997, i * 31 % 1000);
  }
  auto options = ratings();
  options.text_ids = true;
  options.time_column = 2;
  options.import.edges.reverse_edges = true;
  ASSERT_OK(import({text}, options));
  std::filesystem::rename(out_, temp_ / "in memory");

  options.import.writer.memory_bytes = 1 << 17;
  begin(options.import);
  InlineExecutor executor;
  const std::vector<std::filesystem::path> files{in_ / "edges0"};
  ASSERT_OK(import_edgelist(files, out_, options, executor));
  for (const auto& file : files_below(out_)) {
    EXPECT_EQ(file_text(out_ / file), file_text(temp_ / ("in memory/" + file))) << file;
  }
}

TEST_F(EdgelistTypes, OptionsThatCannotBeAreNamed) {
  const auto code = Errc::invalid_argument;
  auto options = ratings();
  options.import.edges.symmetrize = true;
  EXPECT_ERROR(import({"0 1\n"}, options), code,
               "edge type rates: expected one node type to symmetrize or drop self-loops, got user "
               "and item\ntry: reverse_edges");
  options = ratings();
  options.import.edges.drop_self_loops = true;
  EXPECT_ERROR(import({"0 1\n"}, options), code, "expected one node type to symmetrize or drop");
  options = ratings();
  options.nodes = 5;
  EXPECT_ERROR(import({"0 1\n"}, options), code,
               "--nodes: expected one node type, got user and item\ntry: --counts user=N,item=N");
  options = ratings();
  options.counts = {{"items", 5}};
  EXPECT_ERROR(import({"0 1\n"}, options), code,
               "--counts: expected a node type, user or item, got \"items\"");
  options.counts = {{"item", 5}};
  options.text_ids = true;
  EXPECT_ERROR(import({"0 1\n"}, options), code, "ids as text: expected neither a number of nodes");
  options = {};
  options.counts = {{"node", 5}};
  options.nodes = 5;
  EXPECT_ERROR(import({"0 1\n"}, options), code, "--nodes: expected it without --counts, got both");
  for (const auto& [types, what] : std::vector<std::pair<Lines, std::string>>{
           {{"user", "item"}, "--types: expected three names, SOURCE,EDGE,DESTINATION, got 2"},
           {{"user", "rates", "item", "x"}, "got 4"},
           {{"user", "rates", ""}, "node type: expected a name"},
           {{"us/er", "rates", "item"}, "got \"us/er\""},
           {{"user", "rates:", "item"}, "edge type: expected a name"}}) {
    options = {};
    options.types = types;
    EXPECT_ERROR(import({"0 1\n"}, options), code, what);
  }
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(EdgelistTypes, LinesThatDoNotFitAreNamedWithWhatHelps) {
  auto options = ratings();
  options.counts = {{"item", 2}};
  EXPECT_ERROR(
      import({"7 1\n0 2\n"}, options), Errc::invalid_argument,
      "edges0: line 2: expected a number from 0 to 1, got \"2\", in \"0 2\"\ntry: --ids "
      "text for ids that are no numbers or lie far apart, --columns, --first-id or --counts");
  EXPECT_ERROR(import({"7 1\n8\n"}, options), Errc::invalid_argument,
               "line 2: expected ids in columns 0 and 1 (counted from 0), in \"8\"");
}

TEST_F(EdgelistTypes, ASeparatorInsideQuotesIsAnErrorBetweenCommas) {
  auto options = ratings();
  options.text_ids = true;
  const auto code = Errc::invalid_argument;
  EXPECT_ERROR(import({"1,2\n\"Smith, Ann\",3\n"}, options), code,
               "edges0: line 2: expected no separator inside quotes, which are not undone, found "
               "\"Smith");
  EXPECT_ERROR(import({"1;\"a;b\"\n"}, options), code, "inside quotes");
  options.destination_column = 2;
  EXPECT_ERROR(import({"ann,\"x, y\",3\n"}, options), code, "found \"x");
  options.text_ids = false;
  EXPECT_ERROR(import({"1,\"2,3\",4\n"}, options), code, "found \"2");

  options = ratings();
  options.text_ids = true;
  ASSERT_OK(import({"\"ann\",\"say\"\"hi\"\n5\",x\"\n"}, options));
  EXPECT_EQ(names_of_type("user"), "\"ann\"\n5\"\n") << "quotes are part of names";
  ASSERT_OK(import({"\" the\nthe \"a\n"}, options));
  EXPECT_EQ(names_of_type("user"), "\"\nthe\n") << "words between spaces may be quotes";
}

TEST_F(EdgelistTypes, NumbersMayBeInQuotesAndANumberIsNoHeader) {
  auto options = ratings();
  options.weight_column = 2;
  options.time_column = 3;
  ASSERT_OK_AND_ASSIGN(options.columns, parse_line_columns(Lines{"w=2:u8"}));
  for (const std::string header : {"", "\"user\";\"item\";\"w\";\"t\"\n"}) {
    ASSERT_OK_AND_ASSIGN(
        const auto graph,
        opened(import({header + "\"1\";\"2\";\"5\";\"-7\"\n0;\"0\";3;\"9\"\n"}, options)));
    EXPECT_EQ(edges_with_values(graph), (Lines{"1>2 5 -7", "0>0 3 9"})) << header;
    EXPECT_EQ(values_by_edge<std::uint8_t>(graph, 0, 0),
              (std::map<std::uint64_t, std::uint8_t>{{0, 5}, {1, 3}}));
  }
  EXPECT_ERROR(import({"0;1;1;\"\"\n"}, options), Errc::invalid_argument,
               "expected a time, an integer of 64 bits, in column 3, got \"\"\"\"");
  EXPECT_ERROR(import({"0;1;1;1\n\"x\";1;1;1\n"}, options), Errc::invalid_argument,
               "line 2: expected a number from 0");
}

const std::string shop = R"({
  "node_types": {"user": {"ids": "text"}, "item": {"first_id": 1, "count": 9}, "device": {}},
  "edge_types": {
    "rates": {"source": "user", "destination": "item", "edges": ["r1.csv", "more/r2.csv.gz"],
              "header": true, "columns": [1, 0], "weight_column": 2, "time_column": 3,
              "edge_columns": ["stars=2:u8"], "reverse_edges": true},
    "knows": {"source": "user", "destination": "user", "edges": "knows.txt", "symmetrize": true},
    "on": {"source": "device", "destination": "user", "edges": "on.txt"}}})";

TEST_F(EdgelistTypes, ADocumentNamesSeveralListsWhoseTypesShareIds) {
  write("r1.csv", "item,user,stars,at\r\n1,ann,5,30\r\n9,bob,2,10\r\n");
  write_gzip("more/r2.csv.gz", "item;user;stars;at\n3;eve;4;20\n");
  write("knows.txt", "eve bob\n# a comment\nbob carl\n");
  write("on.txt", "4 ann\n0 dan\n");
  ASSERT_OK_AND_ASSIGN(const auto graph, opened(import_document(shop)));

  EXPECT_EQ(counts_of(graph.info()), (Lines{"device 5", "item 9", "user 5"}));
  EXPECT_EQ(names_of_type("user"), "eve\nbob\ncarl\nann\ndan\n") << "knows, on, rates";
  const auto edges = [&](std::size_t type, const std::string& name) {
    EXPECT_EQ(graph.info().edge_types[type].name, name);
    return edges_with_values(graph, type);
  };
  EXPECT_EQ(edges(0, "knows"), (Lines{"0>1", "1>2", "1>0", "2>1"}));
  EXPECT_EQ(edges(1, "on"), (Lines{"4>3", "0>4"}));
  EXPECT_EQ(edges(2, "rates"), (Lines{"3>0 5 30", "1>8 2 10", "0>2 4 20"}));
  EXPECT_EQ(edges(3, "rev_rates"), (Lines{"0>3 5 30", "8>1 2 10", "2>0 4 20"}));
  EXPECT_EQ(values_by_edge<std::uint8_t>(graph, 2, 0),
            (std::map<std::uint64_t, std::uint8_t>{{0, 5}, {1, 2}, {2, 4}}));
  EXPECT_EQ(left_out_, (Lines{"1 line that begins with #, % or //"}));
}

TEST_F(EdgelistTypes, OptionsForAllTypesActOnThoseOfADocument) {
  const std::string two = R"({"node_types": {"a": {}, "b": {}}, "edge_types": {
    "x": {"source": "a", "destination": "b", "edges": "x.txt"},
    "y": {"source": "a", "destination": "a", "edges": "y.txt"}}})";
  write("x.txt", "0 0\n1 0\n0 0\n");
  write("y.txt", "0 0\n1 0\n1 0\n");
  ImportOptions options;
  options.edges = {.symmetrize = true, .dedup = true, .drop_self_loops = true};
  ASSERT_OK_AND_ASSIGN(const auto graph, opened(import_document(two, options)));
  EXPECT_EQ(edges_with_values(graph, 0), (Lines{"0>0", "1>0"}));
  EXPECT_EQ(edges_with_values(graph, 1), (Lines{"1>0", "0>1"}));

  options.edges = {};
  options.writer.edge_split = EdgeSplit{.train = 0, .val = 0, .test = 1, .type = "x"};
  options.writer.edge_split->more_types = {"y"};
  ASSERT_OK_AND_ASSIGN(const auto split, opened(import_document(two, options)));
  EXPECT_EQ(split.info().find_split("")->links.at("test").count, 6U);
  options.writer.edge_split = EdgeSplit{.train = 0, .val = 0, .test = 1};
  EXPECT_ERROR(import_document(two, options), Errc::invalid_argument,
               "edge split: expected the name of an edge type among x, y, got none");
}

TEST_F(EdgelistTypes, EmptyListsAreTypesWithoutEdges) {
  write("x.txt", "# nothing\n");
  write("y.txt", "0 3\n");
  ASSERT_OK_AND_ASSIGN(const auto info, import_document(R"({
    "node_types": {"a": {}, "b": {"ids": "text"}, "c": {}}, "edge_types": {
    "x": {"source": "a", "destination": "b", "edges": "x.txt"},
    "y": {"source": "c", "destination": "c", "edges": "y.txt"}}})"));
  EXPECT_EQ(counts_of(info), (Lines{"a 0", "b 0", "c 4"}));
  EXPECT_EQ(info.edge_types[0].count, 0U);
  EXPECT_OK(GraphStore::open(out_, {}));
}

TEST_F(EdgelistTypes, WhatADocumentSaysWronglyIsNamed) {
  write("x.txt", "0 1\n");
  const auto code = Errc::invalid_argument;
  const auto with_edges = [](const std::string& edge_type) {
    return R"({"node_types": {"a": {}, "t": {"ids": "text"}}, "edge_types": {"x": )" + edge_type +
           "}}";
  };
  const std::string ends = R"("source": "a", "destination": "a")";
  for (const auto& [edge_type, what] : std::vector<std::pair<std::string, std::string>>{
           {"{" + ends + "}", "/edge_types/x: expected an object with \"edges\""},
           {"{" + ends + R"(, "edges": []})",
            "/edge_types/x/edges: expected a file or a list of files, found []"},
           {"{" + ends + R"(, "edges": [1]})", "/edge_types/x/edges/0: expected a string"},
           {"{" + ends + R"(, "edges": "x.txt", "colums": [0, 1]})", "try: \"columns\""},
           {"{" + ends + R"(, "edges": "x.txt", "columns": [0]})",
            "/edge_types/x/columns: expected the two columns of source and destination, found [0]"},
           {"{" + ends + R"(, "edges": "x.txt", "columns": [2, 2]})",
            "shop.json: /edge_types/x: columns: expected two columns, got 2 twice"},
           {"{" + ends + R"(, "edges": "x.txt", "weight_column": -1})",
            "/edge_types/x/weight_column: expected an integer in 0..4294967295"},
           {"{" + ends + R"(, "edges": "x.txt", "time_column": 1})",
            "shop.json: /edge_types/x: time_column: expected a column that nothing else"},
           {"{" + ends + R"(, "edges": "x.txt", "edge_columns": ["r"]})",
            "/edge_types/x/edge_columns: "},
           {"{" + ends + R"(, "edges": "x.txt", "header": 1})", "expected true or false"},
           {R"({"source": "a", "destination": "c", "edges": "x.txt"})",
            "/edge_types/x/destination: expected the name of a node type, found \"c\""},
           {R"({"source": "a", "destination": "t", "edges": "x.txt", "symmetrize": true})",
            "edge type x: expected one node type to symmetrize"},
       }) {
    EXPECT_ERROR(import_document(with_edges(edge_type)), code, what);
  }
  for (const auto& [document, what] : std::vector<std::pair<std::string, std::string>>{
           {R"({"node_types": {"a": {"ids": "name"}}, "edge_types": {}})",
            "/node_types/a/ids: expected \"number\" or \"text\", found \"name\""},
           {R"({"node_types": {"a": {"ids": "text", "count": 3}}, "edge_types": {"x": {)" + ends +
                R"(, "edges": "x.txt"}}})",
            "shop.json: /node_types/a: ids as text: expected neither a number of nodes"},
           {R"({"node_types": {"a": {"features": "x.npy"}}, "edge_types": {}})",
            "expected one of ids, first_id, count, found an unknown key"},
           {R"({"node_types": {"a": {}}, "edge_types": {}})",
            "shop.json: /edge_types: expected an object with at least one edge type"},
           {R"({"node_types": {"a": {}, "a": {}}, "edge_types": {}})", "expected each key once"},
           {R"({"edge_types": {}})", "expected an object with \"node_types\""},
           {"0 1\n", "shop.json: "}}) {
    EXPECT_ERROR(import_document(document), code, what);
  }
  EXPECT_ERROR(import_document(with_edges("{" + ends + R"(, "edges": "y.txt"})")), Errc::not_found,
               "y.txt");
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(EdgelistTypes, LinesOfADocumentsListsAreNamedWithItsKeys) {
  const std::string mixed = R"({"node_types": {"a": {}, "t": {"ids": "text"}}, "edge_types": {
    "x": {"source": "t", "destination": "a", "edges": "x.txt", "weight_column": 2}}})";
  write("x.txt", "name,id,w\nann,0,1\n");
  EXPECT_ERROR(
      import_document(mixed), Errc::invalid_argument,
      "x.txt: line 1: expected a number from 0 to 4294967295, got \"id\", in "
      "\"name,id,w\"\ntry: \"header\" if the first line has names, \"ids\": \"text\" for ids "
      "that are no numbers or lie far apart, \"columns\", \"weight_column\", \"time_column\", "
      "\"first_id\" or "
      "\"count\"");
  write("x.txt", "ann smith,0,1\n");
  EXPECT_ERROR(import_document(mixed), Errc::invalid_argument, "found a space and a comma");
}

TEST_F(EdgelistTypes, TheFormatTakesADocumentByItsEndingAndNoOptionsBesideIt) {
  write("shop.json", R"({"node_types": {"a": {}}, "edge_types": {
    "x": {"source": "a", "destination": "a", "edges": "x.txt"}}})");
  write("x.txt", "0 1\n");
  const auto* format = find_kind(import_formats(), "edgelist");
  ImportRequest request{.sources = {in_ / "shop.json"}, .store = out_};
  EXPECT_OK(format->make(request, pool_));

  request.store = temp_ / "other";
  request.more.weight_column = 2;
  EXPECT_ERROR(format->make(request, pool_), Errc::invalid_argument,
               "--weight-column: expected none beside " + request.sources[0].string() +
                   ", which says how each list is read");
  request.more = {.types = {"a", "x", "a"}};
  EXPECT_ERROR(format->make(request, pool_), Errc::invalid_argument, "--types: expected none");
}

}  // namespace
}  // namespace troupe
