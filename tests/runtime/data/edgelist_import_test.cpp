#include "runtime/data/edgelist_import.hpp"

#include "runtime/graph/store.hpp"
#include "tests/runtime/graph/store_fixture.hpp"
#include "tests/support/expect.hpp"

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
  return read_all(path);
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
  /// Edges of the imported store as "source>destination", by edge id.
  std::vector<std::string> edges(const std::vector<std::string>& contents,
                                 const EdgelistOptions& options = {}) {
    const auto info = import(contents, options);
    EXPECT_OK(info);
    const auto store = GraphStore::open(out_, {});
    EXPECT_OK(store);
    if (!info || !store) {
      return {};
    }
    const auto& lists = store->graph()->edges[0].in;
    std::map<std::uint64_t, std::string> by_id;
    for (std::uint64_t node = 0; node + 1 < lists.offsets.size(); ++node) {
      for (auto i = lists.offsets[node]; i < lists.offsets[node + 1]; ++i) {
        by_id[lists.edge_ids[i]] = fmt::format("{}>{}", raw(lists.neighbours[i]), node);
      }
    }
    std::vector<std::string> list;
    for (const auto& [id, text] : by_id) {
      list.push_back(text);
    }
    return list;
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
    EXPECT_EQ(read_all(out_ / file), read_all(temp_ / ("whole/" + file))) << file;
  }
}

TEST_F(EdgelistImport, TextIdsAreNumberedByFirstAppearanceAndKept) {
  EdgelistOptions options;
  options.text_ids = true;
  EXPECT_EQ(edges({"alice,bob\nc/1,bob\n", "bob,7\n"}, options), three);
  EXPECT_EQ(read_all(out_ / "nodes-node/names.txt"), "alice\nbob\nc/1\n7\n");
  options.header = true;
  EXPECT_EQ(edges({"from,to\nalice,bob\n", "from,to\ncarl,bob\nbob,d\n"}, options), three);
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

}  // namespace
}  // namespace troupe
