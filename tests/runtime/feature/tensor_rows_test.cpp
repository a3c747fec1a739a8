#include "runtime/feature/tensor_rows.hpp"

#include "tests/support/expect.hpp"
#include "tests/support/one_section.hpp"

namespace troupe {
namespace {

/// A part that owns nodes 10, 11, 12 of its one type.
Part three_nodes() {
  Part part;
  part.nodes.resize(1);
  part.nodes[0].first = NodeId{10};
  part.nodes[0].count = 3;
  return part;
}

std::shared_ptr<const Matrix> rows(std::size_t n) {
  auto matrix = std::make_shared<Matrix>(n, 2);
  for (std::size_t i = 0; i < 2 * n; ++i) {
    matrix->data()[i] = static_cast<float>(i);
  }
  return matrix;
}

Result<RowReply> read_one(const Matrix& tensor, const RowRequest& request) {
  const Matrix* const tensors[] = {&tensor};
  return read_tensor_rows(three_nodes(), tensors, request);
}

TEST(TensorTable, FindsTheLatestTensorOfANumber) {
  const auto part = three_nodes();
  TensorTable table;
  const auto latest = rows(3);

  EXPECT_OK(table.store(part, {1, NodeTypeId{0}, rows(3)}));
  EXPECT_OK(table.store(part, {1, NodeTypeId{0}, latest}));

  ASSERT_OK_AND_ASSIGN(const auto found, table.find(1, NodeTypeId{0}));
  EXPECT_EQ(found, latest);
  EXPECT_ERROR(table.find(2, NodeTypeId{0}), Errc::not_found, "tensor 2");
}

TEST(TensorTable, RefusesATensorOfAnotherSize) {
  TensorTable table;

  EXPECT_ERROR(table.store(three_nodes(), {1, NodeTypeId{0}, rows(2)}), Errc::invalid_argument,
               "expected 3 rows, found 2");
}

TEST(ReadTensorRows, GivesRowsInTheOrderOfTheRequest) {
  const RowRequest request = testing::one_row_request({NodeId{12}, NodeId{10}, NodeId{12}});

  ASSERT_OK_AND_ASSIGN(const auto reply, read_one(*rows(3), request));

  const auto values = reply.rows.as<float>();
  EXPECT_EQ(std::vector<float>(values.begin(), values.end()),
            (std::vector<float>{4, 5, 0, 1, 4, 5}));
  EXPECT_EQ(reply.sections[0].row_bytes, 8U);
}

TEST(ReadTensorRows, RefusesNodesOfOtherParts) {
  const RowRequest request = testing::one_row_request({NodeId{13}});

  EXPECT_ERROR(read_one(*rows(3), request), Errc::invalid_argument,
               "owns nodes [10, 13), found node 13");
}

TEST(ReadTensorRows, RefusesTypesThatThePartDoesNotHave) {
  RowRequest request = testing::one_row_request({NodeId{10}});
  request.sections[0].node_type = NodeTypeId{1};
  TensorTable table;

  EXPECT_ERROR(read_one(*rows(3), request), Errc::invalid_argument,
               "expected node type < 1, got 1");
  EXPECT_ERROR(table.store(three_nodes(), {1, NodeTypeId{65535}, rows(3)}), Errc::invalid_argument,
               "expected node type < 1, got 65535");
}

}  // namespace
}  // namespace troupe
