#include "gpu/base/emulated_device.hpp"

#include "gpu/base/shared.hpp"
#include "tests/support/expect.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <set>
#include <thread>

namespace troupe::gpu {
namespace {

TEST(ForEachShuffled, TakesEachElementOnceInAnotherOrderPerSeed) {
  for (const std::size_t n :
       {0UL, 1UL, 2UL, 3UL, 31UL, 32UL, 33UL, 1023UL, 4096UL, (1UL << 15) + 1, 70'001UL}) {
    std::set<std::vector<std::size_t>> orders;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      std::vector<std::size_t> order;
      for_each_shuffled(n, seed * 0x9E3779B97F4A7C15U, 1,
                        [&](std::size_t i) { order.push_back(i); });
      orders.insert(order);
      std::ranges::sort(order);
      ASSERT_EQ(order.size(), n);
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_EQ(order[i], i) << n << " elements, seed " << seed;
      }
    }
    EXPECT_GE(orders.size(), n < 3 ? std::size_t{1} : std::min<std::size_t>(n, 10)) << n;
  }
}

TEST(ForEachShuffled, ThreadsTakeEachElementOnce) {
  for (const std::size_t n : {10'000UL, 100'003UL}) {
    std::vector<int> taken(n);
    for_each_shuffled(taken.size(), 77, 4, [&](std::size_t i) { ++taken[i]; });
    EXPECT_TRUE(std::ranges::all_of(taken, [](int count) { return count == 1; })) << n;
  }
}

struct AddOne {
  std::uint32_t* at;
  void operator()(std::size_t i) const { ++at[i]; }
};

struct Smallest {
  std::uint32_t* at;
  void operator()(std::size_t i) const {
    put_min(*at, static_cast<std::uint32_t>(i * 7919 % 4093));
  }
};

class EmulatedStreamTest : public ::testing::TestWithParam<unsigned> {
 protected:
  std::shared_ptr<EmulatedDevice> device() {
    return std::make_shared<EmulatedDevice>(
        EmulatedOptions{.memory_bytes = 1 << 20, .seed = 5, .threads = GetParam()});
  }
};

INSTANTIATE_TEST_SUITE_P(Threads, EmulatedStreamTest, ::testing::Values(1, 3));

TEST_P(EmulatedStreamTest, RunsKernelsCopiesAndSums) {
  EmulatedStream on(device());
  std::vector<std::uint32_t> values(1000);
  std::iota(values.begin(), values.end(), 0U);
  const auto array = on.uploaded(std::span<const std::uint32_t>(values));
  on.for_each(values.size(), AddOne{array.data()});
  const auto sums = on.array<std::uint32_t>(values.size() + 1);
  on.running_sum(array.data(), values.size(), sums.data());
  EXPECT_EQ(on.read(sums.data() + 3), 1U + 2U + 3U);
  EXPECT_EQ(on.read(sums.data() + 1000), 500500U);
  const auto least = on.array<std::uint32_t>(1);
  on.copy(sums.data() + 1000, least.data(), sizeof(std::uint32_t));
  on.for_each(4093, Smallest{least.data()});
  EXPECT_EQ(on.read(least.data()), 0U);
  EXPECT_TRUE(on.finish());
}

TEST_P(EmulatedStreamTest, OrdersEqualKeysAsTheyCome) {
  EmulatedStream on(device());
  const std::vector<std::uint32_t> keys{3, 0, 3, 2, 0, 3};
  const std::vector<std::uint32_t> places{0, 1, 2, 3, 4, 5};
  const auto on_device = on.uploaded(std::span<const std::uint32_t>(keys));
  const auto values = on.uploaded(std::span<const std::uint32_t>(places));
  const auto sorted = on.array<std::uint32_t>(keys.size());
  const auto order = on.array<std::uint32_t>(keys.size());
  on.sort_pairs({on_device.data(), values.data(), keys.size(), 4, sorted.data(), order.data()});
  std::vector<std::uint32_t> got(keys.size());
  std::vector<std::uint32_t> got_keys(keys.size());
  on.download(order.data(), got.data(), order.size_bytes());
  on.download(sorted.data(), got_keys.data(), sorted.size_bytes());
  ASSERT_TRUE(on.finish());
  EXPECT_EQ(got, (std::vector<std::uint32_t>{1, 4, 3, 0, 2, 5}));
  EXPECT_EQ(got_keys, (std::vector<std::uint32_t>{0, 0, 2, 3, 3, 3}));
}

TEST_P(EmulatedStreamTest, MemoryIsPoisonedBeforeAndAfterUse) {
  const auto of = device();
  EmulatedStream on(of);
  auto array = on.array<std::uint32_t>(4);
  EXPECT_EQ(on.read(array.data()), 0xA5A5A5A5U);
  on.zero(array.data(), array.size_bytes());
  EXPECT_EQ(on.read(array.data()), 0U);
  const auto* const late = array.data();
  array = {};
  EXPECT_EQ(on.read(late), 0xA5A5A5A5U);
  EXPECT_EQ(of->memory().used_bytes(), 0U);
}

TEST_P(EmulatedStreamTest, KeepsALimitedPartOfWhatWasGivenBack) {
  const auto of = device();
  EmulatedStream on(of);
  for (int i = 0; i < 1000; ++i) {
    on.array<std::byte>(1 << 14);
    ASSERT_TRUE(on.finish());
    ASSERT_LE(of->memory().kept_bytes(), (1U << 18) + (1U << 14)) << i;
  }
}

struct CopyOne {
  const std::uint32_t* from;
  std::uint32_t* to;
  bool twice;  ///< With padding behind it
  void operator()(std::size_t /*one*/) const { *to = *from * (twice ? 2 : 1); }
};

struct Number {
  std::uint64_t value;
  std::uint64_t* to;
  void operator()(std::size_t /*one*/) const { *to = value; }
};

TEST_P(EmulatedStreamTest, AKernelThatReadsMemoryOfTheHostIsAnError) {
  if (!finds_host_pointers) {
    GTEST_SKIP() << "not looked for with this compiler or sanitizer";
  }
  const std::vector<std::uint32_t> on_heap(3);
  const std::uint32_t on_stack = 0;
  static const std::uint32_t in_program = 0;
  for (const std::uint32_t* from : {&on_heap[1], &on_stack, &in_program}) {
    EmulatedStream on(device());
    const auto to = on.array<std::uint32_t>(1);
    on.for_each(1, CopyOne{from, to.data(), true});
    EXPECT_ERROR(on.finish(), Errc::cuda_failure, "which is the host's");
  }
}

TEST_P(EmulatedStreamTest, KernelsReadWhatADeviceReads) {
  EmulatedStream on(device());
  const auto ones = on.array<std::uint32_t>(4);
  on.zero(ones.data(), ones.size_bytes());
  on.for_each(4, AddOne{ones.data()});
  const auto pinned = on.host_array<std::uint32_t>(4);
  pinned.data()[3] = 7;
  const auto to = on.array<std::uint32_t>(2);
  on.for_each(1, CopyOne{ones.data() + 3, to.data(), false});
  on.for_each(1, CopyOne{pinned.data() + 3, to.data() + 1, true});
  on.for_each(0, CopyOne{ones.data() + 4, to.data() + 2, true});
  EXPECT_EQ(on.read(to.data()), 1U);
  EXPECT_EQ(on.read(to.data() + 1), 14U);
  // Numbers are none, whatever they are: there is no memory there.
  const auto number = on.array<std::uint64_t>(1);
  for (const std::uint64_t value :
       {std::uint64_t{1} << 40, std::uint64_t{4096}, std::uint64_t{9} << 32, ~std::uint64_t{0}}) {
    on.for_each(1, Number{value, number.data()});
    EXPECT_EQ(on.read(number.data()), value);
  }
  EXPECT_OK(on.finish());
}

TEST_P(EmulatedStreamTest, CopiesAndSumsOfTheHostsMemoryAreErrors) {
  std::vector<std::uint32_t> host(8);
  const auto fails = [&](auto work) {
    EmulatedStream on(device());
    const auto there = on.array<std::uint32_t>(8);
    work(on, there.data());
    EXPECT_ERROR(on.finish(), Errc::cuda_failure, "which is the host's");
  };
  fails([&](EmulatedStream& on, std::uint32_t* there) { on.copy(host.data(), there, 4); });
  fails([&](EmulatedStream& on, std::uint32_t* there) { on.copy(there, host.data(), 4); });
  fails([&](EmulatedStream& on, std::uint32_t*) { on.upload(host.data(), host.data() + 4, 4); });
  fails([&](EmulatedStream& on, std::uint32_t*) { on.download(host.data(), host.data() + 4, 4); });
  fails([&](EmulatedStream& on, std::uint32_t*) { on.zero(host.data(), 4); });
  fails([&](EmulatedStream& on, std::uint32_t* there) { on.running_sum(host.data(), 2, there); });
  fails([&](EmulatedStream& on, std::uint32_t* there) {
    on.sort_pairs({there, there, 2, 2, there, host.data()});
  });
}

TEST_P(EmulatedStreamTest, TooLargeAnArrayFailsTheStream) {
  const auto of = device();
  EmulatedStream on(of);
  {
    const auto most = on.array<std::byte>((1 << 20) - 100);
    ASSERT_FALSE(most.empty());
    EXPECT_FALSE(on.failed());
  }
  // The first one's memory is still waiting to be given back.
  const auto again = on.array<std::byte>(1 << 20);
  ASSERT_FALSE(again.empty());
  const auto none = on.array<std::byte>(1);
  EXPECT_TRUE(none.empty());
  on.for_each(5, AddOne{nullptr});  // does nothing
  EXPECT_EQ(on.read<std::uint32_t>(nullptr), 0U);
  const auto status = on.finish();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), Errc::out_of_memory);
  EXPECT_EQ(status.error().what(),
            "emulated device: expected room for 1 more bytes, found 1048576 of 1048576 in use");
}

