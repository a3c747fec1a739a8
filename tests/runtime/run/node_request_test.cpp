#include "runtime/run/node_request.hpp"

#include "runtime/partition/partitioner.hpp"
#include "tests/runtime/graph/store_fixture.hpp"
#include "tests/support/expect.hpp"

#include <map>

namespace troupe {
namespace {

using namespace testing;
constexpr std::uint64_t node_count = 43;

std::vector<std::uint64_t> plain(const std::vector<OriginalId>& ids) {
  std::vector<std::uint64_t> out;
  for (const auto id : ids) {
    out.push_back(raw(id));
  }
  return out;
}

class NodeRequests : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(write_graph_store(random_graph(node_count, 300, 5).contents, temp_ / "graph"));
    ASSERT_OK_AND_ASSIGN(const auto graph, GraphStore::open(temp_ / "graph", {}));
    ASSERT_OK(partition_store(graph, {.parts = 3, .seed = 9}, temp_ / "parts"));
    auto store = PartitionedStore::open(temp_ / "parts", {});
    ASSERT_OK(store);
    store_.emplace(*std::move(store));
  }
  Result<FoundNodes> find(std::vector<std::string> sources) const {
    return find_nodes(*store_, {.sources = std::move(sources), .split = ""});
  }
  std::string text(const std::string& content) const {
    write_all(temp_ / "nodes.txt", content);
    return (temp_ / "nodes.txt").string();
  }
  template <class T>
  std::string npy(const std::vector<T>& ids) const {
    save_npy(temp_ / "nodes.npy", {ids.size()}, ids);
    return (temp_ / "nodes.npy").string();
  }
  /// Global ids by original id, from the parts.
  std::map<std::uint64_t, NodeId> global_ids() const {
    std::map<std::uint64_t, NodeId> global;
    for (std::uint32_t p = 0; p < 3; ++p) {
      const auto part = store_->load_part(static_cast<PartId>(p));
      const auto& own = (*part)->nodes[0];
      for (std::uint64_t i = 0; i < own.count; ++i) {
        global[own.original_ids[i]] = advance(own.first, i);
      }
    }
    return global;
  }

  TempDir temp_;
  std::optional<PartitionedStore> store_;
};

TEST_F(NodeRequests, IdsOfAnyIntegerTypeAndOfTextAreFoundInOrder) {
  const std::vector<std::uint64_t> expected = {42, 0, 7, 13};
  const auto global = global_ids();
  for (const auto& source :
       {npy(std::vector<std::int64_t>{42, 0, 7, 13}), text("42\n0\r\n\n  7\t\n13")}) {
    ASSERT_OK_AND_ASSIGN(const auto found, find({source}));

    EXPECT_EQ(plain(found.nodes.original), expected) << source;
    EXPECT_EQ(found.repeats, 0U);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(found.nodes.global[i], global.at(expected[i])) << expected[i];
    }
  }
  ASSERT_OK_AND_ASSIGN(const auto bytes, find({npy(std::vector<std::uint8_t>{5, 1})}));
  EXPECT_EQ(plain(bytes.nodes.original), (std::vector<std::uint64_t>{5, 1}));
}

TEST_F(NodeRequests, ARepeatedNodeStaysWhereItCameFirst) {
  ASSERT_OK_AND_ASSIGN(const auto found, find({text("9\n3\n9\n1\n3\n"), "train"}));

  const auto ids = plain(found.nodes.original);
  EXPECT_EQ(std::vector(ids.begin(), ids.begin() + 4), (std::vector<std::uint64_t>{9, 3, 1, 0}));
  EXPECT_EQ(ids.size(), 16U) << "15 training seeds, every third node, and node 1";
  EXPECT_EQ(found.repeats, 4U);
}

TEST_F(NodeRequests, RolesAndAllNodesNeedNoFile) {
  ASSERT_OK_AND_ASSIGN(const auto train, find({"train"}));
  ASSERT_OK_AND_ASSIGN(const auto all, find({"all"}));

  EXPECT_EQ(train.nodes.original.size(), 15U);
  const auto global = global_ids();
  for (std::size_t i = 0; i < 15; ++i) {
    EXPECT_EQ(train.nodes.global[i], global.at(raw(train.nodes.original[i])));
  }
  ASSERT_EQ(all.nodes.original.size(), node_count);
  for (std::uint64_t i = 0; i < node_count; ++i) {
    EXPECT_EQ(raw(all.nodes.original[i]), i);
    EXPECT_EQ(all.nodes.global[i], global.at(i));
  }
}

TEST_F(NodeRequests, IdsThatAreNotInTheGraphAreNamedWithTheirPlace) {
  EXPECT_ERROR(find({npy(std::vector<std::int64_t>{1, 43})}), Errc::invalid_argument,
               "nodes.npy: entry 1: expected a node id from 0 to 42, found 43");
  EXPECT_ERROR(find({npy(std::vector<std::int32_t>{-1})}), Errc::invalid_argument,
               "entry 0: expected a node id from 0 to 42, found -1");
  EXPECT_ERROR(find({npy(std::vector<std::uint64_t>{~std::uint64_t{0}})}), Errc::invalid_argument,
               "found 18446744073709551615");
  EXPECT_ERROR(find({text("1\n\n43")}), Errc::invalid_argument,
               "nodes.txt: line 3: expected a node id from 0 to 42, found \"43\"");
  for (const std::string bad : {"-1", "1.5", "0x1", "1 2", "99999999999999999999", "one", "+1"}) {
    EXPECT_ERROR(find({text(bad)}), Errc::invalid_argument, "found \"" + bad + "\"");
  }
}

TEST_F(NodeRequests, FilesThatHoldNoListOfIdsAreRefused) {
  EXPECT_ERROR(find({npy(std::vector<float>{1.0F})}), Errc::invalid_argument,
               "expected integers of shape [n], found <f4 of shape [1]");
  save_npy(temp_ / "square.npy", {1, 2}, std::vector<std::int64_t>{1, 2});
  EXPECT_ERROR(find({(temp_ / "square.npy").string()}), Errc::invalid_argument, "shape [1, 2]");
  write_all(temp_ / "torn.npy", "\x93NUMPY");
  EXPECT_ERROR(find({(temp_ / "torn.npy").string()}), Errc::data_corruption, "torn.npy");
  EXPECT_ERROR(find({(temp_ / "none.npy").string()}), Errc::not_found, "none.npy");
  EXPECT_ERROR(find({(temp_ / "none.txt").string()}), Errc::not_found, "none.txt");
}

TEST_F(NodeRequests, WhatNamesNoNodesIsRefused) {
  EXPECT_ERROR(find({text("\n \n")}), Errc::invalid_argument, "expected at least one");
  EXPECT_ERROR(find({"tset"}), Errc::invalid_argument, "found \"tset\"");
  EXPECT_ERROR(find({"test"}), Errc::not_found, "test");
  EXPECT_ERROR(find({"train", "val"}), Errc::not_found, "val");
}

}  // namespace
}  // namespace troupe
