#include "bench/gpu/stages.hpp"

#include "gpu/run/device_batches.hpp"
#include "launcher/cluster_plan.hpp"
#include "runtime/base/executor.hpp"
#include "runtime/base/philox.hpp"
#include "runtime/run/learner.hpp"

#include "bench/gpu/on_device.hpp"
#include "bench/support/kernels.hpp"
#include "bench/support/measure.hpp"
#include "bench/system/training_step.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <span>
#include <thread>
#include <utility>

namespace troupe::bench {
namespace {

using Json = nlohmann::ordered_json;

/// Rates of `amount` per call of `work`, which waits until it is done.
template <class Work>
Result<Stats> rates(const DeviceBenchOptions& options, double amount, const Work& work) {
  std::vector<double> values;
  for (std::size_t i = 0; i < options.warm_ups + options.repeats; ++i) {
    const Stopwatch watch;
    TROUPE_RETURN_IF_ERROR(work());
    if (i >= options.warm_ups) {
      values.push_back(amount / watch.seconds());
    }
  }
  return stats_of(std::move(values));
}

std::vector<float> random_floats(std::size_t count) {
  std::vector<float> values(count);
  const StreamKey key = stream_key(1, {.domain = Domain::generators});
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = 2.0F * unit_float(DrawStream(key, i).next()) - 1.0F;
  }
  return values;
}

struct DeviceLimits {
  Stats copy_gb_s;     ///< Bytes read and bytes written
  Stats product_tf_s;  ///< Of rows times a square weight as wide as the model
};

/// Memory and products, by the block operations that steps call.
Result<DeviceLimits> measure_limits(nn::BlockOps& ops, const DeviceBenchOptions& options,
                                    std::size_t width) {
  const std::size_t count = options.limit_bytes / sizeof(float);
  const auto pattern = random_floats(std::size_t{1} << 20);
  Buffer from = ops.memory()->take(options.limit_bytes);
  Buffer to = ops.memory()->take(options.limit_bytes);
  const auto source = from.as<float>().first(count);
  const auto target = to.as<float>().first(count);
  for (std::size_t at = 0; at < count; at += pattern.size()) {
    const std::size_t size = std::min(pattern.size(), count - at);
    ops.upload(pattern.data(), source.subspan(at).data(), size * sizeof(float));
  }
  float last = 0;
  const auto wait = [&] { return ops.download(&target[count - 1], &last, sizeof last); };
  DeviceLimits limits;
  TROUPE_ASSIGN_OR_RETURN(limits.copy_gb_s,
                          rates(options, 2e-9 * static_cast<double>(options.limit_bytes), [&] {
                            ops.copy(source, target);
                            return wait();
                          }));
  InlineExecutor executor;
  const std::size_t rows = (count - width * width) / width;
  const MutMatrix weight{source.data(), width, width};
  const MutMatrix x{source.data() + width * width, rows, width};
  const MutMatrix y{target.data() + width * width, rows, width};
  const double flops = 2e-12 * static_cast<double>(rows) * static_cast<double>(width * width);
  TROUPE_ASSIGN_OR_RETURN(limits.product_tf_s, rates(options, flops, [&] {
                            ops.product_backward(executor, x, weight, y);
                            return wait();
                          }));
  return limits;
}

BenchData with_batches_of(BenchData data, std::uint64_t size) {
  data.job.sample.batch_size = size;
  data.order = std::make_shared<const SeedOrder>(
      std::make_shared<const SeedList>(data.order->seeds()), size, data.job.seed, true);
  return data;
}

/// Bytes that gathering rows reads and writes.
double gathered_bytes(const BenchData& data, const gpu::DeviceBatch& batch) {
  double bytes = 0;
  for (std::size_t type = 0; type < batch.nodes.size(); ++type) {
    const auto& features = data.graph->node_types[type].features;
    const double row = sizeof(std::uint64_t) +  // the node
                       (features ? static_cast<double>(features->row_bytes()) +
                                       static_cast<double>(features->cols * sizeof(float))
                                 : 0.0);
    bytes += static_cast<double>(batch.nodes[type].count()) * row;
  }
  return bytes;
}

/// Rate of copies from pinned memory of the host to the device: what a gather of rows there can have.
Result<Stats> measure_link(const OnDevice& on, const DeviceBenchOptions& options,
                           const gpu::DeviceFeatures& pinned) {
  TROUPE_ASSIGN_OR_RETURN(const auto ops, on.block_ops());
  const auto& table = pinned.nodes[0].features.far;
  const auto size =
      std::min(table.size_bytes(), options.limit_bytes) / sizeof(float) * sizeof(float);
  Buffer to = ops->memory()->take(std::max(size, sizeof(float)));
  float last = 0;
  return rates(options, 1e-9 * static_cast<double>(size), [&] {
    ops->upload(table.data(), to.data(), size);
    return ops->download(to.data(), &last, sizeof last);
  });
}

/// Rows of so many batches are gathered one after the other without a wait.
constexpr std::size_t batches_at_a_time = 8;

/// Batches of one size, each sampled and its rows gathered on the device, and sampled on one core.
class BatchBench {
 public:
  /// \param rows_alone  as `rows`, without ids and labels, whose kernels are as long as their launches
  BatchBench(const BenchData& data, gpu::DeviceSampler& sampler, gpu::DeviceRowSource& rows,
             gpu::DeviceRowSource& rows_alone, std::vector<TieredRows>& tiers)
      : data_(data), sampler_(sampler), rows_(rows), rows_alone_(rows_alone), tiers_(tiers) {
    for (TieredRows& of : tiers_) {
      of.gather_ms.clear();
      of.pinned_gb_s.clear();
    }
  }

