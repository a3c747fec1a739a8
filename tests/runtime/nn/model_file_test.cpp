#include "runtime/nn/model_file.hpp"

#include "tests/support/expect.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <span>

namespace troupe::nn {
namespace {

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// A file with this header, whatever it says, and `data` zero bytes.
std::vector<std::byte> file_with(const std::string& header, std::size_t data = 0) {
  std::string text(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(text.data(), &length, sizeof(length));  // tests run on little-endian machines
  return bytes_of(text + header + std::string(data, '\0'));
}

std::string tensor(const std::string& name, const std::string& shape, const std::string& offsets) {
  return "\"" + name + R"(":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + offsets +
         "}";
}

void expect_same(const TensorFile& a, const TensorFile& b) {
  EXPECT_EQ(a.metadata, b.metadata);
  ASSERT_EQ(a.tensors.size(), b.tensors.size());
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    EXPECT_EQ(a.tensors[i].name, b.tensors[i].name);
    EXPECT_EQ(a.tensors[i].shape, b.tensors[i].shape);
    ASSERT_EQ(a.tensors[i].values.size(), b.tensors[i].values.size());
    const auto left = std::as_bytes(std::span(a.tensors[i].values));
    const auto right = std::as_bytes(std::span(b.tensors[i].values));
    EXPECT_TRUE(std::ranges::equal(left, right)) << a.tensors[i].name;
  }
}

TensorFile small_file() {
  const auto nan = std::numeric_limits<float>::quiet_NaN();
  const auto inf = std::numeric_limits<float>::infinity();
  return {.tensors = {{"b.weight", {2, 3}, {1, -0.0F, nan, inf, -inf, 1e-45F}},
                      {"empty", {0, 7}, {}},
                      {"a \"odd\" näme\n", {2}, {3, 4}},
                      {"scalar", {}, {5}}},
          .metadata = {{"format", "pt"}, {"note", "ü \" \\"}}};
}

const ParameterLayout layout = {{"w", 0, 2, 3}, {"b", 6, 2, 1}, {"column", 8, 2, 1}};

TEST(ModelFile, WhatIsWrittenComesBackToTheBitAndInOrder) {
  const auto file = small_file();
  ASSERT_OK_AND_ASSIGN(const auto back, decode_tensors(encode_tensors(file)));
  expect_same(back, file);
  EXPECT_EQ(encode_tensors(back), encode_tensors(file));

  ASSERT_OK_AND_ASSIGN(const auto nothing, decode_tensors(encode_tensors({})));
  expect_same(nothing, {});
}

TEST(ModelFile, IsTheFileThatThePythonReaderOpens) {
  const TensorFile file{.tensors = {{"w", {1, 2}, {1, 2}}, {"b", {1}, {-1}}},
                        .metadata = {{"kind", "graphsage"}}};
  // Opened by hand with safetensors 0.8.0 for Python.
  const std::string header =
      R"({"__metadata__":{"kind":"graphsage"},"w":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},)"
      R"("b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})";
  ASSERT_EQ(header.size(), 146U);
  std::string text("\x98\0\0\0\0\0\0\0", 8);  // 152: the data begin at a multiple of 8
  text += header + std::string(6, ' ');
  text.append("\0\0\x80\x3F\0\0\0\x40\0\0\x80\xBF", 12);
  EXPECT_EQ(encode_tensors(file), bytes_of(text));
}

TEST(ModelFile, TakesWhatOtherWritersWrite) {
  // Any order of tensors and keys, no metadata, spaces.
  const auto bytes =
      file_with(R"({ "late": {"data_offsets":[4,12], "shape":[2], "dtype":"F32"}, )" +
                    tensor("early", "[1,1,1]", "[0,4]") + "}   ",
                12);
  ASSERT_OK_AND_ASSIGN(const auto file, decode_tensors(bytes));
  ASSERT_EQ(file.tensors.size(), 2U);
  EXPECT_EQ(file.tensors[0].name, "early");
  EXPECT_EQ(file.tensors[1].name, "late");
  EXPECT_EQ(file.tensors[1].shape, std::vector<std::uint64_t>{2});
}

