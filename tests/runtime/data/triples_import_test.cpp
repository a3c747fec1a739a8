#include "runtime/data/triples_import.hpp"

#include "runtime/graph/store.hpp"
#include "tests/runtime/graph/store_fixture.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/file_text.hpp"

#include <array>
#include <fmt/format.h>
#include <string>
#include <vector>
#include <zlib.h>

namespace troupe {
namespace {

using namespace testing;

class Triples : public ::testing::Test {
 protected:
  void SetUp() override {
    write_all(in_ / "train.txt",
              "ann\tknows\tbob\nbob\tlikes\tan apple, red\r\n\n#1\tknows\tann\nann\tknows\tbob\n");
    write_all(in_ / "valid.txt", "bob\tknows\tann\n");
    write_all(in_ / "test.txt", "ann\tlikes\tbob\ncarl\thates\tann\n");
  }
  Result<GraphInfo> import(bool one_type = false, std::vector<std::filesystem::path> sources = {}) {
    std::filesystem::remove_all(out_);
    if (sources.empty()) {
      sources.push_back(in_);
    }
    ComputePool pool(2);
    return import_triples(sources, out_, {{}, one_type}, pool);
  }
  template <class T>
  std::vector<T> array(const std::string& file) {
    const auto npy = map_npy(out_ / file);
    EXPECT_OK(npy);
    const auto values = npy->as<T>();
    return {values.begin(), values.end()};
  }

