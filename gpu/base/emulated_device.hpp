#pragma once
/// \file emulated_device.hpp
/// A device that is none: kernels run on the CPU, each element once and in shuffled order, streams in
/// any order that events allow. It gives the bits that a GPU would, products, exponentials and
/// logarithms aside, and is for tests and for trying a job out: it is slower than the CPU it runs on.
#include "gpu/base/array.hpp"
#include "gpu/base/emulated_memory.hpp"
#include "gpu/base/emulated_schedule.hpp"
#include "gpu/base/sort_pairs.hpp"
#include "runtime/base/result.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

namespace troupe::gpu {

struct EmulatedOptions {
  std::uint64_t memory_bytes = std::uint64_t{1} << 30;
  std::uint64_t seed = 1;  ///< of all orders
  unsigned threads = 1;    ///< that run the elements of a kernel at the same time
  std::optional<std::uint64_t> left_out_wait = {};  ///< EmulatedSchedule
  /// Kernels may read memory of the host: for trying out bodies alone.
  bool reads_host = false;
};

/// Threads: any
class EmulatedDevice {
 public:
  explicit EmulatedDevice(const EmulatedOptions& options = {})
      : options_(options),
        schedule_(options.seed, options.left_out_wait),
        memory_(options.memory_bytes) {}

  const EmulatedOptions& options() const { return options_; }
  EmulatedSchedule& schedule() { return schedule_; }
  EmulatedMemory& memory() { return memory_; }
  /// Another number for each kernel.
  std::uint64_t next_seed() { return options_.seed + 0x9E3779B97F4A7C15U * ++launched_; }

 private:
  EmulatedOptions options_;
  EmulatedSchedule schedule_;
  EmulatedMemory memory_;
  std::atomic<std::uint64_t> launched_ = 0;
};

/// Places first + at, first + at + stride, … of the elements [first, first + count); behind the last element comes the
/// first one.
struct ShuffledWalk {
  std::size_t first = 0;
  std::size_t count = 0;
  std::size_t at = 0;  ///< of the next place, from `first` on
  std::size_t stride = 0;
  std::size_t steps = 0;

  template <class Visit>
  void each(const Visit& visit) const {
    std::size_t place = at;
    for (std::size_t k = 0; k < steps; ++k) {
      visit(first + place);
      place += stride;
      place = place >= count ? place - count : place;
    }
  }
};

/// Walks that come to each element of [0, n) once, in an order that the seed decides, on several threads. More
/// elements than a core's cache has rows of are taken tile by tile, in any order of tiles and within each, as every
/// element would wait for memory otherwise.
void for_each_walk(std::size_t n, std::uint64_t seed, unsigned threads,
                   void (*take)(const void* body, const ShuffledWalk& walk), const void* body);

/// Calls body(i) for i in [0, n), each once, in such an order.
template <class Body>
void for_each_shuffled(std::size_t n, std::uint64_t seed, unsigned threads, const Body& body) {
  // All else is compiled once, not for every kernel.
  const auto take = [](const void* of, const ShuffledWalk& walk) {
    walk.each(*static_cast<const Body*>(of));
  };
  for_each_walk(n, seed, threads, take, &body);
}

/// One stream of an emulated device. What CudaStream does on a GPU (cuda_stream.cuh): stages are
/// templates over it. Calls return at once; the work runs when somebody waits for it.
/// After an error no work is launched, and finish() returns the error.
/// Threads: one at a time
class EmulatedStream {
 public:
  explicit EmulatedStream(std::shared_ptr<EmulatedDevice> device)
      : device_(std::move(device)), number_(device_->schedule().add_stream()) {}

  /// \errors out_of_memory, by finish(); the array is empty then
  template <class T>
  Array<T> array(std::size_t size) {
    std::byte* const block = allocate(size * sizeof(T));
    if (block == nullptr) {
      return {};
    }
    return {std::shared_ptr<void>(block, GiveBack{device_, number_}), size};
  }

  /// Memory of the host that kernels can read: larger than the device's, and slower. The host may write
  /// to it before they do.
  template <class T>
  Array<T> host_array(std::size_t size) {
    if (failed()) {
      return {};
    }
    auto block = emulated_host_block(size * sizeof(T));
    void* const at = block.get();
    return {std::shared_ptr<void>(at, GiveBackHost{device_, number_, std::move(block)}), size};
  }

  /// body(i) for i in [0, n), in any order.
  /// \errors cuda_failure, by finish(): the body points to memory that a GPU could not read
  template <class Body>
  void for_each(std::size_t n, Body body) {
    if (n == 0 || failed()) {
      return;
    }
    check_pointers(body);
    launch([n, body, seed = device_->next_seed(), threads = device_->options().threads] {
      for_each_shuffled(n, seed, threads, body);
    });
  }
  /// body(row, column) for all elements of a matrix, in any order.
  template <class Body>
  void for_rows(std::size_t rows, std::size_t cols, Body body) {
    for_each(rows * cols, [cols, body](std::size_t i) { body(i / cols, i % cols); });
  }