/// The host may drop what copies read once finish() has returned.
TEST_P(EmulatedStreamTest, FinishWaitsForWhatWasLaunchedBeforeAnError) {
  EmulatedStream on(device());
  const auto there = on.array<std::uint32_t>(1);
  std::uint32_t host = 7;
  on.upload(&host, there.data(), sizeof host);
  on.fail({Errc::cuda_failure, "a kernel"});
  EXPECT_ERROR(on.status(), Errc::cuda_failure, "a kernel");

  EXPECT_ERROR(on.finish(), Errc::cuda_failure, "a kernel");
  host = 0;

  EmulatedStream other(on.shared_device());
  EXPECT_EQ(other.read(there.data()), 7U);
}

/// sample → gather → train over two slots of memory, on a stream each. \returns what was trained on
std::uint64_t three_streams(const EmulatedOptions& options, std::uint64_t* waits = nullptr) {
  constexpr std::uint32_t batches = 6;
  const auto device = std::make_shared<EmulatedDevice>(options);
  EmulatedStream sampling(device);
  EmulatedStream gathering(device);
  EmulatedStream training(device);
  const auto ids = sampling.array<std::uint32_t>(2);
  const auto rows = gathering.array<std::uint32_t>(2);
  const auto seen = training.array<std::uint64_t>(1);
  training.zero(seen.data(), seen.size_bytes());
  std::array<EmulatedEvent, 2> gathered;
  std::array<EmulatedEvent, 2> trained;
  for (std::uint32_t b = 0; b < batches; ++b) {
    const std::size_t slot = b % 2;
    if (b >= 2) {
      sampling.wait(gathered[slot]);
    }
    sampling.for_each(1, [id = ids.data() + slot, b](std::size_t) { *id = b; });
    gathering.wait(sampling.record());
    if (b >= 2) {
      gathering.wait(trained[slot]);
    }
    gathering.for_each(
        1, [id = ids.data() + slot, row = rows.data() + slot](std::size_t) { *row = 100 + *id; });
    gathered[slot] = gathering.record();
    training.wait(gathered[slot]);
    training.for_each(1, [row = rows.data() + slot, to = seen.data()](std::size_t) {
      *to = (*to ^ *row) * 1099511628211U;
    });
    trained[slot] = training.record();
  }
  const auto result = training.read(seen.data());
  EXPECT_TRUE(gathering.finish() && sampling.finish());
  if (waits != nullptr) {
    *waits = device->schedule().waits();
  }
  return result;
}

