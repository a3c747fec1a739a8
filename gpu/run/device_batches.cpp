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
  std::vector<ArrayCopy> copies;
};

/// \returns null: nothing stays
std::shared_ptr<const Held> hold(ArraysThere arrays, DeviceBatch sampled, DeviceBatchRows rows,
                                 std::vector<ArrayCopy> copies) {
  if (arrays == ArraysThere::none) {
    return nullptr;
  }
  return std::make_shared<const Held>(Held{std::move(sampled), std::move(rows), std::move(copies)});
}

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
void count_tiers(const NearRows& near, MadeBatch& result) {
  for (std::size_t t = 0; t < near.size(); ++t) {
    const auto& ids = result.batch.sampled->nodes[t].ids;
    if (near[t]) {
      const auto there = static_cast<std::uint64_t>(
          std::ranges::count_if(ids, [&](NodeId id) { return raw(id) < *near[t]; }));
      result.rows_device += there;
      result.rows_pinned += ids.size() - there;
    }
  }
}

/// Calls f(array, array of `there`) for the arrays of one edge type that a device samples.
template <class F>
void each_edge_array(F f, const BatchEdges& edges, const DeviceBatchEdges& there) {
  f(edges.offsets.dense(), there.offsets);
  f(edges.sources, there.sources);
  f(edges.edge_ids, there.edge_ids);
  f(edges.weights, there.weights);
  f(edges.times, there.times);
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
  both(batch.sampled->seed_index, held->sampled.seed_index);
  both(batch.labels, held->rows.labels);
  both(batch.targets.view().flat(), held->rows.targets.values);
  for (std::size_t t = 0; t < batch.rows.size(); ++t) {
    both(batch.sampled->nodes[t].ids, held->sampled.nodes[t].ids);
    both(batch.rows[t].original_ids, held->rows.original_ids[t]);
  }
  for (std::size_t e = 0; e < held->sampled.edges.size(); ++e) {
    each_edge_array(both, batch.sampled->edges[e], held->sampled.edges[e]);
    if (e < batch.edge_features.size() && e < held->rows.edges.size()) {
      both(batch.edge_features[e].view().flat(), held->rows.edges[e].values);
    }
  }
  for (const ArrayCopy& copy : held->copies) {
    result->arrays.push_back({copy.host, copy.device.data()});
  }
  result->memory = held;
  return result;
}

/// Ends a batch: with its digest, and its rows on the device alone if it stays there.
/// \param held  null: nothing stays
void finish(MadeBatch& made, DigestMode digest, const std::shared_ptr<const Held>& held) {
  Batch& batch = made.batch;
  if (digest != DigestMode::off) {
    batch.digest = {digest, digest_batch(batch, digest)};
  }
  if (held == nullptr) {
    return;
  }
  for (BatchRows& of_type : batch.rows) {
    of_type.features = {};
  }
  batch.on_device = on_device(held, batch);
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
  FeaturePlan plan{.normalize = normalize,
                   .original_ids = collect.wants_original_ids(),
                   .labels = collect.with_labels};
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
      std::move(made), {}, digest);
  TROUPE_RETURN_IF_ERROR(sampler_->wait());
  return rest;
}

Result<DeviceBatches::Rest> DeviceBatches::collect(std::shared_ptr<const SampledBatch> sampled,
                                                   DigestMode digest) {
  const std::lock_guard lock(mutex_);
  auto there = rows_->upload(*sampled);
  std::vector<ArrayCopy> copies;
  copy_rest(*sampled, there, copies);
  return with_rows([sampled = std::move(sampled)] { return sampled; }, std::move(there),
                   std::move(copies), digest);
}

void DeviceBatches::copy(std::span<const std::byte> host, std::vector<ArrayCopy>& copies) {
  if (!host.empty()) {
    copies.push_back({host, rows_->upload(host)});
  }
}

