#include "runtime/feature/held_tensors.hpp"

#include "runtime/feature/embedding/initial_rows.hpp"
#include "runtime/graph/half.hpp"
#include "tests/support/expect.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <map>
#include <random>

namespace troupe {
namespace {

/// A part with nodes 10 to 14 of its only type, whose original ids are 100, 103, …
class HeldTensorsTest : public ::testing::Test {
 protected:
  HeldTensorsTest() {
    part_.id = PartId{1};
    PartNodes nodes;
    nodes.first = NodeId{10};
    nodes.count = 5;
    nodes.original_ids = originals_;
    part_.nodes.push_back(nodes);
  }
  MakeTensor numbers(DType dtype, std::uint32_t cols) {
    return {.writer = Rank{0},
            .operation = ++operations_,
            .tensor = 3,
            .name = "mem",
            .of = static_cast<std::uint8_t>(TensorOf::nodes),
            .type = 0,
            .first = 10,
            .count = 5,
            .dtype = static_cast<std::uint8_t>(dtype),
            .cols = cols};
  }
  template <class T>
  WriteTensor values(std::vector<std::uint64_t> ids, std::vector<T> values, bool add = false) {
    WriteTensor write{.writer = Rank{0}, .operation = ++operations_, .tensor = 3, .add = add};
    write.row_bytes = ids.empty() ? 0 : values.size() * sizeof(T) / ids.size();
    write.ids.assign(ids.begin(), ids.end());
    write.values = Segment::of(std::move(values));
    return write;
  }
  template <class T>
  std::vector<T> read(std::vector<std::uint64_t> ids, std::uint64_t row_bytes) {
    ReadTensor request{.tensor = 3, .row_bytes = row_bytes};
    request.ids.assign(ids.begin(), ids.end());
    const auto rows = held_.read(part_, request);
    EXPECT_OK(rows);
    if (!rows) {
      return {};
    }
    const auto found = rows->values.as<T>();
    return {found.begin(), found.end()};
  }

