#include "launcher/commands.hpp"
#include "runtime/data/edgelist_import.hpp"
#include "runtime/data/triples_import.hpp"
#include "tests/runtime/graph/store_fixture.hpp"
#include "tests/support/expect.hpp"

namespace troupe {
namespace {

using namespace testing;

class InspectCommand : public ::testing::Test {
 protected:
  ExitCode verify(const std::filesystem::path& store) const {
    InspectArguments arguments;
    arguments.store = store;
    arguments.verify = true;
    return inspect_command(arguments);
  }
  /// Damages every file of a store, removes it, and brings it back.
  void expect_that_damage_is_found(const std::filesystem::path& store) const {
    EXPECT_EQ(verify(store), ExitCode::done);
    for (const auto& file : files_below(store)) {
      const auto text = file_text(store / file);
      flip_byte(store / file, text.size() - 1);
      EXPECT_EQ(verify(store), ExitCode::data) << file << " is damaged";
      std::filesystem::remove(store / file);
      EXPECT_EQ(verify(store), ExitCode::data) << file << " is missing";
      write_all(store / file, text);
    }
    EXPECT_EQ(verify(store), ExitCode::done);
  }

  TempDir temp_;
  std::filesystem::path store_ = temp_ / "store";
  InlineExecutor executor_;
};

TEST_F(InspectCommand, VerifyFindsDamageInFilesThatNoLoadReads) {
  const auto file = temp_ / "edges.txt";
  write_all(file, "a b\nb c\nc a\n");
  EdgelistOptions options;
  options.text_ids = true;
  ASSERT_OK(import_edgelist(std::span(&file, 1), store_, options, executor_));

  expect_that_damage_is_found(store_);
}

TEST_F(InspectCommand, VerifyFindsDamageInTriples) {
  const auto folder = temp_ / "triples";
  write_all(folder / "train.txt", "a\tr\tb\nb\ts\tc\n");
  write_all(folder / "valid.txt", "a\tr\tc\n");
  write_all(folder / "test.txt", "c\ts\tb\n");
  ASSERT_OK(import_triples(std::span(&folder, 1), store_, {}, executor_));

  expect_that_damage_is_found(store_);
}

TEST_F(InspectCommand, VerifyFindsDamageInTheEndsOfEdges) {
  ASSERT_OK(write_graph_store(random_graph(20, 60, 1).contents, store_));
  ASSERT_OK_AND_ASSIGN(const auto graph, GraphStore::open(store_, {}));
  const auto parts = temp_ / "parts";
  ASSERT_OK(partition_store(graph, {.parts = 2}, parts));
  ASSERT_TRUE(std::filesystem::exists(parts / "part-1/edges-edge/in/ends.npy"));

  expect_that_damage_is_found(parts);
}

}  // namespace
}  // namespace troupe
