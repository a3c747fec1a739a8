#include "runtime/base/external_sort.hpp"

#include "runtime/base/philox.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/scratch_folder.hpp"

namespace troupe {
namespace {

using testing::ScratchFolder;

/// Sorted by two words; `number` says where it was given.
struct Pair {
  std::uint32_t high = 0;
  std::uint32_t low = 0;
  std::uint64_t number = 0;
  std::array<std::uint64_t, 2> key() const { return {high, low}; }
  friend bool operator==(const Pair&, const Pair&) = default;
};

std::vector<Pair> random_pairs(std::size_t count, std::uint32_t high, std::uint32_t low) {
  std::vector<Pair> pairs;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto words = philox4x32_10({static_cast<std::uint32_t>(i), 0, 0, 0}, {7, 0});
    pairs.push_back({words[0] % high, words[1] % low * 70'001, i});
  }
  return pairs;
}

std::vector<Pair> expected_order(std::vector<Pair> pairs) {
  std::ranges::stable_sort(pairs, {}, &Pair::key);
  return pairs;
}

struct Sorted {
  std::vector<Pair> pairs;
  std::size_t blocks = 0;
};

Result<Sorted> sort_all(ExternalSort<Pair>& sort, const std::vector<Pair>& pairs) {
  const std::span<const Pair> all(pairs);
  for (std::size_t first = 0; first < all.size(); first += 1000) {  // pieces unlike the runs
    TROUPE_RETURN_IF_ERROR(
        sort.add(all.subspan(first, std::min<std::size_t>(1000, all.size() - first))));
  }
  Sorted sorted;
  TROUPE_RETURN_IF_ERROR(sort.finish([&](std::span<const Pair> block) {
    sorted.pairs.insert(sorted.pairs.end(), block.begin(), block.end());
    ++sorted.blocks;
    return ok_status();
  }));
  return sorted;
}

TEST(ExternalSort, GivesTheStableOrderWhateverTheMemory) {
  const ScratchFolder folder;
  const auto pairs = random_pairs(20'000, 50, 40);  // ten of each key
  const auto expected = expected_order(pairs);
  InlineExecutor executor;
  for (const std::uint64_t memory : {1U << 20, 1U << 17, 1U << 14}) {  // one, few and 40 runs
    ExternalSort<Pair> sort({folder.path(), memory}, executor);
    ASSERT_OK_AND_ASSIGN(const auto sorted, sort_all(sort, pairs));
    EXPECT_EQ(sorted.pairs, expected) << memory;
  }
}

TEST(ExternalSort, GivesTheSameOnAnyNumberOfThreads) {
  const ScratchFolder folder;
  const auto pairs = random_pairs(300'000, 1'000'000, 60'000);
  const auto expected = expected_order(pairs);
  for (const std::size_t threads : {1U, 2U, 5U}) {
    ComputePool pool(threads);
    for (const std::uint64_t memory : {1U << 26, 1U << 22}) {
      ExternalSort<Pair> sort({folder.path(), memory}, pool);
      ASSERT_OK_AND_ASSIGN(const auto sorted, sort_all(sort, pairs));
      EXPECT_EQ(sorted.pairs, expected) << threads;
    }
  }
}

TEST(ExternalSort, ALargeBudgetIsTakenAsItIsNeeded) {
  const auto pairs = random_pairs(3'000'000, 1'000'000, 60'000);  // 48 MB
  const auto expected = expected_order(pairs);
  InlineExecutor executor;
  for (const auto memory : {std::uint64_t{1} << 30, std::uint64_t{1} << 60}) {  // there, and not
    ExternalSort<Pair> sort({"no/such/folder", memory}, executor);
    ASSERT_OK_AND_ASSIGN(const auto sorted, sort_all(sort, pairs));
    EXPECT_TRUE(sorted.pairs == expected) << memory;
  }
}

TEST(ExternalSort, MergesMoreRunsThanItOpensAtOnceInRounds) {
  const ScratchFolder folder;
  const auto pairs = random_pairs(10'000, 30, 3);
  InlineExecutor executor;
  ExternalSort<Pair> sort({folder.path(), 0}, executor);  // runs of 8: 1250 of them
  ASSERT_OK_AND_ASSIGN(const auto sorted, sort_all(sort, pairs));

  EXPECT_EQ(sorted.pairs, expected_order(pairs));
}

TEST(ExternalSort, WritesNothingWhereAllFits) {
  InlineExecutor executor;
  const auto pairs = random_pairs(5000, 90, 90);
  ExternalSort<Pair> sort({"no/such/folder", 1U << 20}, executor);
  ASSERT_OK_AND_ASSIGN(const auto sorted, sort_all(sort, pairs));

  EXPECT_EQ(sorted.pairs, expected_order(pairs));
  EXPECT_EQ(sort.size(), 5000U);
}

TEST(ExternalSort, AnExactlyFullMemoryLosesNothing) {
  const ScratchFolder folder;
  InlineExecutor executor;
  for (const std::size_t count : {127U, 128U, 129U, 256U, 257U}) {
    const auto pairs = random_pairs(count, 9, 9);
    ExternalSort<Pair> sort({folder.path(), 2 * 128 * sizeof(Pair)}, executor);
    ASSERT_OK_AND_ASSIGN(const auto sorted, sort_all(sort, pairs));
    EXPECT_EQ(sorted.pairs, expected_order(pairs)) << count;
    EXPECT_EQ(sort.size(), count);
  }
}

TEST(ExternalSort, NothingGivesNothing) {
  InlineExecutor executor;
  ExternalSort<Pair> sort({"no/such/folder", 1000}, executor);
  ASSERT_OK_AND_ASSIGN(const auto sorted, sort_all(sort, {}));

  EXPECT_EQ(sorted.blocks, 0U);
}

TEST(ExternalSort, KeysThatUseAllBitsAreSorted) {
  struct Wide {
    std::uint64_t word;
    std::array<std::uint64_t, 1> key() const { return {word}; }
  };
  InlineExecutor executor;
  ExternalSort<Wide> sort({"no/such/folder", 1000}, executor);
  const std::vector<Wide> words{{~0ULL}, {1ULL << 63}, {0}, {~0ULL >> 1}, {1}, {1ULL << 57}};
  ASSERT_OK(sort.add(words));
  std::vector<std::uint64_t> sorted;
  ASSERT_OK(sort.finish([&](std::span<const Wide> block) {
    for (const auto& wide : block) {
      sorted.push_back(wide.word);
    }
    return ok_status();
  }));

  EXPECT_EQ(sorted, (std::vector<std::uint64_t>{0, 1, 1ULL << 57, ~0ULL >> 1, 1ULL << 63, ~0ULL}));
}

TEST(ExternalSort, AFolderThatIsNotThereIsAnErrorOnceItIsNeeded) {
  InlineExecutor executor;
  ExternalSort<Pair> sort({"no/such/folder", 1000}, executor);

  EXPECT_ERROR(sort.add(random_pairs(1000, 9, 9)), Errc::not_found, "no/such/folder");
}

TEST(ExternalSort, AnErrorOfTheTakerEndsItAndNothingIsLeft) {
  const ScratchFolder folder;
  InlineExecutor executor;
  for (const std::uint64_t memory : {1U << 20, 1U << 10}) {
    ExternalSort<Pair> sort({folder.path(), memory}, executor);
    ASSERT_OK(sort.add(random_pairs(1000, 9, 9)));
    int calls = 0;
    EXPECT_ERROR(sort.finish([&](std::span<const Pair>) -> Status {
      ++calls;
      return Error(Errc::cancelled, "enough");
    }),
                 Errc::cancelled, "enough");
    EXPECT_EQ(calls, 1);
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  }
}

}  // namespace
}  // namespace troupe