  Result<Json> measure(const DeviceBenchOptions& options, double copy_gb_s) {
    for (std::size_t i = 0; i < options.warm_ups + options.repeats; ++i) {
      TROUPE_RETURN_IF_ERROR(one_batch(i % data_.full_batches(), i >= options.warm_ups));
    }
    const auto gather = stats_of(gather_gb_s_);
    Json tiers;
    for (const TieredRows& of : tiers_) {
      tiers[of.name] = {
          {"ms", to_json(stats_of(of.gather_ms))},
          {"pinned_gb_s", to_json(stats_of(of.pinned_gb_s))},
          {"times_all_on_device", stats_of(of.gather_ms).median / stats_of(gather_ms_).median}};
    }
    return Json{{"batch_size", data_.job.sample.batch_size},
                {"edges", stats_of(edges_).median},
                {"nodes", stats_of(nodes_).median},
                {"sample_ms", to_json(stats_of(sample_ms_))},
                {"sample_m_edges_s", to_json(stats_of(m_edges_s_))},
                {"gather_ms", to_json(stats_of(gather_ms_))},
                {"gather_gb_s", to_json(gather)},
                {"gather_share_of_copy", gather.median / copy_gb_s},
                {"tiers", tiers},
                {"host_sample_ms", to_json(stats_of(host_sample_ms_))},
                {"host_collect_ms", to_json(stats_of(host_collect_ms_))}};
  }

 private:
  /// Seconds of a gather where several batches wait for theirs, so that launches and waits overlap.
  Result<double> seconds_of_gather(gpu::DeviceRowSource& rows) const {
    std::vector<gpu::DeviceBatchRows> gathered;
    const Stopwatch watch;
    for (const auto& batch : recent_) {
      gathered.push_back(rows.start_gather(batch));
    }
    TROUPE_RETURN_IF_ERROR(rows.wait());
    return watch.seconds() / static_cast<double>(recent_.size());
  }
  /// The mean of what `bytes_of` says of each of the batches.
  template <class BytesOf>
  double mean_bytes(const BytesOf& bytes_of) const {
    double bytes = 0;
    for (const auto& batch : recent_) {
      bytes += bytes_of(batch) / static_cast<double>(recent_.size());
    }
    return bytes;
  }

