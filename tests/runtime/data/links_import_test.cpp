// Links and times of seeds on their way into a store: StoreWriter and the importers.
#include "runtime/data/npy_import.hpp"
#include "runtime/data/stream_store.hpp"
#include "runtime/data/triples_import.hpp"
#include "tests/runtime/data/import_fixture.hpp"
#include "tests/support/file_text.hpp"

#include <cmath>
#include <limits>

namespace troupe {
namespace {

using namespace testing;

using LinkIds = std::vector<std::uint64_t>;
using LinkTimes = std::vector<std::int64_t>;
using LinkLabels = std::vector<float>;

/// "source>destination", then time and label where there are some.
std::vector<std::string> links_as_text(const Result<GraphStore>& store, std::string_view split,
                                       std::string_view role) {
  if (!store) {
    return {store.error().what()};
  }
  const auto links = store->links(split, role);
  if (!links) {
    return {links.error().what()};
  }
  std::vector<std::string> list;
  for (std::uint64_t i = 0; i < links->size(); ++i) {
    const auto link = links->at(i);
    list.push_back(
        fmt::format("{}>{}{}{}", raw(link.source), raw(link.destination),
                    links->times().empty() ? "" : fmt::format(" {}", links->times()[i]),
                    links->labels().empty() ? "" : fmt::format(" {}", links->labels()[i])));
  }
  return list;
}

using Texts = std::vector<std::string>;

class LinkWriting : public ::testing::Test {
 protected:
  /// Users 0..4, items 0..2, "buys" between them.
  StoreWriter writer(const std::string& name, StoreWriterOptions options = {}) {
    auto writer = *StoreWriter::create(temp_ / name, std::move(options), executor_);
    users_ = *writer.add_node_type({"user", 5, {}, {}});
    items_ = *writer.add_node_type({"item", 3, {}, {}});
    buys_ = *writer.add_edge_type({"buys", users_, items_, {.reverse_edges = true}});
    return writer;
  }
  Result<GraphStore> finished(StoreWriter& writer, const std::string& name) {
    TROUPE_RETURN_IF_ERROR(writer.finish());
    return GraphStore::open(temp_ / name, {});
  }

