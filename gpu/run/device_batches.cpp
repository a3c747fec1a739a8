#include "gpu/run/device_batches.hpp"

#include "gpu/sample/graph_arrays.hpp"

#include <algorithm>
#include <utility>

namespace troupe::gpu {
namespace {

/// Device memory of a batch, for as long as something points into it.
struct Held {
  DeviceBatch sampled;
  DeviceBatchRows rows;
};

/// Rows of features by where the gather reads them.
void count_tiers(const Batch& batch, const DeviceFeatures& features, BatchOnDevice& result) {
  for (std::size_t t = 0; t < features.nodes.size(); ++t) {
    const auto& table = features.nodes[t].features;
    const auto& ids = batch.sampled->nodes[t].ids;
    if (table.info.cols > 0) {
      const auto near = static_cast<std::uint64_t>(
          std::ranges::count_if(ids, [&](NodeId id) { return raw(id) < table.near_rows; }));
      result.rows_device += near;
      result.rows_pinned += ids.size() - near;
    }
  }
}

std::shared_ptr<const BatchOnDevice> on_device(DeviceBatch sampled, DeviceBatchRows rows,
                                               const DeviceFeatures& features, const Batch& batch) {
  const auto held = std::make_shared<const Held>(Held{std::move(sampled), std::move(rows)});
  auto result = std::make_shared<BatchOnDevice>();
  count_tiers(batch, features, *result);
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
    if (e < batch.edge_features.size()) {
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
  return check_device_rows(collect);
}

Status check_device_rows(const CollectOptions& collect) {
  if (!collect.columns.empty()) {
    return not_on_device("named columns");
  }
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

Result<Batch> DeviceBatches::make(BatchKey key, const BatchSeeds& seeds, DigestMode digest) {
  TROUPE_ASSIGN_OR_RETURN(auto made, sampler_->sample(key, seeds));
  TROUPE_ASSIGN_OR_RETURN(auto sampled, sampler_->download(made));
  return with_rows(std::make_shared<const SampledBatch>(std::move(sampled)), std::move(made),
                   digest);
}

Result<Batch> DeviceBatches::collect(std::shared_ptr<const SampledBatch> sampled,
                                     DigestMode digest) {
  auto there = rows_->upload(*sampled);
  return with_rows(std::move(sampled), std::move(there), digest);
}

Result<Batch> DeviceBatches::with_rows(std::shared_ptr<const SampledBatch> sampled,
                                       DeviceBatch there, DigestMode digest) {
  TROUPE_ASSIGN_OR_RETURN(auto rows, rows_->gather(there));
  const bool with_features = digest == DigestMode::full;
  TROUPE_ASSIGN_OR_RETURN(Batch batch, rows_->download(std::move(sampled), rows, with_features));
  if (digest != DigestMode::off) {
    batch.digest = {digest, digest_batch(batch, digest)};
  }
  for (BatchRows& of_type : batch.rows) {
    of_type.features = {};
  }
  batch.on_device = on_device(std::move(there), std::move(rows), rows_->features(), batch);
  return batch;
}

}  // namespace troupe::gpu
