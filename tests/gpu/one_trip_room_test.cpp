// Room that a batch made with one wait has to have, and what it asks of a stream.
#include "gpu/sample/one_trip.hpp"
#include "tests/gpu/sample_support.hpp"

#include <list>
#include <span>
#include <utility>

namespace troupe {
namespace {

using gpu::BatchSizes;
using gpu::EmulatedStream;
using gpu::Memory;
using testing::CutGraph;

/// What a stream was asked for.
struct Calls {
  std::size_t kernels = 0;
  std::size_t sums = 0;
  std::size_t arrays = 0;
  std::size_t copies = 0;  ///< And fills
  std::size_t waits = 0;
  friend bool operator==(const Calls&, const Calls&) = default;
  friend void PrintTo(const Calls& calls, std::ostream* out) {
    *out << fmt::format("{} kernels, {} sums, {} arrays, {} copies, {} waits", calls.kernels,
                        calls.sums, calls.arrays, calls.copies, calls.waits);
  }
};

/// Puts a border around each array, so that writes past its ends are noticed, and counts calls.
class BorderedStream : public EmulatedStream {
 public:
  using EmulatedStream::EmulatedStream;

  template <class T>
  gpu::Array<T> array(std::size_t size) {
    ++calls_.arrays;
    const auto block = EmulatedStream::array<std::byte>(size * sizeof(T) + 2 * border);
    if (failed()) {
      return {};
    }
    blocks_.push_back(block);
    return block.template piece<T>(border, size);
  }
  template <class Body>
  void for_each(std::size_t n, Body body) {
    ++calls_.kernels;
    EmulatedStream::for_each(n, body);
  }
  void running_sum(const std::uint32_t* in, std::size_t n, std::uint32_t* out) {
    ++calls_.sums;
    EmulatedStream::running_sum(in, n, out);
  }
  void zero(void* at, std::size_t bytes) {
    ++calls_.copies;
    EmulatedStream::zero(at, bytes);
  }
  void copy(const void* from, void* to, std::size_t bytes) {
    ++calls_.copies;
    EmulatedStream::copy(from, to, bytes);
  }
  void upload(const void* host, void* device, std::size_t bytes) {
    ++calls_.copies;
    EmulatedStream::upload(host, device, bytes);
  }
  void download(const void* device, void* host, std::size_t bytes) {
    ++calls_.copies;
    EmulatedStream::download(device, host, bytes);
  }
  Status finish() {
    ++calls_.waits;
    return EmulatedStream::finish();
  }
  /// Since it was asked last.
  Calls calls() { return std::exchange(calls_, {}); }
  void expect_borders(const std::string& what) {
    ASSERT_OK(EmulatedStream::finish());
    for (const auto& block : blocks_) {
      const std::span all(reinterpret_cast<const std::uint8_t*>(block.data()), block.size());
      const auto untouched = [](std::uint8_t byte) { return byte == gpu::EmulatedMemory::poison; };
      ASSERT_TRUE(std::ranges::all_of(all.first(border), untouched)) << what;
      ASSERT_TRUE(std::ranges::all_of(all.last(border), untouched)) << what;
    }
    blocks_.clear();
  }

 private:
  static constexpr std::size_t border = 4096;
  std::list<gpu::Array<std::byte>> blocks_;
  Calls calls_;
};

/// A graph on a device whose arrays have borders.
struct Bordered {
  explicit Bordered(const CutGraph& cut, const SampleOptions& options, std::uint64_t seed = 1)
      : on(std::make_shared<gpu::EmulatedDevice>(gpu::EmulatedOptions{.seed = seed})),
        plan(gpu::sampling_plan(options)) {
    const auto arrays = gpu::arrays_for_device(cut.info, *cut.parts.front(), options);
    EXPECT_OK(arrays);
    auto uploaded = gpu::upload_graph(on, *arrays);
    EXPECT_OK(uploaded);
    graph = std::make_shared<gpu::DeviceGraph>(*std::move(uploaded));
  }
  /// \returns whether the batch has enough room
  bool fits(const BatchSizes& room, std::span<const gpu::SeedsOfType> seeds,
            const std::string& what,
            const gpu::TripOptions& options = {.memory = Memory::separate}) {
    gpu::OneTrip<BorderedStream> trip(on, *graph, plan, room, {}, seeds);
    on.calls();
    auto batch = trip.run(host, options);
    EXPECT_OK(batch);
    calls = on.calls();
    on.expect_borders(what);
    return batch && *batch;
  }

