// Tensors by name as checkpoints see them: copies, pieces of rows, and what other parts make of them.
#include "runtime/feature/embedding/initial_rows.hpp"
#include "runtime/feature/held_tensors.hpp"
#include "tests/support/expect.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <random>

namespace troupe {
namespace {

using Ids = std::vector<std::uint64_t>;

/// Holders of all parts of some nodes, whose original ids lie in no order, and what the only rank does with them.
class Holders {
 public:
  Holders(std::uint64_t nodes, std::uint32_t parts) : originals_(parts) {
    for (std::uint64_t node = 0; node < nodes; ++node) {
      originals_[node * 7 % parts].push_back((node * 13) % nodes);
    }
    std::uint64_t first = 0;
    for (std::uint32_t p = 0; p < parts; ++p) {
      PartNodes of;
      of.first = static_cast<NodeId>(first);
      of.count = originals_[p].size();
      of.original_ids = originals_[p];
      first += of.count;
      auto& part = parts_.emplace_back();
      part.id = static_cast<PartId>(p);
      part.nodes.push_back(of);
    }
    held_.resize(parts);
  }

  std::size_t parts() const { return parts_.size(); }
  HeldTensors& held(std::size_t part) { return held_[part]; }
  const Part& part(std::size_t part) const { return parts_[part]; }

  /// \param rows  of all parts; of nodes not read
  Status make(std::uint32_t number, MakeTensor facts, std::uint64_t rows) {
    ++operation_;
    for (std::size_t p = 0; p < parts(); ++p) {
      facts.operation = operation_;
      facts.tensor = number;
      facts.name = "t" + std::to_string(number);
      const auto range = range_of(facts.of, rows, p);
      facts.first = range.first;
      facts.count = range.second;
      TROUPE_RETURN_IF_ERROR(held_[p].make(parts_[p], facts));
    }
    facts_[number] = {facts, rows};
    return ok_status();
  }
  Status remove(std::uint32_t number) {
    ++operation_;
    for (std::size_t p = 0; p < parts(); ++p) {
      TROUPE_RETURN_IF_ERROR(held_[p].make(
          parts_[p], {.operation = operation_, .tensor = number, .gone = true, .name = {}}));
    }
    facts_.erase(number);
    return ok_status();
  }
  /// \param original  of nodes original ids, else numbers of rows
  template <class T>
  Status put(std::uint32_t number, const Ids& original, const std::vector<T>& values, bool add) {
    ++operation_;
    const auto cols = values.size() / original.size();
    for (std::size_t p = 0; p < parts(); ++p) {
      WriteTensor write{.operation = operation_, .tensor = number, .add = add};
      write.row_bytes = cols * sizeof(T);
      std::vector<T> mine;
      for (std::size_t i = 0; i < original.size(); ++i) {
        if (const auto id = id_in(number, p, original[i])) {
          write.ids.push_back(*id);
          mine.insert(mine.end(), values.begin() + static_cast<std::ptrdiff_t>(i * cols),
                      values.begin() + static_cast<std::ptrdiff_t>((i + 1) * cols));
        }
      }
      write.values = Segment::of(std::move(mine));
      TROUPE_RETURN_IF_ERROR(held_[p].write(parts_[p], write));
    }
    return ok_status();
  }
  template <class T>
  std::vector<T> row(std::uint32_t number, std::uint64_t original) {
    for (std::size_t p = 0; p < parts(); ++p) {
      if (const auto id = id_in(number, p, original)) {
        ReadTensor read{.tensor = number, .row_bytes = facts_.at(number).first.cols * sizeof(T)};
        read.ids.push_back(*id);
        const auto rows = held_[p].read(parts_[p], read);
        EXPECT_OK(rows);
        const auto found = rows ? rows->values.as<T>() : std::span<const T>();
        return {found.begin(), found.end()};
      }
    }
    ADD_FAILURE() << "no part has row " << original;
    return {};
  }

