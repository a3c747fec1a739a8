#include "runtime/data/edgelist_import.hpp"

#include "runtime/graph/store.hpp"
#include "tests/runtime/data/import_fixture.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/file_text.hpp"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

namespace troupe {
namespace {

using namespace testing;
using Ids = std::vector<std::uint64_t>;

std::string gzipped(const std::string& text, const std::filesystem::path& path) {
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  return testing::file_text(path);
}

std::string zstd_of(const std::string& text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  return packed;
}

class EdgelistImport : public ::testing::Test {
 protected:
  /// Imports files with these contents.
  Result<GraphInfo> import(const std::vector<std::string>& contents,
                           const EdgelistOptions& options = {}) {
    std::filesystem::remove_all(out_);
    std::vector<std::filesystem::path> files;
    for (std::size_t i = 0; i < contents.size(); ++i) {
      files.push_back(temp_ / ("edges" + std::to_string(i)));
      write_all(files.back(), contents[i]);
    }
    return import_edgelist(files, out_, options, pool_);
  }
  /// Edges of the imported store as text, by edge id.
  std::vector<std::string> edges(const std::vector<std::string>& contents,
                                 const EdgelistOptions& options = {}, std::size_t type = 0) {
    const auto info = import(contents, options);
    EXPECT_OK(info);
    const auto store = GraphStore::open(out_, {});
    EXPECT_OK(store);
    if (!info || !store) {
      return {};
    }
    return edges_with_values(*store, type);
  }

