#include "runtime/data/node_names.hpp"

#include "tests/support/expect.hpp"
#include "tests/support/scratch_folder.hpp"

#include <fstream>

namespace troupe {
namespace {

class NamesOfNodes : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(store_ / "nodes-item");
    write(store_ / "nodes-item" / "names.txt", "x1\n\"a\"\n7\n");
    items_.name = "item";
    items_.count = 3;
  }
  static void write(const std::filesystem::path& file, const std::string& text) {
    std::ofstream(file, std::ios::binary) << text;
  }
  Result<std::vector<std::uint64_t>> numbers(const std::string& text) const {
    const auto file = scratch_.path() / "asked.txt";
    write(file, text);
    TROUPE_ASSIGN_OR_RETURN(const auto names, NodeNames::read(store_, items_));
    return names->numbers_in(file);
  }

  const testing::ScratchFolder scratch_;
  const std::filesystem::path store_ = scratch_.path() / "store";
  NodeTypeInfo items_;
};

TEST_F(NamesOfNodes, AreThoseOfTheNumbersInOrder) {
  ASSERT_OK_AND_ASSIGN(const auto names, NodeNames::read(store_, items_));
  ASSERT_NE(names, nullptr);
  EXPECT_EQ(names->of(0), "x1");
  EXPECT_EQ(names->of(1), "\"a\"");
  EXPECT_EQ(names->of(2), "7");
}

TEST_F(NamesOfNodes, GiveNumbersInTheOrderOfAFile) {
  EXPECT_EQ(*numbers("7\nx1 \r\n\n 7"), (std::vector<std::uint64_t>{2, 0, 2}));
  EXPECT_EQ(*numbers(""), std::vector<std::uint64_t>());
  EXPECT_ERROR(numbers("x1\n\nx 2\n"), Errc::invalid_argument,
               "asked.txt: line 3: expected the name of a \"item\" node, in \"x 2\"\ntry: numbers");
}

TEST_F(NamesOfNodes, AreNoneOrAsManyAsNodes) {
  items_.count = 4;
  EXPECT_ERROR(numbers("7"), Errc::data_corruption, "names.txt: expected 4 names, found 3");
  items_.name = "user";
  ASSERT_OK_AND_ASSIGN(const auto none, NodeNames::read(store_, items_));
  EXPECT_EQ(none, nullptr);
}

}  // namespace
}  // namespace troupe
