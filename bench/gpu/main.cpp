// Batches on a device: time to sample them and to gather their rows, beside one thread of the host, and
// whether the digests are the same.
#include "gpu/base/emulated_device.hpp"
#include "gpu/feature/device_rows.hpp"
#include "gpu/sample/device_sampler.hpp"
#include "launcher/seconds.hpp"
#include "runtime/base/median.hpp"
#include "runtime/feature/row_collection.hpp"
#include "runtime/partition/hotness.hpp"
#include "runtime/sample/batch_builder.hpp"
#include "runtime/sample/seed_order.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fmt/format.h>

namespace troupe {
namespace {

struct Arguments {
  std::filesystem::path store;
  std::vector<std::int32_t> fanout = {15, 10, 5};
  std::uint64_t batch_size = 1024;
  std::uint64_t warm_up = 3;
  std::uint64_t batches = 20;
  std::uint64_t compared = 3;
  std::string device = "cuda";
  bool pinned = false;
  bool replace = false;
};

struct Devices {
  std::unique_ptr<gpu::DeviceSampler> sampler;
  std::unique_ptr<gpu::DeviceRowSource> rows;
};

Result<Devices> open_devices(const Arguments& arguments, const GraphStore& store,
                             const SampleOptions& options) {
  const auto& graph = store.info();
  const auto part = store.graph();
  const auto topology = arguments.pinned ? gpu::Topology::pinned : gpu::Topology::device;
  const gpu::FeaturePlan plan;
  Devices devices;
  if (arguments.device == "emulated") {
    const auto device = std::make_shared<gpu::EmulatedDevice>(
        gpu::EmulatedOptions{.memory_bytes = std::uint64_t{1} << 34});
    TROUPE_ASSIGN_OR_RETURN(devices.sampler,
                            gpu::make_emulated_sampler(device, graph, *part, options, topology));
    TROUPE_ASSIGN_OR_RETURN(devices.rows,
                            gpu::make_emulated_row_source(device, graph, *part, plan));
    return devices;
  }
#ifdef TROUPE_HAVE_CUDA
  TROUPE_ASSIGN_OR_RETURN(devices.sampler,
                          gpu::make_cuda_sampler(0, graph, *part, options, topology));
  TROUPE_ASSIGN_OR_RETURN(devices.rows, gpu::make_cuda_row_source(0, graph, *part, plan));
  return devices;
#else
  return Error(Errc::unimplemented, "this program was built without a CUDA compiler");
#endif
}

/// Batches of the host, made by one thread.
class Host {
 public:
  Host(const GraphStore& store, std::shared_ptr<const SampleOptions> options)
      : store_(store), options_(std::move(options)), book_(ranges_of(store.info())) {
    auto collect = std::make_shared<CollectOptions>();
    for (const auto& type : store.info().node_types) {
      collect->decoders.push_back(*RowDecoder::create(type, Normalize::none));
      collect->label_bytes.push_back(type.labels ? type.labels->row_bytes() : 0);
    }
    collect->digest = DigestMode::full;
    collect_ = std::move(collect);
  }

  Result<SampledBatch> sample(BatchKey key, NodeTypeId type, const std::vector<NodeId>& seeds) {
    BatchBuilder builder(store_.info(), book_, options_, key, type, seeds, {}, scratch_);
    while (!builder.done()) {
      for (const auto& question : builder.questions()) {
        TROUPE_ASSIGN_OR_RETURN(auto reply, sample_one_hop(*store_.graph(), question.request));
        TROUPE_RETURN_IF_ERROR(builder.answer(question.id, std::move(reply)));
      }
    }
    return std::move(builder).take();
  }
  Result<Batch> collect(SampledBatch sampled) {
    RowCollection collection(book_, collect_,
                             std::make_shared<const SampledBatch>(std::move(sampled)));
    for (std::uint32_t i = 0; i < collection.questions().size(); ++i) {
      TROUPE_RETURN_IF_ERROR(collection.answer_from(i, *store_.graph()));
    }
    return std::move(collection).take();
  }

 private:
  static PartRanges ranges_of(const GraphInfo& graph) {
    PartRanges ranges;
    for (const auto& type : graph.node_types) {
      ranges.first_node.push_back({0, type.count});
    }
    return ranges;
  }

