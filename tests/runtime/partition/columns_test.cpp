// Named columns follow their nodes and edges into the parts, as features do.
#include "runtime/data/stream_store.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/partition/partitioner.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/scratch_folder.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

namespace troupe {
namespace {

constexpr std::uint64_t nodes_with_columns = 50;
constexpr std::uint64_t edges_with_columns = 300;

/// Bytes that tell rows, and columns, apart.
std::vector<std::byte> bytes_of_rows(std::uint64_t rows, std::size_t row_bytes, unsigned salt) {
  std::vector<std::byte> bytes;
  for (std::uint64_t i = 0; i < rows * row_bytes; ++i) {
    bytes.push_back(static_cast<std::byte>(i / row_bytes * 31 + i % row_bytes * 7 + salt));
  }
  return bytes;
}

/// Users who buy items; every dtype and number of extents occurs.
const std::vector<ColumnInfo> user_columns = {
    {"a", DType::u8, {}}, {"b", DType::i64, {}}, {"c", DType::f16, {3, 2}}};
const std::vector<ColumnInfo> buys_columns = {{"d", DType::f64, {}},
                                              {"e", DType::i32, {2, 1, 3}},
                                              {"f", DType::bf16, {5}},
                                              {"g", DType::f32, {}}};

Status write_graph_with_columns(const std::filesystem::path& out) {
  InlineExecutor executor;
  TROUPE_ASSIGN_OR_RETURN(auto writer, StoreWriter::create(out, {}, executor));
  TROUPE_ASSIGN_OR_RETURN(const auto user,
                          writer.add_node_type({"user", nodes_with_columns, {}, {}, user_columns}));
  TROUPE_ASSIGN_OR_RETURN(const auto item,
                          writer.add_node_type({"item", nodes_with_columns, {}, {}}));
  NewEdgeType type{"buys", user, item, {.reverse_edges = true}};
  type.columns = buys_columns;
  TROUPE_ASSIGN_OR_RETURN(const auto buys, writer.add_edge_type(type));
  for (unsigned c = 0; c < user_columns.size(); ++c) {
    TROUPE_RETURN_IF_ERROR(writer.add_column(
        user, c, bytes_of_rows(nodes_with_columns, user_columns[c].row_bytes(), c)));
  }
  std::vector<std::uint64_t> from;
  std::vector<std::uint64_t> to;
  for (std::uint64_t e = 0; e < edges_with_columns; ++e) {
    from.push_back(e * e % nodes_with_columns);
    to.push_back(e * 7 % nodes_with_columns);
  }
  TROUPE_RETURN_IF_ERROR(writer.add_edges(buys, from, to));
  for (unsigned c = 0; c < buys_columns.size(); ++c) {
    TROUPE_RETURN_IF_ERROR(writer.add_edge_column(
        buys, c, bytes_of_rows(edges_with_columns, buys_columns[c].row_bytes(), c)));
  }
  return writer.finish() ? ok_status() : Status(Error(Errc::internal, "no store"));
}

void expect_row(const FeatureTable& table, std::uint64_t row, std::uint64_t original,
                unsigned salt) {
  const auto all = bytes_of_rows(edges_with_columns, table.row_bytes(), salt);
  EXPECT_TRUE(std::ranges::equal(
      table.row(row), std::span(all).subspan(original * table.row_bytes(), table.row_bytes())));
}

TEST(PartitionColumns, FollowTheirNodesAndEdges) {
  const testing::ScratchFolder scratch;
  ASSERT_OK(write_graph_with_columns(scratch.path() / "graph"));
  ASSERT_OK_AND_ASSIGN(const auto graph, GraphStore::open(scratch.path() / "graph", {}));
  for (const auto complete_for : {CompleteFor::in, CompleteFor::out, CompleteFor::both}) {
    for (const std::uint32_t parts : {1U, 3U}) {
      for (const std::uint32_t hops : {0U, 1U}) {
        const auto out =
            scratch.path() / fmt::format("{}-{}-{}", to_string(complete_for), parts, hops);
        ASSERT_OK(partition_store(
            graph, {.parts = parts, .complete_for = complete_for, .halo = {.hops = hops}}, out));
        ASSERT_OK_AND_ASSIGN(const auto store, PartitionedStore::open(out, {}));
        EXPECT_EQ(store.info().node_types[0].columns, user_columns);
        EXPECT_EQ(store.info().edge_types[1].columns, buys_columns);
        std::uint64_t rows = 0;
        for (std::uint32_t p = 0; p < parts; ++p) {
          ASSERT_OK_AND_ASSIGN(const auto part, store.load_part(static_cast<PartId>(p)));
          const auto& users = part->nodes[0];
          ASSERT_EQ(users.columns.size(), user_columns.size());
          for (unsigned c = 0; c < user_columns.size(); ++c) {
            EXPECT_EQ(users.columns[c].row_bytes(), user_columns[c].row_bytes());
            for (std::uint64_t i = 0; i < users.count; ++i) {
              expect_row(users.columns[c], i, users.original_ids[i], c);
            }
          }
          EXPECT_TRUE(part->nodes[1].columns.empty());
          for (const auto& edges : part->edges) {
            const auto& main = edges.in.present() ? edges.in : edges.out;
            ASSERT_EQ(edges.columns.size(), buys_columns.size());
            for (unsigned c = 0; c < buys_columns.size(); ++c) {
              ASSERT_EQ(edges.columns[c].rows, main.edge_ids.size());
              for (std::uint64_t i = 0; i < edges.columns[c].rows; ++i) {
                expect_row(edges.columns[c], i, main.edge_ids[i] % edges_with_columns, c);
              }
            }
            rows += main.edge_ids.size();
          }
          ASSERT_OK_AND_ASSIGN(const auto lists, store.load_lists(static_cast<PartId>(p)));
          EXPECT_TRUE(lists->edges[0].columns.empty()) << "sampling reads none";
          EXPECT_TRUE(lists->nodes[0].columns.empty());
        }
        EXPECT_EQ(rows, 2 * edges_with_columns);
      }
    }
  }
}

TEST(PartitionColumns, OfAFileThatDoesNotFitAreRefusedByTheWriter) {
  const testing::ScratchFolder scratch;
  InlineExecutor executor;
  ASSERT_OK_AND_ASSIGN(auto writer, StoreWriter::create(scratch.path() / "graph", {}, executor));
  const auto node = [&](std::vector<ColumnInfo> columns, std::optional<std::uint64_t> count = 2) {
    return writer.add_node_type({"user", count, {}, {}, std::move(columns)});
  };
  const auto invalid = Errc::invalid_argument;
  EXPECT_ERROR(node({{"a", DType::u8, {}}, {"a", DType::f32, {}}}), invalid, "each name once");
  EXPECT_ERROR(node({{"a", DType::u32, {}}}), invalid, "a column's dtype (u8, f16, bf16");
  EXPECT_ERROR(node({{"a b", DType::u8, {}}}), invalid, "a column's name");
  EXPECT_ERROR(node({{"a", DType::u8, {0}}}), invalid, "3 extents above 0");
  EXPECT_ERROR(node({{"a", DType::u8, {1U << 20, 1U << 20}}}), invalid, "2^24 values");
  EXPECT_ERROR(node({{"a", DType::u8, {}}}, std::nullopt), invalid, "a count beside features");
  ASSERT_OK_AND_ASSIGN(const auto user, node({{"a", DType::i32, {2}}}));
  const std::vector<std::byte> bytes(24);
  EXPECT_ERROR(writer.add_column(user, 1, bytes), invalid, "with column 1");
  EXPECT_ERROR(writer.add_column(user, 0, std::span(bytes).first(7)), invalid, "rows of 8 bytes");
  EXPECT_ERROR(writer.add_column(user, 0, bytes), invalid, "expected 2 rows");
  EXPECT_OK(writer.add_column(user, 0, std::span(bytes).first(8)));
  EXPECT_ERROR(writer.finish(), invalid, "columns/a.npy: expected 2 rows");
}

}  // namespace
}  // namespace troupe