  TempDir temp_;
  std::filesystem::path out_ = temp_ / "out";
  ComputePool pool_{3};
};

using Texts = std::vector<std::string>;
const Texts three{"0>1", "2>1", "1>3"};

TEST_F(EdgelistImport, SeparatorsCommentsHeadersAndLineEndsGiveTheSameEdges) {
  const Texts forms{
      "# SNAP\n0\t1\n2\t1\n1\t3\n",     "% konect\n\n0 1\n  2   1\n// more\n1 3",
      "source,target\n0,1\n2,1\n1,3\n", "\"src\";\"dst\"\r\n0;1\r\n2 ; 1\r\n\r\n1;3\r\n",
      "0 1 0.5 17\n2 1 x\n1, 3,\n",
  };
  for (const auto& form : forms) {
    EXPECT_EQ(edges({form}), three) << form;
  }
}

TEST_F(EdgelistImport, AnEmptyCellBetweenTabsStaysACell) {
  EdgelistOptions options;
  options.destination_column = 2;
  EXPECT_EQ(edges({"0\t\t1\t7\n2\t3\t1\t9\n1 \t \t3\n"}, options), three);
  EXPECT_EQ(edges({"0\t,1,\t1\n2,5\t;\t1\n1\t5 \t 3\t\n"}, options), three)
      << "tabs around a comma or semicolon belong to it";
  options.source_column = 1;
  EXPECT_EQ(edges({"\tfrom\tto\n7\t0\t1\n\t2\t1\n8\t1\t3\n"}, options), three);
  EXPECT_ERROR(import({"0\t\t1\n"}), Errc::invalid_argument, "expected ids in columns 0 and 1");
}

TEST_F(EdgelistImport, ColumnsAndFirstIdAreChosen) {
  EdgelistOptions options;
  options.source_column = 3;
  options.destination_column = 1;
  options.first_id = 1;
  EXPECT_EQ(edges({"w,to,,from\n9,2,,1\n9,2,,3\n9,4,,2\n"}, options), three);
  EXPECT_ERROR(import({"1,0,,1\n"}, options), Errc::invalid_argument,
               "line 1: expected a number from 1 to");
}

TEST_F(EdgelistImport, CompressedFilesAreFoundByTheirContent) {
  const std::string text = "0 1\n2 1\n1 3\n";
  const auto gzip = gzipped(text, temp_ / "packed");
  EXPECT_EQ(edges({gzip}), three);
  EXPECT_EQ(edges({zstd_of(text)}), three);
  EXPECT_EQ(edges({gzip + gzipped("5 6\n", temp_ / "packed")}),
            (Texts{"0>1", "2>1", "1>3", "5>6"}));
  EXPECT_EQ(edges({zstd_of(text) + zstd_of("5 6\n")}), (Texts{"0>1", "2>1", "1>3", "5>6"}));
}

TEST_F(EdgelistImport, AByteOrderMarkIsNoPartOfTheFirstLine) {
  const std::string mark = "\xEF\xBB\xBF";
  for (const std::string text :
       {"0 1\n2 1\n1 3\n", "# SNAP\n0 1\n2 1\n1 3", "from,to\r\n0,1\r\n2,1\r\n1,3\r\n"}) {
    EXPECT_EQ(edges({mark + text}), three) << text;
    EXPECT_EQ(edges({gzipped(mark + text, temp_ / "packed")}), three) << text;
    EXPECT_EQ(edges({zstd_of(mark + text)}), three) << text;
  }
  EXPECT_EQ(edges({mark + "0 1\n2 1", mark + "1 3\n", mark}), three);
  EXPECT_ERROR(import({"0 1\n" + mark + "2 1\n"}), Errc::invalid_argument, "line 2");
  EdgelistOptions options;
  options.text_ids = true;
  EXPECT_EQ(edges({mark + "alice,bob\nc/1,bob\n", mark + "bob,7\n"}, options), three);
  EXPECT_EQ(testing::file_text(out_ / "nodes-node/names.txt"), "alice\nbob\nc/1\n7\n");
}

TEST_F(EdgelistImport, ZerosAfterAMemberOfGzipArePadding) {
  const std::string zeros(1000, '\0');
  const auto first = gzipped("0 1\n2 1\n", temp_ / "packed");
  const auto second = gzipped("1 3\n", temp_ / "packed");
  EXPECT_EQ(edges({first + second + zeros}), three);
  EXPECT_EQ(edges({first + zeros + second}), three);
  EXPECT_ERROR(import({first + zeros + "1 3\n"}), Errc::data_corruption, "gzip");
}

TEST_F(EdgelistImport, ALineWithoutAnEndIsRefusedBeforeItFillsTheMemory) {
  const std::string line((std::size_t{32} << 20) + (std::size_t{2} << 20), '1');
  EXPECT_ERROR(
      import({"0 1\n" + line}), Errc::invalid_argument,
      "edges0: expected lines of at most 33554432 bytes, found a longer one from byte 4 on");
  EXPECT_ERROR(import({zstd_of(line)}), Errc::invalid_argument, "from byte 0 on");
}

TEST_F(EdgelistImport, DamagedCompressionIsAnErrorWithTheFile) {
  const auto gzip = gzipped("0 1\n2 1\n1 3\n", temp_ / "packed");
  const auto zstd = zstd_of("0 1\n2 1\n1 3\n");
  const auto code = Errc::data_corruption;
  EXPECT_ERROR(import({gzip.substr(0, gzip.size() - 6)}), code, "edges0: expected whole gzip data");
  EXPECT_ERROR(import({zstd.substr(0, zstd.size() - 3)}), code, "edges0: expected whole zstd data");
  EXPECT_ERROR(import({gzip + "no more gzip"}), code, "gzip");
  EXPECT_ERROR(import({zstd + "no more zstd"}), code, "zstd");
}

TEST_F(EdgelistImport, SeveralFilesAreOneList) {
  EXPECT_EQ(edges({"from to\n0 1\n2 1", "from to\n1 3\n", "", "# nothing\n"}), three);
}

TEST_F(EdgelistImport, ManyBlocksKeepTheOrderOfLines) {
  std::string text;
  Ids sources;
  Ids destinations;
  for (std::uint64_t i = 0; i < 700'000; ++i) {  // some 9 MB: several blocks of 3 chunks
    sources.push_back(i * 7919 % 100'003);
    destinations.push_back(i * 104'729 % 99'991);
    text += fmt::format("{} {}\n", sources.back(), destinations.back());
  }
  ASSERT_OK(import({text}));

  GraphContents contents;
  contents.info.node_types.push_back({"node", 100'003, {}, {}, {}});
  EdgeTypeInfo type;
  type.name = "edge";
  type.count = sources.size();
  type.has_edge_ids = true;
  contents.info.edge_types.push_back(type);
  contents.nodes.resize(1);
  contents.in_lists.push_back(build_in_lists({sources, destinations}, 100'003, 100'003));
  ASSERT_OK(write_graph_store(contents, temp_ / "whole"));
  for (const auto& file : files_below(out_)) {
    EXPECT_EQ(testing::file_text(out_ / file), testing::file_text(temp_ / ("whole/" + file)))
        << file;
  }
}

TEST_F(EdgelistImport, TextIdsAreNumberedByFirstAppearanceAndKept) {
  EdgelistOptions options;
  options.text_ids = true;
  EXPECT_EQ(edges({"alice,bob\nc/1,bob\n", "bob,7\n"}, options), three);
  EXPECT_EQ(testing::file_text(out_ / "nodes-node/names.txt"), "alice\nbob\nc/1\n7\n");
  options.header = true;
  EXPECT_EQ(edges({"from,to\nalice,bob\n", "from,to\ncarl,bob\nbob,d\n"}, options), three);
}

TEST_F(EdgelistImport, AFirstLineWhoseNamesNoOtherHasIsNoted) {
  Texts notes;
  EdgelistOptions options;
  options.text_ids = true;
  options.import.writer.note = [&](const std::string& what) { notes.push_back(what); };
  const auto noted = [&](const std::string& text) {
    notes.clear();
    EXPECT_OK(import({text}, options));
    return notes.size();
  };
  EXPECT_EQ(noted("from,to\nalice,bob\nbob,carl\n"), 1U);
  EXPECT_EQ(notes, (Texts{"\"from\" and \"to\", the names of the first line, are in no other one\n"
                          "try: --header if they are names of columns"}));
  EXPECT_EQ(noted("alice,bob\ncarl,alice\n"), 0U);
  EXPECT_EQ(noted("alice,bob\ncarl,dan\ndan,bob\n"), 0U);
  EXPECT_EQ(noted("alice,bob\n"), 0U);
  EXPECT_EQ(noted("# no edges\n"), 0U);

  options.types = {"user", "rates", "item"};
  EXPECT_EQ(noted("user,item\nalice,heat\nbob,heat\n"), 1U);
  EXPECT_EQ(noted("alice,heat\nbob,solaris\nheat,alice\n"), 1U);  // a user heat, an item alice
  EXPECT_EQ(noted("alice,heat\nalice,solaris\n"), 0U);
  options.header = true;
  EXPECT_EQ(noted("user,item\nalice,heat\nbob,heat\n"), 0U);
}

TEST_F(EdgelistImport, NamesThatHoldASeparatorAreRefusedWithTheirLine) {
  EdgelistOptions options;
  options.text_ids = true;
  const std::string what = "expected the same separator between all columns, found ";
  const std::string advice = "try: underscores in place of spaces and separators inside names";
  for (const auto& [text, found] : std::vector<std::pair<std::string, std::string>>{
           {"New York,Los Angeles", "a space and a comma"},
           {"Boston,New York", "a comma and a space"},
           {"Boston\tNew York", "a tab and a space"},
           {"\"a b\",\"c d\"", "a space and a comma"},
           {"New York;Boston", "a space and a semicolon"},
           {"Smith, John\tDoe, Jane", "a comma and a tab"}}) {
    EXPECT_ERROR(import({"a,b\n" + text + "\n"}, options), Errc::invalid_argument,
                 "edges0: line 2: " + what + found);
    EXPECT_ERROR(import({text}, options), Errc::invalid_argument, advice);
  }
  for (const std::string text :
       {"a b {'weight': 1, 'x': 2}", "a\tb\tNew York, 5", "a, b", "a ,b, c d", "a \t b", "a b"}) {
    EXPECT_EQ(edges({text}, options), (Texts{"0>1"})) << text;
  }
  options.time_column = 2;
  EXPECT_ERROR(import({"a,b,5 c;d"}, options), Errc::invalid_argument, "a comma and a space");
}

TEST_F(EdgelistImport, DecimalCommasAreRefusedAndNotCut) {
  for (const std::string text : {"0;1;2,5", "0 1 2,5", "0\t1\t2,5", "0 1;2,5", "0,1;2"}) {
    EdgelistOptions options;
    options.weight_column = 2;
    EXPECT_ERROR(import({"0;1;2\n" + text + "\n"}, options), Errc::invalid_argument,
                 "edges0: line 2: expected a point in decimal numbers and one separator");
    options.weight_column.reset();
    options.time_column = 2;
    EXPECT_ERROR(import({text}, options), Errc::invalid_argument, "found a comma beside another");
    EXPECT_EQ(edges({text}, EdgelistOptions()), (Texts{"0>1"})) << text;
  }
  EdgelistOptions options;
  options.weight_column = 2;
  EXPECT_EQ(edges({"0, 1, 2.5, 3\n0;1;2.5;3,4\n0\t1 2.5 x,y\n"}, options).size(), 3U);
}

TEST_F(EdgelistImport, LinesOfNamesThatAreTakenForCommentsAreCounted) {
  std::vector<std::string> left_out;
  EdgelistOptions options;
  options.text_ids = true;
  options.import.left_out = [&](const std::string& what) { left_out.push_back(what); };

  EXPECT_EQ(edges({"#ai #ml\n#ml #llm\n\nx y\n", "// a\nx y\n"}, options).size(), 2U);
  EXPECT_EQ(left_out, (Texts{"3 lines that begin with #, % or //"}));

  left_out.clear();
  EXPECT_EQ(edges({"\nx y\n\nx z"}, options).size(), 2U);
  EXPECT_EQ(left_out, Texts());
}

TEST_F(EdgelistImport, TransformsAreThoseOfTheWriter) {
  EdgelistOptions options;
  options.import.edges = {.symmetrize = true, .dedup = true, .drop_self_loops = true};
  EXPECT_EQ(edges({"0 1\n1 0\n2 2\n"}, options), (Texts{"0>1", "1>0"}));
}

TEST_F(EdgelistImport, ANumberOfNodesIsKeptAndChecked) {
  EdgelistOptions options;
  options.nodes = 9;
  ASSERT_OK_AND_ASSIGN(const auto info, import({"0 1\n"}, options));
  EXPECT_EQ(info.node_types[0].count, 9U);
  EXPECT_ERROR(import({"0 1\n\n0 9\n"}, options), Errc::invalid_argument,
               "edges0: line 3: expected a number from 0 to 8, got \"9\", in \"0 9\"");
}

TEST_F(EdgelistImport, NoNodesHaveNoIds) {
  EdgelistOptions options;
  options.nodes = 0;
  EXPECT_ERROR(import({"0 1\n"}, options), Errc::invalid_argument,
               "edges0: line 1: expected no ids, as the number of nodes is 0, got \"0\"");
}

TEST_F(EdgelistImport, LinesThatDoNotFitAreNamed) {
  const auto code = Errc::invalid_argument;
  EXPECT_ERROR(import({"0 1\n", "# a\n0 1\n1\n"}), code,
               "edges1: line 3: expected ids in columns 0 and 1 (counted from 0), in \"1\"");
  EXPECT_ERROR(import({"a b\nc d\n"}), code, "line 2: expected a number from 0 to 4294967295, got");
  EXPECT_ERROR(import({"0 -1\n"}), code, "got \"-1\"");
  EXPECT_ERROR(import({"0 1.5\n"}), code, "got \"1.5\"");
  EXPECT_ERROR(import({"0 99999999999999999999\n"}), code, "got \"99999999999999999999\"");
  EXPECT_ERROR(import({"0,,1\n"}), code, "expected ids in columns 0 and 1");
  EXPECT_ERROR(import({"0 1\n" + std::string(100, 'x') + "\n"}), code, "...");
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(EdgelistImport, ControlCharactersOfALineAreNotPrinted) {
  using namespace std::string_literals;
  EXPECT_ERROR(import({"1\0 \0002\0\n"s}), Errc::invalid_argument,
               "line 1: expected a number from 0 to 4294967295, got \"1?\", in \"1? ?2?\"\ntry: ");
  EXPECT_ERROR(import({"0 1\r1 2\r"}), Errc::invalid_argument, "got \"1?1\", in");
}

TEST_F(EdgelistImport, TheLineIsRightInLaterBlocks) {
  std::string text;
  for (int i = 0; i < 1'000'000; ++i) {
    text += "12 345678\n";
  }
  EXPECT_ERROR(import({text + "oops 1\n"}), Errc::invalid_argument, "line 1000001: expected");
}

TEST_F(EdgelistImport, OptionsAndFilesThatCannotBeAreErrors) {
  EdgelistOptions options;
  options.destination_column = 0;
  EXPECT_ERROR(import({"0 1\n"}, options), Errc::invalid_argument, "two columns");
  options = {};
  options.text_ids = true;
  options.nodes = 4;
  EXPECT_ERROR(import({"0 1\n"}, options), Errc::invalid_argument, "ids as text");
  const std::vector<std::filesystem::path> missing{temp_ / "nothing"};
  EXPECT_ERROR(import_edgelist(missing, out_, {}, pool_), Errc::not_found, "nothing");
}

TEST_F(EdgelistImport, NoEdgesAreAStore) {
  ASSERT_OK_AND_ASSIGN(const auto info, import({"# nothing\n"}));
  EXPECT_EQ(info.edge_types[0].count, 0U);
  EXPECT_OK(GraphStore::open(out_, {}));
}

/// Weights in column 2, times in column 3.
EdgelistOptions with_values() {
  EdgelistOptions options;
  options.weight_column = 2;
  options.time_column = 3;
  return options;
}

TEST_F(EdgelistImport, WeightsAndTimesLieBesideTheirEdges) {
  const Texts expected{"0>1 0.5 17", "2>1 2 -3", "1>3 0.001 0"};
  const std::vector<Texts> forms{
      {"0 1 0.5 17\n2 1 2 -3\n1 3 1e-3 0\n"},
      {"from,to,w,t\r\n0,1,0.5,17\r\n2 , 1 , 2.0 , -3 \r\n\r\n1,3,.001,0\r\n"},
      {"# u v w t\n0\t1\t0.5\t17\tmore", "2 1 2 -3\n", "", "1;3;0.1e-2;0;"},
  };
  for (const auto& form : forms) {
    EXPECT_EQ(edges(form, with_values()), expected) << form.front();
  }
}

TEST_F(EdgelistImport, WeightsAndTimesAreReadFromTheirOwnColumnsOnly) {
  EdgelistOptions options;
  options.source_column = 2;
  options.destination_column = 4;
  options.time_column = 0;
  EXPECT_EQ(edges({"30,x,0,,1\n-20,,2,,1\n10,,1,,3\n"}, options),
            (Texts{"0>1 30", "2>1 -20", "1>3 10"}));
  options.time_column = {};
  options.weight_column = 0;
  EXPECT_EQ(edges({"30,x,0,,1\n20,,2,,1\n10,,1,,3\n"}, options),
            (Texts{"0>1 30", "2>1 20", "1>3 10"}));
}

TEST_F(EdgelistImport, EdgesOfTextIdsHaveWeightsAndTimes) {
  auto options = with_values();
  options.text_ids = true;
  options.header = true;
  EXPECT_EQ(edges({"u v w t\nann bob 1 5\ncarl bob 2 6\n", "u v w t\nbob dan 3 7"}, options),
            (Texts{"0>1 1 5", "2>1 2 6", "1>3 3 7"}));
  options.header = false;
  EXPECT_ERROR(import({"u v w t\nann bob 1 5\n"}, options), Errc::invalid_argument,
               "edges0: line 1: expected a finite weight of 0 or more in column 2, got \"w\", in "
               "\"u v w t\"\ntry: --header if the first line has names, --columns, "
               "--weight-column, --time-column");
}

TEST_F(EdgelistImport, ReversesHaveTheWeightsAndTimesOfTheirEdges) {
  auto options = with_values();
  options.import.edges.symmetrize = true;
  EXPECT_EQ(edges({"0 1 0.5 17\n2 1 2 -3\n"}, options),
            (Texts{"0>1 0.5 17", "2>1 2 -3", "1>0 0.5 17", "1>2 2 -3"}));
  options.import.edges = {.reverse_edges = true};
  EXPECT_EQ(edges({"0 1 0.5 17\n2 1 2 -3\n"}, options), (Texts{"0>1 0.5 17", "2>1 2 -3"}));
  EXPECT_EQ(edges({"0 1 0.5 17\n2 1 2 -3\n"}, options, 1), (Texts{"1>0 0.5 17", "1>2 2 -3"}));
}

TEST_F(EdgelistImport, DedupKeepsTheWeightOfTheEdgeThatStays) {
  auto options = with_values();
  options.import.edges.dedup = true;
  EXPECT_ERROR(import({"0 1 1 1\n"}, options), Errc::invalid_argument,
               "edge type edge: expected no dedup with times");
  options.time_column = {};
  EXPECT_EQ(edges({"0 1 8\n2 1 4\n0 1 1\n2 1 9\n"}, options), (Texts{"0>1 8", "2>1 4"}));
  options.import.edges.symmetrize = true;
  EXPECT_EQ(edges({"0 1 8\n1 0 4\n"}, options), (Texts{"0>1 8", "1>0 4"}));
}

TEST_F(EdgelistImport, ListsWithTimesAreInOrderOfTimeThenNeighbour) {
  EdgelistOptions options;
  options.time_column = 2;
  ASSERT_OK(import({"3 0 7\n1 0 7\n2 0 -9223372036854775808\n4 0 9223372036854775807\n5 0 -1\n"},
                   options));
  ASSERT_OK_AND_ASSIGN(const auto store, GraphStore::open(out_, {}));

  const auto& lists = store.graph()->edges[0].in;
  std::vector<std::string> list;
  for (std::uint64_t i = lists.offsets[0]; i < lists.offsets[1]; ++i) {
    list.push_back(fmt::format("{}@{}", raw(lists.neighbours[i]), lists.times[i]));
  }
  EXPECT_EQ(list, (Texts{"2@-9223372036854775808", "5@-1", "1@7", "3@7", "4@9223372036854775807"}));
}

TEST_F(EdgelistImport, LittleMemoryGivesTheSameWeightsAndTimes) {
  Texts files(2);
  Texts expected;
  for (std::uint64_t i = 0; i < 120'000; ++i) {  // text of several chunks, sorted on disk
    const auto weight = static_cast<float>(i) / 4;
    const auto edge = fmt::format("{}>{} {} {}", i * 7919 % 1009, i * 104'729 % 997, weight,
                                  static_cast<std::int64_t>(i * 31 % 1000) - 500);
    expected.push_back(edge);
    auto line = edge;
    line[line.find('>')] = ' ';
    files[i < 100'000 ? 0 : 1] += line + '\n';
  }
  auto options = with_values();
  EXPECT_EQ(edges(files, options), expected);
  std::filesystem::rename(out_, temp_ / "in memory");

  options.import.writer.memory_bytes = 1 << 16;
  EXPECT_EQ(edges(files, options), expected);
  for (const auto& file : files_below(out_)) {
    EXPECT_EQ(testing::file_text(out_ / file), testing::file_text(temp_ / ("in memory/" + file)))
        << file;
  }
}

TEST_F(EdgelistImport, TheLargestAndSmallestValuesAreKept) {
  EXPECT_EQ(edges({"0 1 3.4028235e38 9223372036854775807\n1 0 0 -9223372036854775808\n"
                   "1 2 1e-45 0\n"},
                  with_values()),
            (Texts{"0>1 3.4028235e+38 9223372036854775807", "1>0 0 -9223372036854775808",
                   "1>2 1e-45 0"}));
}

TEST_F(EdgelistImport, WeightsAndTimesThatCannotBeAreNamed) {
  const auto options = with_values();
  for (const std::string bad : {"nan", "NaN", "inf", "-inf", "1e39", "-1", "-1e-9", "x", "1.5x",
                                "+1", "0x10", "1e", "--1"}) {
    EXPECT_ERROR(
        import({"0 1 1 1\n", "# a\n0 1 " + bad + " 1\n"}, options), Errc::invalid_argument,
        fmt::format(
            "edges1: line 2: expected a finite weight of 0 or more in column 2, "
            "got \"{0}\", in \"0 1 {0} 1\"\ntry: --ids text for ids that are no "
            "numbers or lie far apart, --columns, --weight-column, --time-column, --first-id or "
            "--nodes",
            bad));
  }
  for (const std::string bad :
       {"9223372036854775808", "-9223372036854775809", "1.5", "1e3", "nan", "x", "2020-01-01"}) {
    EXPECT_ERROR(import({"0 1 1 " + bad + "\n"}, options), Errc::invalid_argument,
                 fmt::format("edges0: line 1: expected a time, an integer of 64 bits, in column 3, "
                             "got \"{0}\", in \"0 1 1 {0}\"",
                             bad));
  }
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(EdgelistImport, LinesWithoutAWeightOrTimeAreNamed) {
  const auto options = with_values();
  const auto code = Errc::invalid_argument;
  const std::string weight = "expected a finite weight of 0 or more in column 2, got nothing";
  const std::string time = "expected a time, an integer of 64 bits, in column 3, got nothing";
  EXPECT_ERROR(import({"0 1 1 1\n0 1\n"}, options), code, "edges0: line 2: " + weight);
  EXPECT_ERROR(import({"0,1,,1\r\n"}, options), code, "edges0: line 1: " + weight);
  EXPECT_ERROR(import({"0 1 1\n"}, options), code, "edges0: line 1: " + time);
  EXPECT_ERROR(import({"0,1,1,\r\n"}, options), code, "edges0: line 1: " + time);
  EXPECT_ERROR(import({"0\n"}, options), code, "expected ids in columns 0 and 1");
}

TEST_F(EdgelistImport, WeightsAndTimesNeedColumnsOfTheirOwn) {
  const auto code = Errc::invalid_argument;
  auto options = with_values();
  options.weight_column = 1;
  EXPECT_ERROR(import({"0 1 1 1\n"}, options), code,
               "weight_column: expected a column that nothing else is read from, got 1");
  options.weight_column = 3;
  EXPECT_ERROR(import({"0 1 1 1\n"}, options), code,
               "time_column: expected a column that nothing else is read from, got 3");
  options.weight_column = {};
  options.time_column = 0;
  EXPECT_ERROR(import({"0 1 1 1\n"}, options), code, "time_column: expected a column");
}

}  // namespace
}  // namespace troupe