TEST(EmulatedSchedule, EachWaitThatIsLeftOutIsNoticed) {
  std::uint64_t waits = 0;
  const auto right = three_streams({}, &waits);
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    ASSERT_EQ(three_streams({.seed = seed}), right) << "seed " << seed;
  }
  ASSERT_EQ(waits, 20U);
  for (std::uint64_t wait = 0; wait < waits; ++wait) {
    bool noticed = false;
    for (std::uint64_t seed = 0; seed < 200 && !noticed; ++seed) {
      noticed = three_streams({.seed = seed, .left_out_wait = wait}) != right;
    }
    EXPECT_TRUE(noticed) << "wait " << wait << " is not needed";
  }
}

TEST(EmulatedSchedule, StreamsThatWaitForEachOtherAreAnError) {
  EmulatedSchedule schedule(1);
  const auto a = schedule.add_stream();
  const auto never = std::make_shared<const std::atomic<bool>>(false);
  schedule.wait(a, never);
  const auto status = schedule.run_until(schedule.record(a));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), Errc::internal);
  EXPECT_FALSE(schedule.run_all());
}

TEST(EmulatedSchedule, AWaitForAPeerHoldsItsStreamAlone) {
  EmulatedSchedule schedule(1);
  const auto held = schedule.add_stream();
  const auto other = schedule.add_stream();
  const auto peer = std::make_shared<std::atomic<bool>>(false);
  std::vector<int> ran;
  schedule.wait_for_peer(held, peer);
  schedule.launch(held, [&] { ran.push_back(1); });
  const auto end = schedule.record(held);
  schedule.launch(other, [&] { ran.push_back(2); });
  EXPECT_EQ(schedule.waits(), 1U);

  EXPECT_OK(schedule.run_all()) << "what waits for a peer is left";
  EXPECT_EQ(ran, std::vector<int>{2});
  EXPECT_FALSE(schedule.run_one());
  EXPECT_ERROR(schedule.run_until(end), Errc::internal, "wait for each other");
  EXPECT_EQ(schedule.ran(), 1U);
  *peer = true;
  EXPECT_TRUE(schedule.run_one());
  EXPECT_OK(schedule.run_until(end));
  EXPECT_EQ(ran, (std::vector<int>{2, 1}));
}

