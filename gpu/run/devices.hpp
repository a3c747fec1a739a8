#pragma once
/// \file devices.hpp
/// The devices of a process.
#include "gpu/comm/emulated_communicator.hpp"
#include "gpu/feature/device_rows.hpp"
#include "gpu/run/program_stream.hpp"
#include "gpu/sample/device_sampler.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/result.hpp"
#include "runtime/job/device_choice.hpp"
#include "runtime/nn/ops/block_ops.hpp"
#include "runtime/nn/ops/precision.hpp"
#include "runtime/run/device_mean.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::gpu {

/// A device's memory, in bytes.
struct MemoryOfDevice {
  std::uint64_t free = 0;
  std::uint64_t total = 0;
};

/// Threads: any number at once
class Devices {
 public:
  virtual ~Devices() = default;
  /// For messages and the report, e.g. "NVIDIA H200".
  virtual std::vector<std::string> names() const = 0;
  /// By place in names(): numbers of CUDA devices as the runtime has them, of emulated ones from 0.
  virtual std::vector<int> numbers() const = 0;
  /// Of driver and libraries, for the start of a run and the report; empty: there are none.
  virtual std::string versions() const { return {}; }
  /// Block operations of a rank, on device rank mod the number of devices.
  /// \param precision  of their products
  /// \errors not_found: no cuBLAS; cuda_failure; unimplemented: emulated devices have the
  ///   precisions of CPUs, so not tf32
  virtual Result<std::unique_ptr<nn::BlockOps>> block_ops(Rank rank, nn::Precision precision) = 0;
  /// The same for exact inference: in float32, with products in pieces of exact_product_rows().
  virtual Result<std::unique_ptr<nn::BlockOps>> exact_ops(Rank rank) = 0;
  virtual std::size_t exact_product_rows() const = 0;
  /// Of the rank's device, as it is now.
  /// \errors cuda_failure
  virtual Result<MemoryOfDevice> memory(Rank rank) = 0;

  /// Communicators of the rank's device with those of other ranks.
  /// \param ops  block_ops() of the rank: vectors are in its stream
  /// \errors not_found, failed_precondition: no NCCL, or one that is not known
  virtual Result<std::unique_ptr<DeviceMeans>> means(Rank rank, const nn::BlockOps& ops,
                                                     const DeviceMeansOptions& options) = 0;
  /// For the kernels of a user program that trains as the rank.
  /// \errors cuda_failure
  virtual Result<std::unique_ptr<ProgramStream>> program_stream(Rank rank) = 0;
  /// As above, for vectors of the user program.
  /// \param on  program_stream() of the rank
  virtual Result<std::unique_ptr<DeviceMeans>> means(Rank rank, const ProgramStream& on,
                                                     const DeviceMeansOptions& options) = 0;

  // What batches of a device are made of, on that of a rank; see upload_graph() and upload_features().
  virtual Result<std::shared_ptr<const DeviceGraph>> graph(Rank rank, const GraphArrays& arrays,
                                                           Topology topology,
                                                           const DeviceGraph* beside) = 0;
  virtual Result<std::shared_ptr<const DeviceFeatures>> features(Rank rank,
                                                                 const FeatureArrays& arrays,
                                                                 const RowTiers& near,
                                                                 const DeviceFeatures* beside) = 0;
  // What makes a rank's batches of it. \requires graph and features are on the same device
  virtual Result<std::unique_ptr<DeviceSampler>> sampler(Rank rank,
                                                         std::shared_ptr<const DeviceGraph> graph,
                                                         SamplingPlan plan) = 0;
  virtual Result<std::unique_ptr<DeviceRowSource>> row_source(
      Rank rank, std::shared_ptr<const DeviceFeatures> features) = 0;
};

/// Place of a rank's device in Devices::names().
std::size_t device_of(const Devices& devices, Rank rank);

/// Names and versions, e.g. "2 x NVIDIA H200; driver 580.65 for CUDA 13.0, runtime 13.0, cuBLAS 13.1.0".
std::string text_of(const Devices& devices);
/// The driver's number in the text of its version file; empty: there is none.
std::string driver_number(std::string_view version_file);

/// What a host has for `cluster.device` "auto".
struct FoundDevices {
  DeviceKind kind = DeviceKind::cpu;
  std::string text;  ///< text_of() the devices, or why there are none
};
/// \param libraries  whether what ranks load there is there
FoundDevices found_devices(const Result<std::shared_ptr<Devices>>& devices,
                           const Status& libraries);
/// Of this host.
FoundDevices find_devices();

/// \param network  of emulated devices that reach each other; null: those that are opened here
/// \returns null: the CPU
/// \errors not_found: no such device, or no driver; failed_precondition: the driver is too old, or "auto"
///   is not decided; unimplemented: this build has no CUDA
Result<std::shared_ptr<Devices>> open_devices(const DeviceChoice& choice,
                                              std::shared_ptr<EmulatedNetwork> network = nullptr);

/// \param numbers  empty: all
Result<std::shared_ptr<Devices>> open_cuda_devices(std::span<const std::uint32_t> numbers);
/// A CUDA device, and what it can run.
struct FoundCapability {
  std::uint32_t number = 0;
  std::string name;
  int capability = 0;  ///< Ten times its compute capability, e.g. 90
};
/// Whether a device runs kernels that were compiled for a compute capability, or for an earlier one.
/// \param least  of this build, times ten
/// \errors failed_precondition: the device is older
Status check_capability(const FoundCapability& device, int least);
/// Whether cuBLAS can be loaded. \errors not_found; unimplemented: this build has no CUDA
Status check_cuda_libraries();

}  // namespace troupe::gpu
