#include "runtime/base/philox.hpp"

#include "tests/support/expect.hpp"
#include "tests/support/npy_reader.hpp"
#include "tests/support/statistics.hpp"

#include <algorithm>
#include <filesystem>

namespace troupe {
namespace {

std::vector<std::uint32_t> golden(const std::string& name) {
  const std::filesystem::path folder = TROUPE_SOURCE_DIR "/tests/goldens/philox";
  return testing::read_npy(folder / (name + ".npy")).as<std::uint32_t>();
}

TEST(Philox, AgreesWithRandom123AndASecondImplementation) {
  const auto counters = golden("counter");
  const auto keys = golden("key");
  const auto results = golden("result");
  const std::size_t rows = results.size() / 4;
  ASSERT_EQ(rows, 103U);
  ASSERT_EQ(counters.size(), 4 * rows);
  ASSERT_EQ(keys.size(), 2 * rows);
  for (std::size_t i = 0; i < rows; ++i) {
    const auto* c = counters.data() + 4 * i;
    const auto* r = results.data() + 4 * i;
    const auto block = philox4x32_10({c[0], c[1], c[2], c[3]}, {keys[2 * i], keys[2 * i + 1]});
    EXPECT_EQ(block, (PhiloxCounter{r[0], r[1], r[2], r[3]})) << "row " << i;
  }
}

TEST(Philox, GivesThePublishedAnswerForZeros) {
  static_assert(philox4x32_10({0, 0, 0, 0}, {0, 0}) ==
                PhiloxCounter{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8});
}

TEST(StreamKey, IsTheFirstHalfOfTheBlockThatTheDesignNames) {
  const StreamName name{.domain = Domain::neighbours,
                        .type = 0x1234,
                        .hop = 0x56,
                        .epoch = 0x789ABCDE,
                        .batch = 0x1122334455667788};
  const auto block =
      philox4x32_10({0x02123456, 0x789ABCDE, 0x55667788, 0x11223344}, {0xCAFEF00D, 0xDEADBEEF});
  EXPECT_EQ(stream_key(0xDEADBEEFCAFEF00D, name).words, (PhiloxKey{block[0], block[1]}));
}

TEST(StreamKey, EveryPartOfTheNameCounts) {
  const StreamName name{.domain = Domain::neighbours};
  std::vector<StreamKey> keys = {stream_key(1, name), stream_key(2, name),
                                 stream_key(1 + (std::uint64_t{1} << 32), name)};
  keys.push_back(stream_key(1, {.domain = Domain::negatives}));
  keys.push_back(stream_key(1, {.domain = Domain::neighbours, .type = 1}));
  keys.push_back(stream_key(1, {.domain = Domain::neighbours, .hop = 1}));
  keys.push_back(stream_key(1, {.domain = Domain::neighbours, .epoch = 1}));
  keys.push_back(stream_key(1, {.domain = Domain::neighbours, .batch = 1}));
  keys.push_back(stream_key(1, {.domain = Domain::neighbours, .batch = std::uint64_t{1} << 32}));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_FALSE(keys[i] == keys[j]) << i << " and " << j;
    }
  }
}

TEST(DrawStream, WordIIsWordIMod4OfBlockIDiv4) {
  const StreamKey key{{3, 4}};
  DrawStream stream(key, 0xAABBCCDD11223344, 9);
  for (std::uint32_t i = 0; i < 23; ++i) {
    const auto block = philox4x32_10({0x11223344, 0xAABBCCDD, i / 4, 9}, key.words);
    EXPECT_EQ(stream.next(), block[i % 4]) << "word " << i;
  }
}

TEST(DrawStream, CopiesAreIndependent) {
  DrawStream stream(StreamKey{{1, 2}}, 5);
  stream.next();
  DrawStream copy = stream;
  const auto word = stream.next();
  EXPECT_NE(stream.next(), word);
  EXPECT_EQ(copy.next(), word);
}

/// Lemire's method from its definition, on 128-bit arithmetic: words whose product falls into the
/// short stretch are refused.
std::uint32_t reference_below(DrawStream& stream, std::uint32_t bound) {
  const std::uint64_t refused = (std::uint64_t{1} << 32) % bound;
  for (;;) {
    const std::uint64_t product = std::uint64_t{stream.next()} * bound;
    if ((product & 0xFFFFFFFFU) >= refused) {
      return static_cast<std::uint32_t>(product >> 32);
    }
  }
}

TEST(DrawStreamBelow, FollowsItsDefinitionForHardBounds) {
  for (const std::uint32_t bound :
       {1U, 2U, 3U, 7U, 1000U, 0x80000000U, 0x80000001U, 0xC0000000U, 0xFFFFFFFEU, 0xFFFFFFFFU}) {
    DrawStream stream(StreamKey{{8, bound}}, 1);
    DrawStream same = stream;
    for (int i = 0; i < 1000; ++i) {
      const std::uint32_t drawn = stream.below(bound);
      ASSERT_LT(drawn, bound);
      ASSERT_EQ(drawn, reference_below(same, bound)) << "bound " << bound << ", draw " << i;
    }
    ASSERT_EQ(stream.next(), same.next()) << "both used the same number of words";
  }
}

TEST(DrawStreamBelow, RefusesAboutHalfTheWordsJustAboveAPowerOfTwo) {
  constexpr std::uint32_t bound = 0x80000001U;
  DrawStream stream(StreamKey{{5, 6}}, 7);
  for (int i = 0; i < 2000; ++i) {
    stream.below(bound);
  }
  const std::uint32_t next = stream.next();
  DrawStream words(StreamKey{{5, 6}}, 7);
  std::uint32_t used = 0;
  while (words.next() != next) {
    ++used;
  }
  EXPECT_GT(used, 3700U);
  EXPECT_LT(used, 4300U);
}

TEST(DrawStreamBelow, IsUniformOverCoarseCells) {
  std::vector<double> p_values;
  for (const std::uint32_t bound : {3U, 10U, 0x80000001U, 0xAAAAAAABU, 0xFFFFFFFFU}) {
    const std::uint32_t cells = std::min(bound, 16U);
    for (std::uint32_t seed = 0; seed < 12; ++seed) {
      DrawStream stream(StreamKey{{seed, bound}}, 3);
      std::vector<std::uint64_t> counts(cells);
      for (int i = 0; i < 8000; ++i) {
        ++counts[std::uint64_t{stream.below(bound)} * cells / bound];
      }
      p_values.push_back(testing::uniform_p_value(counts));
    }
  }
  EXPECT_GT(*std::ranges::min_element(p_values), 1e-6);
  EXPECT_GT(testing::kolmogorov_smirnov_p_value(p_values), 1e-3);
}

TEST(UnitFloat, IsInTheHalfOpenUnitInterval) {
  EXPECT_EQ(unit_float(0), 0.0F);
  EXPECT_EQ(unit_float(0x80000000U), 0.5F);
  EXPECT_LT(unit_float(0xFFFFFFFFU), 1.0F);
}

}  // namespace
}  // namespace troupe
