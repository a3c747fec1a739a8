#include "gpu/base/emulated_device.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <initializer_list>
#include <numeric>
#include <thread>
#include <vector>

namespace troupe::gpu {
namespace {

/// Steps [first, last) of a walk through [0, n), whose steps have no divisor in common with n.
ShuffledWalk walk_through(std::size_t n, std::uint64_t seed, std::size_t first, std::size_t last) {
  std::size_t stride = (seed >> 17) % n | 1U;
  while (std::gcd(stride, n) != 1) {
    ++stride;
  }
  stride %= n;
  const std::size_t start = (seed >> 5) % n;
  const auto at =
      static_cast<std::size_t>((start + static_cast<unsigned __int128>(stride) * first) % n);
  return {.first = 0, .count = n, .at = at, .stride = stride, .steps = last - first};
}

}  // namespace

void for_each_walk(std::size_t n, std::uint64_t seed, unsigned threads,
                   void (*take)(const void* body, const ShuffledWalk& walk), const void* body) {
  if (n == 0) {
    return;
  }
  constexpr std::size_t few = std::size_t{1} << 15;
  constexpr std::size_t tile = 1024;
  const std::size_t tiles = n <= few ? n : (n + tile - 1) / tile;
  const auto run = [&](std::size_t first, std::size_t last) {
    const auto walk = walk_through(tiles, seed, first, last);
    if (n <= few) {
      take(body, walk);
      return;
    }
    walk.each([&](std::size_t t) {
      const std::size_t begin = t * tile;
      const std::size_t size = std::min(tile, n - begin);
      auto within = walk_through(size, seed * (2 * t + 1), 0, size);
      within.first = begin;
      take(body, within);
    });
  };
  const std::size_t parts = std::min<std::size_t>(threads, n / 64 + 1);
  std::vector<std::jthread> others;
  for (std::size_t part = 1; part < parts; ++part) {
    others.emplace_back(
        [&run, tiles, part, parts] { run(part * tiles / parts, (part + 1) * tiles / parts); });
  }
  run(0, tiles / parts);
}

void EmulatedStream::fail_at_host(const void* at, const char* operation) {
  fail({Errc::cuda_failure,
        fmt::format(
            "emulated device: {}: expected memory of a device, found {}, which is the host's",
            operation, at)});
}

void EmulatedStream::expect_on_device(const void* at, const char* operation) {
  if (!failed() && !device_->options().reads_host && !in_emulated_memory(at)) {
    fail_at_host(at, operation);
  }
}

void EmulatedStream::running_sum(const std::uint32_t* in, std::size_t n, std::uint32_t* out) {
  expect_on_device(n > 0 ? in : out, "running sum");
  expect_on_device(out, "running sum");
  launch([=] {
    out[0] = 0;
    for (std::size_t i = 0; i < n; ++i) {
      out[i + 1] = out[i] + in[i];
    }
  });
}

void EmulatedStream::sort_pairs(const PairsToSort& pairs) {
  if (pairs.count == 0) {
    return;
  }
  for (const void* const at : std::initializer_list<const void*>{
           pairs.keys, pairs.values, pairs.sorted_keys, pairs.sorted_values}) {
    expect_on_device(at, "sort");
  }
  launch([pairs] {
    std::vector<std::uint32_t> next(std::size_t{pairs.end} + 1);
    for (std::size_t i = 0; i < pairs.count; ++i) {
      ++next[pairs.keys[i] + std::size_t{1}];
    }
    std::partial_sum(next.begin(), next.end(), next.begin());
    for (std::size_t i = 0; i < pairs.count; ++i) {
      const std::uint32_t place = next[pairs.keys[i]]++;
      pairs.sorted_keys[place] = pairs.keys[i];
      pairs.sorted_values[place] = pairs.values[i];
    }
  });
}

Status EmulatedStream::finish() {
  if (failed()) {
    drain();
    return status_;
  }
  const auto done = record();
  if (auto status = device_->schedule().run_until(done); !status) {
    fail(status.error());
  }
  return status_;
}

void EmulatedStream::drain() {
  const auto done = device_->schedule().record(number_);
  static_cast<void>(device_->schedule().run_until(done));
}

void EmulatedStream::fail(Error error) {
  if (!failed()) {
    status_ = std::move(error);
  }
}

std::byte* EmulatedStream::allocate(std::size_t bytes) {
  if (failed()) {
    return nullptr;
  }
  auto& memory = device_->memory();
  // What is given back stays poisoned, but no more of it than a quarter of the device's memory.
  std::byte* block = memory.kept_bytes() > memory.size_bytes() / 4 ? nullptr : memory.take(bytes);
  if (block == nullptr) {
    // What was given back may still wait in the streams.
    if (auto status = device_->schedule().run_all(); !status) {
      fail(status.error());
      return nullptr;
    }
    memory.sweep();
    block = memory.take(bytes);
  }
  if (block == nullptr) {
    fail({Errc::out_of_memory,
          fmt::format("emulated device: expected room for {} more bytes, found {} of {} in use",
                      bytes, memory.used_bytes(), memory.size_bytes())});
  }
  return block;
}

}  // namespace troupe::gpu