TEST(ModelFile, EveryTruncationIsAnError) {
  const auto bytes = encode_tensors(small_file());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_ERROR(decode_tensors(std::span(bytes).first(size)), Errc::data_corruption, "expected");
  }
  auto longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_ERROR(decode_tensors(longer), Errc::data_corruption, "bytes of data");
}

TEST(ModelFile, FlippedBitsAreAnErrorOrOtherValuesButNeverACrash) {
  const auto bytes = encode_tensors(small_file());
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    auto flipped = bytes;
    flipped[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    const auto file = decode_tensors(flipped);
    EXPECT_TRUE(file.ok() || file.error().code() == Errc::data_corruption) << bit;
  }
}

TEST(ModelFile, AbsurdHeaderLengthsAreRefused) {
  for (const std::uint64_t length :
       {~std::uint64_t{0}, std::uint64_t{1} << 63, std::uint64_t{1} << 40, std::uint64_t{3}}) {
    auto bytes = file_with("{}");
    std::memcpy(bytes.data(), &length, sizeof(length));
    EXPECT_ERROR(decode_tensors(bytes), Errc::data_corruption,
                 fmt::format("header of {} bytes, found 2", length));
  }
}

TEST(ModelFile, HeadersThatSayOtherThingsAreRefusedByName) {
  struct Case {
    std::string header;
    std::string message;
  };
  const std::string max = "18446744073709551615";
  const std::vector<Case> cases = {
      {"", "begins at its first byte"},
      {"[]", "begins at its first byte"},
      {" {}", "begins at its first byte"},
      {"{", "found something else"},
      {"{}x", "found something else"},
      {R"({"a":1})", R"(at "a": expected an object of tensors)"},
      {R"({"a":[]})", R"(at "a": expected an object of tensors)"},
      {R"({"a":{}})", R"(tensor "a": expected "dtype")"},
      {R"({"a":{"dtype":"F32","shape":[0]}})", "some are missing"},
      {R"({"a":{"dtype":"F16","shape":[0],"data_offsets":[0,0]}})", "F32, found \"F16\""},
      {R"({"a":{"dtype":"F32","dtype":"F32"}})", "each once"},
      {R"({"a":{"shape":[0],"shape":[0]}})", R"("shape" once)"},
      {R"({"a":{"shape":[[0]]}})", "lists of integers"},
      {R"({"a":{"shape":[{}]}})", "lists of integers"},
      {R"({"a":{"shape":[-1]}})", "lists of integers"},
      {R"({"a":{"shape":[1.5]}})", "lists of integers"},
      {R"({"a":{"shape":[1e400]}})", "found something else"},
      {R"({"a":{"shape":[99999999999999999999999]}})", "lists of integers"},
      {R"({"a":{"shape":null}})", "lists of integers"},
      {R"({"a":{"extra":true}})", "nothing else"},
      {R"({"a":{"extra":{}}})", "nothing else"},
      {R"({"__metadata__":{"k":1}})", "text as value"},
      {R"({"__metadata__":{"k":"1","k":"2"}})", "each key"},
      {R"({"__metadata__":{},"__metadata__":{}})", "__metadata__ once"},
      {"{" + tensor("a", "[0]", "[0,0]") + "," + tensor("a", "[0]", "[0,0]") + "}", "each name"},
      {"{" + tensor("a", "[1]", "[0,0,4]") + "}", "two \"data_offsets\""},
      {"{" + tensor("a", "[1]", "[4,0]") + "}", "of shape [1], found [4, 0]"},
      {"{" + tensor("a", "[1]", "[0,8]") + "}", "of shape [1], found [0, 8]"},
      {"{" + tensor("a", "[1]", "[0,3]") + "}", "of shape [1], found [0, 3]"},
      {"{" + tensor("a", "[" + max + "," + max + "]", "[0,4]") + "}", "of shape"},
      {"{" + tensor("a", "[4611686018427387905]", "[0,4]") + "}", "of shape"},
      {"{" + tensor("a", "[2]", "[0,8]") + "," + tensor("b", "[1]", "[4,8]") + "}", "begin at 8"},
      {"{" + tensor("a", "[1]", "[4,8]") + "}", "begin at 0"},
      {"{" + tensor("a", "[3]", "[0,12]") + "}", "end by 8"},
      {"{" + tensor("a", "[1]", "[" + max + "," + max + "]") + "}", "of shape"},
      {"{" + tensor("a", "[0]", "[" + max + "," + max + "]") + "}", "begin at 0"},
      {"{" + tensor("a", "[1]", "[0,4]") + "}", "expected 4 bytes of data, found 8"},
      {"{\"\xFF\":{}}", "found something else"},
  };
  for (const auto& [header, message] : cases) {
    SCOPED_TRACE(header);
    EXPECT_ERROR(decode_tensors(file_with(header, 8)), Errc::data_corruption, message);
  }
}