  const GraphStore& store_;
  std::shared_ptr<const SampleOptions> options_;
  std::shared_ptr<const CollectOptions> collect_;
  PartitionBook book_;
  std::shared_ptr<BatchScratchPool> scratch_ = std::make_shared<BatchScratchPool>();
};

struct Times {
  std::vector<double> device_sample;
  std::vector<double> device_gather;
  std::vector<double> host_sample;
  std::vector<double> host_gather;
  std::uint64_t edges = 0;
  std::uint64_t row_bytes = 0;  ///< Of float32
};

void print(const Times& times) {
  const auto line = [&](const char* name, const std::vector<double>& sample,
                        const std::vector<double>& gather) {
    const auto n = static_cast<double>(sample.size());
    fmt::print("{}: sampling {:.3f} ms, {:.1f} M edges/s; gathering {:.3f} ms, {:.1f} GB/s\n", name,
               *median(sample) * 1e3, static_cast<double>(times.edges) / n / *median(sample) / 1e6,
               *median(gather) * 1e3,
               static_cast<double>(times.row_bytes) / n / *median(gather) / 1e9);
  };
  const auto batches = times.device_sample.size();
  fmt::print("{} batches, {} edges and {:.1f} MB of rows each\n", batches, times.edges / batches,
             static_cast<double>(times.row_bytes) / static_cast<double>(batches) / 1e6);
  line("device", times.device_sample, times.device_gather);
  line("host, one thread", times.host_sample, times.host_gather);
}

/// \returns whether the digests, if they are compared, are the same
Result<bool> measure_batch(Devices& devices, Host& host, BatchKey key, NodeTypeId type,
                           const std::vector<NodeId>& seeds, bool compare, Times& times) {
  auto began = std::chrono::steady_clock::now();
  const auto lap = [&began](std::vector<double>& to) {
    to.push_back(seconds_since(began));
    began = std::chrono::steady_clock::now();
  };
  TROUPE_ASSIGN_OR_RETURN(const auto on_device,
                          devices.sampler->sample(key, {.groups = {{type, seeds}}}));
  lap(times.device_sample);
  TROUPE_ASSIGN_OR_RETURN(const auto rows, devices.rows->gather(on_device));
  lap(times.device_gather);
  TROUPE_ASSIGN_OR_RETURN(auto sampled, host.sample(key, type, seeds));
  lap(times.host_sample);
  times.edges += sampled.num_edges();
  for (const auto& of_type : rows.nodes) {
    times.row_bytes += of_type.values.size_bytes();
  }
  began = std::chrono::steady_clock::now();
  TROUPE_ASSIGN_OR_RETURN(const auto expected, host.collect(std::move(sampled)));
  lap(times.host_gather);
  if (!compare) {
    return true;
  }
  TROUPE_ASSIGN_OR_RETURN(auto downloaded, devices.sampler->download(on_device));
  TROUPE_ASSIGN_OR_RETURN(
      const auto got,
      devices.rows->download(std::make_shared<const SampledBatch>(std::move(downloaded)), rows));
  return digest_batch(got, DigestMode::full) == digest_batch(expected, DigestMode::full);
}

Status run(const Arguments& arguments) {
  TROUPE_ASSIGN_OR_RETURN(const auto store, GraphStore::open(arguments.store, {}));
  TROUPE_ASSIGN_OR_RETURN(auto list, store.seeds("", "train"));
  const auto type = list.node_type;
  const SeedOrder order(std::make_shared<const SeedList>(std::move(list)), arguments.batch_size, 1,
                        true);
  auto options = std::make_shared<SampleOptions>();
  options->fanout = fanout_of_hops(arguments.fanout, store.info().edge_types.size());
  options->replace = arguments.replace;
  options->job_seed = 1;
  TROUPE_ASSIGN_OR_RETURN(auto devices, open_devices(arguments, store, *options));
  const auto bytes = devices.sampler->graph_bytes();
  fmt::print("graph: {:.1f} MB on the device, {:.1f} MB pinned; tables: {:.1f} MB\n",
             static_cast<double>(bytes.device) / 1e6, static_cast<double>(bytes.pinned) / 1e6,
             static_cast<double>(devices.rows->table_bytes()) / 1e6);
  Host host(store, options);
  Times times;
  std::uint64_t same = 0;
  for (std::uint64_t i = 0; i < arguments.warm_up + arguments.batches; ++i) {
    const auto number = i % order.num_batches();
    if (i == arguments.warm_up) {
      times = {};
    }
    const bool compare = i < arguments.compared;
    const auto ids = order.batch(0, number);
    const std::vector<NodeId> seeds(ids.begin(), ids.end());
    TROUPE_ASSIGN_OR_RETURN(const auto equal, measure_batch(devices, host, {.number = number}, type,
                                                            seeds, compare, times));
    same += compare && equal ? 1 : 0;
  }
  print(times);
  const auto compared = std::min(arguments.compared, arguments.warm_up + arguments.batches);
  fmt::print("{} of {} digests are the host's\n", same, compared);
  return same == compared ? ok_status() : Status(Error(Errc::internal, "digests differ"));
}

}  // namespace
}  // namespace troupe

int main(int argc, char** argv) {
  CLI::App app("batches on a device");
  troupe::Arguments arguments;
  app.add_option("STORE", arguments.store, "a graph store with training seeds")->required();
  app.add_option("--fanout", arguments.fanout)->delimiter(',')->capture_default_str();
  app.add_option("--batch-size", arguments.batch_size)->capture_default_str();
  app.add_option("--warm-up", arguments.warm_up, "batches that are not timed")
      ->capture_default_str();
  app.add_option("--batches", arguments.batches)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--compare", arguments.compared, "batches whose digests are compared")
      ->capture_default_str();
  app.add_option("--device", arguments.device)
      ->check(CLI::IsMember({"cuda", "emulated"}))
      ->capture_default_str();
  app.add_flag("--pinned", arguments.pinned, "lists in pinned memory of the host");
  app.add_flag("--replace", arguments.replace);
  CLI11_PARSE(app, argc, argv);
  if (const auto done = troupe::run(arguments); !done) {
    fmt::print(stderr, "{}\n", done.error().what());
    return 3;
  }
  return 0;
}
