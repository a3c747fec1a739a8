#include "runtime/data/triple_names.hpp"

#include "tests/support/expect.hpp"
#include "tests/support/scratch_folder.hpp"

#include <fstream>
#include <vector>

namespace troupe {
namespace {

using Numbers = std::vector<std::uint64_t>;
constexpr std::array head_and_relation{NamedThing::entity, NamedThing::relation};

class ReadNames : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(store_ / "nodes-person");
    write(store_ / "nodes-person" / "names.txt", "ann\nBob, the elder\n7\n");
    write(store_ / "relations.txt", "knows\n7\n");
    people_.name = "person";
    people_.count = 3;
  }
  static void write(const std::filesystem::path& file, const std::string& text) {
    std::ofstream(file, std::ios::binary) << text;
  }
  Result<Numbers> numbers(const std::string& text,
                          std::span<const NamedThing> columns = head_and_relation) const {
    const auto file = scratch_.path() / "asked.txt";
    write(file, text);
    TROUPE_ASSIGN_OR_RETURN(const auto names, TripleNames::read(store_, people_, 2));
    return names->numbers_in(file, columns);
  }

  const testing::ScratchFolder scratch_;
  const std::filesystem::path store_ = scratch_.path() / "store";
  NodeTypeInfo people_;
};

TEST_F(ReadNames, AreThoseOfTheNumbersInOrder) {
  ASSERT_OK_AND_ASSIGN(const auto names, TripleNames::read(store_, people_, 2));
  EXPECT_EQ(names->entity(0), "ann");
  EXPECT_EQ(names->entity(1), "Bob, the elder");
  EXPECT_EQ(names->entity(2), "7");
  EXPECT_EQ(names->relation(0), "knows");
  EXPECT_EQ(names->relation(1), "7");
}

TEST_F(ReadNames, GiveNumbersByColumn) {
  EXPECT_EQ(*numbers("Bob, the elder\tknows\nann\t7\n"), (Numbers{1, 0, 0, 1}));
  EXPECT_EQ(*numbers("7   7\n\nann knows"), (Numbers{2, 1, 0, 0})) << "a name may be a number";
  EXPECT_EQ(*numbers("ann\tknows\r\n"), (Numbers{0, 0}));
  constexpr std::array triple{NamedThing::entity, NamedThing::relation, NamedThing::entity};
  EXPECT_EQ(*numbers("7 7 7\n", triple), (Numbers{2, 1, 2}));
  constexpr std::array turned{NamedThing::relation, NamedThing::entity};
  EXPECT_EQ(*numbers("knows ann\n", turned), (Numbers{0, 0}));
}

TEST_F(ReadNames, HaveNoSpacesAroundThem) {
  EXPECT_EQ(*numbers("Bob, the elder \tknows \n ann\t 7\n"), (Numbers{1, 0, 0, 1}));
}

TEST_F(ReadNames, OthersAreRefusedWithTheirLine) {
  EXPECT_ERROR(numbers("ann\tknows\ncarl\tknows\n"), Errc::invalid_argument,
               "asked.txt: line 2: expected an entity of the graph, found \"carl\"");
  EXPECT_ERROR(numbers("ann\tlikes\n"), Errc::invalid_argument,
               "line 1: expected a relation of the graph, found \"likes\"");
  EXPECT_ERROR(numbers("knows\tann\n"), Errc::invalid_argument, "expected an entity of the graph");
  EXPECT_ERROR(numbers("ann\tknows\tann\n"), Errc::invalid_argument, "expected 2 names, got 3");
  EXPECT_ERROR(numbers("ann\t\n"), Errc::invalid_argument, "expected 2 names, got 1");
  EXPECT_ERROR(numbers("ann\n"), Errc::invalid_argument, "expected 2 names, got 1");
  EXPECT_ERROR(numbers("\n\n"), Errc::invalid_argument, "expected a row of names, found none");
}

TEST_F(ReadNames, NeedFilesOfAllOfThem) {
  people_.count = 4;
  EXPECT_ERROR(numbers("ann\tknows\n"), Errc::data_corruption,
               "names.txt: expected 4 names, found 3");
  people_.count = 3;
  std::filesystem::remove(store_ / "relations.txt");
  EXPECT_ERROR(numbers("ann\tknows\n"), Errc::not_found, "troupe import --from triples");
}

}  // namespace
}  // namespace troupe