  TempDir temp_;
  InlineExecutor executor_;
  NodeTypeId users_{};
  NodeTypeId items_{};
  EdgeTypeId buys_{};
};

TEST_F(LinkWriting, LinksAreSortedAndEqualOnesStayInOrder) {
  auto writing = writer("store");
  ASSERT_OK(writing.set_links("", "train", buys_,
                              {LinkIds{4, 0, 4, 0}, LinkIds{1, 2, 1, 0}, LinkTimes{9, 1, -9, 4},
                               LinkLabels{0.5F, 1, 2, 3}}));
  ASSERT_OK(writing.set_links("", "val", buys_, {LinkIds{1}, LinkIds{1}}));
  ASSERT_OK(writing.set_links("b", "test", EdgeTypeId{1}, {LinkIds{2}, LinkIds{4}}));
  ASSERT_OK(writing.open_links("b", "val", {.type = buys_, .times = true, .labels = true}));
  ASSERT_OK(writing.set_seeds("b", "train", items_, {2, 0}));
  const auto store = finished(writing, "store");

  EXPECT_EQ(links_as_text(store, "", "train"),
            (Texts{"0>0 4 3", "0>2 1 1", "4>1 9 0.5", "4>1 -9 2"}));
  EXPECT_EQ(links_as_text(store, "", "val"), (Texts{"1>1"}));
  EXPECT_EQ(links_as_text(store, "b", "test"), (Texts{"2>4"}));
  EXPECT_EQ(links_as_text(store, "b", "val"), Texts{});
  ASSERT_EQ(store->info().splits.size(), 2U);
  EXPECT_EQ(store->info().splits[0].name, "");
  EXPECT_TRUE(store->info().splits[0].roles.empty());
  EXPECT_TRUE(store->info().splits[1].links.at("val").has_labels);
  EXPECT_EQ(store->info().splits[1].roles.at("train").count, 2U);
}

TEST_F(LinkWriting, TheSameBytesWhateverMemoryAndPieces) {
  constexpr std::uint64_t count = 5000;
  LinkIds sources;
  LinkIds destinations;
  LinkTimes times;
  for (std::uint64_t i = 0; i < count; ++i) {
    sources.push_back(i * i % 5);
    destinations.push_back(i * 7 % 3);
    times.push_back(static_cast<std::int64_t>(i));
  }
  auto whole = writer("whole");
  ASSERT_OK(whole.set_links("", "train", buys_, {sources, destinations, times}));
  ASSERT_OK(whole.finish());
  auto pieces = writer("pieces", {.memory_bytes = 1U << 12});
  ASSERT_OK(pieces.open_links("", "train", {.type = buys_, .times = true}));
  for (std::uint64_t i = 0; i < count; i += 1000) {
    ASSERT_OK(pieces.add_links(
        "", "train",
        {std::span(sources).subspan(i, 1000), std::span(destinations).subspan(i, 1000),
         std::span(times).subspan(i, 1000)}));
  }
  ASSERT_OK(pieces.finish());

  for (const auto& file : files_below(temp_ / "whole")) {
    EXPECT_EQ(testing::file_text(temp_ / "whole" / file),
              testing::file_text(temp_ / "pieces" / file))
        << file;
  }
  EXPECT_EQ(files_below(temp_ / "whole"), files_below(temp_ / "pieces"));
}

TEST_F(LinkWriting, TimesOfSeedsFollowThemAndEqualSeedsStayInOrder) {
  auto writing = writer("store");
  ASSERT_OK(writing.set_seeds("", "train", users_, {3, 1, 3, 0}, LinkTimes{30, 10, -30, 0}));
  ASSERT_OK(writing.set_seeds("", "val", users_, {2, 1}));
  ASSERT_OK(writing.set_seeds("", "test", users_, {}, LinkTimes{}));
  ASSERT_OK_AND_ASSIGN(const auto store, finished(writing, "store"));

  ASSERT_OK_AND_ASSIGN(const auto train, store.seeds("", "train"));
  ASSERT_OK_AND_ASSIGN(const auto val, store.seeds("", "val"));
  EXPECT_EQ(train.times, (LinkTimes{0, 10, 30, -30}));
  EXPECT_EQ(raw(train.original[2]), 3U);
  EXPECT_TRUE(val.times.empty());
  EXPECT_TRUE(store.info().splits[0].roles.at("test").has_times);
}

TEST_F(LinkWriting, LinksThatCannotBeAreErrors) {
  auto writing = writer("store");
  const LinkIds one{1};
  EXPECT_ERROR(writing.set_links("default", "train", buys_, {}), Errc::invalid_argument, "default");
  EXPECT_ERROR(writing.set_links("", "dev", buys_, {}), Errc::invalid_argument, "dev");
  EXPECT_ERROR(writing.set_links("", "val", EdgeTypeId{9}, {}), Errc::invalid_argument,
               "links of split \"\", role val: expected an edge type below 2, got 9");
  EXPECT_ERROR(writing.add_links("", "val", {}), Errc::invalid_argument, "expected open_links");
  ASSERT_OK(writing.open_links("", "val", {.type = buys_, .times = true, .labels = true}));
  EXPECT_ERROR(writing.set_links("", "val", buys_, {}), Errc::invalid_argument, "twice");
  EXPECT_ERROR(writing.add_links("", "val", {one, one}), Errc::invalid_argument,
               "expected 1 destinations, 1 times and 1 labels for 1 sources, got 1, 0 and 0");
  EXPECT_ERROR(writing.add_links("", "val", {one, {}, LinkTimes{1}, LinkLabels{1}}),
               Errc::invalid_argument, "got 0, 1 and 1");
  ASSERT_OK(writing.add_links("", "val", {one, one, LinkTimes{1}, LinkLabels{1}}));
  for (const auto bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    EXPECT_ERROR(writing.add_links("", "val", {one, one, LinkTimes{1}, LinkLabels{bad}}),
                 Errc::invalid_argument, "row 1: expected a finite label");
  }
  EXPECT_ERROR(writing.set_seeds("", "val", users_, {1, 2}, LinkTimes{1}), Errc::invalid_argument,
               "expected 2 times, one per seed, got 1");
}

TEST_F(LinkWriting, TriplesThatCannotBeAreErrors) {
  auto writing = writer("store");
  const LinkIds one{1};
  const EdgeTypeId back{1};  // from items to users
  const auto open = [&](const NewLinks& links) { return writing.open_links("", "val", links); };
  EXPECT_ERROR(open({.type = buys_, .relations = 3}), Errc::invalid_argument,
               "got 3 of 1 without labels");
  EXPECT_ERROR(open({.type = buys_, .labels = true, .relations = (1U << 24) + 1}),
               Errc::invalid_argument, "expected at most 16777216 relations as labels");
  EXPECT_ERROR(open({.type = buys_, .labels = true, .relations = 2, .types = {buys_}}),
               Errc::invalid_argument, "of as many edge types or of one, got 2 of 1");
  EXPECT_ERROR(open({.type = buys_, .labels = true, .relations = 1, .types = {back}}),
               Errc::invalid_argument, "of as many edge types or of one");
  EXPECT_ERROR(
      open({.type = buys_, .labels = true, .relations = 2, .types = {buys_, EdgeTypeId{9}}}),
      Errc::invalid_argument, "expected edge types below");
  ASSERT_OK(open({.type = buys_, .labels = true, .relations = 3}));
  for (const auto bad : {3.0F, -1.0F, 0.5F, std::nanf("")}) {
    EXPECT_ERROR(writing.add_links("", "val", {one, one, {}, LinkLabels{bad}}),
                 Errc::invalid_argument, "row 0: expected a relation below 3");
  }
  ASSERT_OK(writing.add_links("", "val", {one, one, {}, LinkLabels{2}}));
  ASSERT_OK_AND_ASSIGN(const auto store, finished(writing, "store"));
  EXPECT_EQ(store.info().find_split("")->links.at("val").relations, 3U);
}

TEST_F(LinkWriting, IdsPastTheCountsAreNamedByTypeAndRow) {
  auto sources = writer("a");
  ASSERT_OK(sources.set_links("", "val", buys_, {LinkIds{4, 5}, LinkIds{0, 0}}));
  EXPECT_ERROR(
      sources.finish(), Errc::invalid_argument,
      "links of split \"\", role val: row 1: expected a source of type user below 5, got 5");
  auto destinations = writer("b");
  ASSERT_OK(destinations.set_links("", "val", buys_, {LinkIds{4, 4}, LinkIds{2, ~0ULL}}));
  EXPECT_ERROR(destinations.finish(), Errc::invalid_argument,
               "row 1: expected a destination of type item below 3, got 18446744073709551615");
}

class NpyLinks : public ImportTest {
 protected:
  void SetUp() override {
    save_npy<std::int64_t>(in_ / "buys.npy", {2, 2}, {0, 2, 1, 2});
    save_npy<std::int64_t>(in_ / "train.npy", {3, 2}, {4, 1, 0, 2, 4, 1});
    save_npy<std::int64_t>(in_ / "times.npy", {3}, {7, 8, -9});
    save_npy<float>(in_ / "labels.npy", {3, 1}, {0.5F, -1, 2});
    save_npy<std::int32_t>(in_ / "val.npy", {2, 3}, {1, 2, 0, /* to */ 0, 1, 2});
    save_npy<std::uint8_t>(in_ / "square.npy", {2, 2}, {1, 2, 0, 1});
    save_npy<std::int64_t>(in_ / "seeds.npy", {3}, {4, 0, 4});
  }
  Result<GraphStore> import(const std::string& more) {
    write_all(in_ / "graph.json", fmt::format(R"({{"node_types": {{"item": {{"count": 3}},
                                                "user": {{"count": 5}}}},
      "edge_types": {{"buys": {{"source": "user", "destination": "item", "edges": "buys.npy"}},
                      "likes": {{"source": "item", "destination": "item", "edges": "buys.npy"}}}},
      {}}})",
                                              more));
    return import_path(in_ / "graph.json");
  }
  Result<GraphStore> import_path(const std::filesystem::path& path) {
    ImportOptions options;
    begin(options);
    InlineExecutor executor;
    return opened(import_npy(path, out_, options, executor));
  }
  void expect_refused(const std::string& links, const std::string& message) {
    EXPECT_ERROR(import(fmt::format(R"("links": {})", links)), Errc::invalid_argument, message);
    EXPECT_FALSE(std::filesystem::exists(out_));
  }
};

