#pragma once
/// \file stream_rows.hpp
/// DeviceRowSource over the streams of gpu/base. For emulated_rows.cpp and cuda_rows.cu only.
#include "gpu/feature/device_rows.hpp"

#include <memory>
#include <utility>

namespace troupe::gpu {

template <class Stream>
class StreamRows : public DeviceRowSource {
 public:
  /// \param features  of the same device, uploaded and waited for
  StreamRows(Stream stream, std::shared_ptr<const DeviceFeatures> features)
      : on_(std::move(stream)), features_(std::move(features)) {}
  ~StreamRows() override { on_.drain(); }

  DeviceBatch upload(const SampledBatch& batch) override { return upload_batch(on_, batch); }

  Result<DeviceBatchRows> gather(const DeviceBatch& batch) override {
    auto rows = gather_batch(on_, *features_, batch);
    if (auto status = on_.finish(); !status) {
      on_.drain();  // Copies of an uploaded batch read what the caller may drop
      return std::move(status).error();
    }
    return Result<DeviceBatchRows>(std::move(rows));
  }

  Result<Batch> download(std::shared_ptr<const SampledBatch> sampled, const DeviceBatchRows& rows,
                         bool features) override {
    Batch batch;
    batch.sampled = std::move(sampled);
    batch.rows.resize(rows.nodes.size());
    for (std::size_t type = 0; type < rows.nodes.size(); ++type) {
      if (features) {
        batch.rows[type].features = matrix_of(rows.nodes[type]);
      }
      take(rows.original_ids[type], batch.rows[type].original_ids);
    }
    for (const auto& of_type : rows.edges) {
      batch.edge_features.push_back(matrix_of(of_type));
    }
    take(rows.labels, batch.labels);
    batch.targets = matrix_of(rows.targets);
    TROUPE_RETURN_IF_ERROR(on_.finish());
    return Result<Batch>(std::move(batch));
  }

  const DeviceFeatures& features() const override { return *features_; }

 private:
  Matrix matrix_of(const DeviceRows& rows) {
    if (rows.cols == 0) {
      return {};
    }
    Matrix matrix(rows.rows, rows.cols);
    if (!rows.values.empty()) {
      on_.download(rows.values.data(), matrix.data(), rows.values.size_bytes());
    }
    return matrix;
  }
  template <class T, class U>
  void take(const Array<T>& array, PooledVector<U>& list) {
    static_assert(sizeof(T) == sizeof(U));
    list.resize(array.size());
    if (!array.empty()) {
      on_.download(array.data(), list.data(), array.size_bytes());
    }
  }

  Stream on_;
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