/// Where all arrays are to be there: those of a batch that the host sampled which are not yet.
void DeviceBatches::copy_rest(const SampledBatch& of, const DeviceBatch& there,
                              std::vector<ArrayCopy>& copies) {
  if (arrays_ != ArraysThere::all) {
    return;
  }
  const auto put = [&](const auto& list) { copy(std::as_bytes(std::span(list)), copies); };
  const auto put_missing = [&](const auto& list, const auto& array) {
    if (array.empty()) {
      put(list);
    }
  };
  for (std::size_t t = 0; t < of.nodes.size(); ++t) {
    put_missing(of.nodes[t].ids, there.nodes[t].ids);
    put(of.nodes[t].trees);
  }
  for (std::size_t e = 0; e < of.edges.size(); ++e) {
    each_edge_array(put_missing, of.edges[e], there.edges[e]);
  }
  if (of.links) {
    for (const auto* const ends :
         {&of.links->sources, &of.links->destinations, &of.links->negative_sources,
          &of.links->negative_destinations, &of.links->candidates}) {
      put(*ends);
    }
    put(of.links->labels);
    put(of.links->times);
  }
  if (of.walks) {
    put(of.walks->nodes);
    put(of.walks->restarts);
  }
}

/// The same of what the host collected.
void DeviceBatches::copy_rest(const Batch& of, std::vector<ArrayCopy>& copies) {
  if (arrays_ != ArraysThere::all) {
    return;
  }
  const auto put = [&](const auto& list) { copy(std::as_bytes(std::span(list)), copies); };
  put(of.labels);
  put(of.targets.view().flat());
  for (const BatchRows& of_type : of.rows) {
    put(of_type.original_ids);
  }
  for (const Matrix& of_type : of.edge_features) {
    put(of_type.view().flat());
  }
  for (const BatchColumn& column : of.columns) {
    put(column.values.bytes);
  }
}

Result<DeviceBatches::Rest> DeviceBatches::with_rows(Sampled sampled, DeviceBatch there,
                                                     std::vector<ArrayCopy> copies,
                                                     DigestMode digest) {
  auto rows = rows_->start_gather(there);
  auto put = rows_->fetch(rows, brings_rows(digest));
  TROUPE_RETURN_IF_ERROR(rows_->wait());
  const auto held = hold(arrays_, std::move(there), std::move(rows), std::move(copies));
  return Rest([held, sampled = std::move(sampled), put = std::move(put), digest,
               near = near_rows_of(rows_->features())] {
    MadeBatch made;
    made.batch.sampled = sampled();
    put(made.batch);
    count_tiers(near, made);
    finish(made, digest, held);
    return made;
  });
}

Result<DeviceBatches::Rest> DeviceBatches::place(std::shared_ptr<Batch> batch, DigestMode digest) {
  const std::lock_guard lock(mutex_);
  auto there = rows_->upload(*batch->sampled, *batch->staged);
  std::vector<ArrayCopy> copies;
  copy_rest(*batch->sampled, there, copies);
  copy_rest(*batch, copies);
  auto rows = rows_->start_gather(there);
  std::function<void(Batch&)> put;
  if (brings_rows(digest)) {
    put = rows_->fetch(rows, true);
  }
  TROUPE_RETURN_IF_ERROR(rows_->wait());
  for (auto& nodes : there.nodes) {  // They are read once, the batch stays until it was trained on
    nodes.slots = {};
    nodes.staged = {};
  }
  const auto held = hold(arrays_, std::move(there), std::move(rows), std::move(copies));
  return Rest([held, batch = std::move(batch), put = std::move(put), digest] {
    const auto staged = std::exchange(batch->staged, nullptr);
    if (put) {
      Batch copied;
      put(copied);
      for (std::size_t type = 0; type < batch->rows.size(); ++type) {
        batch->rows[type].features = std::move(copied.rows[type].features);
      }
    }
    MadeBatch made{std::move(*batch), staged->rows_near, staged->rows_far};
    finish(made, digest, held);
    return made;
  });
}

}  // namespace troupe::gpu
