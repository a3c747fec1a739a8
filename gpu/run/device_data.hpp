#pragma once
/// \file device_data.hpp
/// Neighbor lists and rows of features where the devices of a process read them. Knows no actors.
#include "gpu/run/device_batches.hpp"
#include "gpu/run/devices.hpp"
#include "runtime/feature/hot_rows.hpp"
#include "runtime/feature/row_slots.hpp"
#include "runtime/job/device_budget.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace troupe::gpu {

struct DeviceDataOptions {
  std::shared_ptr<const SampleOptions> sample = {};  ///< Null: no lists, the host samples
  FeaturePlan features = {};
  Topology topology = Topology::device;
  DeviceBudget budget = {};
  PartHeat heat = {};  ///< Of the store, by part; not known: it has no profile
  /// Of each device: what batches, activations and parameters are planned to take.
  std::uint64_t reserved_bytes = 0;
  /// Bytes of each device that exact inference wants; exact_share() of them stays free.
  std::uint64_t exact_bytes = 0;
};

/// Uploaded once and read by all ranks of a device. The hottest rows of features of each part are in each
/// device's memory, as many as the budget says; all others are in pinned memory of the host, once for all
/// devices of the process.
/// Threads: immutable; any
class DeviceData {
 public:
  using PartsHere = std::vector<std::shared_ptr<const Part>>;

  /// Memory that it takes: on each device, and of the host.
  struct Bytes {
    std::uint64_t lists = 0;
    std::uint64_t ids = 0;  ///< Original ids, labels, statistics of columns
    std::uint64_t rows = 0;
    std::uint64_t all_rows = 0;  ///< Those of the host, too
    std::uint64_t pinned_lists = 0;
    std::uint64_t pinned_rows = 0;
  };

  /// With the budget `auto` all devices have as many rows as the one with the least room.
  /// \param ranks  whose devices are used
  /// \param parts  of the process: one that has the whole graph, or with options.features.staged any, by
  ///   PartId; are not needed afterwards
  /// \requires check_device_batches(), or no lists and check_rows_of_whole_graph(), or with
  ///   options.features.staged no lists and check_device_rows()
  /// \errors those of arrays_for_device(), features_for_device() and features_of_parts(); out_of_memory:
  ///   with the figures; cuda_failure
  static Result<std::shared_ptr<const DeviceData>> create(std::shared_ptr<Devices> devices,
                                                          std::span<const Rank> ranks,
                                                          const GraphInfo& graph,
                                                          const PartsHere& parts,
                                                          const DeviceDataOptions& options);

  /// What makes a rank's batches. \param rank  one of those of create()
  Result<std::unique_ptr<DeviceBatches>> batches(Rank rank,
                                                 ArraysThere arrays = ArraysThere::model) const;

  const RowTiers& tiers() const { return tiers_; }
  /// Of the rows, for batches whose other rows the host stages; null: there are none such.
  const std::shared_ptr<const RowSlots>& slots() const { return slots_; }
  const Bytes& bytes() const { return bytes_; }
  /// How the rows are split; empty: all are in the devices' memory.
  std::string text() const;

 private:
  struct OnDevice {
    std::shared_ptr<const DeviceGraph> graph;
    std::shared_ptr<const DeviceFeatures> features;
  };
  struct Room {
    std::uint64_t free = 0;  ///< On the device with the least
    std::uint64_t memory = 0;
  };

  DeviceData(std::shared_ptr<Devices> devices, const DeviceDataOptions& options)
      : devices_(std::move(devices)), options_(options) {}
  Status put_lists(std::span<const Rank> ranks, const GraphArrays& arrays);
  Status put_features(std::span<const Rank> ranks, const TieredTables& tables, const PartHeat& heat,
                      const FeatureArrays& arrays);
  void number_rows(const PartsHere& parts, const TieredTables& tables);
  Result<Room> room(std::span<const Rank> ranks) const;
  Error too_little(const Error& error, const Room& room) const;

  std::shared_ptr<Devices> devices_;
  DeviceDataOptions options_;
  RowTiers tiers_;
  std::shared_ptr<const RowSlots> slots_;
  Bytes bytes_;
  std::map<std::size_t, OnDevice> on_;  ///< By the devices' places
};

}  // namespace troupe::gpu
