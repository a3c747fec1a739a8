// In a steady epoch neither sampling nor collecting allocates large blocks.
#include "runtime/feature/collecting_work.hpp"
#include "runtime/feature/ready_batch.hpp"
#include "runtime/graph/list_tables.hpp"
#include "runtime/sample/sampling_work.hpp"
#include "runtime/sample/seed_order.hpp"
#include "runtime/wire/codec.hpp"
#include "tests/steady/counted_blocks.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/graph_builder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace troupe {
namespace {

using testing::count_blocks;
using testing::TestEdge;
using testing::TestGraph;

constexpr std::size_t in_flight = 4;

std::vector<TestEdge> random_edges(std::uint64_t sources, std::uint64_t destinations,
                                   std::uint64_t edges, std::uint64_t state) {
  std::vector<TestEdge> list;
  const auto below = [&state](std::uint64_t end) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (state >> 33U) % end;
  };
  for (std::uint64_t i = 0; i < edges; ++i) {
    const auto source = below(sources);
    list.push_back({source, below(destinations)});
  }
  return list;
}

TestGraph homogeneous() {
  auto graph = testing::plain_graph(40'000, random_edges(40'000, 40'000, 400'000, 1));
  add_features(graph.nodes[0], 16);
  return graph;
}

TestGraph heterogeneous() {
  TestGraph graph;
  graph.nodes.push_back({.name = "paper", .count = 30'000});
  graph.nodes.push_back({.name = "author", .count = 30'000});
  add_features(graph.nodes[0], 16);
  add_features(graph.nodes[1], 16, DType::u8);
  graph.edges.push_back({.name = "writes",
                         .source = 1,
                         .destination = 0,
                         .edges = random_edges(30'000, 30'000, 300'000, 2)});
  graph.edges.push_back({.name = "written",
                         .source = 0,
                         .destination = 1,
                         .edges = random_edges(30'000, 30'000, 300'000, 3)});
  graph.edges.push_back({.name = "cites", .edges = random_edges(30'000, 30'000, 300'000, 4)});
  return graph;
}

struct Case {
  const char* name;
  TestGraph (*graph)();
  std::set<std::uint32_t> here;  ///< Parts of 2
  void (*adjust)(SampleOptions&) = [](SampleOptions&) {};
  std::uint64_t batch_size = 512;
  std::uint64_t lookahead = 0;  ///< Batches that a cache of rows knows; 0: there is none
};

void disjoint(SampleOptions& options) {
  options.disjoint = true;
}
void small_trees(SampleOptions& options) {
  options.disjoint = true;
  options.fanout = {{2}, {2}};
}
void edge_ids(SampleOptions& options) {
  options.edge_data.edge_ids = true;
}
void labor(SampleOptions& options) {
  const auto row = std::ranges::find(choice_kinds(), "labor", &ChoiceKind::name);
  options.choice = static_cast<std::uint16_t>(row - choice_kinds().begin());
}
void induced(SampleOptions& options) {
  options.subgraph = Subgraph::induced;
}
void induced_trees(SampleOptions& options) {
  options.disjoint = true;
  options.subgraph = Subgraph::induced;
}
void walks(SampleOptions& options) {
  options.walks = {.length = 10,
                   .per_seed = 5,
                   .restart_below = std::uint32_t{1} << 29,
                   .along = {EdgeTypeId{0}}};
}
void second_order_walks(SampleOptions& options) {
  options.walks = {.length = 3,
                   .per_seed = 16,
                   .along = {EdgeTypeId{0}},
                   .second_order = candidate_thresholds(0.5, 2)};
}

void small_links(SampleOptions& options) {
  options.fanout = {{2}, {2}};
  options.links = LinkOptions{.negatives = {.kind = Negatives::binary, .strict = true}};
}

constexpr std::uint64_t many_seeds = 9'000;  // more than 64 KiB of ids

/// A message as it arrives over a link.
template <class Message>
Message carried(const Message& message) {
  net::Frame frame = net::to_frame(message);
  auto there = net::Wire<Message>::decode(frame);
  EXPECT_OK(there);
  return *std::move(there);
}

/// A rank with some batches in flight, driven by one thread.
class DrivenRank {
 public:
  explicit DrivenRank(const Case& of) : DrivenRank(of, of.graph()) {}
  DrivenRank(const Case& of, const TestGraph& graph)
      : cut_(testing::cut_graph(graph, 2)),
        here_(of.here),
        lookahead_(of.lookahead),
        graph_(std::make_shared<const GraphInfo>(cut_.info)) {
    auto sample = std::make_shared<SampleOptions>();
    const std::size_t types = cut_.info.edge_types.size();
    sample->fanout.assign(2, std::vector<std::int32_t>(types, types > 1 ? 7 : 12));
    of.adjust(*sample);
    sample_ = std::move(sample);
    for (auto& part : cut_.parts) {
      part = *with_list_tables(part, list_tables(*sample_), sample_->dir, cut_.parts);
    }
    order_ = std::make_unique<SeedOrder>(sample_->links ? order_of(links_of(graph), of.batch_size)
                                                        : order_of(seeds(), of.batch_size));
    auto collect = std::make_shared<CollectOptions>();
    for (const auto& type : cut_.info.node_types) {
      collect->decoders.push_back(*RowDecoder::create(type, Normalize::none));
    }
    collect->digest = DigestMode::full;
    collect->digest_here = true;
    collect_ = std::move(collect);
    if (lookahead_ > 0) {
      CacheOptions cache;
      cache.policy = CacheOptions::Policy::future;
      cache.budget_bytes = cache_bytes_of(cut_.info, 0.1);
      cache.lookahead = static_cast<std::uint32_t>(lookahead_);
      future_ = std::make_shared<FutureCache>(
          graph_, cut_.book, std::make_shared<const CacheOptions>(cache),
          std::vector<bool>{here_.contains(0), here_.contains(1)});
    }
  }

  /// Digests of an epoch's batches, which are those of the epoch before the last one, so that none is
  /// larger than all before. The oldest is dropped, on another thread, when a new one is whole.
  std::vector<Digest> epoch(std::uint32_t epoch) {
    std::vector<Digest> digests;
    std::deque<std::shared_ptr<const SampledBatch>> ahead;
    constexpr std::uint64_t batches = 20;
    for (std::uint64_t number = 0; number < batches; ++number) {
      while (ahead.size() <= lookahead_ && number + ahead.size() < batches) {
        ahead.push_back(sampled({Purpose::train, epoch % 2, number + ahead.size()}));
        if (future_) {
          future_->expect(turn(epoch, *ahead.back()), 2 * ++tickets_, *ahead.back(), *collect_);
        }
      }
      auto batch = std::make_unique<Batch>(collected(ahead.front(), turn(epoch, *ahead.front())));
      ahead.pop_front();
      digests.push_back(batch->digest.value);
      const auto& walks = batch->sampled->walks;
      const auto indices = walks ? walks->nodes.size() : batch->sampled->num_edges();
      EXPECT_GT(indices * sizeof(std::uint32_t), testing::largest_uncounted);
      under_way_.push_back(std::move(batch));
      if (under_way_.size() > in_flight) {
        std::thread([oldest = std::move(under_way_.front())]() mutable { oldest.reset(); }).join();
        under_way_.pop_front();
      }
    }
    under_way_.clear();
    return digests;
  }

  std::uint64_t cached_rows() const { return future_ ? future_->rows() : 0; }
  std::size_t scratch_bytes() const { return scratch_->kept_bytes(); }

 private:
  template <class List>
  static SeedOrder order_of(std::shared_ptr<const List> list, std::uint64_t batch_size) {
    return {std::move(list), batch_size, 1, true, SeedShares(), ShortBatch::dropped};
  }
  std::shared_ptr<const SeedList> seeds() const {
    auto seeds = std::make_shared<SeedList>();
    for (std::uint64_t i = 0; i < cut_.info.node_types[0].count; ++i) {
      seeds->original.push_back(OriginalId{i});
      seeds->global.push_back(cut_.global(i));
    }
    return seeds;
  }
  /// All edges, with times and labels.
  std::shared_ptr<const LinkList> links_of(const TestGraph& graph) {
    for (const auto& [source, destination] : graph.edges[0].edges) {
      for (const auto id : {source, destination}) {
        link_ends_.push_back(raw(cut_.global(id)));
      }
    }
    link_times_.assign(graph.edges[0].edges.size(), 7);
    link_labels_.assign(graph.edges[0].edges.size(), 1);
    return std::make_shared<const LinkList>(EdgeTypeId{0}, link_ends_, 2, link_times_, link_labels_,
                                            std::vector<std::shared_ptr<const void>>());
  }

  std::shared_ptr<const Part> part_here(PartId part) const {
    return here_.contains(raw(part)) ? cut_.parts[raw(part)] : nullptr;
  }

  static Turn turn(std::uint32_t epoch, const SampledBatch& batch) {
    return std::uint64_t{epoch} * 20 + batch.key.number;
  }

  std::shared_ptr<const SampledBatch> sampled(BatchKey key) {
    SamplingInputs sample;
    sample.graph = graph_;
    sample.book = cut_.book;
    sample.options = sample_;
    sample.halos = halos_;
    sample.lists_here = [this](PartId part) { return part_here(part); };
    sample.scratch = scratch_;
    SampleBatch request;
    request.key = key;
    request.take_seeds(order_->seeds_of(key.epoch, key.number % order_->num_batches()));
    request = carried(request);
    SamplingWork sampling(std::move(sample), key,
                          {request.seed_type, request.seeds, request.times, request.links});
    drive(sampling, [&](const SampleQuestion& question) -> SamplingWork::Arrived {
      const Part& part = *cut_.parts[raw(question.part)];
      if (const auto* nodes = std::get_if<FindNodes>(&question.request)) {
        auto found = find_nodes(part, carried(*nodes));
        EXPECT_OK(found);
        return {question.id, std::make_shared<const NodesFound>(carried(*found))};
      }
      if (const auto* edges = std::get_if<HasEdges>(&question.request)) {
        auto there = has_edges(part, carried(*edges));
        EXPECT_OK(there);
        return {question.id, std::make_shared<const EdgesThere>(carried(*there))};
      }
      auto reply = sample_one_hop(part, carried(std::get<HopRequest>(question.request)));
      EXPECT_OK(reply);
      return {question.id, std::make_shared<const HopReply>(carried(*reply))};
    });
    return std::make_shared<const SampledBatch>(std::move(sampling).take());
  }

  Batch collected(std::shared_ptr<const SampledBatch> sampled, Turn turn) {
    CollectingInputs collect;
    collect.book = cut_.book;
    collect.options = collect_;
    collect.sampled = std::move(sampled);
    collect.future = {future_, turn, 2 * ++tickets_};
    collect.part_here = [this](PartId part) { return part_here(part); };
    CollectingWork collecting(std::move(collect));
    drive(collecting, [&](const RowQuestion& question) -> CollectingWork::Arrived {
      auto reply = read_part_rows(*cut_.parts[raw(question.part)], carried(question.request));
      EXPECT_OK(reply);
      return {question.id, std::make_shared<const RowReply>(carried(*reply))};
    });
    return std::move(collecting).take();
  }

  template <class Work, class Answer>
  static void drive(Work& work, Answer answer) {
    std::vector<typename Work::Arrived> arrived;
    for (bool done = false; !done;) {
      auto step = work.step(std::exchange(arrived, {}));
      ASSERT_OK(step);
      done = step->done;
      for (const auto& question : step->ask) {
        arrived.push_back(answer(question));
      }
      ASSERT_TRUE(done || step->more || !arrived.empty());
    }
  }

  testing::CutGraph cut_;
  std::set<std::uint32_t> here_;
  std::uint64_t lookahead_;
  std::shared_ptr<FutureCache> future_;  ///< Null: no cache
  std::uint64_t tickets_ = 0;
  std::shared_ptr<const GraphInfo> graph_;
  std::shared_ptr<const SampleOptions> sample_;
  std::vector<std::uint64_t> link_ends_;
  std::vector<std::int64_t> link_times_;
  std::vector<float> link_labels_;
  std::unique_ptr<SeedOrder> order_;
  std::shared_ptr<const CollectOptions> collect_;
  std::shared_ptr<const std::vector<std::shared_ptr<const Part>>> halos_ =
      std::make_shared<const std::vector<std::shared_ptr<const Part>>>();
  std::shared_ptr<BatchScratchPool> scratch_ = std::make_shared<BatchScratchPool>();
  std::deque<std::unique_ptr<Batch>> under_way_;
};

class SteadyEpoch : public ::testing::TestWithParam<Case> {};

TEST_P(SteadyEpoch, AllocatesNoBlockAbove64KiB) {
  DrivenRank rank(GetParam());
  const auto cold = count_blocks([&] { rank.epoch(0); });
  EXPECT_GT(cold, 0U) << "the first epoch fills the pools";
  rank.epoch(1);
  const auto kept = rank.scratch_bytes();

  for (std::uint32_t epoch = 2; epoch < 4; ++epoch) {
    EXPECT_EQ(count_blocks([&] { rank.epoch(epoch); }), 0U)
        << "epoch " << epoch << ": the largest has " << testing::largest_counted << " bytes";
  }

  EXPECT_EQ(rank.cached_rows() > 0, GetParam().lookahead > 0);
  EXPECT_EQ(rank.scratch_bytes(), kept);
  EXPECT_GT(kept, 0U);
  EXPECT_LE(buffer_pool_stats().kept_bytes, buffer_pool_stats().limit_bytes);
}

TEST(SteadyBatches, AreThoseOfAFreshProcess) {
  for (const auto& of : {Case{"One type", homogeneous, {0}}, Case{"Many", heterogeneous, {1}}}) {
    DrivenRank warm(of);
    warm.epoch(0);
    warm.epoch(1);

    EXPECT_EQ(warm.epoch(2), DrivenRank(of).epoch(2)) << of.name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Graphs, SteadyEpoch,
    ::testing::Values(Case{"OneTypeHere", homogeneous, {0, 1}},
                      Case{"OneTypeHalfRemote", homogeneous, {0}},
                      Case{"OneTypeDisjointHalfRemote", homogeneous, {0}, disjoint},
                      Case{"EdgeIdsHalfRemote", homogeneous, {1}, edge_ids},
                      Case{"LaborHalfRemote", homogeneous, {0}, labor},
                      Case{"InducedHalfRemote", homogeneous, {0}, induced},
                      Case{"InducedTreesHalfRemote", homogeneous, {1}, induced_trees},
                      Case{"WalksHalfRemote", homogeneous, {0}, walks},
                      Case{"SecondOrderWalksHalfRemote", homogeneous, {1}, second_order_walks},
                      Case{"ManySeedsHalfRemote", homogeneous, {0}, [](auto&) {}, many_seeds},
                      Case{"ManyTreesHalfRemote", homogeneous, {0}, small_trees, many_seeds},
                      Case{"ManyWalksHalfRemote", homogeneous, {1}, walks, many_seeds},
                      Case{"ManyLinksHalfRemote", homogeneous, {0}, small_links, many_seeds},
                      Case{"OneTypeHalfRemoteKnownAhead", homogeneous, {0}, [](auto&) {}, 512, 6},
                      Case{"ManyTypesRemoteKnownAhead", heterogeneous, {1}, [](auto&) {}, 512, 6},
                      Case{"ManyTypesHere", heterogeneous, {0, 1}},
                      Case{"ManyTypesHalfRemote", heterogeneous, {1}},
                      Case{"ManyTypesRemote", heterogeneous, {}}),
    [](const auto& of) { return std::string(of.param.name); });

TEST(CountedBlocks, AreThoseAbove64KiBOfAnyThread) {
  const auto allocate = [](std::size_t bytes) {
    const std::vector<std::byte> block(bytes);
    EXPECT_NE(block.data(), nullptr);
  };
  EXPECT_EQ(count_blocks([&] { allocate(testing::largest_uncounted); }), 0U);
  EXPECT_EQ(count_blocks([&] { std::thread(allocate, testing::largest_uncounted + 1).join(); }),
            1U);
}

}  // namespace
}  // namespace troupe
