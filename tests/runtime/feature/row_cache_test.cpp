#include "runtime/feature/row_cache.hpp"

#include "runtime/feature/row_collection.hpp"
#include "tests/runtime/feature/collect.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/graph_builder.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace troupe {
namespace {

using namespace testing;

/// The host of the cache holds part 0.
class RowCacheTest : public ::testing::Test {
 protected:
  RowCacheTest() { cut_ = cut_narrow_and_wide(); }

  CacheOptions options(std::uint64_t rows_of_first) const {
    CacheOptions options{.policy = CacheOptions::Policy::order, .budget_bytes = 0};
    options.budget_bytes = rows_of_first * (16 + cache_entry_bytes);
    options.heat.mean.assign(3, std::vector<std::vector<double>>(3));
    for (auto& of_type : options.heat.mean) {
      for (auto& of_part : of_type) {
        for (std::size_t b = 0; b < PartHeat::buckets; ++b) {
          of_part.push_back(1.0 / static_cast<double>(b + 1));
        }
      }
    }
    return options;
  }

  /// Answers a question as a holder would.
  RowReply answer(const RowQuestion& question) const {
    auto reply = read_part_rows(*cut_.parts[raw(question.part)], question.request);
    EXPECT_OK(reply);
    return *std::move(reply);
  }

  std::shared_ptr<RowCache> filled(const std::vector<CacheChoice>& choices,
                                   std::uint64_t piece = 64) const {
    auto cache = std::make_shared<RowCache>(cut_.info);
    for (const auto& question : cache_questions(cut_.info, choices, piece)) {
      EXPECT_OK(cache->add(question, answer(question)));
    }
    return cache;
  }