  Status keep(std::uint64_t step) {
    ++operation_;
    for (std::size_t p = 0; p < parts(); ++p) {
      TROUPE_RETURN_IF_ERROR(held_[p].keep(parts_[p], {.operation = operation_, .step = step}));
    }
    return ok_status();
  }
  /// All pieces of a copy.
  std::vector<CopiedTensors> copy(std::uint64_t step) {
    std::vector<CopiedTensors> pieces;
    for (std::size_t p = 0; p < parts(); ++p) {
      ReadTensorCopy read{.step = step};
      for (bool last = false; !last;) {
        const auto piece = held_[p].read_copy(parts_[p], read);
        EXPECT_OK(piece);
        if (!piece || pieces.size() > 10'000) {
          return pieces;
        }
        EXPECT_OK(check_tensor_piece("piece", *piece));
        last = piece->last;
        read.tensor = piece->next_tensor;
        read.row = piece->next_row;
        pieces.push_back(*piece);
      }
    }
    return pieces;
  }
  Status load(const std::vector<CopiedTensors>& pieces) {
    for (const auto& piece : pieces) {
      LoadTensors message{piece, ++loaded_};
      message.last = false;
      TROUPE_RETURN_IF_ERROR(load(message));
    }
    LoadTensors end;
    end.last = true;
    end.operation = ++loaded_;
    return load(end);
  }
  std::uint64_t made_bytes() const {
    return std::accumulate(held_.begin(), held_.end(), std::uint64_t{0},
                           [](auto sum, const auto& held) { return sum + held.made_bytes(); });
  }

 private:
  std::pair<std::uint64_t, std::uint64_t> range_of(std::uint16_t of, std::uint64_t rows,
                                                   std::size_t p) const {
    if (of == static_cast<std::uint16_t>(TensorOf::nodes)) {
      return {raw(parts_[p].nodes[0].first), parts_[p].nodes[0].count};
    }
    const auto first = rows * p / parts();
    return {first, rows * (p + 1) / parts() - first};
  }
  std::optional<std::uint64_t> id_in(std::uint32_t number, std::size_t p,
                                     std::uint64_t original) const {
    const auto& [facts, rows] = facts_.at(number);
    const auto range = range_of(facts.of, rows, p);
    if (facts.of == static_cast<std::uint16_t>(TensorOf::nodes)) {
      const auto found = std::ranges::find(originals_[p], original);
      return found == originals_[p].end()
                 ? std::nullopt
                 : std::optional(range.first +
                                 static_cast<std::uint64_t>(found - originals_[p].begin()));
    }
    return original >= range.first && original < range.first + range.second
               ? std::optional(original)
               : std::nullopt;
  }
  Status load(const LoadTensors& message) {
    for (std::size_t p = 0; p < parts(); ++p) {
      TROUPE_RETURN_IF_ERROR(held_[p].load(parts_[p], message));
    }
    return ok_status();
  }

