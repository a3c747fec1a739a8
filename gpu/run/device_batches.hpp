#pragma once
/// \file device_batches.hpp
/// Whole batches made on a device: sampled there or by the host, their rows gathered, ready for a learner
/// there. Knows no actors.
#include "gpu/run/devices.hpp"
#include "runtime/feature/batch.hpp"
#include "runtime/feature/row_collection.hpp"
#include "runtime/sample/batch_builder.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace troupe::gpu {

/// Whether batches can be made on a device.
/// \errors unimplemented: what has no kernel yet
Status check_device_batches(const SampleOptions& sample, const CollectOptions& collect);
/// Whether rows of batches can be gathered on a device, whoever samples and has the rows.
/// \errors unimplemented: what has no kernel yet
Status check_device_rows(const CollectOptions& collect);
/// Whether it can be without help of the host, for a graph that is there whole.
/// \errors unimplemented: what has no kernel yet
Status check_rows_of_whole_graph(const CollectOptions& collect);
/// \requires check_device_rows()
FeaturePlan feature_plan(const CollectOptions& collect, Normalize normalize);

/// Which arrays of a batch stay in the device's memory, besides rows of features.
enum class ArraysThere : std::uint8_t {
  model,  ///< What is there anyway: a learner copies what else its model reads
  all,    ///< All of the batch, for kernels of a user program
  none,   ///< Rows neither: the batch is all on the host, for another process
};

/// A batch with the rows of features of its nodes by where the gather read them.
struct MadeBatch {
  Batch batch;
  std::uint64_t rows_device = 0;  ///< In the device's memory
  std::uint64_t rows_pinned = 0;  ///< In pinned memory of the host
};

/// An array of the host's batch, and its copy on the device.
struct ArrayCopy {
  std::span<const std::byte> host;
  Array<std::byte> device;
};

/// Lifecycle: an error of the device ends it: each later call returns that error
/// Threads:   any; one batch at a time. A data path that starts anew may make its first one while the
///   last one of its predecessor is still made
class DeviceBatches {
 public:
  /// Both on the same device, of the same part and of the options that make() is for.
  /// \param sampler  null: make() is not called
  DeviceBatches(std::unique_ptr<DeviceSampler> sampler, std::unique_ptr<DeviceRowSource> rows,
                ArraysThere arrays = ArraysThere::model)
      : sampler_(std::move(sampler)), rows_(std::move(rows)), arrays_(arrays) {}

  /// What the host does once the device is done: it puts the batch together, with its digest. To be
  /// called once, on any thread, while the device makes the next batch.
  using Rest = std::function<MadeBatch()>;

  /// The batch that runtime/sample and runtime/feature make, but that features of nodes lie on the
  /// device alone (Batch::on_device), unless nothing stays there. Nodes, edges and labels are on the host,
  /// too.
  /// \param digest  `full` copies the features back for it
  /// \errors those of DeviceSampler::sample()
  Result<Rest> make(BatchKey key, const BatchSeeds& seeds, DigestMode digest);
  /// The same of a batch that the host sampled.
  /// \requires the batch has entry numbers of the types whose features are wanted
  Result<Rest> collect(std::shared_ptr<const SampledBatch> sampled, DigestMode digest);
  /// The same of one that the host collected but for rows of features of nodes, which it has staged for
  /// the slots of this device's rows. Features of edges and columns stay on the host.
  /// \param batch  not to be used by others until Rest was called
  Result<Rest> place(std::shared_ptr<Batch> batch, DigestMode digest);

 private:
  using Sampled = std::function<std::shared_ptr<const SampledBatch>()>;
  /// \param sampled  makes the host's batch once the sampler was waited for
  /// \param copies  of arrays that the host has
  Result<Rest> with_rows(Sampled sampled, DeviceBatch there, std::vector<ArrayCopy> copies,
                         DigestMode digest);
  bool brings_rows(DigestMode digest) const {
    return digest == DigestMode::full || arrays_ == ArraysThere::none;
  }
  void copy_rest(const SampledBatch& of, const DeviceBatch& there, std::vector<ArrayCopy>& copies);
  void copy_rest(const Batch& of, std::vector<ArrayCopy>& copies);
  void copy(std::span<const std::byte> host, std::vector<ArrayCopy>& copies);

  std::mutex mutex_;
  std::unique_ptr<DeviceSampler> sampler_;
  std::unique_ptr<DeviceRowSource> rows_;
  ArraysThere arrays_;
};

}  // namespace troupe::gpu
