#pragma once
/// \file stream_rows.hpp
/// DeviceRowSource over the streams of gpu/base. For emulated_rows.cpp and cuda_rows.cu only.
#include "gpu/base/host_copies.hpp"
#include "gpu/feature/device_rows.hpp"

#include <functional>
#include <memory>
#include <utility>

namespace troupe::gpu {

/// Calls take(array, list) for lists of a batch and put(rows, matrix) for its matrices, in one order.
template <class Take, class Put>
void each_row_array(const DeviceBatchRows& from, bool features, Batch& to, Take take, Put put) {
  to.rows.resize(from.nodes.size());
  for (std::size_t type = 0; type < from.nodes.size(); ++type) {
    if (features) {
      put(from.nodes[type], to.rows[type].features);
    }
    take(from.original_ids[type], to.rows[type].original_ids);
  }
  to.edge_features.resize(from.edges.size());
  for (std::size_t type = 0; type < from.edges.size(); ++type) {
    put(from.edges[type], to.edge_features[type]);
  }
  take(from.labels, to.labels);
  put(from.targets, to.targets);
}

/// Copies slots and staged rows of a batch, all at once. Does not wait.
/// Borrows: `from`, until the work is done
template <class Stream>
void upload_staged(Stream& on, const StagedRows& from, DeviceBatch& to) {
  const auto block = on.template array<std::byte>(from.size_bytes);
  if (on.failed()) {
    return;
  }
  on.upload(from.block.data(), block.data(), from.size_bytes);
  for (std::size_t t = 0; t < from.types.size(); ++t) {
    const auto& of = from.types[t];
    to.nodes[t].slots = block.template piece<std::uint64_t>(of.slots_begin, of.rows);
    if (of.staged > 0) {
      to.nodes[t].staged =
          block.template piece<std::byte>(of.staged_begin, of.staged * of.row_bytes);
    }
  }
}

/// Launches copies of a batch's rows to the host. \returns what puts them into the batch; see
///   DeviceRowSource::fetch()
template <class Stream>
std::function<void(Batch&)> fetch_rows(Stream& on, PinnedPool& pool, const DeviceBatchRows& rows,
                                       bool features) {
  const auto copies = std::make_shared<HostCopies>();
  Batch sizes;
  each_row_array(
      rows, features, sizes,
      [&](const auto& array, auto& list) {
        static_assert(sizeof(*array.data()) == sizeof(*list.data()));
        copies->add(array, array.size());
      },
      [&](const DeviceRows& of_type, Matrix&) {
        copies->add(of_type.values, of_type.rows * of_type.cols);
      });
  copies->start(on, pool);
  return [copies, rows, features](Batch& batch) {
    each_row_array(
        rows, features, batch, [&](const auto&, auto& list) { copies->take(list); },
        [&](const DeviceRows& of_type, Matrix& matrix) {
          auto values = copies->share();
          matrix = of_type.cols == 0 ? Matrix()
                                     : Matrix::of(std::move(values), of_type.rows, of_type.cols);
        });
  };
}

template <class Stream>
class StreamRows : public DeviceRowSource {
 public:
  /// \param features  of the same device, uploaded and waited for
  StreamRows(Stream stream, std::shared_ptr<const DeviceFeatures> features)
      : on_(std::move(stream)), features_(std::move(features)) {}
  ~StreamRows() override { on_.drain(); }

  DeviceBatch upload(const SampledBatch& batch) override { return upload_batch(on_, batch); }

  DeviceBatch upload(const SampledBatch& batch, const StagedRows& staged) override {
    auto there = upload_batch(on_, batch, false);
    upload_staged(on_, staged, there);
    return there;
  }

  Array<std::byte> upload(std::span<const std::byte> host) override { return on_.uploaded(host); }

  DeviceBatchRows start_gather(const DeviceBatch& batch) override {
    return gather_batch(on_, *features_, batch);
  }
  std::function<void(Batch&)> fetch(const DeviceBatchRows& rows, bool features) override {
    return fetch_rows(on_, pool_, rows, features);
  }
  Status wait() override { return on_.finish(); }

  const DeviceFeatures& features() const override { return *features_; }

 private:
  Stream on_;
  PinnedPool pool_;
  std::shared_ptr<const DeviceFeatures> features_;
};

/// Uploads on a stream of its own. Waits.
template <class Stream>
Result<std::shared_ptr<const DeviceFeatures>> features_on(Stream stream,
                                                          const FeatureArrays& arrays,
                                                          const RowTiers& near,
                                                          const DeviceFeatures* beside) {
  TROUPE_ASSIGN_OR_RETURN(auto features, upload_features(stream, arrays, near, beside));
  return std::make_shared<const DeviceFeatures>(std::move(features));
}

}  // namespace troupe::gpu
