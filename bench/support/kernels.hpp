#pragma once
/// \file kernels.hpp
/// The work of a batch without actors: sampling and gathering on the calling thread, in the calls
/// that the sampler and the collector make.
#include "bench/support/bench_data.hpp"
#include "bench/support/measure.hpp"

#include <cstdint>
#include <memory>

namespace troupe::bench {

/// Microseconds of one batch.
struct SampleCost {
  double draw_us = 0;  ///< inside sample_one_hop
  double grow_us = 0;  ///< numbering new nodes and asking: BatchBuilder
  std::uint64_t frontier_nodes = 0;

  double all_us() const { return draw_us + grow_us; }
};
struct Sampled {
  std::shared_ptr<const SampledBatch> batch;
  SampleCost cost;
};
/// \errors those of sampling
Result<Sampled> sample_batch(const BenchData& data, std::uint64_t number);

/// Rows, original ids and labels of a batch, into fresh memory.
/// \param collect  null: that of `data`
Result<Batch> collect_batch(const BenchData& data, std::shared_ptr<const SampledBatch> sampled,
                            std::shared_ptr<const CollectOptions> collect = nullptr);

/// Copies the batch's feature rows from the tables into `out`, and nothing else: what a gather could
/// reach at best. Only for one node type.
/// \param out  at least the rows' bytes
void copy_rows(const BenchData& data, const SampledBatch& sampled, std::span<std::byte> out);

}  // namespace troupe::bench