  Status one_batch(std::uint64_t number, bool counts) {
    const BatchKey key = data_.key(number);
    const auto ordered = data_.order->seeds_of(0, number);
    const BatchSeeds seeds{
        .groups = {{ordered.type, {ordered.nodes.begin(), ordered.nodes.end()}}}};
    const Stopwatch sampling;
    TROUPE_ASSIGN_OR_RETURN(const auto batch, sampler_.sample(key, seeds));
    const double sampling_s = sampling.seconds();
    if (recent_.size() == batches_at_a_time) {
      recent_.erase(recent_.begin());
      recent_pinned_.erase(recent_pinned_.begin());
    }
    recent_.push_back(batch);
    TROUPE_ASSIGN_OR_RETURN(const double gathering_s, seconds_of_gather(rows_alone_));
    TROUPE_ASSIGN_OR_RETURN(const auto gathered, rows_.gather(batch));
    const Stopwatch host_sampling;
    TROUPE_ASSIGN_OR_RETURN(const auto sampled, sample_batch(data_, number));
    const double host_sampling_s = host_sampling.seconds();
    const Stopwatch collecting;
    TROUPE_ASSIGN_OR_RETURN(const auto collected, collect_batch(data_, sampled.batch));
    const double collecting_s = collecting.seconds();
    TROUPE_RETURN_IF_ERROR(compare(batch, rows_, gathered, collected, number));
    TROUPE_RETURN_IF_ERROR(gather_tiers(batch, *sampled.batch, collected, number, counts));
    if (counts) {
      double edges = 0;
      for (const auto& of_type : batch.edges) {
        edges += static_cast<double>(of_type.sources.size());
      }
      double nodes = 0;
      for (const auto& of_type : batch.nodes) {
        nodes += of_type.count();
      }
      edges_.push_back(edges);
      nodes_.push_back(nodes);
      sample_ms_.push_back(sampling_s * 1e3);
      m_edges_s_.push_back(edges * 1e-6 / sampling_s);
      gather_ms_.push_back(gathering_s * 1e3);
      const auto bytes = mean_bytes([&](const auto& of) { return gathered_bytes(data_, of); });
      gather_gb_s_.push_back(bytes * 1e-9 / gathering_s);
      host_sample_ms_.push_back(host_sampling_s * 1e3);
      host_collect_ms_.push_back(collecting_s * 1e3);
    }
    return ok_status();
  }

  /// The same rows where some are in pinned memory.
  Status gather_tiers(const gpu::DeviceBatch& batch, const SampledBatch& sampled,
                      const Batch& collected, std::uint64_t number, bool counts) {
    auto& pinned = recent_pinned_.emplace_back();
    for (const TieredRows& of : tiers_) {
      pinned.push_back(pinned_bytes(sampled, of.source->features()));
    }
    for (std::size_t t = 0; t < tiers_.size(); ++t) {
      TieredRows& of = tiers_[t];
      TROUPE_ASSIGN_OR_RETURN(const double seconds, seconds_of_gather(*of.source));
      TROUPE_ASSIGN_OR_RETURN(const auto gathered, of.source->gather(batch));
      TROUPE_RETURN_IF_ERROR(compare(batch, *of.source, gathered, collected, number));
      if (counts) {
        double bytes = 0;
        for (const auto& of_batch : recent_pinned_) {
          bytes += of_batch[t] / static_cast<double>(recent_pinned_.size());
        }
        of.gather_ms.push_back(seconds * 1e3);
        of.pinned_gb_s.push_back(1e-9 * bytes / seconds);
      }
    }
    return ok_status();
  }

  /// A fast batch that is another one is worth nothing.
  Status compare(const gpu::DeviceBatch& batch, gpu::DeviceRowSource& rows,
                 const gpu::DeviceBatchRows& gathered, const Batch& expected,
                 std::uint64_t number) {
    TROUPE_ASSIGN_OR_RETURN(auto sampled, sampler_.download(batch));
    TROUPE_ASSIGN_OR_RETURN(
        const auto got,
        rows.download(std::make_shared<const SampledBatch>(std::move(sampled)), gathered));
    const auto digest = digest_batch(got, DigestMode::full);
    const auto of_cpu = digest_batch(expected, DigestMode::full);
    if (digest != of_cpu) {
      return Error(Errc::data_corruption,
                   fmt::format("batch {} of {} seeds: expected digest {}, found {}", number,
                               data_.job.sample.batch_size, to_string(of_cpu), to_string(digest)));
    }
    return ok_status();
  }

