#pragma once
/// \file device_sampler.hpp
/// The device sampler: batches of one rank, made on a device whole, or as to their rows: on the rank's, or
/// on one of the process that samples for it.
#include "actors/host_context.hpp"
#include "gpu/run/device_batches.hpp"
#include "runtime/base/executor.hpp"
#include "runtime/base/trace.hpp"
#include "runtime/job/device_memory.hpp"

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include <memory>
#include <optional>

namespace troupe {

/// What it makes itself, and for whom else it asks.
struct DeviceSamplerOptions {
  std::shared_ptr<const HostContext> host = {};
  std::shared_ptr<gpu::DeviceBatches> batches = {};
  // Of the batches that are made on the device, by identity.
  std::shared_ptr<const SampleOptions> sample = {};  ///< Null: the host samples
  std::shared_ptr<const CollectOptions> collect = {};
  bool digests = true;  ///< Batches of training, as `collect` says; false: another process does
  /// Of the device's rows: `rows_from_host` stages the others, and has labels and ids. Null: the device has
  /// all of it.
  std::shared_ptr<const RowSlots> slots = {};
  caf::actor on_host = {};         ///< Sampler that gets all other requests of batches
  caf::actor rows_from_host = {};  ///< Collector that gets all other requests of rows, and hints
  std::shared_ptr<Executor> executor = {};
  TraceTrack trace = {};
  /// What is planned of the device, for errors of its memory.
  std::optional<DeviceMemory> memory = {};
};

/// Starts a sampler and collector in one.
/// | receives          | replies         | errors                                             |
/// |-------------------|-----------------|----------------------------------------------------|
/// | Ref<SampleBatch>  | Ref<ReadyBatch> | those of check_seeds(), gpu::DeviceBatches::make(); overloaded |
/// | Ref<CollectBatch> | Ref<ReadyBatch> | those of gpu::DeviceBatches::collect(); overloaded |
/// | the same, slots   | Ref<ReadyBatch> | those of the collector, DeviceBatches::place(); overloaded |
/// | Ref<ReadsAhead>   | none            | sent on to the collector                           |
/// Back-pressure: at most 2048 batches wait, those at the collector included; the next gets `overloaded`
/// Ordering:  batches are made one after the other, as they were asked for, or as their rows are staged
/// Peer loss: of samplers and collector; the data path ends with it and restarts (batch_client.hpp)
caf::actor spawn_device_sampler(caf::actor_system& system, DeviceSamplerOptions options);

}  // namespace troupe
