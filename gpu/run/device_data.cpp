#include "gpu/run/device_data.hpp"

#include "gpu/sample/graph_arrays.hpp"
#include "runtime/base/saturating.hpp"
#include "runtime/job/device_memory.hpp"
#include "runtime/job/plan.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace troupe::gpu {

namespace {

/// [type][piece] profiles of the parts of a process, and none of their halos.
PartHeat heat_of_pieces(const PartHeat& heat, const DeviceData::PartsHere& parts) {
  PartHeat of;
  for (const auto& by_part : heat.mean) {
    auto& pieces = of.mean.emplace_back();
    for (const auto& part : parts) {
      pieces.push_back(by_part[raw(part->id)]);
    }
    pieces.resize(2 * parts.size());
  }
  return of;
}

}  // namespace

Result<std::shared_ptr<const DeviceData>> DeviceData::create(std::shared_ptr<Devices> devices,
                                                             std::span<const Rank> ranks,
                                                             const GraphInfo& graph,
                                                             const PartsHere& parts,
                                                             const DeviceDataOptions& options) {
  const auto& plan = options.features;
  std::shared_ptr<DeviceData> data(new DeviceData(std::move(devices), options));
  TieredTables tables{.graph = graph, .edge_features = plan.edge_features};
  if (plan.staged) {
    TROUPE_ASSIGN_OR_RETURN(const auto arrays, features_of_parts(graph, parts, plan));
    tables.nodes = rows_of_pieces(graph, parts);
    TROUPE_RETURN_IF_ERROR(
        data->put_features(ranks, tables, heat_of_pieces(options.heat, parts), arrays));
    data->number_rows(parts, tables);
    return std::shared_ptr<const DeviceData>(std::move(data));
  }
  const Part& part = *parts.front();
  TROUPE_ASSIGN_OR_RETURN(const auto arrays, features_for_device(graph, part, plan));
  if (options.sample) {
    TROUPE_ASSIGN_OR_RETURN(const auto lists, arrays_for_device(graph, part, *options.sample));
    TROUPE_RETURN_IF_ERROR(data->put_lists(ranks, lists));
  }
  TROUPE_RETURN_IF_ERROR(data->put_features(ranks, tables, options.heat, arrays));
  return std::shared_ptr<const DeviceData>(std::move(data));
}

void DeviceData::number_rows(const PartsHere& parts, const TieredTables& tables) {
  std::vector<PartId> ids;
  for (const auto& part : parts) {
    ids.push_back(part->id);
  }
  std::vector<std::vector<RowPiece>> pieces(tables.nodes.size());
  for (std::size_t type = 0; type < pieces.size(); ++type) {
    for (std::size_t p = 0; p < tables.nodes[type].size(); ++p) {
      pieces[type].push_back({tables.nodes[type][p], tiers_.nodes[type][p]});
    }
  }
  slots_ = std::make_shared<const RowSlots>(std::move(ids), pieces);
}

Result<DeviceData::Room> DeviceData::room(std::span<const Rank> ranks) const {
  Room least{~std::uint64_t{0}, 0};
  for (const Rank rank : ranks) {
    TROUPE_ASSIGN_OR_RETURN(const auto memory, devices_->memory(rank));
    if (memory.free < least.free) {
      least = {memory.free, memory.total};
    }
  }
  return least;
}

Error DeviceData::too_little(const Error& error, const Room& room) const {
  auto found = Error(error).with(fmt::format(
      "memory of a device: neighbor lists {}, ids and labels {}, rows of features {} of {} "
      "(features.cache.device_budget {}); batches, activations and parameters {} at most, exact "
      "inference {}; free {} of {}",
      bytes_text(bytes_.lists), bytes_text(bytes_.ids), bytes_text(bytes_.rows),
      bytes_text(bytes_.all_rows), to_string(options_.budget), bytes_text(options_.reserved_bytes),
      bytes_text(exact_share(options_.exact_bytes, room.memory)), bytes_text(room.free),
      bytes_text(room.memory)));
  return {found.code(), found.what() +
                            "\ntry: a smaller features.cache.device_budget, "
                            "sample.device_lists \"pinned\", or sample.on \"host\""};
}

