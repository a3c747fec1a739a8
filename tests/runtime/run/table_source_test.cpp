#include "runtime/run/table_source.hpp"

#include "runtime/run/checkpoint.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/scratch_folder.hpp"

#include <fstream>
#include <vector>

namespace troupe {
namespace {

/// Two parts with a few pieces each.
class FewTables final : public TableSource {
 public:
  std::uint32_t parts() const override { return 2; }
  Status read(std::uint32_t part, const Take& take) const override {
    for (std::uint64_t i = 0; i < 3; ++i) {
      CopyPiece piece{.step = 7, .node_type = static_cast<NodeTypeId>(i), .steps = 5 + i};
      std::vector<float> rows;
      for (std::uint64_t k = 0; k < i; ++k) {  // the first piece has no rows
        piece.ids.push_back((std::uint64_t{part} << 40) + 10 * i + k);
        rows.push_back(static_cast<float>(k) + 0.5F);
      }
      piece.rows = Segment::of(rows);
      piece.state = Segment::of(std::vector<float>(rows.size() * 2, 3.0F));
      piece.best = i == 2 ? Segment::of(rows) : Segment{};
      TROUPE_RETURN_IF_ERROR(take(piece));
    }
    return ok_status();
  }
};

std::vector<CopyPiece> pieces_of(const TableSource& source, std::uint32_t part) {
  std::vector<CopyPiece> pieces;
  EXPECT_OK(source.read(part, [&](const CopyPiece& piece) {
    pieces.push_back(piece);
    return ok_status();
  }));
  return pieces;
}

bool same_bytes(const Segment& a, const Segment& b) {
  return std::ranges::equal(a.bytes, b.bytes);
}

void expect_equal_tables(const TableSource& found, const TableSource& expected) {
  ASSERT_EQ(found.parts(), expected.parts());
  for (std::uint32_t part = 0; part < expected.parts(); ++part) {
    const auto a = pieces_of(found, part);
    const auto b = pieces_of(expected, part);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].step, b[i].step);
      EXPECT_EQ(a[i].node_type, b[i].node_type);
      EXPECT_EQ(a[i].steps, b[i].steps);
      EXPECT_EQ(a[i].ids, b[i].ids);
      EXPECT_TRUE(same_bytes(a[i].rows, b[i].rows));
      EXPECT_TRUE(same_bytes(a[i].state, b[i].state));
      EXPECT_TRUE(same_bytes(a[i].best, b[i].best));
    }
  }
}

class TablesOnDisk : public ::testing::Test {
 protected:
  CheckpointFolder folder() const {
    CheckpointFolderOptions options;
    options.dir = scratch_.path() / "checkpoints";
    options.flush = Flush::no;
    return CheckpointFolder(std::move(options));
  }
  void write() const {
    Checkpoint checkpoint;
    checkpoint.training.global_step = 7;
    checkpoint.job = "{}";
    checkpoint.tables = std::make_shared<const FewTables>();
    ASSERT_OK(folder().write(checkpoint));
  }
  std::filesystem::path file() const {
    return scratch_.path() / "checkpoints" / "step-7" / "learned-1.bin";
  }
  Result<std::shared_ptr<const TableSource>> found() const {
    std::vector<SkippedCheckpoint> skipped;
    TROUPE_ASSIGN_OR_RETURN(auto latest, folder().latest(skipped));
    return latest.checkpoint.tables;
  }
  testing::ScratchFolder scratch_;
};

TEST_F(TablesOnDisk, ComeBackAsTheyWere) {
  write();
  ASSERT_OK_AND_ASSIGN(const auto tables, found());
  ASSERT_NE(tables, nullptr);
  expect_equal_tables(*tables, FewTables());
}

TEST_F(TablesOnDisk, EveryChangedByteIsFound) {
  write();
  const auto size = std::filesystem::file_size(file());
  for (std::uint64_t at = 0; at < size; at += 5) {
    ASSERT_OK_AND_ASSIGN(const auto before, found());
    std::fstream bytes(file(), std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekg(static_cast<std::streamoff>(at));
    const auto was = static_cast<char>(bytes.get());
    bytes.seekp(static_cast<std::streamoff>(at));
    bytes.put(static_cast<char>(was ^ 0x41));
    bytes.close();
    EXPECT_ERROR(found(), Errc::not_found, "learned-1.bin");
    EXPECT_ERROR(before->read(1, [](const CopyPiece&) { return ok_status(); }),
                 Errc::data_corruption, "learned-1.bin");
    std::fstream back(file(), std::ios::in | std::ios::out | std::ios::binary);
    back.seekp(static_cast<std::streamoff>(at));
    back.put(was);
  }
  ASSERT_OK_AND_ASSIGN(const auto tables, found());
  EXPECT_EQ(pieces_of(*tables, 1).size(), 3U);
}

TEST_F(TablesOnDisk, AMissingOrShorterFileIsNoCheckpoint) {
  write();
  std::filesystem::resize_file(file(), std::filesystem::file_size(file()) - 1);
  EXPECT_ERROR(found(), Errc::not_found, "learned-1.bin");
  std::filesystem::remove(file());
  EXPECT_ERROR(found(), Errc::not_found, "learned-1.bin");
}

TEST_F(TablesOnDisk, AnErrorOfTheSourceLeavesNoCheckpoint) {
  class Broken final : public TableSource {
   public:
    std::uint32_t parts() const override { return 1; }
    Status read(std::uint32_t, const Take&) const override {
      return Error(Errc::not_found, "those of step 7 are not kept here");
    }
  };
  Checkpoint checkpoint;
  checkpoint.training.global_step = 7;
  checkpoint.job = "{}";
  checkpoint.tables = std::make_shared<const Broken>();
  EXPECT_ERROR(folder().write(checkpoint), Errc::not_found, "step 7");
  EXPECT_ERROR(found(), Errc::not_found, "");
}

}  // namespace
}  // namespace troupe