  BorderedStream on;
  gpu::SamplingPlan plan;
  std::shared_ptr<const gpu::DeviceGraph> graph;
  gpu::TripHost host;
  Calls calls;  ///< Of the last batch
};

/// Sizes of a batch, which is room for it exactly.
BatchSizes exact_room(Bordered& at, std::span<const gpu::SeedsOfType> seeds) {
  gpu::NodesExpected nothing(at.graph->nodes.size());
  gpu::HopSampling<BorderedStream> by_hop(at.on, *at.graph, at.plan, nothing);
  EXPECT_OK(by_hop.run({}, seeds));
  at.on.expect_borders("by hop");
  auto room = by_hop.sizes();
  for (std::size_t type = 0; type < room.nodes.size(); ++type) {
    room.nodes[type] = std::min(room.nodes[type], at.graph->nodes[type].count);
  }
  return room;
}

/// Calls `f` with each size of a room that is not 0, rows of a type without lists aside.
template <class F>
void each_size(BatchSizes& room, std::size_t type_without_lists, F&& f) {
  for (std::size_t hop = 0; hop < room.rows.size(); ++hop) {
    for (auto* of_hop : {&room.rows[hop], &room.edges[hop]}) {
      for (std::size_t type = 0; type < of_hop->size(); ++type) {
        const bool rows = of_hop == &room.rows[hop];
        if ((*of_hop)[type] > 0 && !(rows && type == type_without_lists)) {
          f((*of_hop)[type],
            fmt::format("{} of hop {}, type {}", rows ? "rows" : "edges", hop, type));
        }
      }
    }
  }
}

TEST(OneTripRoom, HasToSufficeExactly) {
  const auto cut = testing::cut_graph(testing::long_tailed_hetero_graph(6), 1);
  std::size_t tried = 0;
  for (int variant = 0; variant < 6; ++variant) {
    SampleOptions options{.fanout = {{5, 4, 3, 2, 1}, {-1, 3, 0, 1, 5}, {2, 2, 2, 2, 2}},
                          .edge_data = {.edge_ids = true}};
    options.replace = (variant & 1) != 0;
    options.frontier = (variant & 2) != 0 ? Frontier::all : Frontier::fresh;
    Bordered at(cut, options, static_cast<std::uint64_t>(variant) + 1);
    const auto ids = cut.globals(testing::random_seeds(9, 500, 3), 1);
    const std::vector<gpu::SeedsOfType> seeds{{NodeTypeId{1}, ids}};
    auto room = exact_room(at, seeds);
    EXPECT_TRUE(at.fits(room, seeds, "exact"));
    each_size(room, 2, [&](std::uint64_t& size, const std::string& what) {
      const auto enough = size;
      for (const auto less : {enough - 1, enough / 2, std::uint64_t{0}}) {
        size = less;
        EXPECT_FALSE(at.fits(room, seeds, fmt::format("{} {} of {}", what, less, enough)));
        ++tried;
      }
      size = enough;
    });
    EXPECT_TRUE(at.fits(room, seeds, "exact again"));
  }
  EXPECT_GE(tried, 200U);
}

TEST(OneTripRoom, OfNodesHasToSufficeExactly) {
  const auto cut = testing::cut_graph(testing::long_tailed_graph(5000, 6), 1);
  Bordered at(cut, testing::fanouts({5, 3}));
  const auto ids = cut.globals(testing::random_seeds(40, 5000, 3));
  const std::vector<gpu::SeedsOfType> seeds{{NodeTypeId{0}, ids}};
  auto room = exact_room(at, seeds);
  ASSERT_LT(room.nodes[0], 5000U);
  EXPECT_TRUE(at.fits(room, seeds, "exact"));
  for (const auto less : {1U, 10U, 100U}) {
    auto small = room;
    small.nodes[0] -= less;
    EXPECT_FALSE(at.fits(small, seeds, fmt::format("{} nodes less", less)));
  }
  room.nodes[0] += 1;
  EXPECT_TRUE(at.fits(room, seeds, "one more"));
}

/// On a GPU a sum is one kernel or, of more than 8192 elements, two and an array.
TEST(OneTripRoom, IsTwoArraysAndABatchOneWait) {
  const auto cut = testing::cut_graph(testing::long_tailed_graph(3000, 6), 1);
  auto options = testing::fanouts({15, 10, 5});
  options.edge_data = {};
  Bordered at(cut, options);
  const auto ids = cut.globals(testing::random_seeds(40, 3000, 3));
  const std::vector<gpu::SeedsOfType> seeds{{NodeTypeId{0}, ids}};
  auto room = exact_room(at, seeds);
  EXPECT_TRUE(at.fits(room, seeds, "one block", {.memory = Memory::one_block}));
  EXPECT_EQ(at.calls, (Calls{.kernels = 20, .sums = 7, .arrays = 2, .copies = 0, .waits = 1}));
  // Its nodes have far more room than they need, which is no reason to copy the batch.
  EXPECT_TRUE(at.fits(room, seeds, "exact", {.most_unused_bytes = 0}));
  EXPECT_EQ(at.calls.waits, 1U);
  each_size(room, 1, [](std::uint64_t& size, const std::string& /*what*/) { size *= 3; });
  EXPECT_TRUE(at.fits(room, seeds, "three times the room", {.most_unused_bytes = 0}));
  EXPECT_EQ(at.calls, (Calls{.kernels = 20, .sums = 7, .arrays = 6, .copies = 4, .waits = 2}));
}

}  // namespace
}  // namespace troupe
