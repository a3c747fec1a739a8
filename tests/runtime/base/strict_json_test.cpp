#include "runtime/base/strict_json.hpp"

#include "runtime/base/json_text.hpp"
#include "tests/support/expect.hpp"

#include <nlohmann/json.hpp>

#include <utility>

namespace troupe {
namespace {

constexpr auto invalid = Errc::invalid_argument;
constexpr JsonRules plain{.most_bytes = 1000, .most_levels = 4};
constexpr JsonRules commented{.most_bytes = 1000, .most_levels = 4, .comments = true};

Result<nlohmann::json> read(std::string_view text, const JsonRules& rules = plain) {
  return read_strict_json(text, rules);
}

std::string nested(std::size_t levels, const std::string& begin, const std::string& end) {
  std::string text = begin == "[" ? "" : "0";
  for (std::size_t i = 0; i < levels; ++i) {
    text.insert(0, begin).append(end);
  }
  return text;
}

TEST(StrictJson, ReadsEveryKindOfValue) {
  const std::string text =
      R"({"a":[null,true,-1,18446744073709551615,0.5,"\u00e9\ud83d\ude00"],"b":{"":{}}})";

  ASSERT_OK_AND_ASSIGN(const auto value, read(text));

  EXPECT_EQ(value, json_of_text(text));
  EXPECT_TRUE(value["a"][3].is_number_unsigned());
  EXPECT_EQ(value["a"][5], "é😀");
  for (const auto* scalar : {"null", "true", "-7", "1.5", R"("x")"}) {
    ASSERT_OK_AND_ASSIGN(const auto alone, read(scalar));
    EXPECT_EQ(text_of_json(alone), scalar);
  }
}

TEST(StrictJson, TextsUpToTheBoundAreRead) {
  const std::string fits = "[" + std::string(998, ' ') + "]";

  EXPECT_OK(read(fits));
  EXPECT_ERROR(read(fits + " "), invalid, "expected JSON of at most 1000 bytes, found 1001");
}

TEST(StrictJson, NestingUpToTheBoundIsRead) {
  for (const auto& [begin, end] : {std::pair("[", "]"), std::pair("{\"a\":", "}")}) {
    EXPECT_OK(read(nested(4, begin, end)));
    EXPECT_ERROR(read(nested(5, begin, end)), invalid,
                 "expected JSON of at most 4 levels of nesting, found more");
    EXPECT_OK(read("[" + nested(3, begin, end) + "," + nested(3, begin, end) + "]"));
  }
  const std::string opened(100'000, '[');
  EXPECT_ERROR(read(opened, {.most_bytes = opened.size(), .most_levels = 64}), invalid,
               "expected JSON of at most 64 levels of nesting, found more");
  EXPECT_OK(read("7", {.most_bytes = 1, .most_levels = 0}));
  EXPECT_OK(read(R"(["[[[[[", "\"{{{{{"])"));
}

TEST(StrictJson, ARepeatedKeyIsRefusedAtAnyDepth) {
  EXPECT_ERROR(read(R"({"a": 1, "a": 1})"), invalid, "expected each key once, found /a twice");
  EXPECT_ERROR(read(R"({"x/y": [0, {"a~": {"k": 1, "k": 2}}]})"), invalid,
               "found /x~1y/1/a~0/k twice");
  EXPECT_ERROR(read(R"({"a": 1, "\u0061": 2})"), invalid, "found /a twice");
  EXPECT_OK(read(R"([{"a": 1}, {"a": {"a": 1}}])"));
}

TEST(StrictJson, RepeatedKeysAreListedForACallerThatAsks) {
  std::vector<std::string> repeated;

  ASSERT_OK_AND_ASSIGN(
      const auto value,
      read_strict_json(R"({"a": 1, "a": {"b": 2, "b": [3]}, "a": [], "c": [{"d": 4, "d": 5}]})",
                       plain, &repeated));

  EXPECT_EQ(text_of_json(value), R"({"a":1,"c":[{"d":4}]})");
  EXPECT_EQ(repeated, (std::vector<std::string>{"/a", "/a/b", "/a", "/c/0/d"}));
}

TEST(StrictJson, ListedPointersAreNoLargerThanATextMayBe) {
  // three times "/0123456789012345/", 18 bytes each
  const std::string text = R"({"0123456789012345":{"":1,"":1,"":1,"":1}})";
  std::vector<std::string> repeated;

  EXPECT_OK(read_strict_json(text, {.most_bytes = 54, .most_levels = 2}, &repeated));
  EXPECT_EQ(repeated.size(), 3U);
  EXPECT_ERROR(read_strict_json(text, {.most_bytes = 53, .most_levels = 2}, &repeated), invalid,
               "expected each key once, found /0123456789012345/ twice");
}

TEST(StrictJson, ErrorsHaveLineAndColumn) {
  EXPECT_ERROR(read("{\n  \"a\": 1,\n  \"b\" 2\n}"), invalid,
               "expected JSON: line 3, column 7: syntax error while parsing object separator");
  EXPECT_ERROR(read(""), invalid, "line 1, column 1: syntax error");
  EXPECT_ERROR(read("\n\n"), invalid, "line 3, column 1");
  EXPECT_ERROR(read("{} x"), invalid, "line 1, column 4");
  EXPECT_ERROR(read("[1,]"), invalid, "line 1, column 4");
  EXPECT_ERROR(read("[\n\"tab\t\"]"), invalid, "line 2, column 5");
}

TEST(StrictJson, EveryTruncationIsAnError) {
  const std::string text = R"({"a": [1, {"b": "c\u00e9"}, true], "d": -1.5e3})";
  ASSERT_OK(read(text));

  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_ERROR(read(text.substr(0, size)), invalid, "expected JSON: line 1, column ");
  }
}

TEST(StrictJson, BytesThatAreNotUtf8AreRefused) {
  for (const auto* bytes : {"\xFF", "\xC0\xAF", "\xED\xA0\x80", "\xF5\x80\x80\x80", "\xE2\x82"}) {
    const std::string text = "[\"" + std::string(bytes) + "\"]";
    EXPECT_ERROR(read(text), invalid, "line 1, column ");
    EXPECT_ERROR(read(text), invalid, "UTF-8");
  }
  EXPECT_ERROR(read("{\"\xFF\": 1}"), invalid, "UTF-8");
  EXPECT_ERROR(read(R"(["\ud800"])"), invalid, "surrogate");
}

TEST(StrictJson, ANulByteIsNoEndOfTheText) {
  using namespace std::string_view_literals;

  EXPECT_ERROR(read("{}\0"sv), invalid, "line 1, column 3: a NUL byte");
  EXPECT_ERROR(read("{}\n\0 [never read"sv), invalid, "line 2, column 1: a NUL byte");
  EXPECT_ERROR(read("// a\0\n{}"sv, commented), invalid, "line 1, column 5: a NUL byte");
  EXPECT_ERROR(read("[1\0]"sv), invalid, "line 1, column 3");
  EXPECT_OK(read(R"(["\u0000"])"));
}

TEST(StrictJson, NumbersThatFloat64CannotHoldAreRefused) {
  EXPECT_ERROR(read("[1e999]"), invalid, "line 1, column 6: number overflow parsing '1e999'");
  EXPECT_ERROR(read("-" + std::string(400, '9')), invalid, "number overflow");
  for (const auto* text : {"NaN", "nan", "Infinity", "-Infinity", "+1", "01", ".5", "1.", "0x1"}) {
    EXPECT_ERROR(read(text), invalid, "expected JSON: line 1, column ");
  }

  ASSERT_OK_AND_ASSIGN(const auto wide, read("[1e308, 18446744073709551616, 1e-999]"));
  EXPECT_EQ(wide, nlohmann::json({1e308, 18446744073709551616.0, 0.0}));
}

TEST(StrictJson, CommentsAreSkippedOnlyWhereAllowed) {
  const std::string text = "// first\n{\"a\": /* [ { \" */ 1} // last";

  EXPECT_ERROR(read(text), invalid, "expected JSON: line 1, column 1");
  ASSERT_OK_AND_ASSIGN(const auto value, read(text, commented));
  EXPECT_EQ(text_of_json(value), R"({"a":1})");
  EXPECT_ERROR(read("{ /* open", commented), invalid,
               "expected JSON with comments: line 1, column 10");
  EXPECT_ERROR(read("{} # no", commented), invalid, "line 1, column 4");
}

TEST(StrictJson, MessagesStayShort) {
  const std::string name(100'000, 'n');
  const JsonRules large{.most_bytes = 1'000'000, .most_levels = 4};

  EXPECT_LT(testing::what_of(read("[\"" + name, large)).size(), 500U);
  EXPECT_LT(testing::what_of(read("{\"" + name + "\":0,\"" + name + "\":0}", large)).size(), 500U);
}

TEST(PointerToken, EscapesWhatSeparatesTokens) {
  EXPECT_EQ(pointer_token(""), "");
  EXPECT_EQ(pointer_token("a/b~c~1"), "a~1b~0c~01");
}

}  // namespace
}  // namespace troupe
