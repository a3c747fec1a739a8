#pragma once
/// \file gather_rows.hpp
/// Tables in a device's memory and in pinned memory of the host, and the rows of batches out of both:
/// one template over the streams of gpu/base.
#include "gpu/base/array.hpp"
#include "gpu/base/upload.hpp"
#include "gpu/feature/feature_arrays.hpp"
#include "gpu/feature/gather_bodies.hpp"
#include "gpu/sample/device_batch.hpp"
#include "runtime/feature/hot_rows.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace troupe::gpu {

struct DeviceTable {
  FeatureInfo info{.cols = 0};  ///< No columns: no table
  Normalize normalize = Normalize::none;
  std::uint64_t near_rows = 0;  ///< The first so many are in `near`
  std::uint64_t far_rows = 0;   ///< The next so many are in `far`
  Array<std::byte> near = {};
  Array<std::byte> far = {};  ///< In pinned memory of the host
  Array<float> means = {};
  Array<float> divisors = {};

  /// \param staged  rows of a batch that follow the table's
  template <class Stored>
  TieredTable<Stored> as(const Array<std::byte>& staged) const {
    return {reinterpret_cast<const Stored*>(near.data()),
            reinterpret_cast<const Stored*>(far.data()),
            reinterpret_cast<const Stored*>(staged.data()), near_rows, near_rows + far_rows};
  }
};

/// Threads: immutable after the upload
struct DeviceFeatures {
  struct Nodes {
    DeviceTable features;
    Array<std::uint64_t> original_ids;
    Array<std::int64_t> labels;
    Array<float> targets;
    std::uint64_t target_cols = 0;
  };
  std::vector<Nodes> nodes;        ///< By NodeTypeId
  std::vector<DeviceTable> edges;  ///< By EdgeTypeId
  std::uint64_t bytes = 0;         ///< On the device
  std::uint64_t row_bytes = 0;     ///< Of these, rows of features
  std::uint64_t pinned_bytes = 0;  ///< Rows of features in memory of the host
};

/// Float32 rows on a device, [rows, cols] row-major without padding.
struct DeviceRows {
  Array<float> values;
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
};

/// Rows of a batch, in its order.
struct DeviceBatchRows {
  std::vector<DeviceRows> nodes;                   ///< By NodeTypeId
  std::vector<Array<std::uint64_t>> original_ids;  ///< By NodeTypeId; [nodes], or empty
  std::vector<DeviceRows> edges;                   ///< By EdgeTypeId; empty: of no type
  Array<std::int64_t> labels;                      ///< [seeds] or empty
  DeviceRows targets;                              ///< [seeds, labels], or no columns
};

/// Rows of a table, decoded and normalized.
/// \param index   on the device: [rows] places in the table, and from its end on in `staged`
/// \param staged  rows that came with the batch; none
template <class Stream>
DeviceRows gather_rows(Stream& on, const DeviceTable& table, const std::uint64_t* index,
                       std::uint64_t rows, const Array<std::byte>& staged = {}) {
  DeviceRows out{on.template array<float>(rows * table.info.cols), rows, table.info.cols};
  const auto cols = table.info.cols;
  if (on.failed() || rows * cols == 0) {
    return out;
  }
  const auto gather = [&]<class Decode, class Scale>(const Decode& decode, const Scale& scale) {
    using Stored = typename Decode::Stored;
    const TableRows<Stored> from{table.as<Stored>(staged), index, cols};
    const auto launch = [&](std::size_t packs, auto body) {
      table.far.empty() ? on.for_rows(rows, packs, body) : on.for_rows_beside(rows, packs, body);
    };
    constexpr unsigned width = 4;
    if (cols % width == 0) {
      launch(cols / width,
             GatherPack<Decode, Scale, width>{from, decode, scale, out.values.data()});
    } else {
      launch(cols, GatherPack<Decode, Scale, 1>{from, decode, scale, out.values.data()});
    }
  };
  const auto normalize = [&]<class Decode>(const Decode& decode) {
    using Stored = typename Decode::Stored;
    if (table.normalize == Normalize::column) {
      gather(decode, ScaledByColumn{table.means.data(), table.divisors.data()});
    } else if (table.normalize == Normalize::row) {
      const auto divisors = on.template array<float>(rows);
      const TableRows<Stored> from{table.as<Stored>(staged), index, cols};
      on.for_each(rows, FindRowDivisor<Decode>{from, decode, divisors.data()});
      gather(decode, DividedByRow{divisors.data()});
    } else {
      gather(decode, AsStored{});
    }
  };
  switch (table.info.dtype) {
    case DType::u8:
      normalize(DecodeU8{table.info.scale});
      break;
    case DType::f16:
      normalize(DecodeF16{});
      break;
    case DType::bf16:
      normalize(DecodeBf16{});
      break;
    case DType::f64:
      normalize(DecodeF64{});
      break;
    default:  // f32: features_for_device() lets no other through
      normalize(DecodeF32{});
  }
  return out;
}

/// Rows of values as they are stored.
template <class T, class Stream>
Array<T> gather_values(Stream& on, const Array<T>& table, std::uint64_t cols,
                       const std::uint64_t* index, std::uint64_t rows) {
  auto out = on.template array<T>(rows * cols);
  on.for_rows(rows, cols, GatherValue<T>{{near_table<T>(table.data()), index, cols}, out.data()});
  return out;
}

