#include "bench/support/limits.hpp"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <sys/mman.h>
#include <thread>
#include <vector>

namespace troupe::bench {
namespace {

constexpr std::size_t copy_bytes = std::size_t{256} << 20;
constexpr unsigned table_bits = 27;  // of 4-byte words: 512 MiB
constexpr std::size_t reads = std::size_t{1} << 24;
constexpr int repeats = 7;

/// Anonymous memory, touched.
class Pages {
 public:
  Pages(std::size_t bytes, bool huge) : bytes_(bytes) {
    data_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data_ == MAP_FAILED) {
      throw std::bad_alloc();
    }
    ::madvise(data_, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    std::memset(data_, 1, bytes);
  }
  ~Pages() { ::munmap(data_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  void* data() const { return data_; }

 private:
  void* data_;
  std::size_t bytes_;
};

/// `work(thread)` on all threads at once; their rates, added.
Stats together(std::size_t threads, double amount, const std::function<void(std::size_t)>& work) {
  std::vector<double> rates;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const Stopwatch watch;
    {
      std::vector<std::jthread> pool;
      for (std::size_t t = 0; t < threads; ++t) {
        pool.emplace_back([&work, t] { work(t); });
      }
    }
    rates.push_back(amount * static_cast<double>(threads) / watch.seconds());
  }
  return stats_of(std::move(rates));
}

std::atomic<std::uint32_t> sink;

Stats random_reads(std::size_t threads, bool huge) {
  const Pages table(sizeof(std::uint32_t) << table_bits, huge);
  const auto* words = static_cast<const std::uint32_t*>(table.data());
  return together(threads, static_cast<double>(reads) * 1e-6, [words](std::size_t thread) {
    std::uint64_t state = thread + 1;
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < reads; ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;  // Knuth's MMIX
      sum += words[state >> (64 - table_bits)];
    }
    sink += sum;
  });
}

Stats copies(std::size_t threads) {
  std::vector<std::unique_ptr<Pages>> from;
  std::vector<std::unique_ptr<Pages>> to;
  for (std::size_t t = 0; t < threads; ++t) {
    from.push_back(std::make_unique<Pages>(copy_bytes, false));
    to.push_back(std::make_unique<Pages>(copy_bytes, false));
  }
  return together(threads, static_cast<double>(copy_bytes) * 1e-9, [&](std::size_t thread) {
    std::memcpy(to[thread]->data(), from[thread]->data(), copy_bytes);
  });
}

}  // namespace

Limits measure_limits(std::size_t threads) {
  return {threads, copies(threads), random_reads(threads, false), random_reads(threads, true)};
}

}  // namespace troupe::bench