  CutGraph cut_;
  const std::vector<bool> here_{true, false, false};
};

std::uint64_t rows_of(const std::vector<CacheChoice>& choices) {
  std::uint64_t rows = 0;
  for (const auto& choice : choices) {
    rows += choice.nodes.size();
  }
  return rows;
}

TEST_F(RowCacheTest, TheFirstRowsOfOtherPartsAreChosenWithinTheBudget) {
  const auto choices = choose_first_rows(cut_.info, *cut_.book, options(30), here_);
  std::uint64_t bytes = 0;
  for (const auto& choice : choices) {
    EXPECT_NE(raw(choice.part), 0U);
    EXPECT_NE(raw(choice.type), 2U);  // has no features
    const auto first = raw(cut_.book->range(choice.type, choice.part).first);
    for (std::size_t i = 0; i < choice.nodes.size(); ++i) {
      EXPECT_EQ(raw(choice.nodes[i]), first + i);
    }
    bytes += choice.nodes.size() * ((raw(choice.type) == 0 ? 16 : 64) + cache_entry_bytes);
  }
  EXPECT_LE(bytes, options(30).budget_bytes);
  EXPECT_GT(bytes, options(30).budget_bytes * 3 / 4);
  EXPECT_TRUE(choose_first_rows(cut_.info, *cut_.book, options(0), here_).empty());
  const auto all = choose_first_rows(cut_.info, *cut_.book, options(100'000), here_);
  EXPECT_EQ(rows_of(all), 90 + 60 - cut_.parts[0]->nodes[0].count - cut_.parts[0]->nodes[1].count);
}

TEST_F(RowCacheTest, AShareOfAllRowsHasRoomForSoMany) {
  EXPECT_EQ(cache_bytes_of(cut_.info, 1),
            90 * (16 + cache_entry_bytes) + 60 * (64 + cache_entry_bytes));
  EXPECT_EQ(cache_bytes_of(cut_.info, 0.5),
            45 * (16 + cache_entry_bytes) + 30 * (64 + cache_entry_bytes));
  EXPECT_EQ(cache_bytes_of(cut_.info, 0), 0U);
}

TEST_F(RowCacheTest, HotterRowsPerByteComeFirst) {
  auto cold = options(10);
  for (auto& of_part : cold.heat.mean[0]) {
    std::ranges::transform(of_part, of_part.begin(), [](double heat) { return heat / 1000; });
  }
  for (const auto& choice : choose_first_rows(cut_.info, *cut_.book, cold, here_)) {
    EXPECT_EQ(raw(choice.type), 1U);
  }
}

TEST_F(RowCacheTest, WhatIsReadMostOftenIsChosen) {
  RowCounter counter(3);
  const auto count = [&](std::vector<NodeId> nodes, std::uint64_t label_nodes = 0) {
    counter.count({.nodes = std::move(nodes), .label_nodes = label_nodes});
  };
  count({NodeId{40}, NodeId{50}, NodeId{80}});
  count({NodeId{50}, NodeId{80}});
  count({NodeId{80}, NodeId{41}});
  count({NodeId{41}, NodeId{41}}, 2);  // seeds, whose rows come with their labels
  const auto choices = counter.choose(cut_.info, *cut_.book, options(3).budget_bytes);
  std::set<std::uint64_t> found;
  for (const auto& choice : choices) {
    for (const auto id : choice.nodes) {
      EXPECT_EQ(cut_.book->owner(choice.type, id), choice.part);
      found.insert(raw(id));
    }
  }
  EXPECT_EQ(found, (std::set<std::uint64_t>{40, 50, 80}));  // of 40 and 41 the smaller
}

TEST_F(RowCacheTest, KeepsTheRowsOfAnswersWhateverThePieces) {
  const auto choices = choose_first_rows(cut_.info, *cut_.book, options(30), here_);
  for (const std::uint64_t piece : {1U, 64U, 1'000'000U}) {
    const auto cache = filled(choices, piece);
    EXPECT_EQ(cache->rows(), rows_of(choices));
    for (const auto& choice : choices) {
      const auto& part = cut_.parts[raw(choice.part)]->nodes[raw(choice.type)];
      for (const auto id : choice.nodes) {
        const auto at = cache->find(choice.type, id);
        ASSERT_TRUE(at);
        EXPECT_TRUE(
            std::ranges::equal(cache->row(choice.type, *at), part.features->row(part.local(id))));
        EXPECT_EQ(raw(cache->original_id(choice.type, *at)), part.original_ids[part.local(id)]);
      }
    }
    EXPECT_FALSE(cache->find(NodeTypeId{0}, NodeId{0}));  // lies here
    EXPECT_FALSE(cache->covers(PartId{0}));
    EXPECT_TRUE(cache->covers(PartId{1}) && cache->covers(PartId{2}));
    EXPECT_FALSE(cache->covers(PartId{3}));
  }
}

TEST_F(RowCacheTest, AnswersOfOtherSizesAreRefused) {
  const auto choices = choose_first_rows(cut_.info, *cut_.book, options(30), here_);
  const auto questions = cache_questions(cut_.info, choices, 1'000'000);
  RowCache cache(cut_.info);
  auto reply = answer(questions[0]);
  reply.original_ids.pop_back();
  EXPECT_ERROR(cache.add(questions[0], reply), Errc::data_corruption,
               "filling the cache: rows from part " + std::to_string(raw(questions[0].part)));
  reply = answer(questions[0]);
  reply.sections[0].row_bytes += 1;
  EXPECT_ERROR(cache.add(questions[0], reply), Errc::data_corruption,
               "filling the cache: rows from part " + std::to_string(raw(questions[0].part)));
}

TEST_F(RowCacheTest, ABatchIsTheSameWithFewerQuestions) {
  auto sampled = std::make_shared<SampledBatch>();
  sampled->seed_type = NodeTypeId{0};
  sampled->seed_index = {0, 1};
  sampled->nodes.resize(3);
  for (std::uint64_t i = 0; i < 23; ++i) {
    sampled->nodes[0].ids.push_back(static_cast<NodeId>(89 - 4 * i));
  }
  for (std::uint64_t id = 0; id < 60; id += 3) {
    sampled->nodes[1].ids.push_back(static_cast<NodeId>(id));
  }
  for (auto& nodes : sampled->nodes) {
    nodes.hop_end = {nodes.ids.empty() || &nodes != sampled->nodes.data() ? 0U : 2U,
                     static_cast<std::uint32_t>(nodes.ids.size())};
  }
  auto collect = std::make_shared<CollectOptions>();
  for (const auto& type : cut_.info.node_types) {
    collect->decoders.push_back(*RowDecoder::create(type, Normalize::none));
  }
  collect->digest = DigestMode::full;
  collect->digest_here = true;
  const auto collected = [&](std::shared_ptr<const RowCache> cache, std::uint64_t& asked) {
    RowCollection rows(*cut_.book, collect, sampled, cache);
    const auto hits = rows.cached_rows();
    for (const auto& question : rows.questions()) {
      asked += question.request.num_nodes();
      EXPECT_OK(rows.answer(question.id, answer(question)));
    }
    EXPECT_TRUE(rows.done());
    EXPECT_EQ(asked + hits, 23U + 20U);
    return std::move(rows).take();
  };
  std::uint64_t without = 0;
  std::uint64_t with = 0;
  const auto plain = collected(nullptr, without);
  const auto cache = filled(choose_first_rows(cut_.info, *cut_.book, options(100'000), here_));
  const auto cached = collected(cache, with);
  EXPECT_EQ(digest_batch(plain, DigestMode::full), digest_batch(cached, DigestMode::full));
  EXPECT_EQ(cached.digest.value, digest_batch(plain, DigestMode::full));
  EXPECT_EQ(plain.labels, cached.labels);
  EXPECT_EQ(plain.rows[1].original_ids, cached.rows[1].original_ids);
  EXPECT_EQ(without, 23U + 20U);
  EXPECT_LT(with, without / 2);
}

}  // namespace
}  // namespace troupe