  /// The same, leaving most of a GPU to kernels of other streams.
  template <class Body>
  void for_rows_beside(std::size_t rows, std::size_t cols, Body body) {
    for_rows(rows, cols, body);
  }

  /// out[i] = in[0] + … + in[i - 1], for i in [0, n].
  void running_sum(const std::uint32_t* in, std::size_t n, std::uint32_t* out);
  void sort_pairs(const PairsToSort& pairs);

  /// Host memory of copies must stay as it is until the work is done.
  void upload(const void* host, void* device, std::size_t bytes) {
    if (bytes > 0) {
      expect_on_device(device, "copy");
      launch([=] { std::memcpy(device, host, bytes); });
    }
  }
  void download(const void* device, void* host, std::size_t bytes) {
    if (bytes > 0) {
      expect_on_device(device, "copy");
      launch([=] { std::memcpy(host, device, bytes); });
    }
  }
  void copy(const void* from, void* to, std::size_t bytes) {
    if (bytes > 0) {
      expect_on_device(from, "copy");
      expect_on_device(to, "copy");
      launch([=] { std::memcpy(to, from, bytes); });
    }
  }
  void zero(void* at, std::size_t bytes) {
    if (bytes > 0) {
      expect_on_device(at, "fill");
      launch([=] { std::memset(at, 0, bytes); });
    }
  }
  template <class T>
  Array<T> uploaded(std::span<const T> values) {
    Array<T> result = array<T>(values.size());
    upload(values.data(), result.data(), values.size_bytes());
    return result;
  }
  /// Waits, and reads one value; after an error a zero.
  template <class T>
  T read(const T* at) {
    T value{};
    download(at, &value, sizeof value);
    return finish() ? value : T{};
  }

  EmulatedEvent record() { return device_->schedule().record(number_); }
  void wait(EmulatedEvent event) { device_->schedule().wait(number_, std::move(event)); }
  /// For an event of another device.
  void wait_for_peer(EmulatedEvent event) {
    device_->schedule().wait_for_peer(number_, std::move(event));
  }

  /// Waits on the calling thread until an event of the stream has happened. Threads: any
  /// \returns the error that the stream had when this handle of it was made
  Status wait_here(const EmulatedEvent& event) const {
    return failed() ? status_ : device_->schedule().run_until(event);
  }

  /// Waits until all work is done, also after an error. \returns the first error of the stream
  Status finish();
  /// The error that is kept, without a wait.
  const Status& status() const { return status_; }
  /// Waits until nothing runs that was launched before, also after an error.
  void drain();
  bool failed() const { return !status_; }
  /// Keeps an error, unless there is one.
  void fail(Error error);

  /// Host code as a piece of work: for libraries that have no kernels.
  void launch(EmulatedSchedule::Work work) {
    if (!failed()) {
      device_->schedule().launch(number_, std::move(work));
    }
  }
  /// For such work: a GPU ends with an error where it reads memory of the host.
  void expect_on_device(const void* at, const char* operation);
  EmulatedDevice& device() const { return *device_; }
  const std::shared_ptr<EmulatedDevice>& shared_device() const { return device_; }

 private:
  struct GiveBack {
    std::shared_ptr<EmulatedDevice> device;
    std::size_t stream;
    void operator()(void* block) const {
      device->schedule().launch(stream, [d = device.get(), block] {
        d->memory().give_back(static_cast<std::byte*>(block));
      });
    }
  };
  /// Keeps the block until the work before it is done.
  struct GiveBackHost {
    std::shared_ptr<EmulatedDevice> device;
    std::size_t stream;
    std::shared_ptr<std::byte> block;
    void operator()(void* /*at*/) const {
      device->schedule().launch(stream, [b = block] {});
    }
  };
  std::byte* allocate(std::size_t bytes);
  template <class Body>
  void check_pointers(const Body& body) {
    if constexpr (finds_host_pointers && std::is_trivially_copyable_v<Body>) {  // what a GPU takes
      alignas(std::uint64_t) std::byte words[(sizeof(Body) + 7) / 8 * 8] = {};
      Body copy = body;
      clear_padding(copy);
      std::memcpy(words, &copy, sizeof(Body));
      const void* const at =
          device_->options().reads_host ? nullptr : find_host_pointer(words, sizeof words / 8);
      if (at != nullptr) {
        fail_at_host(at, "kernel");
      }
    }
  }
  template <class Body>
  static void clear_padding(Body& body) {
#if defined(__clang__)
    static_cast<void>(body);
#else
    __builtin_clear_padding(&body);
#endif
  }
  void fail_at_host(const void* at, const char* operation);

  std::shared_ptr<EmulatedDevice> device_;
  std::size_t number_;
  Status status_ = ok_status();
};

}  // namespace troupe::gpu