TEST(EmulatedSchedule, WhoWaitsForAPeerThatIsLateGetsNoError) {
  EmulatedSchedule schedule(1);
  const auto stream = schedule.add_stream();
  const auto peer = std::make_shared<std::atomic<bool>>(false);
  schedule.wait_for_peer(stream, peer);
  const auto end = schedule.record(stream);
  std::jthread late([peer] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    *peer = true;
  });
  EXPECT_OK(schedule.run_until(end));
}

/// Streams that the schedule looks through after the one whose peer gets ready meanwhile.
TEST(EmulatedSchedule, IsNotStuckWhenAPeerGetsReadyWhileItLooksForWork) {
  for (int round = 0; round < 300; ++round) {
    EmulatedSchedule schedule(1);
    const auto stream = schedule.add_stream();
    for (int idle = 0; idle < 2000; ++idle) {
      schedule.add_stream();
    }
    const auto peer = std::make_shared<std::atomic<bool>>(false);
    schedule.wait_for_peer(stream, peer);
    const auto end = schedule.record(stream);
    std::jthread late([peer, round] {
      std::this_thread::sleep_for(std::chrono::microseconds(round));
      *peer = true;
    });
    ASSERT_OK(schedule.run_until(end)) << round;
    ASSERT_OK(schedule.run_all());
  }
}

TEST(EmulatedSchedule, AWaitThatNobodyBringsAboutIsStillAnError) {
  EmulatedSchedule schedule(1);
  const auto stream = schedule.add_stream();
  schedule.wait(stream, std::make_shared<std::atomic<bool>>(false));
  EXPECT_ERROR(schedule.run_all(), Errc::internal, "wait for each other");
}

}  // namespace
}  // namespace troupe::gpu
