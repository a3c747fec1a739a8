#include "gpu/run/device_batches.hpp"

#include "gpu/sample/graph_arrays.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace troupe::gpu {
namespace {

/// Device memory of a batch, for as long as something points into it.
struct Held {
  DeviceBatch sampled;
  DeviceBatchRows rows;
};

/// By node type: rows of its table that are in the device's memory; none: it has no table.
using NearRows = std::vector<std::optional<std::uint64_t>>;

NearRows near_rows_of(const DeviceFeatures& features) {
  NearRows near;
  for (const auto& [table, ids, labels, targets, target_cols] : features.nodes) {
    near.push_back(table.info.cols > 0 ? std::optional(table.near_rows) : std::nullopt);
  }
  return near;
}

/// Rows of features by where the gather reads them.
void count_tiers(const Batch& batch, const NearRows& near, BatchOnDevice& result) {
  for (std::size_t t = 0; t < near.size(); ++t) {
    const auto& ids = batch.sampled->nodes[t].ids;
    if (near[t]) {
      const auto there = static_cast<std::uint64_t>(
          std::ranges::count_if(ids, [&](NodeId id) { return raw(id) < *near[t]; }));
      result.rows_device += there;
      result.rows_pinned += ids.size() - there;
    }
  }
}

std::shared_ptr<BatchOnDevice> on_device(const std::shared_ptr<const Held>& held,
                                         const Batch& batch) {
  auto result = std::make_shared<BatchOnDevice>();
  for (const DeviceRows& of_type : held->rows.nodes) {
    result->features.push_back({of_type.values.data(), of_type.rows, of_type.cols});
  }
  const auto both = [&](const auto& host, const auto& device) {
    const auto bytes = std::as_bytes(std::span(host));
    if (!bytes.empty() && bytes.size() <= device.size_bytes()) {
      result->arrays.push_back({bytes, reinterpret_cast<const std::byte*>(device.data())});
    }
  };
  for (std::size_t t = 0; t < batch.rows.size(); ++t) {
    both(batch.rows[t].original_ids, held->rows.original_ids[t]);
  }
  for (std::size_t e = 0; e < held->sampled.edges.size(); ++e) {
    both(batch.sampled->edges[e].offsets, held->sampled.edges[e].offsets);
    both(batch.sampled->edges[e].sources, held->sampled.edges[e].sources);
    both(batch.sampled->edges[e].weights, held->sampled.edges[e].weights);
    if (e < batch.edge_features.size() && e < held->rows.edges.size()) {
      both(batch.edge_features[e].view().flat(), held->rows.edges[e].values);
    }
  }
  result->memory = held;
  return result;
}

Error not_on_device(const char* what) {
  return {Errc::unimplemented,
          std::string("batches on a device: ").append(what).append(" are not built yet")};
}

}  // namespace

Status check_device_batches(const SampleOptions& sample, const CollectOptions& collect) {
  TROUPE_RETURN_IF_ERROR(check_device_sampling(sample));
  return check_rows_of_whole_graph(collect);
}

Status check_rows_of_whole_graph(const CollectOptions& collect) {
  if (!collect.columns.empty()) {
    return not_on_device("named columns");
  }
  return check_device_rows(collect);
}

Status check_device_rows(const CollectOptions& collect) {
  if (collect.source.kind != RowSource::Kind::features || collect.seeds_only) {
    return not_on_device("rows of tensors, or of seeds alone,");
  }
  return ok_status();
}

FeaturePlan feature_plan(const CollectOptions& collect, Normalize normalize) {
  FeaturePlan plan{.normalize = normalize, .labels = collect.with_labels};
  for (std::size_t type = 0; type < collect.edge_decoders.size(); ++type) {
    if (collect.wants_edge_features(type)) {
      plan.edge_features.push_back(static_cast<EdgeTypeId>(type));
    }
  }
  return plan;
}

Result<DeviceBatches::Rest> DeviceBatches::make(BatchKey key, const BatchSeeds& seeds,
                                                DigestMode digest) {
  const std::lock_guard lock(mutex_);
  TROUPE_ASSIGN_OR_RETURN(auto made, sampler_->sample(key, seeds));
  auto copied = sampler_->fetch(made);
  auto rest = with_rows(
      [copied = std::move(copied)] { return std::make_shared<const SampledBatch>(copied()); },
      std::move(made), digest);
  TROUPE_RETURN_IF_ERROR(sampler_->wait());
  return rest;
}

Result<DeviceBatches::Rest> DeviceBatches::collect(std::shared_ptr<const SampledBatch> sampled,
                                                   DigestMode digest) {
  const std::lock_guard lock(mutex_);
  auto there = rows_->upload(*sampled);
  return with_rows([sampled = std::move(sampled)] { return sampled; }, std::move(there), digest);
}

Result<DeviceBatches::Rest> DeviceBatches::with_rows(Sampled sampled, DeviceBatch there,
                                                     DigestMode digest) {
  auto rows = rows_->start_gather(there);
  auto put = rows_->fetch(rows, digest == DigestMode::full);
  TROUPE_RETURN_IF_ERROR(rows_->wait());
  const auto held = std::make_shared<const Held>(Held{std::move(there), std::move(rows)});
  return Rest([held, sampled = std::move(sampled), put = std::move(put), digest,
               near = near_rows_of(rows_->features())] {
    Batch batch;
    batch.sampled = sampled();
    put(batch);
    if (digest != DigestMode::off) {
      batch.digest = {digest, digest_batch(batch, digest)};
    }
    for (BatchRows& of_type : batch.rows) {
      of_type.features = {};
    }
    const auto on = on_device(held, batch);
    count_tiers(batch, near, *on);
    batch.on_device = on;
    return batch;
  });
}

Result<DeviceBatches::Rest> DeviceBatches::place(std::shared_ptr<Batch> batch, DigestMode digest) {
  const std::lock_guard lock(mutex_);
  auto there = rows_->upload(*batch->sampled, *batch->staged);
  auto rows = rows_->start_gather(there);
  std::function<void(Batch&)> put;
  if (digest == DigestMode::full) {
    put = rows_->fetch(rows, true);
  }
  TROUPE_RETURN_IF_ERROR(rows_->wait());
  for (auto& nodes : there.nodes) {  // They are read once, the batch stays until it was trained on
    nodes.slots = {};
    nodes.staged = {};
  }
  const auto held = std::make_shared<const Held>(Held{std::move(there), std::move(rows)});
  return Rest([held, batch = std::move(batch), put = std::move(put), digest] {
    const auto staged = std::exchange(batch->staged, nullptr);
    if (put) {
      Batch copied;
      put(copied);
      for (std::size_t type = 0; type < batch->rows.size(); ++type) {
        batch->rows[type].features = std::move(copied.rows[type].features);
      }
    }
    if (digest != DigestMode::off) {
      batch->digest = {digest, digest_batch(*batch, digest)};
    }
    for (BatchRows& of_type : batch->rows) {
      of_type.features = {};
    }
    const auto on = on_device(held, *batch);
    on->rows_device = staged->rows_near;
    on->rows_pinned = staged->rows_far;
    batch->on_device = on;
    return std::move(*batch);
  });
}

}  // namespace troupe::gpu