TEST_F(NpyLinks, ADocumentNamesEndsTimesAndLabels) {
  const auto store = import(R"("links": {
    "": {"train": {"buys": {"ends": "train.npy", "times": "times.npy", "labels": "labels.npy"}},
         "val": {"buys": "val.npy"}},
    "more": {"test": {"likes": {"ends": "square.npy"}}}})");

  EXPECT_EQ(links_as_text(store, "", "train"), (Texts{"0>2 8 -1", "4>1 7 0.5", "4>1 -9 2"}));
  EXPECT_EQ(links_as_text(store, "", "val"), (Texts{"0>2", "1>0", "2>1"}));
  EXPECT_EQ(links_as_text(store, "more", "test"), (Texts{"0>1", "1>2"})) << "[2, 2] is [links, 2]";
}

TEST_F(NpyLinks, SeedsOfADocumentMayHaveTimes) {
  ASSERT_OK_AND_ASSIGN(const auto store, import(R"("splits": {
    "": {"train": {"user": {"ids": "seeds.npy", "times": "times.npy"}},
         "val": {"user": "seeds.npy"}, "test": {"user": {"ids": "seeds.npy"}}}})"));

  ASSERT_OK_AND_ASSIGN(const auto train, store.seeds("", "train"));
  ASSERT_OK_AND_ASSIGN(const auto test, store.seeds("", "test"));
  EXPECT_EQ(train.times, (LinkTimes{8, 7, -9}));
  EXPECT_TRUE(test.times.empty());
  EXPECT_EQ(test.original.size(), 3U);
}

