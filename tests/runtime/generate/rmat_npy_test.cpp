#include "runtime/base/digest.hpp"
#include "runtime/base/permutation.hpp"
#include "runtime/data/npy_import.hpp"
#include "runtime/generate/rmat.hpp"
#include "runtime/generate/rmat_edges.hpp"
#include "runtime/generate/streams.hpp"
#include "runtime/graph/store.hpp"
#include "tests/runtime/graph/store_fixture.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/npy_reader.hpp"
#include "tests/support/statistics.hpp"

#include <limits>
#include <map>
#include <set>

namespace troupe {
namespace {

using testing::read_npy;
using EdgeSet = std::map<std::pair<std::uint64_t, std::uint64_t>, int>;  // with multiplicities

RmatOptions small_npy() {
  RmatOptions options;
  options.nodes = 1000;  // not a power of two
  options.edges = 12345;
  options.features = 7;
  options.classes = 5;
  options.labels = LabelKind::random;
  options.train = 100;
  options.seed = 3;
  return options;
}

class Rmat : public ::testing::Test {
 protected:
  Result<NpySummary> generate(const RmatOptions& options, Executor& executor) {
    std::filesystem::remove_all(out_);
    TROUPE_ASSIGN_OR_RETURN(const auto graph, rmat_graph(options));
    return generate::write_npy(graph, options, executor, out_);
  }
  Result<NpySummary> generate(const RmatOptions& options) {
    InlineExecutor here;
    return generate(options, here);
  }
  std::vector<std::int64_t> read(const std::string& file) const {
    return read_npy(out_ / file).as<std::int64_t>();
  }
  /// (source, destination) -> how often, from the files.
  EdgeSet edges() const {
    EdgeSet set;
    const auto offsets = read("indptr.npy");
    const auto neighbours = read("indices64.npy");
    for (std::size_t node = 0; node + 1 < offsets.size(); ++node) {
      for (auto i = offsets[node]; i < offsets[node + 1]; ++i) {
        ++set[{static_cast<std::uint64_t>(neighbours[static_cast<std::size_t>(i)]), node}];
      }
    }
    return set;
  }
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> files;
    for (const auto& file : testing::files_below(out_)) {
      files[file] = testing::file_text(out_ / file);
    }
    return files;
  }

  testing::TempDir temp_;
  std::filesystem::path out_ = temp_ / "rmat";
};

/// The edges as the header describes them, one word at a time.
EdgeSet edges_by_definition(const RmatOptions& options) {
  const auto key = [&](std::uint8_t hop) {
    return stream_key(options.seed, {.domain = Domain::generators, .hop = hop});
  };
  const Permutation place(key(2), options.nodes);
  unsigned scale = 0;
  while ((std::uint64_t{1} << scale) < options.nodes) {
    ++scale;
  }
  EdgeSet set;
  for (std::uint64_t edge = 0; edge < options.edges; ++edge) {
    DrawStream draw(key(1), edge);
    std::uint64_t source = 0;
    std::uint64_t destination = 0;
    for (unsigned level = 0; level < scale; ++level) {
      const double r = static_cast<double>(draw.next()) * 0x1p-32;
      const int quadrant = r < options.a                           ? 0
                           : r < options.a + options.b             ? 1
                           : r < options.a + options.b + options.c ? 2
                                                                   : 3;
      source = source * 2 + (quadrant >= 2 ? 1 : 0);
      destination = destination * 2 + (quadrant % 2 == 1 ? 1 : 0);
    }
    ++set[{place(source * options.nodes >> scale), place(destination * options.nodes >> scale)}];
  }
  return set;
}

TEST_F(Rmat, EdgesAreThoseOfTheDefinition) {
  for (const std::uint64_t nodes : {1U, 2U, 3U, 16U, 17U, 1000U, 70000U}) {
    auto options = small_npy();
    options.nodes = nodes;
    options.edges = 2000;  // no multiple of 16
    options.train = 0;
    ASSERT_OK(generate(options));
    EXPECT_EQ(edges(), edges_by_definition(options)) << nodes << " nodes";
  }
}

TEST_F(Rmat, FilesHaveTheCountsAskedFor) {
  ASSERT_OK_AND_ASSIGN(const auto summary, generate(small_npy()));

  EXPECT_EQ(summary.edges, 12345U);
  const auto offsets = read("indptr.npy");
  const auto neighbours = read("indices64.npy");
  EXPECT_EQ(offsets.size(), 1001U);
  EXPECT_EQ(offsets.front(), 0);
  EXPECT_EQ(offsets.back(), 12345);
  EXPECT_TRUE(std::ranges::is_sorted(offsets));
  EXPECT_EQ(neighbours.size(), 12345U);
  EXPECT_GE(*std::ranges::min_element(neighbours), 0);
  EXPECT_LT(*std::ranges::max_element(neighbours), 1000);
  EXPECT_EQ(read_npy(out_ / "x.npy").shape, (std::vector<std::size_t>{1000, 7}));
  EXPECT_EQ(read_npy(out_ / "x.npy").descr, "<f4");
  EXPECT_EQ(read_npy(out_ / "y.npy").descr, "<i8");
  EXPECT_EQ(read("y.npy").size(), 1000U);
}

TEST_F(Rmat, EveryListIsInAscendingOrder) {
  ASSERT_OK(generate(small_npy()));

  const auto offsets = read("indptr.npy");
  const auto neighbours = read("indices64.npy");
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    EXPECT_TRUE(
        std::is_sorted(neighbours.begin() + offsets[i], neighbours.begin() + offsets[i + 1]))
        << "node " << i;
  }
}