TEST(ModelFile, DeepNestingIsRefusedAtOnce) {
  for (const char* open : {"[", "{\"a\":"}) {
    std::string header = "{\"a\":";
    for (int i = 0; i < 1'000'000; ++i) {
      header += open;
    }
    EXPECT_ERROR(decode_tensors(file_with(header)), Errc::data_corruption, "expected");
  }
}

TEST(ModelFile, LongNamesAreCutInMessages) {
  const std::string name(100'000, 'x');
  const auto result = decode_tensors(file_with("{\"" + name + "\":{}}"));
  EXPECT_ERROR(result, Errc::data_corruption, "xxx");
  EXPECT_LT(troupe::testing::what_of(result).size(), 300U);
}

TEST(ModelFile, ParametersSplitByNameAndJoinAgain) {
  const std::vector<float> parameters = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

  const auto tensors = split_parameters(layout, parameters);
  ASSERT_EQ(tensors.size(), 3U);
  EXPECT_EQ(tensors[0].name, "w");
  EXPECT_EQ(tensors[0].shape, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(tensors[1].shape, std::vector<std::uint64_t>{2});
  EXPECT_EQ(tensors[1].values, (std::vector<float>{6, 7}));

  ASSERT_OK_AND_ASSIGN(const auto joined, join_parameters(layout, tensors));
  EXPECT_EQ(joined, parameters);
  auto reordered = std::vector{tensors[2], tensors[0], tensors[1]};
  reordered[0].shape = {2, 1};  // as a matrix of one column
  ASSERT_OK_AND_ASSIGN(const auto again, join_parameters(layout, reordered));
  EXPECT_EQ(again, parameters);
}

TEST(ModelFile, JoiningOtherTensorsNamesTheFirstThatDiffers) {
  const auto tensors = split_parameters(layout, std::vector<float>(10));

  auto missing = tensors;
  missing.pop_back();
  EXPECT_ERROR(join_parameters(layout, missing), Errc::invalid_argument, "\"column\"");
  auto more = tensors;
  more.push_back({"extra", {1}, {0}});
  EXPECT_ERROR(join_parameters(layout, more), Errc::invalid_argument, "\"extra\": expected none");
  auto twice = tensors;
  twice.push_back(tensors[0]);
  EXPECT_ERROR(join_parameters(layout, twice), Errc::invalid_argument, "\"w\": expected once");
  auto transposed = tensors;
  transposed[0].shape = {3, 2};
  EXPECT_ERROR(join_parameters(layout, transposed), Errc::invalid_argument,
               "\"w\": expected shape [2, 3], found [3, 2]");
}

}  // namespace
}  // namespace troupe::nn