TEST_F(NpyLinks, WrongDocumentsAreErrorsWithTheirPlace) {
  save_npy<std::int64_t>(in_ / "three.npy", {2, 3, 1}, {0, 0, 0, 0, 0, 0});
  save_npy<std::int64_t>(in_ / "negative.npy", {1, 2}, {-1, 0});
  save_npy<float>(in_ / "float.npy", {1, 2}, {1, 0});
  save_npy<float>(in_ / "nan.npy", {3}, {1, std::nanf(""), 0});

  expect_refused(R"({"": {"train": {"sells": "val.npy"}}})",
                 "/links//train: expected the name of an edge type, found \"sells\"");
  expect_refused(R"({"": {"train": {"buys": "val.npy", "likes": "val.npy"}}})",
                 "an object with one edge type");
  expect_refused(R"({"": {"dev": {"buys": "val.npy"}}})", "expected one of train, val, test");
  expect_refused(R"({"": {"train": {"buys": {"end": "val.npy"}}}})", "try: \"ends\"");
  expect_refused(R"({"": {"train": {"buys": {"times": "times.npy"}}}})", "an object with \"ends\"");
  expect_refused(R"({"": {"train": {"buys": 7}}})", "expected an object");
  expect_refused(R"({"default": {"train": {"buys": "val.npy"}}})", "other than \"default\"");
  expect_refused(R"({"": {"train": {"buys": "three.npy"}}})",
                 "three.npy: expected shape [links, 2] or [2, links], got [2, 3, 1]");
  expect_refused(R"({"": {"train": {"likes": "train.npy"}}})",
                 "train.npy: row 0: expected a source's node id below 3, got 4");
  expect_refused(R"({"": {"train": {"buys": "negative.npy"}}})", "negative.npy: row 0: expected");
  expect_refused(R"({"": {"train": {"buys": "float.npy"}}})", "float.npy: expected integers");
  expect_refused(R"({"": {"train": {"buys": {"ends": "square.npy", "times": "times.npy"}}}})",
                 "times.npy: expected shape [2], one value per link, got [3]");
  expect_refused(R"({"": {"train": {"buys": {"ends": "train.npy", "times": "labels.npy"}}}})",
                 "labels.npy: expected integers");
  expect_refused(R"({"": {"train": {"buys": {"ends": "train.npy", "labels": "nan.npy"}}}})",
                 "nan.npy: row 1, column 0: expected a finite float32");
  EXPECT_ERROR(import(R"("splits": {"": {"train": {"user": {"ids": "seeds.npy",
                      "times": "square.npy"}}}})"),
               Errc::invalid_argument, "square.npy: expected shape [3], one time per seed");
  EXPECT_ERROR(import(R"("splits": {"": {"train": {"user": {"times": "times.npy"}}}})"),
               Errc::invalid_argument, "an object with \"ids\"");
}