TEST_F(Rmat, SymmetrisedHoldsEachEdgeAndItsReverse) {
  auto options = small_npy();
  options.nodes = 300;  // many duplicates and loops
  ASSERT_OK(generate(options));
  const auto drawn = edges();
  options.symmetrize = true;
  ASSERT_OK_AND_ASSIGN(const auto summary, generate(options));

  EXPECT_EQ(summary.edges, 2 * options.edges);
  EdgeSet expected;
  for (const auto& [edge, count] : drawn) {
    expected[edge] += count;
    expected[{edge.second, edge.first}] += count;
  }
  EXPECT_EQ(edges(), expected);
}

TEST_F(Rmat, DuplicatesAndLoopsAreKept) {
  auto options = small_npy();
  options.nodes = 20;
  options.train = 0;
  ASSERT_OK(generate(options));

  const auto drawn = edges();
  EXPECT_LE(drawn.size(), 400U);
  std::uint64_t loops = 0;
  std::uint64_t all = 0;
  for (const auto& [edge, count] : drawn) {
    loops += edge.first == edge.second ? static_cast<std::uint64_t>(count) : 0;
    all += static_cast<std::uint64_t>(count);
  }
  EXPECT_EQ(all, options.edges);
  EXPECT_GT(loops, 0U);
}

TEST_F(Rmat, ThreadsDoNotChangeAByte) {
  auto options = small_npy();
  options.nodes = 30'000;  // several chunks of nodes and of edges
  options.edges = 400'000;
  options.symmetrize = true;
  ASSERT_OK(generate(options));
  const auto expected = files();

  for (const std::size_t threads : {2U, 7U}) {
    ComputePool pool(threads);
    ASSERT_OK(generate(options, pool));
    EXPECT_EQ(files(), expected) << threads << " threads";
  }
}

TEST_F(Rmat, TheSeedChangesEveryArray) {
  ASSERT_OK(generate(small_npy()));
  const auto expected = files();
  auto options = small_npy();
  options.seed = 4;
  ASSERT_OK(generate(options));

  for (const auto& [file, text] : files()) {
    EXPECT_NE(text, expected.at(file)) << file;
  }
}

TEST_F(Rmat, QuadrantsHaveTheirProbabilitiesAtEveryLevel) {
  RmatOptions options;
  options.nodes = 1 << 10;
  options.a = 0.5;
  options.b = 0.15;
  options.c = 0.25;
  options.seed = 11;
  const std::array<double, 4> probability{0.5, 0.15, 0.25, 0.1};
  const rmat::Cells cells(options.nodes, {options.a, options.b, options.c}, options.seed);
  constexpr std::uint64_t drawn = 160'000;
  std::array<std::array<double, 4>, 10> counts{};
  for (std::uint64_t first = 0; first < drawn; first += rmat::lanes) {
    const auto group = cells.unfolded(first);
    for (std::size_t l = 0; l < rmat::lanes; ++l) {
      for (unsigned level = 0; level < 10; ++level) {
        const auto bit = [level](std::uint32_t id) { return id >> (9 - level) & 1U; };
        ++counts[level][bit(group.sources[l]) * 2 + bit(group.destinations[l])];
      }
    }
  }

  EXPECT_EQ(cells.scale(), 10U);
  for (unsigned level = 0; level < 10; ++level) {
    double statistic = 0;
    for (unsigned q = 0; q < 4; ++q) {
      const double expected = probability[q] * static_cast<double>(drawn);
      statistic += (counts[level][q] - expected) * (counts[level][q] - expected) / expected;
    }
    EXPECT_GT(testing::chi_square_survival(statistic, 3), 1e-4) << "level " << level;
  }
}