  std::vector<Ids> originals_;
  std::vector<Part> parts_;
  std::vector<HeldTensors> held_;
  std::map<std::uint32_t, std::pair<MakeTensor, std::uint64_t>> facts_;
  std::uint64_t operation_ = 0;
  std::uint64_t loaded_ = 0;
};

MakeTensor of(TensorOf rows, DType dtype, std::uint32_t cols = 1) {
  return {.name = {},
          .of = static_cast<std::uint16_t>(rows),
          .dtype = static_cast<std::uint16_t>(dtype),
          .cols = cols};
}

MakeTensor random_start(MakeTensor facts, std::uint64_t seed = 5) {
  facts.start = static_cast<std::uint16_t>(TensorStart::uniform);
  facts.size = 2;
  facts.seed = seed;
  return facts;
}

/// Makes, deletes, writes, sums and copies at random, against a table of rows for each tensor and a copy of all tables.
TEST(HeldTensorCopies, AreTablesAsTheyWereForAnyPartsThatReadThem) {
  constexpr std::uint64_t nodes = 40;
  std::mt19937_64 random(3);
  using Table = std::map<std::uint64_t, std::int64_t>;
  for (const std::uint32_t parts : {1U, 2U, 5U}) {
    Holders holders(nodes, parts);
    std::map<std::uint32_t, Table> tables;
    std::map<std::uint32_t, MakeTensor> facts;
    std::map<std::uint32_t, std::uint64_t> rows_of;
    std::uint32_t number = 0;
    for (int round = 0; round < 6; ++round) {
      for (int i = 0; i < 30; ++i) {
        const auto what = random() % 10;
        if (what == 0 || tables.empty()) {
          const bool rows = random() % 2 == 0;
          facts[number] = of(rows ? TensorOf::rows : TensorOf::nodes, DType::i64);
          rows_of[number] = rows ? 100'000 : nodes;
          tables[number];
          ASSERT_OK(holders.make(number, facts[number], rows_of[number]));
          ++number;
          continue;
        }
        auto table = tables.begin();
        std::advance(table, random() % tables.size());
        if (what == 1 && tables.size() > 2) {
          ASSERT_OK(holders.remove(table->first));
          facts.erase(table->first);
          tables.erase(table);
          continue;
        }
        Ids ids;
        std::vector<std::int64_t> values;
        const bool add = random() % 2 == 0;
        for (auto k = 1 + random() % 5; k > 0; --k) {
          ids.push_back(random() % rows_of[table->first]);
          values.push_back(static_cast<std::int64_t>(random() % 1000));
          auto& row = table->second[ids.back()];
          row = values.back() + (add ? row : 0);
        }
        ASSERT_OK(holders.put(table->first, ids, values, add));
      }
      const auto kept = tables;
      ASSERT_OK(holders.keep(static_cast<std::uint64_t>(round)));
      for (auto& [of_tensor, table] : tables) {  // what comes later is not in the copy
        const auto id = random() % rows_of[of_tensor];
        table[id] = -1;
        ASSERT_OK(holders.put(of_tensor, {id}, std::vector<std::int64_t>{-1}, false));
      }
      const auto pieces = holders.copy(static_cast<std::uint64_t>(round));

      Holders others(nodes, 1 + static_cast<std::uint32_t>(random() % 4));
      for (const auto& [of_tensor, table] : kept) {
        ASSERT_OK(others.make(of_tensor, facts[of_tensor], rows_of[of_tensor]));
      }
      ASSERT_OK(others.load(pieces));
      for (const auto& [of_tensor, table] : kept) {
        for (const auto& [id, value] : table) {
          ASSERT_EQ(others.row<std::int64_t>(of_tensor, id), std::vector{value});
        }
        const auto some = random() % rows_of[of_tensor];
        const auto found = table.find(some);
        EXPECT_EQ(others.row<std::int64_t>(of_tensor, some),
                  std::vector<std::int64_t>{found == table.end() ? 0 : found->second});
      }
      for (const auto& [of_tensor, table] : tables) {
        for (const auto& [id, value] : table) {
          ASSERT_EQ(holders.row<std::int64_t>(of_tensor, id), std::vector{value});
        }
      }
    }
  }
}

TEST(HeldTensorCopies, ShareWhatIsNotWrittenAfterThem) {
  Holders holders(10, 1);
  constexpr std::uint64_t rows = 1 << 20;  // of 8 bytes, 128 blocks
  ASSERT_OK(holders.make(0, of(TensorOf::rows, DType::i64), rows));
  EXPECT_EQ(holders.made_bytes(), 0U);
  Ids all(rows);
  std::iota(all.begin(), all.end(), 0);
  const std::vector<std::int64_t> sevens(rows, 7);
  ASSERT_OK(holders.put(0, all, sevens, false));
  EXPECT_EQ(holders.made_bytes(), rows * 8);

  ASSERT_OK(holders.keep(1));
  EXPECT_EQ(holders.made_bytes(), rows * 8) << "a copy costs nothing";
  ASSERT_OK(holders.put(0, {0, rows - 1, 1}, std::vector<std::int64_t>{1, 2, 3}, false));
  EXPECT_EQ(holders.made_bytes(), rows * 8 + 2 * (64U << 10)) << "but the two blocks that changed";
  ASSERT_OK(holders.put(0, {2}, std::vector<std::int64_t>{4}, true));
  EXPECT_EQ(holders.made_bytes(), rows * 8 + 2 * (64U << 10)) << "once";

  ASSERT_OK(holders.keep(2));
  EXPECT_EQ(holders.made_bytes(), rows * 8) << "there is one copy";
  EXPECT_ERROR(holders.held(0).read_copy(holders.part(0), {.step = 1}), Errc::not_found,
               "tensors of part 0: those of step 1 are not kept here");
  ASSERT_OK(holders.put(0, {5}, std::vector<std::int64_t>{1}, false));
  holders.held(0).drop({.step = 1});  // of a step before: nothing
  EXPECT_EQ(holders.copy(2).size(), 2U) << "8 MiB in pieces of 4 MiB";
  holders.held(0).drop({.step = 2});
  EXPECT_EQ(holders.made_bytes(), rows * 8);
  EXPECT_ERROR(holders.held(0).read_copy(holders.part(0), {.step = 2}), Errc::not_found, "step 2");
  EXPECT_EQ(holders.row<std::int64_t>(0, rows - 1), std::vector<std::int64_t>{2});
}

TEST(HeldTensorCopies, HaveTheBlocksAloneThatWereWritten) {
  constexpr std::uint64_t rows = std::uint64_t{3} << 33;
  constexpr std::uint64_t high = (std::uint64_t{1} << 34) + 5;
  Holders holders(10, 3);
  ASSERT_OK(holders.make(4, random_start(of(TensorOf::rows, DType::f32, 2)), rows));
  ASSERT_OK(holders.make(9, of(TensorOf::rows, DType::u8), rows));
  ASSERT_OK(holders.put(4, {high, 3, high + 1}, std::vector<float>{1, 2, 3, 4, 5, 6}, false));
  ASSERT_OK(holders.put(4, {high}, std::vector<float>{10, 20}, true));
  EXPECT_EQ(holders.made_bytes(), 2 * (64U << 10));
  ASSERT_OK(holders.keep(1));

  const auto pieces = holders.copy(1);

  ASSERT_EQ(pieces.size(), 6U) << "each tensor in each part";
  std::uint64_t bytes = 0;
  for (const auto& piece : pieces) {
    bytes += piece.values.bytes.size();
    EXPECT_TRUE(piece.ids.empty());
    EXPECT_LE(piece.runs.size(), 2U);
    EXPECT_EQ(piece.name, piece.cols == 2 ? "t4" : "t9");
  }
  EXPECT_EQ(bytes, 2 * (64U << 10));
  Holders others(10, 2);
  ASSERT_OK(others.make(4, random_start(of(TensorOf::rows, DType::f32, 2)), rows));
  ASSERT_OK(others.make(9, of(TensorOf::rows, DType::u8), rows));
  ASSERT_OK(others.load(pieces));
  EXPECT_EQ(others.row<float>(4, high), (std::vector<float>{11, 22}));
  EXPECT_EQ(others.row<float>(4, high + 1), (std::vector<float>{5, 6}));
  EmbeddingOptions like;
  like.name = "t4";
  like.dim = 2;
  like.init = {"uniform", 2, 2};
  std::vector<float> start(2);
  for (const std::uint64_t id : {high + 2, rows - 1}) {  // in a block that was written, and in none
    InitialRows(like, 5).fill(static_cast<OriginalId>(id), start);
    EXPECT_EQ(others.row<float>(4, id), start);
    EXPECT_EQ(holders.row<float>(4, id), start);
  }
}

TEST(HeldTensorCopies, OfRowsLargerThanABlockAndOfManySmallTensors) {
  Holders holders(3, 2);
  constexpr std::uint32_t wide = 200'000;  // numbers of a row, 800,000 bytes
  ASSERT_OK(holders.make(0, of(TensorOf::rows, DType::f32, wide), 20));
  std::vector<float> row(wide, 1.5F);
  for (std::uint64_t i = 0; i < 20; i += 2) {
    row[7] = static_cast<float>(i);
    ASSERT_OK(holders.put(0, {i}, row, false));
  }
  for (std::uint32_t number = 1; number < 8; ++number) {
    ASSERT_OK(holders.make(number, of(TensorOf::nodes, DType::f64), 0));
    ASSERT_OK(holders.put(number, {number % 3}, std::vector<double>{1.0 * number}, false));
  }
  ASSERT_OK(holders.keep(1));
  const auto pieces = holders.copy(1);
  for (const auto& piece : pieces) {
    EXPECT_LE(piece.values.bytes.size(), tensor_piece_bytes);
  }

  Holders others(3, 1);
  ASSERT_OK(others.make(0, of(TensorOf::rows, DType::f32, wide), 20));
  for (std::uint32_t number = 1; number < 8; ++number) {
    ASSERT_OK(others.make(number, of(TensorOf::nodes, DType::f64), 0));
  }
  ASSERT_OK(others.load(pieces));
  EXPECT_EQ(others.row<float>(0, 18)[7], 18);
  EXPECT_EQ(others.row<float>(0, 17)[7], 0);
  for (std::uint32_t number = 1; number < 8; ++number) {
    EXPECT_EQ(others.row<double>(number, number % 3), std::vector<double>{1.0 * number});
    EXPECT_EQ(others.row<double>(number, (number + 1) % 3), std::vector<double>{0});
  }
}

TEST(HeldTensorCopies, AreOperationsOfTheirWriter) {
  Holders holders(10, 1);
  auto& held = holders.held(0);
  const auto& part = holders.part(0);
  ASSERT_OK(holders.make(0, of(TensorOf::nodes, DType::i32), 0));
  ASSERT_OK(held.keep(part, {.operation = 2, .step = 1}));
  ASSERT_OK(held.keep(part, {.operation = 2, .step = 8})) << "a repeat";
  EXPECT_OK(held.read_copy(part, {.step = 1}));
  EXPECT_ERROR(held.keep(part, {.operation = 4, .step = 2}), Errc::failed_precondition,
               "expected write 3 of rank 0, found write 4");
  EXPECT_OK(held.read_copy(part, {.step = 1}));
  EXPECT_ERROR(HeldTensors().keep(part, {.operation = 3, .step = 2}), Errc::failed_precondition,
               "what was written before is lost here");

  LoadTensors load;
  load.last = true;
  load.operation = 2;
  EXPECT_ERROR(held.load(part, load), Errc::failed_precondition,
               "expected write 1 of the checkpoint, found write 2");
}

TEST(HeldTensorCopies, ARepeatedPieceDoesNotUndoWhatWasWrittenAfterIt) {
  Holders holders(10, 1);
  ASSERT_OK(holders.make(0, of(TensorOf::rows, DType::i32), 4));
  ASSERT_OK(holders.put(0, {1}, std::vector<std::int32_t>{5}, false));
  ASSERT_OK(holders.keep(1));
  const auto pieces = holders.copy(1);
  Holders others(10, 1);
  ASSERT_OK(others.make(0, of(TensorOf::rows, DType::i32), 4));
  ASSERT_OK(others.load(pieces));
  ASSERT_OK(others.put(0, {1}, std::vector<std::int32_t>{6}, false));

  EXPECT_OK(others.held(0).load(others.part(0), LoadTensors{pieces.at(0), 1}));

  EXPECT_EQ(others.row<std::int32_t>(0, 1), std::vector<std::int32_t>{6});
}

TEST(HeldTensorCopies, ReadsFromAnyPlaceEndOrAreRefused) {
  Holders holders(10, 1);
  ASSERT_OK(holders.keep(1));
  EXPECT_EQ(holders.copy(1).size(), 1U);
  EXPECT_TRUE(holders.copy(1).at(0).name.empty()) << "no tensor was made";
  ASSERT_OK(holders.make(0xFFFFFFFF, of(TensorOf::rows, DType::u8), 1'000'000));
  ASSERT_OK(holders.put(0xFFFFFFFF, {7}, std::vector<std::uint8_t>{1}, false));
  ASSERT_OK(holders.keep(1));
  for (const std::uint64_t row : {std::uint64_t{1} << 20, ~std::uint64_t{0}}) {
    const auto piece =
        holders.held(0).read_copy(holders.part(0), {.step = 1, .tensor = 0xFFFFFFFF, .row = row});
    ASSERT_OK(piece);
    EXPECT_TRUE(piece->last);
    EXPECT_TRUE(piece->runs.empty());
  }
}

TEST(HeldTensorCopies, RefusePiecesThatDoNotFit) {
  Holders holders(10, 2);
  const auto facts = random_start(of(TensorOf::rows, DType::f32, 2));
  ASSERT_OK(holders.make(0, facts, 100));
  TensorPiece good{.name = "t0",
                   .of = facts.of,
                   .dtype = facts.dtype,
                   .cols = 2,
                   .start = facts.start,
                   .size = 2,
                   .seed = 5,
                   .runs = {20, 2, 80, 1},
                   .values = Segment::of(std::vector<float>{1, 2, 3, 4, 5, 6})};
  const auto load = [&](const std::function<void(TensorPiece&)>& change) {
    auto piece = good;
    change(piece);
    return holders.held(1).load(holders.part(1), LoadTensors{piece, 1});
  };
  using enum Errc;
  EXPECT_ERROR(load([](auto& p) { p.name = "t1"; }), failed_precondition, "it was not made");
  EXPECT_ERROR(load([](auto& p) { p.name.clear(); }), data_corruption, "a tensor with a name");
  EXPECT_ERROR(load([](auto& p) { p.name = std::string(300, 'x'); }), data_corruption, "name");
  EXPECT_ERROR(load([](auto& p) { p.seed = 6; }), failed_precondition,
               "expected a start of uniform of 2 from seed 6, as in the checkpoint, found uniform "
               "of 2 from seed 5; try: make it");
  EXPECT_ERROR(load([](auto& p) { p.start = 0; }), failed_precondition,
               "expected a start of zeros");
  EXPECT_ERROR(load([](auto& p) { p.of = 1; }), data_corruption, "expected kind 2");
  EXPECT_ERROR(load([](auto& p) { p.type = 1; }), data_corruption, "type 0");
  EXPECT_ERROR(load([](auto& p) { p.dtype = static_cast<std::uint16_t>(DType::i32); }),
               data_corruption, "dtype");
  EXPECT_ERROR(load([](auto& p) { p.cols = 1; }), data_corruption, "found 3 rows of 4 bytes");
  EXPECT_ERROR(load([](auto& p) { p.dtype = 999; }), data_corruption, "expected rows");
  EXPECT_ERROR(load([](auto& p) { p.of = 999; }), data_corruption, "expected rows");
  EXPECT_ERROR(load([](auto& p) { p.cols = 0; }), data_corruption, "expected rows");
  EXPECT_ERROR(load([](auto& p) { p.cols = 0xFFFFFFFF; }), data_corruption, "expected rows");
  EXPECT_ERROR(load([](auto& p) { p.runs.pop_back(); }), data_corruption, "3 ends of runs");
  EXPECT_ERROR(load([](auto& p) { p.runs[1] = ~std::uint64_t{0}; }), data_corruption, "rows");
  EXPECT_ERROR(load([](auto& p) { p.runs[1] = std::uint64_t{1} << 60; }), data_corruption, "rows");
  EXPECT_ERROR(load([](auto& p) { p.ids = {1, 2, 3}; }), data_corruption, "3 ids");
  EXPECT_ERROR(load([](auto& p) { p.values = {}; }), data_corruption, "in 0 bytes");
  EXPECT_EQ(holders.made_bytes(), 0U) << "nothing was allocated";

  ASSERT_OK(load([](auto& p) { p.runs = {~std::uint64_t{0}, 2, 80, 1}; })) << "rows of no part";
  EXPECT_EQ(holders.row<float>(0, 80), (std::vector<float>{5, 6}));
}

}  // namespace
}  // namespace troupe
