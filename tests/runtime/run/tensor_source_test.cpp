#include "runtime/run/tensor_source.hpp"

#include "runtime/run/checkpoint.hpp"
#include "runtime/run/state_pieces.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/scratch_folder.hpp"

#include <cstring>
#include <fstream>
#include <vector>

namespace troupe {
namespace {

TensorPiece rows_piece(const std::string& name, std::vector<std::uint64_t> runs,
                       std::vector<float> values) {
  return {.step = 7,
          .name = name,
          .of = static_cast<std::uint16_t>(TensorOf::rows),
          .dtype = static_cast<std::uint16_t>(DType::f32),
          .cols = 2,
          .start = 1,
          .size = 0.5,
          .seed = 9,
          .runs = std::move(runs),
          .values = Segment::of(std::move(values))};
}

/// Two parts with a few pieces each.
class FewTensors final : public TensorSource {
 public:
  std::uint32_t parts() const override { return 2; }
  Status read(std::uint32_t part, const Take& take) const override {
    const auto high = std::uint64_t{1} << (33 + part);
    TROUPE_RETURN_IF_ERROR(take(rows_piece("wide", {high, 1, high + 7, 2}, {1, 2, 3, 4, 5, 6})));
    TROUPE_RETURN_IF_ERROR(take(rows_piece("none", {}, {})));
    TensorPiece nodes{.step = 7, .name = "nodes", .type = 3, .cols = 1};
    nodes.ids = {5, 2, 9 + part};
    nodes.values = Segment::of(std::vector<std::uint8_t>{1, 2, 3});
    return take(nodes);
  }
};

std::vector<TensorPiece> pieces_of(const TensorSource& source, std::uint32_t part) {
  std::vector<TensorPiece> pieces;
  EXPECT_OK(source.read(part, [&](const TensorPiece& piece) {
    pieces.push_back(piece);
    return ok_status();
  }));
  return pieces;
}

class TensorsOnDisk : public ::testing::Test {
 protected:
  CheckpointFolder folder(std::string fails_at = {}) const {
    CheckpointFolderOptions options;
    options.dir = scratch_.path() / "checkpoints";
    options.flush = Flush::no;
    options.before_write = [fails_at](const std::filesystem::path& file) {
      return file.filename() == fails_at
                 ? Status(Error(Errc::failed_precondition, "the disk is full"))
                 : ok_status();
    };
    return CheckpointFolder(std::move(options));
  }
  static Checkpoint checkpoint(std::uint64_t step = 7) {
    Checkpoint checkpoint;
    checkpoint.training.global_step = step;
    checkpoint.training.blobs[tensor_blob("wide")];
    checkpoint.job = "{}";
    checkpoint.tensors = std::make_shared<const FewTensors>();
    return checkpoint;
  }
  void write() const { ASSERT_OK(folder().write(checkpoint())); }
  std::filesystem::path file(std::uint64_t step = 7) const {
    return scratch_.path() / "checkpoints" / ("step-" + std::to_string(step)) / "tensors-1.bin";
  }
  Result<Checkpoint> found() const {
    std::vector<SkippedCheckpoint> skipped;
    TROUPE_ASSIGN_OR_RETURN(auto latest, folder().latest(skipped));
    return std::move(latest.checkpoint);
  }
  testing::ScratchFolder scratch_;
};

TEST_F(TensorsOnDisk, ComeBackAsTheyWere) {
  write();

  ASSERT_OK_AND_ASSIGN(const auto back, found());

  ASSERT_NE(back.tensors, nullptr);
  EXPECT_EQ(back.training.blobs, checkpoint().training.blobs);
  ASSERT_EQ(back.tensors->parts(), 2U);
  for (std::uint32_t part = 0; part < 2; ++part) {
    const auto a = pieces_of(*back.tensors, part);
    const auto b = pieces_of(FewTensors(), part);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      // Does not compile when a field is added: then the file needs it too.
      const auto& [step, name, of, type, dtype, cols, start, size, seed, last, ids, runs, values] =
          a[i];
      EXPECT_EQ(step, b[i].step);
      EXPECT_EQ(name, b[i].name);
      EXPECT_EQ(of, b[i].of);
      EXPECT_EQ(type, b[i].type);
      EXPECT_EQ(dtype, b[i].dtype);
      EXPECT_EQ(cols, b[i].cols);
      EXPECT_EQ(start, b[i].start);
      EXPECT_EQ(size, b[i].size);
      EXPECT_EQ(seed, b[i].seed);
      EXPECT_FALSE(last);
      EXPECT_EQ(ids, b[i].ids);
      EXPECT_EQ(runs, b[i].runs);
      EXPECT_TRUE(std::ranges::equal(values.bytes, b[i].values.bytes));
    }
  }
}

TEST_F(TensorsOnDisk, EveryChangedByteIsFoundAndTheFileNamed) {
  write();
  const auto size = std::filesystem::file_size(file());
  const auto flip = [&](std::uint64_t at) {
    std::fstream bytes(file(), std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekg(static_cast<std::streamoff>(at));
    const auto was = static_cast<char>(bytes.get());
    bytes.seekp(static_cast<std::streamoff>(at));
    bytes.put(static_cast<char>(was ^ 0x41));
  };
  for (std::uint64_t at = 0; at < size; at += 3) {
    ASSERT_OK_AND_ASSIGN(const auto before, found());
    flip(at);
    EXPECT_ERROR(found(), Errc::not_found, "tensors-1.bin");
    EXPECT_ERROR(before.tensors->read(1, [](const TensorPiece&) { return ok_status(); }),
                 Errc::data_corruption, "tensors-1.bin");
    flip(at);
  }
  ASSERT_OK_AND_ASSIGN(const auto back, found());
  EXPECT_EQ(pieces_of(*back.tensors, 1).size(), 3U);
}

TEST_F(TensorsOnDisk, AMissingOrShorterOrLongerFileIsNoCheckpoint) {
  write();
  const auto size = std::filesystem::file_size(file());
  std::filesystem::resize_file(file(), size + 1);
  EXPECT_ERROR(found(), Errc::not_found, "tensors-1.bin");
  std::filesystem::resize_file(file(), size - 1);
  EXPECT_ERROR(found(), Errc::not_found, "tensors-1.bin");
  std::filesystem::remove(file());
  EXPECT_ERROR(found(), Errc::not_found, "tensors-1.bin");
}

TEST_F(TensorsOnDisk, AWriteThatEndsInTheMiddleLeavesTheCheckpointBefore) {
  write();
  for (const char* const last : {"tensors-0.bin", "tensors-1.bin", "manifest.json"}) {
    EXPECT_ERROR(folder(last).write(checkpoint(8)), Errc::failed_precondition, "the disk is full");
    ASSERT_OK_AND_ASSIGN(const auto back, found());
    EXPECT_EQ(back.training.global_step, 7U);
    EXPECT_EQ(pieces_of(*back.tensors, 1).size(), 3U);
  }
}

TEST_F(TensorsOnDisk, ADamagedFileLeavesTheCheckpointBefore) {
  write();
  ASSERT_OK(folder().write(checkpoint(8)));
  std::fstream bytes(file(8), std::ios::in | std::ios::out | std::ios::binary);
  bytes.seekp(-3, std::ios::end);
  bytes.put('x');
  bytes.close();

  std::vector<SkippedCheckpoint> skipped;
  ASSERT_OK_AND_ASSIGN(const auto back, folder().latest(skipped));

  EXPECT_EQ(back.checkpoint.training.global_step, 7U);
  EXPECT_EQ(pieces_of(*back.checkpoint.tensors, 1).size(), 3U);
  ASSERT_EQ(skipped.size(), 1U);
  EXPECT_EQ(skipped[0].name, "step-8");
  EXPECT_NE(std::string(skipped[0].why.what()).find("step-8/tensors-1.bin: expected"),
            std::string::npos)
      << skipped[0].why.what();
}

TEST_F(TensorsOnDisk, ACheckpointWithWholeTensorsIsRefusedByName) {
  auto older = checkpoint();
  older.training.blobs[tensor_blob("wide")].resize(12);
  older.tensors.reset();
  ASSERT_OK(folder().write(older));

  EXPECT_ERROR(found(), Errc::not_found,
               "expected tensor wide in files of parts, found all of its 12 bytes, as earlier "
               "versions wrote them; try: resume with the version that wrote it");
}

TEST_F(TensorsOnDisk, NamesAndFilesBelongTogether) {
  auto without = checkpoint();
  without.tensors.reset();
  ASSERT_OK(folder().write(without));
  EXPECT_ERROR(found(), Errc::not_found,
               "expected tensors-0.bin where tensors are named, found none");
  auto nameless = checkpoint();
  nameless.training.blobs.clear();
  ASSERT_OK(folder().write(nameless));
  EXPECT_ERROR(found(), Errc::not_found, "found it without a name");
}

TEST_F(TensorsOnDisk, HeadsThatNoRowsHaveAreRefused) {
  // Places of the numbers in a head, and what they become.
  const std::vector<std::pair<std::size_t, std::uint64_t>> changes = {
      {0, 1},                         // magic
      {2, 1U << 16},                  // kind of rows
      {2, 77},                        //
      {3, 1U << 16},                  // type
      {4, 77},                        // dtype
      {5, 0},                         // columns
      {5, ~std::uint64_t{0}},         //
      {6, 1U << 16},                  // start
      {9, 257},                       // bytes of the name
      {9, ~std::uint64_t{0}},         //
      {10, 1},                        // ids
      {10, std::uint64_t{1} << 61},   //
      {11, 3},                        // runs
      {11, ~std::uint64_t{0}},        //
      {12, 0},                        // bytes of rows
      {12, std::uint64_t{1} << 40}};  //
  write();
  std::vector<char> bytes(std::filesystem::file_size(file()));
  std::ifstream(file(), std::ios::binary)
      .read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  for (const auto& [place, number] : changes) {
    SCOPED_TRACE(place);
    auto changed = bytes;
    std::memcpy(changed.data() + place * 8, &number, 8);
    const auto path = scratch_.path() / "changed.bin";
    std::ofstream(path, std::ios::binary)
        .write(changed.data(), static_cast<std::streamsize>(changed.size()));
    const TensorFiles files(scratch_.path(), {{"changed.bin", changed.size(), ""}});
    EXPECT_ERROR(files.read(0, [](const TensorPiece&) { return ok_status(); }),
                 Errc::data_corruption, "changed.bin");
  }
}

}  // namespace
}  // namespace troupe
