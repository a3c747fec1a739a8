#include "bench/system/training_step.hpp"

#include "launcher/cluster_plan.hpp"
#include "runtime/base/executor.hpp"
#include "runtime/nn/ops/aggregate.hpp"
#include "runtime/nn/ops/cpu_block_ops.hpp"
#include "runtime/nn/ops/linear.hpp"
#include "runtime/run/learner.hpp"

#include "bench/support/kernels.hpp"

#include <algorithm>
#include <memory>
#include <vector>

namespace troupe::bench {
namespace {

constexpr std::size_t repeats = 9;

/// Rows of the first layer's size times a weight of its size.
double product_rate(Executor& executor, std::size_t rows, std::size_t in, std::size_t out,
                    nn::Precision precision) {
  const Matrix x = Matrix::zeros(rows, in);
  const Matrix weight = Matrix::zeros(out, in);
  Matrix y(rows, out);
  const Stopwatch watch;
  nn::for_each_chunk(executor, rows, [&](std::size_t first, std::size_t count) {
    nn::linear_rows(x.view().slice(first, count), weight.view(), y.view().slice(first, count),
                    nn::Into::overwrite, precision);
  });
  return 2e-9 * static_cast<double>(rows * in * out) / watch.seconds();
}

double aggregation_rate(Executor& executor, const Job& job, const Batch& batch) {
  const auto block = layer_block(*batch.sampled, 0, job.model.layers);
  const auto x = batch.rows[0].features.view();
  Matrix out(block.num_dst, x.cols);
  const Stopwatch watch;
  nn::for_each_chunk(executor, block.num_dst, [&](std::size_t first, std::size_t count) {
    nn::aggregate_rows(nn::Aggregator::mean, block, first, x, out.view().slice(first, count), {});
  });
  const auto edges = block.offsets[block.num_dst] - block.offsets[0];
  return 1e-9 * static_cast<double>(edges * x.cols * sizeof(float)) / watch.seconds();
}

}  // namespace

/// Products of GraphSAGE on a batch of one type: two per layer forward, their weight gradients, and
/// above the first layer the gradients of their inputs. With narrowing layers the neighbors' product
/// is of all sources.
double products_of(const Job& job, const SampledBatch& batch) {
  if (job.model.kind != "graphsage" || batch.edges.size() != 1) {
    return 0;
  }
  double flops = 0;
  const auto layers = job.model.layers;
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    const auto block = layer_block(batch, layer, layers);
    const auto in = static_cast<double>(layer == 0 ? job.model.in_dim : job.model.hidden);
    const auto out =
        static_cast<double>(layer + 1 == layers ? job.model.out_dim : job.model.hidden);
    const double rows = block.num_dst;
    const bool narrowing = out < in && job.model.aggregator != nn::Aggregator::max;
    const double neighbors = narrowing ? block.num_src : rows;
    flops += 2 * in * out * (rows + neighbors) * (layer == 0 ? 2 : 3);
  }
  return flops * 1e-9;
}

Result<TrainingCost> measure_training(const BenchData& data, std::size_t threads,
                                      std::uint64_t batches, std::uint64_t steps) {
  const auto precision = data.job.train.precision;
  TROUPE_ASSIGN_OR_RETURN(
      const auto learner,
      Learner::create(learner_options(data.job), std::make_unique<nn::CpuBlockOps>(precision)));
  std::vector<Batch> ready;
  for (std::uint64_t number = 0; number < std::min(batches, data.full_batches()); ++number) {
    TROUPE_ASSIGN_OR_RETURN(const auto sampled, sample_batch(data, number));
    TROUPE_ASSIGN_OR_RETURN(auto batch, collect_batch(data, sampled.batch));
    ready.push_back(std::move(batch));
  }
  ComputePool pool(threads);
  TrainingCost cost{.threads = threads, .step_ms = {}, .product_gf_s = {}, .aggregate_gb_s = {}};
  std::vector<double> times;
  for (std::uint64_t step = 0; step < ready.size() + steps; ++step) {
    const auto& batch = ready[step % ready.size()];
    const Stopwatch watch;
    TROUPE_ASSIGN_OR_RETURN(const auto share, learner->compute(pool, batch));
    std::vector<float> mean(share.gradient.begin(), share.gradient.end());
    for (float& value : mean) {
      value /= static_cast<float>(share.weight);
    }
    learner->apply(mean, share.weight);
    if (step >= ready.size()) {
      times.push_back(watch.seconds() * 1e3);
    }
  }
  cost.step_ms = stats_of(std::move(times));
  for (const auto& batch : ready) {
    cost.products_gf += products_of(data.job, *batch.sampled) / static_cast<double>(ready.size());
    for (const auto& edges : batch.sampled->edges) {
      cost.edges += edges.sources.size();
    }
  }
  cost.edges /= ready.size();
  if (cost.products_gf == 0) {
    return cost;
  }
  std::vector<double> products;
  std::vector<double> aggregation;
  const auto first = layer_block(*ready.front().sampled, 0, data.job.model.layers);
  for (std::size_t i = 0; i < repeats; ++i) {
    products.push_back(
        product_rate(pool, first.num_dst, data.job.model.in_dim, data.job.model.hidden, precision));
    aggregation.push_back(aggregation_rate(pool, data.job, ready.front()));
  }
  cost.product_gf_s = stats_of(std::move(products));
  cost.aggregate_gb_s = stats_of(std::move(aggregation));
  cost.share_of_products = cost.products_gf / cost.product_gf_s.median * 1e3 / cost.step_ms.median;
  return cost;
}

}  // namespace troupe::bench