TEST_F(Rmat, DegreesAreSkewedByTheQuadrants) {
  auto options = small_npy();
  options.nodes = 20'000;
  options.edges = 300'000;
  ASSERT_OK_AND_ASSIGN(const auto skewed, generate(options));
  options.a = options.b = options.c = 0.25;
  ASSERT_OK_AND_ASSIGN(const auto uniform, generate(options));

  EXPECT_GT(skewed.max_degree, 50 * skewed.median_degree);
  EXPECT_GT(skewed.isolated_nodes, 1000U);
  EXPECT_LT(uniform.max_degree, 5 * uniform.median_degree);
  EXPECT_LT(uniform.isolated_nodes, 10U);
}

TEST_F(Rmat, IdsAreScatteredOverTheWholeRange) {
  ASSERT_OK(generate(small_npy()));

  // Unpermuted, ids below 500 would have about three quarters of the edges.
  const auto neighbours = read("indices64.npy");
  const auto low = std::ranges::count_if(neighbours, [](std::int64_t id) { return id < 500; });
  EXPECT_GT(low, 12345 / 3);
  EXPECT_LT(low, 12345 * 2 / 3);
}

TEST_F(Rmat, SeedsAreDistinctNodesInRandomOrder) {
  ASSERT_OK(generate(small_npy()));

  const auto train = read("train_idx.npy");
  const std::set<std::int64_t> distinct(train.begin(), train.end());
  EXPECT_EQ(distinct.size(), 100U);
  EXPECT_GE(*distinct.begin(), 0);
  EXPECT_LT(*distinct.rbegin(), 1000);
  EXPECT_FALSE(std::ranges::is_sorted(train));

  auto options = small_npy();
  options.train = options.nodes;
  ASSERT_OK(generate(options));
  auto all = read("train_idx.npy");
  std::ranges::sort(all);
  EXPECT_EQ(all.front(), 0);
  EXPECT_EQ(all.back(), 999);
  EXPECT_TRUE(std::ranges::adjacent_find(all) == all.end());
}

TEST_F(Rmat, FeaturesAndLabelsAreUniform) {
  ASSERT_OK(generate(small_npy()));

  const auto x = read_npy(out_ / "x.npy").as<float>();
  std::vector<double> values(x.begin(), x.end());
  for (auto& value : values) {
    value += 0.5;
  }
  EXPECT_GT(testing::kolmogorov_smirnov_p_value(std::move(values)), 1e-4);
  std::array<std::uint64_t, 5> counts{};
  for (const auto label : read("y.npy")) {
    ++counts.at(static_cast<std::size_t>(label));
  }
  EXPECT_GT(testing::uniform_p_value(counts), 1e-4);
}

TEST_F(Rmat, ManyColumnsAndRowsAreWrittenInPieces) {
  auto options = small_npy();
  options.nodes = 9000;
  options.features = 1000;  // more than two blocks of writing
  options.edges = 1;
  ASSERT_OK(generate(options));
  const auto x = read_npy(out_ / "x.npy").as<float>();

  ASSERT_EQ(x.size(), 9'000'000U);
  const auto key = generate::stream(options.seed, generate::Stream::features);
  for (const std::uint64_t node : {0U, 4193U, 4194U, 4195U, 8999U}) {
    DrawStream draw(key, node);
    for (std::uint64_t col = 0; col < 1000; ++col) {
      ASSERT_EQ(x[node * 1000 + col], unit_float(draw.next()) - 0.5F) << node << ", " << col;
    }
  }
}