Status DeviceData::put_lists(std::span<const Rank> ranks, const GraphArrays& arrays) {
  TROUPE_ASSIGN_OR_RETURN(const auto before, room(ranks));
  const bool pinned = options_.topology == Topology::pinned;
  for (const auto& nodes : arrays.nodes) {
    bytes_.ids += nodes.original_ids.size_bytes();
  }
  (pinned ? bytes_.pinned_lists : bytes_.lists) = arrays.bytes() - bytes_.ids;
  const DeviceGraph* first = nullptr;
  for (const Rank rank : ranks) {
    auto& graph = on_[device_of(*devices_, rank)].graph;
    if (graph != nullptr) {
      continue;
    }
    auto uploaded = devices_->graph(rank, arrays, options_.topology, first);
    if (!uploaded) {
      return too_little(uploaded.error(), before);
    }
    graph = *std::move(uploaded);
    first = first == nullptr ? graph.get() : first;
  }
  return ok_status();
}

Status DeviceData::put_features(std::span<const Rank> ranks, const TieredTables& tables,
                                const PartHeat& heat, const FeatureArrays& arrays) {
  TROUPE_ASSIGN_OR_RETURN(const auto room_left, room(ranks));
  bytes_.all_rows = bytes_of(tables);
  const auto ids = arrays.bytes() - std::min(arrays.bytes(), bytes_.all_rows);
  bytes_.ids += ids;
  const auto reserved =
      plus(options_.reserved_bytes, exact_share(options_.exact_bytes, room_left.memory));
  const auto beside = plus(plus(ids, reserved), device_margin(room_left.memory));
  const auto free = room_left.free - std::min(room_left.free, beside);
  const auto budget = budget_bytes(options_.budget, bytes_.all_rows, free);
  tiers_ = split_rows(tables, heat, budget);
  bytes_.rows = bytes_of(tables, tiers_);
  bytes_.pinned_rows = bytes_.all_rows - bytes_.rows;
  const DeviceFeatures* first = nullptr;
  for (const Rank rank : ranks) {
    auto& features = on_[device_of(*devices_, rank)].features;
    if (features != nullptr) {
      continue;
    }
    auto uploaded = devices_->features(rank, arrays, tiers_, first);
    if (!uploaded) {
      return too_little(uploaded.error(), room_left);
    }
    features = *std::move(uploaded);
    first = first == nullptr ? features.get() : first;
  }
  return ok_status();
}

Result<std::unique_ptr<DeviceBatches>> DeviceData::batches(Rank rank, ArraysThere arrays) const {
  const auto& on = on_.at(device_of(*devices_, rank));
  std::unique_ptr<DeviceSampler> sampler;
  if (options_.sample) {
    TROUPE_ASSIGN_OR_RETURN(sampler,
                            devices_->sampler(rank, on.graph, sampling_plan(*options_.sample)));
  }
  TROUPE_ASSIGN_OR_RETURN(auto rows, devices_->row_source(rank, on.features));
  return std::make_unique<DeviceBatches>(std::move(sampler), std::move(rows), arrays);
}

std::string DeviceData::text() const {
  if (bytes_.pinned_rows == 0 && bytes_.pinned_lists == 0) {
    return {};
  }
  return fmt::format(
      "memory of a device: rows of features {} of {} (device_budget {}), neighbor lists {}; pinned "
      "memory of the host: {} of rows, {} of neighbor lists",
      bytes_text(bytes_.rows), bytes_text(bytes_.all_rows), to_string(options_.budget),
      bytes_text(bytes_.lists), bytes_text(bytes_.pinned_rows), bytes_text(bytes_.pinned_lists));
}

}  // namespace troupe::gpu
