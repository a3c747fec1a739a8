#include "runtime/data/npy_stream.hpp"

#include "tests/runtime/graph/store_fixture.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/npy_reader.hpp"

#include <array>

namespace troupe {
namespace {

using testing::read_npy;

TEST(NpyStream, WritesWhatTheReaderReads) {
  const testing::TempDir temp;
  ASSERT_OK_AND_ASSIGN(auto file, NpyStream::create(temp / "a.npy", {'u', 2}, {2, 3}));
  ASSERT_OK(file.write_elements<std::uint16_t>(std::array<std::uint16_t, 4>{1, 2, 3, 4}));
  ASSERT_OK(file.write_elements<std::uint16_t>(std::array<std::uint16_t, 2>{5, 6}));
  ASSERT_OK(file.close());

  const auto array = read_npy(temp / "a.npy");
  EXPECT_EQ(array.shape, (std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(array.as<int>(), (std::vector<int>{1, 2, 3, 4, 5, 6}));
}

TEST(NpyStream, RefusesMoreAndFewerElementsThanTheShape) {
  const testing::TempDir temp;
  ASSERT_OK_AND_ASSIGN(auto file, NpyStream::create(temp / "a.npy", {'u', 2}, {3}));
  const std::array<std::uint16_t, 4> values{1, 2, 3, 4};

  EXPECT_ERROR(file.write_elements<std::uint16_t>(values), Errc::internal,
               "at most 6 more bytes for its shape, got 8");
  ASSERT_OK(file.write_elements(std::span<const std::uint16_t>(values).first(2)));
  EXPECT_ERROR(file.close(), Errc::internal, "2 bytes of its shape were not written");
}

TEST(NpyStream, NamesAFileThatCannotBeMade) {
  const testing::TempDir temp;

  EXPECT_ERROR(NpyStream::create(temp / "no/a.npy", {'u', 2}, {3}), Errc::not_found, "no/a.npy");
  testing::write_all(temp / "a.npy", "mine");
  EXPECT_ERROR(NpyStream::create(temp / "a.npy", {'u', 2}, {3}), Errc::failed_precondition,
               "a.npy");
}

TEST(NpyStream, EmptyPiecesAddNothing) {
  const testing::TempDir temp;
  ASSERT_OK_AND_ASSIGN(auto file, NpyStream::create(temp / "a.npy", {'u', 4}, {1}));
  EXPECT_OK(file.write({}));
  EXPECT_OK(file.write_elements<std::uint32_t>(std::array<std::uint32_t, 1>{7}));
  EXPECT_OK(file.write_elements<std::uint32_t>({}));
  ASSERT_OK(file.close());

  const auto array = read_npy(temp / "a.npy");
  EXPECT_EQ(array.shape, (std::vector<std::size_t>{1}));
  EXPECT_EQ(array.as<int>(), (std::vector<int>{7}));
}

}  // namespace
}  // namespace troupe
