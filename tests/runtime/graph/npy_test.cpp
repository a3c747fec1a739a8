#include "runtime/graph/npy.hpp"

#include "tests/runtime/graph/store_fixture.hpp"
#include "tests/support/expect.hpp"

#include <cstring>

namespace troupe {
namespace {

Result<NpyArray> parse(const std::string& text) {
  return parse_npy(Segment::of(std::vector<char>(text.begin(), text.end())), "a.npy");
}

/// A version 1.0 file with this dictionary and data.
std::string file_with(const std::string& dictionary, const std::string& data = "") {
  std::string text("\x93NUMPY\x01\x00", 8);
  text += {static_cast<char>(dictionary.size() & 0xFF), static_cast<char>(dictionary.size() >> 8)};
  return text + dictionary + data;
}

TEST(Npy, HeaderIsWhatNumpyWrites) {
  const std::uint64_t shape[] = {3, 4};

  const auto header = npy_header({'f', 4}, shape);

  // numpy.save of a float32 [3, 4]: 128 bytes of header
  std::string expected = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }";
  expected.append(118 - expected.size() - 1, ' ');
  expected += '\n';
  EXPECT_EQ(header.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_EQ(header.substr(10), expected);
}

TEST(Npy, HeaderOfOneDimensionHasATrailingCommaAndStartsDataAligned) {
  for (std::uint64_t n = 1; n < (std::uint64_t{1} << 60); n *= 7) {
    const auto header = npy_header({'u', 8}, std::span(&n, 1));
    EXPECT_EQ(header.size() % 64, 0U);
    EXPECT_NE(header.find("(" + std::to_string(n) + ",)"), std::string::npos);
  }
}

TEST(Npy, ArraysOfEveryTypeComeBack) {
  for (const auto* descr :
       {"|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8"}) {
    const NpyType type{descr[1], static_cast<std::uint8_t>(descr[2] - '0')};
    const std::uint64_t shape[] = {2, 3};
    const std::string data(std::size_t{6} * type.bytes, '\x05');

    ASSERT_OK_AND_ASSIGN(const auto array, parse(npy_header(type, shape) + data));

    EXPECT_EQ(to_string(array.type), descr);
    EXPECT_EQ(shape_text(array.shape), "[2, 3]");
    EXPECT_EQ(array.size(), 6U);
    EXPECT_EQ(std::memcmp(array.data.bytes.data(), data.data(), data.size()), 0);
  }
}

TEST(Npy, ReadsVersionTwoDoubleQuotesAndAnyOrderOfKeys) {
  const std::string dictionary =
      "{\"shape\": (2,), \"fortran_order\": False, \"descr\": \"<i2\"}\n";
  std::string text("\x93NUMPY\x02\x00", 8);
  text += {static_cast<char>(dictionary.size()), '\0', '\0', '\0'};
  text += dictionary + std::string("\x01\x00\x02\x00", 4);

  ASSERT_OK_AND_ASSIGN(const auto array, parse(text));

  EXPECT_EQ(array.as<std::int16_t>()[1], 2);  // also: the data was not aligned
}

TEST(Npy, ReadsScalarsEmptyArraysAndFortranOrderOfOneDimension) {
  EXPECT_OK(parse(file_with("{'descr': '<i4', 'fortran_order': False, 'shape': (), }\n", "abcd")));
  EXPECT_OK(parse(file_with("{'descr': '<i4', 'fortran_order': False, 'shape': (2, 0), }\n")));
  EXPECT_OK(parse(file_with("{'descr': '<i4', 'fortran_order': True, 'shape': (1,), }\n", "abcd")));
}

TEST(Npy, HostileHeadersAreErrors) {
  const auto corrupt = Errc::data_corruption;
  EXPECT_ERROR(parse(""), corrupt, "a.npy");
  EXPECT_ERROR(parse("PK\x03\x04 a zip archive"), corrupt, "no \\x93NUMPY");
  EXPECT_ERROR(parse(std::string("\x93NUMPY\x01\x00\xff\xff{", 11)), corrupt, "65535 bytes");
  EXPECT_ERROR(parse(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff{", 13)), corrupt, "4294967295");
  EXPECT_ERROR(parse(std::string("\x93NUMPY\x02\x00\xff\xff", 10)), corrupt, "ends after 10");
  EXPECT_ERROR(parse(std::string("\x93NUMPY\x03\x00\x00\x00\x00\x00\x00", 13)), Errc::unimplemented,
               "3.0");
  for (const auto* bad :
       {"", "{", "}", "{'descr': '<i4'}", "{'descr'}",
        "{'descr': '<i4', 'fortran_order': 0, 'shape': (1,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (1,} ",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (99999999999999999999999,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (1,), 'shape': (1,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (1,), 'more': 1}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (1,)} {}",
        "{'descr': '<i4, 'fortran_order': False, 'shape': (1,)}"}) {
    EXPECT_ERROR(parse(file_with(bad, "abcd")), corrupt, "a.npy");
  }
}

TEST(Npy, SizesThatDoNotFitTheShapeAreErrors) {
  const auto with_shape = [](const std::string& shape) {
    return parse(
        file_with("{'descr': '<i4', 'fortran_order': False, 'shape': " + shape + "}", "abcd"));
  };
  EXPECT_ERROR(with_shape("(2,)"), Errc::data_corruption,
               "expected 8 bytes of data for shape [2] of <i4, found 4");
  EXPECT_ERROR(with_shape("(0,)"), Errc::data_corruption, "expected 0 bytes");
  EXPECT_ERROR(with_shape("(4294967296, 4294967296)"), Errc::data_corruption, "more than 2^64");
  EXPECT_ERROR(with_shape("(4611686018427387905,)"), Errc::data_corruption, "more than 2^64");
}

TEST(Npy, WhatIsNotReadIsNamedWithAWayOut) {
  const auto with_type = [](const std::string& descr) {
    return parse(
        file_with("{'descr': " + descr + ", 'fortran_order': False, 'shape': (1,)}", "abcd"));
  };
  for (const auto* descr : {"'>i4'", "'<c8'", "'<U4'", "'|O'", "'<f3'", "''", "[('a', '<i4')]"}) {
    EXPECT_ERROR(with_type(descr), Errc::unimplemented, "astype");
  }
  EXPECT_ERROR(parse(file_with("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 1)}", "abcd")),
               Errc::unimplemented, "ascontiguousarray");
}

TEST(Npy, AMissingFileIsNotFound) {
  EXPECT_ERROR(map_npy("no/such.npy"), Errc::not_found, "no/such.npy");
}

}  // namespace
}  // namespace troupe
