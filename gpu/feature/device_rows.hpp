#pragma once
/// \file device_rows.hpp
/// Rows of batches on a device, whichever it is.
#include "gpu/feature/gather_rows.hpp"
#include "runtime/feature/batch.hpp"

#include <cstdint>
#include <memory>

namespace troupe::gpu {

class EmulatedDevice;

/// Rows of batches out of tables that it keeps in the device's memory. It has a stream of its own.
/// Lifecycle: an error of the device ends it: each later call returns that error
/// Threads:   one at a time
class DeviceRowSource {
 public:
  DeviceRowSource() = default;
  DeviceRowSource(const DeviceRowSource&) = delete;
  DeviceRowSource& operator=(const DeviceRowSource&) = delete;
  virtual ~DeviceRowSource() = default;

  /// Gathers the rows of a batch of the same device. Waits, so that both may be dropped in any order.
  /// Seeds of several types have no labels.
  /// \requires the batch has entry numbers of the types whose features are wanted
  /// \errors out_of_memory or cuda_failure
  virtual Result<DeviceBatchRows> gather(const DeviceBatch& batch) = 0;
  /// The batch as runtime/feature makes it. Waits.
  /// \param sampled  the downloaded batch
  /// \param features  of nodes, too; else they have no columns
  /// \errors out_of_memory or cuda_failure
  virtual Result<Batch> download(std::shared_ptr<const SampledBatch> sampled,
                                 const DeviceBatchRows& rows, bool features = true) = 0;
  /// Memory of the tables on the device.
  virtual std::uint64_t table_bytes() const = 0;
};

/// Uploads tables. \param part  is not needed afterwards
/// \errors those of features_for_device(); out_of_memory or cuda_failure
Result<std::unique_ptr<DeviceRowSource>> make_emulated_row_source(
    std::shared_ptr<EmulatedDevice> device, const GraphInfo& graph, const Part& part,
    const FeaturePlan& plan);
/// \param device  number of the CUDA device
/// \errors besides: unimplemented: this build has no CUDA
Result<std::unique_ptr<DeviceRowSource>> make_cuda_row_source(int device, const GraphInfo& graph,
                                                              const Part& part,
                                                              const FeaturePlan& plan);

}  // namespace troupe::gpu
