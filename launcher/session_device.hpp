#pragma once
/// \file session_device.hpp
/// The device of a rank that a user program trains on: its batches in the device's memory, and sums over ranks of
/// vectors there. Pointers and CUDA streams are void*, so that a program needs no CUDA to compile. Not needed by
/// programs that compute on CPUs. docs/embedding.md shows a whole program.
///
/// A program that wants batches there says so to run_ranks() (RanksOptions::device_batches); the job says on which
/// devices (`cluster.device`), and who makes batches (`sample.on`).
/// Emulated devices are for tests and for trying a program out: their memory is the host's, and loops of the host
/// stand for kernels.
#include "launcher/session.hpp"
#include "runtime/base/matrix.hpp"
#include "runtime/base/result.hpp"
#include "runtime/feature/batch.hpp"
#include "runtime/sample/mini_batch.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace troupe {

struct Contribute;
namespace gpu {
class ProgramStream;
}

/// Arrays of a batch in the memory of its rank's device: all that `Batch` has on the host, and the rows of features
/// of nodes, which are there alone. Spans and matrices point there; sizes are the host's.
/// Contents are complete: kernels of any stream may read them at once, without an event.
/// Owns: the memory. It ends with the last copy of this object and of the batch (SessionDevice::release_after,
///   owner())
class DeviceArrays {
 public:
  /// \requires batch->on_device, with all arrays, in the memory of the device of `stream`
  DeviceArrays(std::shared_ptr<const Batch> batch, std::shared_ptr<gpu::ProgramStream> stream)
      : batch_(std::move(batch)), stream_(std::move(stream)) {}

  /// Makes an owner of the memory for another library's arrays, which may end on any thread, at any time: when its
  /// last copy ends, the memory stays until all is done that `stream` has then.
  /// \param stream  as in SessionDevice; stays valid as long as the owner
  std::shared_ptr<const void> owner(void* stream = nullptr) const;

  /// [nodes, columns] float32, normalized as the job says, in batch-local order.
  ConstMatrix features(NodeTypeId type = {}) const;
  /// The copy of an array of this batch, or of a part of one: `there(batch.sampled->edges[0].sources)`.
  /// \returns without elements if `host` has none, or is of no array of the batch
  template <class T>
  std::span<const T> there(std::span<const T> host) const {
    const auto* const at = find(std::as_bytes(host));
    return {reinterpret_cast<const T*>(at), at == nullptr ? 0 : host.size()};
  }
  template <class T, class Allocator>
  std::span<const T> there(const std::vector<T, Allocator>& host) const {
    return there(std::span<const T>(host));
  }
  std::span<const std::uint32_t> there(const RowOffsets& host) const { return there(host.dense()); }
  std::span<const std::int64_t> labels() const { return there(batch_->labels); }  ///< [seeds]
  ConstMatrix targets() const { return matrix(batch_->targets); }  ///< [seeds, labels]
  std::span<const std::uint32_t> seed_index() const { return there(batch_->sampled->seed_index); }
  /// [edges, columns] of the sampled edges of one type, where the job asks for them.
  ConstMatrix edge_features(EdgeTypeId type = {}) const;
  /// A block of layer_block() or edge_block(), with its arrays in the device's memory.
  LayerBlock block(const LayerBlock& host) const;

 private:
  const std::byte* find(std::span<const std::byte> host) const;
  ConstMatrix matrix(const Matrix& host) const;

  std::shared_ptr<const Batch> batch_;
  std::shared_ptr<gpu::ProgramStream> stream_;
};

/// What a session offers of its rank's device: see Session::device().
/// Lifecycle: as long as its session
/// Threads:   that of its session
/// `stream` is a cudaStream_t of the program's; null is CUDA's default stream. On emulated devices it is null.
class SessionDevice {
 public:
  const RankDevice& info() const;

  /// Arrays of the batch of this turn.
  /// \errors failed_precondition: outside of a turn; the batch is in host memory, with the reason
  Result<DeviceArrays> batch() const;
  /// Keeps the memory of this turn's batch until all is done that `stream` has now: to be called once after the last
  /// kernel that reads it. Without it, kernels must be waited for before the turn ends.
  /// \errors as batch(); cuda_failure; invalid_argument: an emulated device, and a stream
  Status release_after(void* stream = nullptr);

  /// Memory of the device, aligned to 256 bytes, contents undefined; ends with the last copy of the pointer, after
  /// what reads it. Memory from elsewhere will do as well (cudaMalloc, PyTorch).
  /// \errors out_of_memory, cuda_failure
  Result<std::shared_ptr<void>> memory(std::size_t size_bytes);
  /// Waits. \errors cuda_failure; invalid_argument: `to` is not the device's
  Status upload(std::span<const std::byte> host, void* to);
  /// Waits. \errors as upload()
  Status download(const void* from, std::span<std::byte> host);

  // ---- all ranks together: collective, as those of Session ----

  /// Session::all_reduce() of a vector in the device's memory, with its bits. Begins after what `stream` has now;
  /// when it returns the sum is there, for any stream.
  /// Ranks that have a device each exchange it directly, others over the links, through the host; the first two
  /// calls always do, meanwhile the ranks connect (docs/gpu.md).
  /// \param values  of the same length on all ranks
  /// \errors those of all_reduce(); invalid_argument: not the device's memory; cuda_failure
  Status all_reduce(std::span<float> values, void* stream = nullptr);
  /// Session::all_reduce_mean(), likewise.
  /// \returns the sum of the weights
  Result<std::uint64_t> all_reduce_mean(std::span<float> values, std::uint64_t weight,
                                        void* stream = nullptr);
  /// The last of these sums went from device to device, or, where there is one rank, stayed on its device.
  bool exchanges() const;

 private:
  friend class Session;
  explicit SessionDevice(Session::State& state) : state_(&state) {}
  Result<std::uint64_t> reduce(const Contribute& request, void* stream);
  Session::State* state_;
};

}  // namespace troupe