  const BenchData& data_;
  gpu::DeviceSampler& sampler_;
  gpu::DeviceRowSource& rows_;
  gpu::DeviceRowSource& rows_alone_;
  std::vector<TieredRows>& tiers_;
  std::vector<gpu::DeviceBatch> recent_;  ///< At most batches_at_a_time
  std::vector<std::vector<double>>
      recent_pinned_;  ///< [recent_, tiers_] bytes read in pinned memory
  std::vector<double> edges_;
  std::vector<double> nodes_;
  std::vector<double> sample_ms_;
  std::vector<double> m_edges_s_;
  std::vector<double> gather_ms_;
  std::vector<double> gather_gb_s_;
  std::vector<double> host_sample_ms_;
  std::vector<double> host_collect_ms_;
};

/// Batches as a device makes them for a learner there.
Result<std::vector<Batch>> batches_on_device(const BenchData& data, const OnDevice& on,
                                             std::uint64_t count) {
  TROUPE_ASSIGN_OR_RETURN(auto sampler, on.sampler(data));
  TROUPE_ASSIGN_OR_RETURN(auto rows, on.rows(data, 1));
  gpu::DeviceBatches makes(std::move(sampler), std::move(rows));
  std::vector<Batch> batches;
  for (std::uint64_t number = 0; number < count; ++number) {
    const auto ordered = data.order->seeds_of(0, number);
    const BatchSeeds seeds{
        .groups = {{ordered.type, {ordered.nodes.begin(), ordered.nodes.end()}}}};
    TROUPE_ASSIGN_OR_RETURN(const auto rest, makes.make(data.key(number), seeds, DigestMode::off));
    batches.push_back(rest().batch);
  }
  return batches;
}

/// Steps of a learner over batches that were made before, as one rank alone makes them.
/// \param ops  null: on the CPU
Result<Stats> step_times(const BenchData& data, const std::vector<Batch>& batches,
                         const DeviceBenchOptions& options, std::unique_ptr<nn::BlockOps> ops) {
  TROUPE_ASSIGN_OR_RETURN(const auto learner,
                          Learner::create(learner_options(data.job), std::move(ops)));
  ComputePool pool(std::max(1U, std::thread::hardware_concurrency()));
  std::vector<double> times;
  for (std::size_t step = 0; step < options.warm_ups + options.repeats; ++step) {
    const Stopwatch watch;
    const auto share =
        learner->compute(pool, batches[step % batches.size()], nullptr, Learner::Gradient::applied);
    if (!share) {
      return share.error();
    }
    TROUPE_RETURN_IF_ERROR(learner->status());
    if (step >= options.warm_ups) {
      times.push_back(watch.seconds() * 1e3);
    }
  }
  return stats_of(std::move(times));
}

Result<Json> measure_steps(const BenchData& data, const OnDevice& on,
                           const DeviceBenchOptions& options, double product_tf_s) {
  std::vector<Batch> batches;
  double products_gf = 0;
  const std::uint64_t count = std::min<std::uint64_t>(8, data.full_batches());
  for (std::uint64_t number = 0; number < count; ++number) {
    TROUPE_ASSIGN_OR_RETURN(const auto sampled, sample_batch(data, number));
    products_gf += products_of(data.job, *sampled.batch) / static_cast<double>(count);
    TROUPE_ASSIGN_OR_RETURN(auto batch, collect_batch(data, sampled.batch));
    batches.push_back(std::move(batch));
  }
  TROUPE_ASSIGN_OR_RETURN(auto ops, on.block_ops(data.job.train.precision));
  TROUPE_ASSIGN_OR_RETURN(const auto there, batches_on_device(data, on, count));
  TROUPE_ASSIGN_OR_RETURN(const auto times, step_times(data, there, options, std::move(ops)));
  TROUPE_ASSIGN_OR_RETURN(const auto host, step_times(data, batches, options, nullptr));
  return Json{{"batch_size", data.job.sample.batch_size},
              {"step_ms", to_json(times)},
              {"products_gf", products_gf},
              {"share_of_products", products_gf / product_tf_s / times.median},
              {"host_threads", std::thread::hardware_concurrency()},
              {"host_step_ms", to_json(host)}};
}

}  // namespace