/// Copies the first rows of each piece of a table to the device, the others to pinned memory. Waits for
/// nothing.
/// \param near    [pieces] rows that the device has
/// \param beside  the same table with the same split on another device, or null
template <class Stream>
DeviceTable upload_table(Stream& on, const TableArrays& table, std::span<const std::uint64_t> near,
                         const DeviceTable* beside) {
  DeviceTable to{.info = table.info, .normalize = table.normalize};
  const auto row_bytes = table.info.row_bytes();
  std::vector<std::span<const std::byte>> near_pieces;
  std::vector<std::span<const std::byte>> far_pieces;
  std::uint64_t far_bytes = 0;
  for (std::size_t p = 0; p < table.pieces.size(); ++p) {
    const auto end = std::min(near[p] * row_bytes, table.pieces[p].size_bytes());
    near_pieces.push_back(table.pieces[p].first(end));
    far_pieces.push_back(table.pieces[p].subspan(end));
    to.near_rows += row_bytes == 0 ? 0 : end / row_bytes;
    far_bytes += far_pieces.back().size_bytes();
  }
  to.far_rows = row_bytes == 0 ? 0 : far_bytes / row_bytes;
  to.near = on.template array<std::byte>(to.near_rows * row_bytes);
  auto* at = to.near.data();
  for (std::size_t p = 0; p < near_pieces.size() && !on.failed(); ++p) {
    on.upload(near_pieces[p].data(), at, near_pieces[p].size_bytes());
    at += near_pieces[p].size_bytes();
  }
  if (far_bytes > 0) {
    to.far = beside != nullptr ? beside->far : pinned_pieces(on, far_pieces, far_bytes);
  }
  to.means = uploaded_array(on, std::span<const float>(table.means));
  to.divisors = uploaded_array(on, std::span<const float>(table.divisors));
  return to;
}

/// Copies tables: their first rows to the device, the others to pinned memory. Waits.
/// \param near    rows by type and piece that the device has
/// \param beside  the same tables with the same split on another device of the process, or null: pinned
///   memory is shared with it
/// \errors those of the stream
template <class Stream>
Result<DeviceFeatures> upload_features(Stream& on, const FeatureArrays& arrays,
                                       const RowTiers& near,
                                       const DeviceFeatures* beside = nullptr) {
  DeviceFeatures features;
  const auto counted = [&]<class T>(std::span<const T> values) {
    features.bytes += values.size_bytes();
    return uploaded_array(on, values);
  };
  const auto placed = [&](const TableArrays& table, std::span<const std::uint64_t> near_rows,
                          const DeviceTable* other) {
    auto to = upload_table(on, table, near_rows, other);
    features.row_bytes += to.near_rows * table.info.row_bytes();
    features.pinned_bytes += to.far_rows * table.info.row_bytes();
    features.bytes +=
        to.near_rows * table.info.row_bytes() + to.means.size_bytes() + to.divisors.size_bytes();
    return to;
  };
  for (std::size_t type = 0; type < arrays.nodes.size(); ++type) {
    const auto& nodes = arrays.nodes[type];
    features.nodes.push_back(
        {placed(nodes.features, near.nodes[type], beside ? &beside->nodes[type].features : nullptr),
         counted(nodes.original_ids), counted(nodes.labels), counted(nodes.targets),
         nodes.target_cols});
  }
  for (std::size_t type = 0; type < arrays.edges.size(); ++type) {
    features.edges.push_back(placed(arrays.edges[type], {&near.edges[type], 1},
                                    beside ? &beside->edges[type] : nullptr));
  }
  TROUPE_RETURN_IF_ERROR(on.finish());
  return Result<DeviceFeatures>(std::move(features));
}

/// Launches the work for a batch; does not wait. Seeds of several types have no labels, and those of a
/// batch with slots none here.
/// \requires `on` has waited for the batch, which has entry numbers of the types whose features are
///   wanted
template <class Stream>
DeviceBatchRows gather_batch(Stream& on, const DeviceFeatures& features, const DeviceBatch& batch) {
  DeviceBatchRows rows;
  rows.original_ids.resize(features.nodes.size());
  for (std::size_t type = 0; type < features.nodes.size(); ++type) {
    const auto& from = features.nodes[type];
    const auto& nodes = batch.nodes[type];
    const bool staged = !nodes.slots.empty();
    rows.nodes.push_back(gather_rows(on, from.features,
                                     staged ? nodes.slots.data() : nodes.ids.data(), nodes.count(),
                                     nodes.staged));
    if (!from.original_ids.empty()) {
      rows.original_ids[type] =
          gather_values(on, from.original_ids, 1, nodes.ids.data(), nodes.count());
    }
  }
  bool has_edges = false;
  for (const auto& table : features.edges) {
    has_edges = has_edges || table.info.cols > 0;
  }
  for (std::size_t type = 0; has_edges && type < features.edges.size(); ++type) {
    const auto& edges = batch.edges[type];
    const bool wanted = features.edges[type].info.cols > 0;
    rows.edges.push_back(gather_rows(on, features.edges[type], edges.entries.data(),
                                     wanted ? edges.sources.size() : 0));
  }
  const auto& labels = features.nodes[raw(batch.seed_type)];
  if (batch.mixed_seeds || (labels.labels.empty() && labels.targets.empty())) {
    return rows;
  }
  const auto seeds = batch.seed_index.size();
  const auto index = on.template array<std::uint64_t>(seeds);
  on.for_each(seeds, FindSeedNode{batch.nodes[raw(batch.seed_type)].ids.data(),
                                  batch.seed_index.data(), index.data()});
  if (!labels.labels.empty()) {
    rows.labels = gather_values(on, labels.labels, 1, index.data(), seeds);
  }
  if (!labels.targets.empty()) {
    rows.targets = {gather_values(on, labels.targets, labels.target_cols, index.data(), seeds),
                    seeds, labels.target_cols};
  }
  return rows;
}

}  // namespace troupe::gpu