TEST_F(NpyLinks, AFolderMayHaveLinksOfItsDefaultSplit) {
  std::filesystem::remove_all(in_);
  save_npy<std::int64_t>(in_ / "edge_index.npy", {2, 3}, {0, 1, 2, /* to */ 1, 2, 3});
  save_npy<std::int64_t>(in_ / "train_links.npy", {3, 2}, {3, 1, 0, 2, 3, 1});
  save_npy<std::int64_t>(in_ / "train_links_times.npy", {3}, {7, 8, -9});
  save_npy<std::int64_t>(in_ / "test_links.npy", {0, 2}, {});
  save_npy<float>(in_ / "test_links_labels.npy", {0}, {});
  save_npy<std::int64_t>(in_ / "val_idx.npy", {1}, {2});
  const auto store = import_path(in_);

  EXPECT_EQ(links_as_text(store, "", "train"), (Texts{"0>2 8", "3>1 7", "3>1 -9"}));
  EXPECT_EQ(links_as_text(store, "", "test"), Texts{});
  EXPECT_TRUE(store->info().splits[0].links.at("test").has_labels);
  EXPECT_EQ(store->info().splits[0].roles.at("val").count, 1U);

  save_npy<std::int64_t>(in_ / "val_links_times.npy", {1}, {1});
  EXPECT_ERROR(import_path(in_), Errc::invalid_argument,
               "val_links_times.npy: expected val_links.npy beside it, found none");
  save_npy<std::int64_t>(in_ / "val_links.npy", {1, 2}, {0, 4});
  EXPECT_ERROR(import_path(in_), Errc::invalid_argument,
               "val_links.npy: row 0: expected a destination's node id below 4, got 4");
}

TEST_F(NpyLinks, TriplesOfOneTypeAreLinksLabeledByRelation) {
  write_all(in_ / "train.txt", "b\tlikes\ta\na\tknows\tb\nb\tknows\ta\n");
  write_all(in_ / "valid.txt", "a\thates\tb\n");
  InlineExecutor executor;
  const std::filesystem::path sources[] = {in_ / "train.txt", in_ / "valid.txt"};
  const auto one = opened(import_triples(sources, out_, {{}, true}, executor));

  EXPECT_EQ(links_as_text(one, "", "train"), (Texts{"0>1 0", "0>1 1", "1>0 1"}))
      << "b is the first entity";
  EXPECT_EQ(links_as_text(one, "", "val"), (Texts{"1>0 2"}));
  EXPECT_FALSE(one->info().splits[0].links.contains("test"));

  const auto types = opened(import_triples(sources, temp_ / "types", {{}, false}, executor));
  EXPECT_EQ(links_as_text(types, "", "train"), (Texts{"0>1 0", "0>1 1", "1>0 1"}));
  EXPECT_EQ(links_as_text(types, "", "val"), (Texts{"1>0 2"}));
}

}  // namespace
}  // namespace troupe