Result<Json> measure_device(const BenchData& data, const DeviceBenchOptions& options) {
  if (data.parts.size() != 1 || data.order->links() != nullptr) {
    return Error(Errc::invalid_argument,
                 fmt::format("expected one part and seeds that are nodes, found {} parts",
                             data.parts.size()));
  }
  TROUPE_ASSIGN_OR_RETURN(const auto on, OnDevice::open(options.device));
  Json result{{"device", on.name()}, {"repeats", options.repeats}, {"batches", Json::array()}};
  DeviceLimits limits;
  {
    TROUPE_ASSIGN_OR_RETURN(const auto ops, on.block_ops(data.job.train.precision));
    TROUPE_ASSIGN_OR_RETURN(limits, measure_limits(*ops, options, data.job.model.hidden));
  }
  result["limits"] = {{"copy_gb_s", to_json(limits.copy_gb_s)},
                      {"product_tf_s", to_json(limits.product_tf_s)}};
  {
    TROUPE_ASSIGN_OR_RETURN(const auto sampler, on.sampler(data));
    TROUPE_ASSIGN_OR_RETURN(const auto rows, on.rows(data, 1));
    TROUPE_ASSIGN_OR_RETURN(const auto rows_alone, on.rows(data, 1, true));
    TROUPE_ASSIGN_OR_RETURN(auto tiers, tiered_rows(data, on));
    TROUPE_ASSIGN_OR_RETURN(const auto link,
                            measure_link(on, options, tiers.back().source->features()));
    result["table_bytes"] = rows->features().bytes;
    result["limits"]["link_gb_s"] = to_json(link);
    for (const auto size : options.batch_sizes) {
      const BenchData sized = with_batches_of(data, size);
      if (sized.full_batches() == 0) {
        return Error(Errc::invalid_argument,
                     fmt::format("expected {} seeds, found {}", size, data.order->num_seeds()));
      }
      TROUPE_ASSIGN_OR_RETURN(auto measured, BatchBench(sized, *sampler, *rows, *rows_alone, tiers)
                                                 .measure(options, limits.copy_gb_s.median));
      result["batches"].push_back(std::move(measured));
    }
  }
  TROUPE_ASSIGN_OR_RETURN(result["step"],
                          measure_steps(data, on, options, limits.product_tf_s.median));
  return result;
}

std::string device_table(const Json& result) {
  const auto median = [](const Json& stats) { return stats["median"].get<double>(); };
  const auto& limits = result["limits"];
  std::string text = fmt::format(
      "{}: copies {:.0f} GB/s, products {:.2f} TF/s; medians of {}\n\n"
      "| | ms | rate | of the limit | CPU, ms |\n|---|--:|--:|--:|--:|\n",
      result["device"].get<std::string>(), median(limits["copy_gb_s"]),
      median(limits["product_tf_s"]), result["repeats"].get<std::size_t>());
  for (const auto& batch : result["batches"]) {
    const auto size = batch["batch_size"].get<std::uint64_t>();
    text +=
        fmt::format("| sampling, {} seeds | {:.3f} | {:.1f} M edges/s | | {:.2f} (one core) |\n",
                    size, median(batch["sample_ms"]), median(batch["sample_m_edges_s"]),
                    median(batch["host_sample_ms"]));
    text += fmt::format(
        "| gathering, {} seeds | {:.3f} | {:.1f} GB/s | {:.0f} % | {:.2f} (one core) |\n", size,
        median(batch["gather_ms"]), median(batch["gather_gb_s"]),
        100 * batch["gather_share_of_copy"].get<double>(), median(batch["host_collect_ms"]));
    for (const auto& [name, of] : batch["tiers"].items()) {
      const auto rate = median(of["pinned_gb_s"]);
      text += fmt::format(
          "| gathering, {} on the device, {} seeds | {:.3f} | {:.1f} GB/s | {:.0f} % of the link | "
          "|\n",
          name == "gather_pinned" ? "no row" : "10 %", size, median(of["ms"]), rate,
          100 * rate / median(limits["link_gb_s"]));
    }
  }
  const auto& step = result["step"];
  text += fmt::format(
      "| training step, {} seeds | {:.2f} | {:.2f} TF/s | {:.0f} % | {:.2f} ({} threads) |\n",
      step["batch_size"].get<std::uint64_t>(), median(step["step_ms"]),
      step["products_gf"].get<double>() / median(step["step_ms"]),
      100 * step["share_of_products"].get<double>(), median(step["host_step_ms"]),
      step["host_threads"].get<unsigned>());
  return text;
}

}  // namespace troupe::bench