  std::array<std::uint64_t, 5> originals_{100, 103, 106, 109, 112};
  Part part_;
  HeldTensors held_;
  std::uint64_t operations_ = 0;
};

TEST_F(HeldTensorsTest, StartWithZerosAndKeepWhatIsWritten) {
  ASSERT_OK(held_.make(part_, numbers(DType::i32, 2)));
  EXPECT_EQ(read<std::int32_t>({14}, 8), (std::vector<std::int32_t>{0, 0}));

  ASSERT_OK(held_.write(part_, values<std::int32_t>({12, 10, 12}, {1, 2, 3, 4, 5, 6})));

  EXPECT_EQ(read<std::int32_t>({10, 12, 11, 10}, 8),
            (std::vector<std::int32_t>{3, 4, 5, 6, 0, 0, 3, 4}));
}

TEST_F(HeldTensorsTest, RangesAreRowsOneAfterTheOther) {
  ASSERT_OK(held_.make(part_, numbers(DType::f64, 1)));
  auto write = values<double>({11, 12, 13}, {1, 2, 3});
  write.ids.clear();
  write.first = 11;
  write.count = 3;
  ASSERT_OK(held_.write(part_, write));
  const ReadTensor request{.tensor = 3, .row_bytes = 8, .first = 10, .count = 5};

  const auto rows = held_.read(part_, request);

  ASSERT_OK(rows);
  const auto found = rows->values.as<double>();
  EXPECT_EQ((std::vector<double>(found.begin(), found.end())),
            (std::vector<double>{0, 1, 2, 3, 0}));
}

/// Random writes against a map of rows.
TEST_F(HeldTensorsTest, AreAMapOfRows) {
  ASSERT_OK(held_.make(part_, numbers(DType::i64, 1)));
  std::map<std::uint64_t, std::int64_t> expected;
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::uint64_t> ids;
    std::vector<std::int64_t> numbers;
    const bool add = random() % 2 == 0;
    for (std::uint64_t i = random() % 6; i > 0; --i) {
      ids.push_back(10 + random() % 5);
      numbers.push_back(static_cast<std::int64_t>(random() % 1000) - 500);
      auto& row = expected[ids.back()];
      row = numbers.back() + (add ? row : 0);
    }
    if (!ids.empty()) {
      ASSERT_OK(held_.write(part_, values(ids, numbers, add)));
    }
  }
  for (std::uint64_t id = 10; id < 15; ++id) {
    EXPECT_EQ(read<std::int64_t>({id}, 8), std::vector<std::int64_t>{expected[id]}) << id;
  }
}

TEST_F(HeldTensorsTest, AddInTheirOwnNumbers) {
  const auto sum = [&]<class T>(DType dtype, T first, T second) {
    HeldTensors held;
    auto make = numbers(dtype, 1);
    make.operation = 1;
    EXPECT_OK(held.make(part_, make));
    for (std::uint64_t operation = 2; operation < 4; ++operation) {
      auto write = values<T>({10}, {operation == 2 ? first : second}, true);
      write.operation = operation;
      EXPECT_OK(held.write(part_, write));
    }
    ReadTensor request{.tensor = 3, .row_bytes = sizeof(T)};
    request.ids = {10};
    const auto rows = held.read(part_, request);
    EXPECT_OK(rows);
    return rows ? rows->values.as<T>()[0] : T{};
  };
  EXPECT_EQ(sum(DType::f32, 0.5F, 0.25F), 0.75F);
  EXPECT_EQ(sum(DType::f64, 0.1, 0.2), 0.1 + 0.2);
  EXPECT_EQ(sum(DType::i32, 2'000'000'000, 2'000'000'000), -294'967'296) << "wraps";
  EXPECT_EQ(sum(DType::i64, std::int64_t{-5}, std::int64_t{3}), -2);
  EXPECT_EQ(sum(DType::u8, std::uint8_t{200}, std::uint8_t{100}), 44) << "wraps";
  EXPECT_EQ(sum(DType::f16, float_to_f16(1.5F), float_to_f16(0.25F)), float_to_f16(1.75F));
  EXPECT_EQ(sum(DType::f16, float_to_f16(2048.0F), float_to_f16(1.0F)), float_to_f16(2048.0F))
      << "to the nearest, ties to even";
  EXPECT_EQ(sum(DType::bf16, float_to_bf16(256.0F), float_to_bf16(1.0F)), float_to_bf16(256.0F));
  EXPECT_EQ(sum(DType::bf16, float_to_bf16(-3.0F), float_to_bf16(1.0F)), float_to_bf16(-2.0F));
}

TEST_F(HeldTensorsTest, StartAsLearnedRowsOfTheirNameDo) {
  EmbeddingOptions like;
  like.name = "mem";
  like.dim = 3;
  like.init = {"normal", 0.5, 1};
  std::vector<float> row(3);
  InitialRows(like, 7).fill(OriginalId{106}, row);
  auto make = numbers(DType::f32, 3);
  make.start = static_cast<std::uint8_t>(TensorStart::normal);
  make.size = 0.5;
  make.seed = 7;
  ASSERT_OK(held_.make(part_, make));

  EXPECT_EQ(read<float>({12}, 12), row) << "node 12 has original id 106";
}

TEST_F(HeldTensorsTest, OfOtherRowsStartByTheirNumbers) {
  EmbeddingOptions like;
  like.name = "mem";
  like.dim = 2;
  like.init = {"uniform", 1, 2.0};
  std::vector<float> row(2);
  InitialRows(like, 7).fill(OriginalId{41}, row);
  auto make = numbers(DType::bf16, 2);
  make.of = static_cast<std::uint8_t>(TensorOf::rows);
  make.first = 40;
  make.count = 3;
  make.start = static_cast<std::uint8_t>(TensorStart::uniform);
  make.size = 2;
  make.seed = 7;
  ASSERT_OK(held_.make(part_, make));

  EXPECT_EQ(read<std::uint16_t>({41}, 4),
            (std::vector<std::uint16_t>{float_to_bf16(row[0]), float_to_bf16(row[1])}));
}

TEST_F(HeldTensorsTest, CountOperationsOfEachWriter) {
  const auto make = numbers(DType::f32, 1);
  ASSERT_OK(held_.make(part_, make));
  ASSERT_OK(held_.make(part_, make)) << "a repeat";
  const auto add = values<float>({10}, {1}, true);
  ASSERT_OK(held_.write(part_, add));
  ASSERT_OK(held_.write(part_, add)) << "a repeat";
  EXPECT_EQ(read<float>({10}, 4), std::vector<float>{1});

  ++operations_;  // one that is lost
  EXPECT_ERROR(held_.write(part_, values<float>({10}, {1})), Errc::failed_precondition,
               "expected write 3 of rank 0, found write 4");
  auto other = values<float>({10}, {5}, true);
  other.writer = Rank{1};
  other.operation = 1;
  ASSERT_OK(held_.write(part_, other));
  EXPECT_EQ(read<float>({10}, 4), std::vector<float>{6});
}

TEST_F(HeldTensorsTest, AreGoneWhenDeleted) {
  ASSERT_OK(held_.make(part_, numbers(DType::f32, 1)));
  MakeTensor gone{
      .writer = Rank{0}, .operation = ++operations_, .tensor = 3, .gone = true, .name = {}};
  ASSERT_OK(held_.make(part_, gone));

  EXPECT_EQ(held_.size(), 0U);
  EXPECT_ERROR(held_.read(part_, {.tensor = 3, .row_bytes = 4}), Errc::not_found, "tensor 3");
  EXPECT_ERROR(held_.write(part_, values<float>({10}, {1})), Errc::not_found, "tensor 3");
  gone.operation = operations_;
  EXPECT_ERROR(held_.make(part_, gone), Errc::not_found, "tensor 3");
}

TEST_F(HeldTensorsTest, OfTheLargestSizeTakeNoMemoryAndAreReadInPieces) {
  auto make = numbers(DType::u8, 1);
  make.of = static_cast<std::uint8_t>(TensorOf::rows);
  make.first = 0;
  make.count = max_tensor_bytes;
  ASSERT_OK(held_.make(part_, make));
  EXPECT_EQ(held_.made_bytes(), 0U);

  EXPECT_EQ(read<std::uint8_t>({max_tensor_bytes - 1, 0}, 1), (std::vector<std::uint8_t>{0, 0}));
  EXPECT_ERROR(held_.read(part_, {.tensor = 3, .row_bytes = 1, .count = max_tensor_bytes}),
               Errc::invalid_argument,
               "expected at most 67108864 bytes in one request, found 70368744177664");
  ASSERT_OK(held_.write(part_, values<std::uint8_t>({max_tensor_bytes - 1}, {7})));
  EXPECT_EQ(read<std::uint8_t>({max_tensor_bytes - 1}, 1), std::vector<std::uint8_t>{7});
  EXPECT_EQ(held_.made_bytes(), 64U << 10);
}

TEST_F(HeldTensorsTest, RefuseWhatDoesNotFit) {
  const auto refused = [&](auto change, const std::string& why) {
    auto make = numbers(DType::f32, 2);
    make.operation = 1;
    change(make);
    EXPECT_ERROR(HeldTensors().make(part_, make), Errc::invalid_argument, why);
  };
  refused([](MakeTensor& m) { m.type = 1; }, "expected the 0 nodes from 0 on of type 1");
  refused([](MakeTensor& m) { m.count = 6; }, "expected the 5 nodes from 10 on");
  refused([](MakeTensor& m) { m.first = 9; }, "expected the 5 nodes from 10 on");
  refused([](MakeTensor& m) { m.cols = 0; }, "bytes per row");
  refused([](MakeTensor& m) { m.cols = (1U << 18) + 1; }, "bytes per row");
  refused([](MakeTensor& m) { m.dtype = 200; }, "that are known");
  refused([](MakeTensor& m) { m.dtype = static_cast<std::uint8_t>(DType::u16); }, "that are known");
  refused([](MakeTensor& m) { m.of = 3; }, "that are known");
  refused([](MakeTensor& m) { m.start = 3; }, "that are known");
  refused(
      [](MakeTensor& m) {
        m.dtype = static_cast<std::uint8_t>(DType::i32);
        m.start = 1;
      },
      "expected zeros as the start of i32");
  refused(
      [](MakeTensor& m) {
        m.of = static_cast<std::uint8_t>(TensorOf::rows);
        m.count = std::uint64_t{1} << 62;
      },
      "bytes per row");

  operations_ = 0;
  ASSERT_OK(held_.make(part_, numbers(DType::f32, 1)));
  EXPECT_ERROR(held_.make(part_, numbers(DType::f32, 1)), Errc::invalid_argument,
               "another number than 3");
  --operations_;
  const auto bad = [&](WriteTensor write, const std::string& why) {
    EXPECT_ERROR(held_.write(part_, write), Errc::invalid_argument, why);
    --operations_;
  };
  bad(values<float>({15}, {1}), "expected rows in [10, 15), found 15");
  bad(values<float>({9}, {1}), "found 9");
  bad(values<double>({10}, {1}), "expected 4 bytes per row, found 8");
  auto longer = values<float>({10}, {1});
  longer.values = Segment::of(std::vector<float>{1, 2});
  bad(longer, "expected 1 rows of 4 bytes, found 8 bytes");
  auto both = values<float>({10}, {1});
  both.count = 1;
  bad(both, "expected ids or a range, found 1 ids and a range of 1");
  auto range = values<float>({10}, {1});
  range.ids.clear();
  range.first = 14;
  range.count = 2;
  bad(range, "found 2 from 14 on");
  range.first = ~std::uint64_t{0};
  ++operations_;
  bad(range, "found 2 from");
  EXPECT_EQ(read<float>({10, 14}, 4), (std::vector<float>{0, 0})) << "nothing was applied";
}

}  // namespace
}  // namespace troupe