  TempDir temp_;
  std::filesystem::path in_ = temp_ / "in";
  std::filesystem::path out_ = temp_ / "out";
};

TEST_F(Triples, TrainingTriplesAreEdgesOfATypePerRelation) {
  ASSERT_OK_AND_ASSIGN(const auto info, import());

  ASSERT_EQ(info.edge_types.size(), 3U);
  EXPECT_EQ(info.node_types[0].name, "entity");
  EXPECT_EQ(info.node_types[0].count, 5U);
  EXPECT_EQ(info.edge_types[0].name, "r0");
  EXPECT_EQ(info.edge_types[0].count, 3U);
  EXPECT_EQ(info.edge_types[1].count, 1U);
  EXPECT_EQ(info.edge_types[2].count, 0U) << "a relation of test alone";
  EXPECT_EQ(array<std::uint32_t>("edges-r0/in/neighbours.npy"),
            (std::vector<std::uint32_t>{3, 0, 0}));
  EXPECT_OK(GraphStore::open(out_, {}));
}

TEST_F(Triples, NamesAreKeptInOrderOfFirstAppearance) {
  ASSERT_OK(import());

  EXPECT_EQ(testing::file_text(out_ / "nodes-entity/names.txt"),
            "ann\nbob\nan apple, red\n#1\ncarl\n");
  EXPECT_EQ(testing::file_text(out_ / "relations.txt"), "knows\nlikes\nhates\n");
}

TEST_F(Triples, OtherTriplesAreKeptAsArrays) {
  ASSERT_OK_AND_ASSIGN(const auto info, import());

  EXPECT_EQ(array<std::uint64_t>("triples/valid.npy"), (std::vector<std::uint64_t>{1, 0, 0}));
  EXPECT_EQ(array<std::uint64_t>("triples/test.npy"),
            (std::vector<std::uint64_t>{0, 1, 1, 4, 2, 0}));
  const auto listed = [&](const std::string& path) {
    return std::ranges::any_of(info.files, [&](const FileInfo& file) { return file.path == path; });
  };
  EXPECT_TRUE(listed("triples/valid.npy") && listed("triples/test.npy") && listed("relations.txt"));
  ASSERT_OK_AND_ASSIGN(const auto npy, map_npy(out_ / "triples/test.npy"));
  EXPECT_EQ(npy.shape, (std::vector<std::uint64_t>{2, 3}));
}

TEST_F(Triples, OneTypeHasTheRelationAsItsFeature) {
  ASSERT_OK_AND_ASSIGN(const auto info, import(true));

  ASSERT_EQ(info.edge_types.size(), 1U);
  EXPECT_EQ(info.edge_types[0].name, "triple");
  EXPECT_EQ(info.edge_types[0].count, 4U);
  ASSERT_OK_AND_ASSIGN(const auto store, GraphStore::open(out_, {}));
  EXPECT_EQ(array<std::uint32_t>("edges-triple/in/neighbours.npy"),
            (std::vector<std::uint32_t>{3, 0, 0, 1}));
  ASSERT_TRUE(info.edge_types[0].features);
  EXPECT_EQ(info.edge_types[0].features->dtype, DType::f32);
}

/// (head, relation, tail) of a role's links, in their order.
std::vector<std::array<std::uint64_t, 3>> triples_of(const GraphStore& store,
                                                     const std::string& role) {
  const auto links = store.links("", role);
  EXPECT_OK(links);
  std::vector<std::array<std::uint64_t, 3>> triples;
  for (std::uint64_t i = 0; i < links->size(); ++i) {
    const auto link = links->at(i);
    triples.push_back({raw(link.original_source), static_cast<std::uint64_t>(links->labels()[i]),
                       raw(link.original_destination)});
  }
  return triples;
}

TEST_F(Triples, AllRolesAreLinksWithTheirRelations) {
  using All = std::vector<std::array<std::uint64_t, 3>>;
  for (const bool one_type : {false, true}) {
    ASSERT_OK(import(one_type));
    ASSERT_OK_AND_ASSIGN(const auto store, GraphStore::open(out_, {}));

    EXPECT_EQ(triples_of(store, "train"), (All{{0, 0, 1}, {0, 0, 1}, {1, 1, 2}, {3, 0, 0}}));
    EXPECT_EQ(triples_of(store, "val"), (All{{1, 0, 0}}));
    EXPECT_EQ(triples_of(store, "test"), (All{{0, 1, 1}, {4, 2, 0}}));
    const auto& role = store.info().find_split("")->links.at("test");
    EXPECT_EQ(role.relations, 3U);
    const std::vector<EdgeTypeId> types{EdgeTypeId{0}, EdgeTypeId{1}, EdgeTypeId{2}};
    EXPECT_EQ(role.edge_types, one_type ? std::vector<EdgeTypeId>() : types);
  }
}

// Reverse types stand between those of relations, or behind them: names say which are whose.
TEST_F(Triples, RelationsNameTheirEdgeTypesBesideReverseOnes) {
  ComputePool pool(2);
  TriplesOptions options;
  options.import.edges.reverse_edges = true;
  ASSERT_OK_AND_ASSIGN(const auto info, import_triples(std::array{in_}, out_, options, pool));

  const auto& types = info.find_split("")->links.at("train").edge_types;
  ASSERT_EQ(types.size(), 3U);
  for (std::size_t relation = 0; relation < types.size(); ++relation) {
    EXPECT_EQ(info.edge_types[raw(types[relation])].name, fmt::format("r{}", relation));
  }
}

TEST_F(Triples, AnEdgeSplitOfARelationTakesTheirPlace) {
  ComputePool pool(2);
  TriplesOptions options;
  options.import.writer.edge_split = EdgeSplit{.train = 0, .val = 1, .test = 0, .type = "r0"};
  ASSERT_OK_AND_ASSIGN(const auto info, import_triples(std::array{in_}, out_, options, pool));

  EXPECT_EQ(info.find_split("")->links.at("val").count, 3U);
  EXPECT_EQ(info.find_split("")->links.at("val").relations, 0U);
}

TEST_F(Triples, SpacesSeparateWhereThereIsNoTab) {
  write_all(in_ / "train.txt", "  a  r   b\nc r a");
  std::filesystem::remove(in_ / "valid.txt");
  std::filesystem::remove(in_ / "test.txt");
  ASSERT_OK_AND_ASSIGN(const auto info, import());

  EXPECT_EQ(info.edge_types.front().count, 2U);
  EXPECT_EQ(testing::file_text(out_ / "nodes-entity/names.txt"), "a\nb\nc\n");
}

TEST_F(Triples, SpacesAroundNamesAreNoPartOfThem) {
  write_all(in_ / "train.txt", "a\tr\tb \nb \tr \ta\n c\t r\ta\r\n");
  std::filesystem::remove(in_ / "valid.txt");
  std::filesystem::remove(in_ / "test.txt");
  ASSERT_OK(import());

  EXPECT_EQ(testing::file_text(out_ / "nodes-entity/names.txt"), "a\nb\nc\n");
  EXPECT_EQ(testing::file_text(out_ / "relations.txt"), "r\n");
  write_all(in_ / "train.txt", "a\t \tb\n");
  EXPECT_ERROR(import(), Errc::invalid_argument, "line 1: expected head, relation and tail");
}

TEST_F(Triples, ASlashMayEndTheStoresName) {
  ASSERT_OK(import());
  const auto expected = testing::file_text(out_ / "graph.json");
  out_ = temp_ / "new/store/";
  ASSERT_OK(import());

  EXPECT_EQ(testing::file_text(temp_ / "new/store/graph.json"), expected);
}

TEST_F(Triples, FilesMayBeNamedAndCompressed) {
  ASSERT_OK(import());
  const auto expected = testing::file_text(out_ / "graph.json");
  const auto text = testing::file_text(in_ / "train.txt");
  const auto packed = in_ / "train.txt.gz";
  gzFile gz = gzopen(packed.c_str(), "wb");
  gzwrite(gz, text.data(), static_cast<unsigned>(text.size()));
  gzclose(gz);
  std::filesystem::remove(in_ / "train.txt");

  ASSERT_OK(import());
  EXPECT_EQ(testing::file_text(out_ / "graph.json"), expected);
  ASSERT_OK(import(false, {packed, in_ / "valid.txt", in_ / "test.txt"}));
  EXPECT_EQ(testing::file_text(out_ / "graph.json"), expected);

  auto cut = testing::file_text(packed);
  cut.resize(cut.size() - 9);
  write_all(packed, cut);
  EXPECT_ERROR(import(), Errc::data_corruption, "train.txt.gz");
}

TEST_F(Triples, LinesThatAreNoTriplesAreNamed) {
  write_all(in_ / "valid.txt", "a\tb\tc\na\tb\n");
  EXPECT_ERROR(import(), Errc::invalid_argument,
               "valid.txt: line 2: expected head, relation and tail, got 2 fields, in \"a\tb\"");
  write_all(in_ / "valid.txt", "a b c d\n");
  EXPECT_ERROR(import(), Errc::invalid_argument, "got 4 fields");
  write_all(in_ / "valid.txt", "a\t\tc\n");
  EXPECT_ERROR(import(), Errc::invalid_argument, "line 1: expected head, relation and tail");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(temp_.path()), {}), 1);
}

TEST_F(Triples, ALinkToAMissingFileIsAnError) {
  for (const std::string role : {"valid", "test"}) {
    SetUp();
    std::filesystem::remove(in_ / (role + ".txt"));
    std::filesystem::create_symlink("/nowhere/x.txt", in_ / (role + ".txt"));
    EXPECT_ERROR(import(), Errc::not_found, role + ".txt");
    EXPECT_ERROR(import(), Errc::not_found, "a link to /nowhere/x.txt, which is missing");
    std::filesystem::remove(in_ / (role + ".txt"));
  }
}

TEST_F(Triples, MissingFilesAndArchivesAreErrors) {
  std::filesystem::remove(in_ / "valid.txt");
  EXPECT_ERROR(import(), Errc::not_found, "expected valid.txt");
  std::filesystem::remove(in_ / "train.txt");
  EXPECT_ERROR(import(), Errc::not_found, "expected train.txt");
  EXPECT_ERROR(import(false, {in_ / "FB15k.tar.gz"}), Errc::unimplemented, "try: unpack it");
  EXPECT_ERROR(import(false, {in_ / "no.txt"}), Errc::not_found, "no.txt");
}

}  // namespace
}  // namespace troupe
