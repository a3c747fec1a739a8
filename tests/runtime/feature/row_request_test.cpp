#include "runtime/feature/row_request.hpp"

#include "tests/runtime/feature/collect.hpp"
#include "tests/support/one_section.hpp"

namespace troupe {
namespace {

class ReadPartRows : public ::testing::Test {
 protected:
  ReadPartRows() : cut_(testing::cut_graph(testing::featured_graph(), 2)), part_(*cut_.parts[0]) {
    const std::uint64_t first = raw(part_.nodes[0].first);
    request_ = testing::one_row_request({NodeId{first + 2}, NodeId{first}, NodeId{first + 2}});
    request_.with_original_ids = true;
    request_.sections[0].label_nodes = 2;
  }

  testing::CutGraph cut_;
  const Part& part_;
  RowRequest request_;
};

TEST_F(ReadPartRows, KeepsTheOrderOfTheRequest) {
  ASSERT_OK_AND_ASSIGN(const RowReply reply, read_part_rows(part_, request_));

  const auto rows = reply.rows.as<float>();
  ASSERT_EQ(rows.size(), 15U);
  EXPECT_EQ(reply.sections[0].row_bytes, 20U);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto original = cut_.original(request_.sections[0].nodes[i]);
    EXPECT_EQ(raw(reply.original_ids[i]), original);
    EXPECT_EQ(rows[i * 5], static_cast<float>(original));
  }
  ASSERT_EQ(reply.labels.size(), 2U);
  const auto first_label = cut_.original(request_.sections[0].nodes[0]) % 5;
  EXPECT_EQ(reply.labels[0], first_label == 4 ? -1 : static_cast<std::int64_t>(first_label));
}

TEST_F(ReadPartRows, GivesOnlyWhatIsAskedFor) {
  request_.sections[0].with_rows = false;
  request_.with_original_ids = false;
  request_.sections[0].label_nodes = 0;

  ASSERT_OK_AND_ASSIGN(const RowReply reply, read_part_rows(part_, request_));

  EXPECT_TRUE(reply.rows.empty());
  EXPECT_EQ(reply.sections[0].row_bytes, 0U);
  EXPECT_TRUE(reply.original_ids.empty());
  EXPECT_TRUE(reply.labels.empty());
}

TEST_F(ReadPartRows, AnEmptyRequestWorks) {
  request_.sections[0].nodes.clear();
  request_.sections[0].label_nodes = 0;
  ASSERT_OK_AND_ASSIGN(const RowReply reply, read_part_rows(part_, request_));
  EXPECT_EQ(reply.rows.bytes.size(), 0U);
}

TEST_F(ReadPartRows, BadRequestsAreRefusedWithTheirValues) {
  RowRequest foreign = request_;
  foreign.sections[0].nodes[1] = cut_.parts[1]->nodes[0].first;
  EXPECT_ERROR(read_part_rows(part_, foreign), Errc::invalid_argument, "is not in [0, ");
  RowRequest labels = request_;
  labels.sections[0].label_nodes = 4;
  EXPECT_ERROR(read_part_rows(part_, labels), Errc::invalid_argument, "labels of 4 nodes");
  RowRequest type = request_;
  type.sections[0].node_type = NodeTypeId{1};
  EXPECT_ERROR(read_part_rows(part_, type), Errc::invalid_argument, "node type < 1, got 1");
  RowRequest tensor = request_;
  tensor.source = {.kind = RowSource::Kind::tensor, .tensor = 2};
  EXPECT_ERROR(read_part_rows(part_, tensor), Errc::failed_precondition, "tensor 2");
}

TEST_F(ReadPartRows, ATypeWithoutFeaturesHasNoRows) {
  const auto cut = testing::cut_graph(testing::skewed_graph(10, 2), 1);
  const RowRequest request = testing::one_row_request({NodeId{1}});
  EXPECT_ERROR(read_part_rows(*cut.parts[0], request), Errc::invalid_argument, "no features");
}

}  // namespace
}  // namespace troupe
