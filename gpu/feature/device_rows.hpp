#pragma once
/// \file device_rows.hpp
/// Rows of batches on a device, whichever it is.
#include "gpu/feature/gather_rows.hpp"
#include "runtime/feature/batch.hpp"
#include "runtime/feature/staged_rows.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>

namespace troupe::gpu {

class EmulatedDevice;

/// Rows of batches out of tables that may be other sources', too. It has a stream of its own.
/// Lifecycle: an error of the device ends it: each later call returns that error
/// Threads:   one at a time
class DeviceRowSource {
 public:
  DeviceRowSource() = default;
  DeviceRowSource(const DeviceRowSource&) = delete;
  DeviceRowSource& operator=(const DeviceRowSource&) = delete;
  virtual ~DeviceRowSource() = default;

  /// Copies a batch that the host sampled to the device, for gather(). Does not wait.
  /// Borrows: `batch`, until gather() or another call waits
  virtual DeviceBatch upload(const SampledBatch& batch) = 0;
  /// The same of one whose rows are staged, for tables of the same slots (features_of_parts()). The batch
  /// there has slots in the place of ids.
  /// Borrows: both
  virtual DeviceBatch upload(const SampledBatch& batch, const StagedRows& staged) = 0;
  /// Copies an array of a batch. Does not wait.
  /// Borrows: `host`, until another call waits
  virtual Array<std::byte> upload(std::span<const std::byte> host) = 0;
  /// Gathers the rows of a batch of the same device. Waits, so that both may be dropped in any order.
  /// Seeds of several types have no labels.
  /// \requires the batch has entry numbers of the types whose features are wanted
  /// \errors out_of_memory or cuda_failure
  Result<DeviceBatchRows> gather(const DeviceBatch& batch) {
    auto rows = start_gather(batch);
    TROUPE_RETURN_IF_ERROR(wait());
    return Result<DeviceBatchRows>(std::move(rows));
  }
  /// The same without waiting. The batch must stay until wait().
  virtual DeviceBatchRows start_gather(const DeviceBatch& batch) = 0;
  /// The batch as runtime/feature makes it. Waits.
  /// \param sampled  the downloaded batch
  /// \param features  of nodes, too; else they have no columns
  /// \errors out_of_memory or cuda_failure
  Result<Batch> download(std::shared_ptr<const SampledBatch> sampled, const DeviceBatchRows& rows,
                         bool features = true) {
    const auto put = fetch(rows, features);
    TROUPE_RETURN_IF_ERROR(wait());
    Batch batch;
    batch.sampled = std::move(sampled);
    put(batch);
    return Result<Batch>(std::move(batch));
  }
  /// Launches copies of the rows to the host.
  /// \returns what puts them into a batch after wait(): to be called at most once, on any thread. Matrices
  ///   share pinned memory
  virtual std::function<void(Batch&)> fetch(const DeviceBatchRows& rows, bool features) = 0;
  /// Until all work is done. \errors out_of_memory or cuda_failure
  virtual Status wait() = 0;
  virtual const DeviceFeatures& features() const = 0;
};

/// Uploads tables; see upload_features(). Waits.
/// \errors out_of_memory or cuda_failure
Result<std::shared_ptr<const DeviceFeatures>> emulated_features(
    const std::shared_ptr<EmulatedDevice>& device, const FeatureArrays& arrays,
    const RowTiers& near, const DeviceFeatures* beside = nullptr);
/// \param device  number of the CUDA device
/// \errors besides: unimplemented: this build has no CUDA
Result<std::shared_ptr<const DeviceFeatures>> cuda_features(int device, const FeatureArrays& arrays,
                                                            const RowTiers& near,
                                                            const DeviceFeatures* beside = nullptr);

/// \param features  of the same device
std::unique_ptr<DeviceRowSource> make_emulated_row_source(
    std::shared_ptr<EmulatedDevice> device, std::shared_ptr<const DeviceFeatures> features);
/// \errors unimplemented: this build has no CUDA
Result<std::unique_ptr<DeviceRowSource>> make_cuda_row_source(
    int device, std::shared_ptr<const DeviceFeatures> features);

}  // namespace troupe::gpu