TEST_F(Rmat, ItsFilesImport) {
  ASSERT_OK(generate(small_npy()));

  ASSERT_OK(import_npy(out_, temp_ / "store"));

  ASSERT_OK_AND_ASSIGN(const auto store, GraphStore::open(temp_ / "store", {}));
  const auto& type = store.info().node_types[0];
  EXPECT_EQ(type.count, 1000U);
  EXPECT_EQ(type.features->cols, 7U);
  EXPECT_EQ(type.labels->classes, 5U);
  EXPECT_EQ(store.info().edge_types[0].count, 12345U);
  const auto offsets = read("indptr.npy");
  const auto neighbours = read("indices64.npy");
  const auto& in = store.graph()->edges[0].in;
  EXPECT_TRUE(std::ranges::equal(in.offsets, offsets, std::cmp_equal<std::uint64_t, std::int64_t>));
  for (std::size_t i = 0; i < neighbours.size(); ++i) {
    ASSERT_EQ(raw(in.neighbours[i]), static_cast<std::uint64_t>(neighbours[i]));
  }
  ASSERT_OK_AND_ASSIGN(const auto seeds, store.seeds("", "train"));
  EXPECT_EQ(seeds.original.size(), 100U);
}

TEST_F(Rmat, WithoutFeaturesLabelsAndSeedsOnlyEdgesAreWritten) {
  RmatOptions options;
  options.nodes = 10;
  ASSERT_OK_AND_ASSIGN(const auto summary, generate(options));

  EXPECT_EQ(testing::files_below(out_),
            (std::vector<std::string>{"indices64.npy", "indptr.npy", "meta.json"}));
  EXPECT_EQ(summary.isolated_nodes, 10U);
  EXPECT_EQ(summary.max_degree, 0U);
  EXPECT_OK(import_npy(out_, temp_ / "store"));
}

TEST_F(Rmat, GoldenBytes) {
  auto options = small_npy();
  options.symmetrize = true;
  ASSERT_OK(generate(options));

  DigestBuilder digest;
  for (const auto& [file, text] : files()) {
    digest.add_array(std::span(file));
    digest.add_array(std::span(text));
  }
  EXPECT_EQ(to_string(digest.digest()), "79505878d13e98e8d2069e02a474cfe2");
}

struct BadRmatOptions {
  const char* what;
  void (*change)(RmatOptions&);
};
class RmatRefuses : public Rmat, public ::testing::WithParamInterface<BadRmatOptions> {};

TEST_P(RmatRefuses, OptionsThatCannotBe) {
  auto options = small_npy();
  GetParam().change(options);

  EXPECT_ERROR(generate(options), Errc::invalid_argument, GetParam().what);
  EXPECT_FALSE(std::filesystem::exists(out_));
}

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
INSTANTIATE_TEST_SUITE_P(
    All, RmatRefuses,
    ::testing::Values(
        BadRmatOptions{"nodes: expected 1 to 4294967296, got 0", [](auto& o) { o.nodes = 0; }},
        BadRmatOptions{"nodes: expected 1 to 4294967296, got 4294967297",
                       [](auto& o) { o.nodes = (1ULL << 32) + 1; }},
        BadRmatOptions{"edges: expected 0 to", [](auto& o) { o.edges = ~0ULL; }},
        BadRmatOptions{"a: expected a probability in [0, 1), got -0.1",
                       [](auto& o) { o.a = -0.1; }},
        BadRmatOptions{"b: expected a probability in [0, 1), got nan", [](auto& o) { o.b = nan; }},
        BadRmatOptions{"c: expected a probability in [0, 1), got 1", [](auto& o) { o.c = 1; }},
        BadRmatOptions{"a + b + c: expected less than 1", [](auto& o) { o.c = 0.24; }},
        BadRmatOptions{"a + b + c: expected less than 1", [](auto& o) { o.c = 0.5; }},
        BadRmatOptions{"features: expected 0 to", [](auto& o) { o.features = 1ULL << 40; }},
        BadRmatOptions{"classes: expected 0 to", [](auto& o) { o.classes = 1ULL << 40; }},
        BadRmatOptions{"train: expected at most 1000, the number of nodes, got 1001",
                       [](auto& o) { o.train = 1001; }}));

TEST_F(Rmat, MoreThanThisMachineHoldsIsRefusedWithTheBytes) {
  auto options = small_npy();
  options.edges = 1ULL << 45;

  EXPECT_ERROR(generate(options), Errc::out_of_memory, "need 14073");
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(Rmat, AnExistingFolderIsNotTouched) {
  testing::write_all(out_ / "indptr.npy", "mine");
  InlineExecutor here;
  ASSERT_OK_AND_ASSIGN(const auto graph, rmat_graph(small_npy()));

  EXPECT_ERROR(generate::write_npy(graph, small_npy(), here, out_), Errc::failed_precondition,
               "exists");
  EXPECT_EQ(testing::file_text(out_ / "indptr.npy"), "mine");
}

}  // namespace
}  // namespace troupe
