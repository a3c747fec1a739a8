#include "launcher/device_plan.hpp"

#include "gpu/nn/product_pieces.hpp"
#include "gpu/run/device_batches.hpp"
#include "runtime/base/saturating.hpp"
#include "runtime/job/plan.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <utility>

namespace troupe {
namespace {

/// Whose devices make batches.
enum class DevicesOf : std::uint8_t { ranks, samplers };

/// \errors failed_precondition, unimplemented: what stands against rows on devices, and so against batches
///   there
Status check_rows_there(const Job& job, const Layout& layout, const CollectOptions& collect,
                        DevicesOf whose) {
  if (whose == DevicesOf::ranks && job.cluster.device.kind == DeviceKind::cpu) {
    return Error(Errc::failed_precondition, "cluster.device is \"cpu\"");
  }
  if (!job.features.collect) {
    return Error(Errc::failed_precondition,
                 "batches on a device: expected rows to gather, features.collect is false");
  }
  if (job.model.layers == 0 && !job.embedding.empty()) {
    return Error(
        Errc::failed_precondition,
        "batches on a device: expected a model with layers, one without reads learned rows "
        "alone\ntry: sample.on \"host\"");
  }
  for (std::uint32_t rank = 0; whose == DevicesOf::ranks && rank < job.cluster.world(); ++rank) {
    if (!layout.samplers_of(Rank{rank}).empty()) {
      return Error(Errc::failed_precondition,
                   fmt::format("batches on a device: expected a rank that makes its own batches, "
                               "other processes make those of rank {}\ntry: "
                               "cluster.sampler_devices, or placement \"collocated\"",
                               rank));
    }
  }
  return gpu::check_device_rows(collect);
}

/// \errors failed_precondition, unimplemented: why the host samples and stages rows, where devices gather them
Status check_graph_there(const Job& job, const Layout& layout, const CollectOptions& collect,
                         DevicesOf whose) {
  if (job.partition.parts != 1) {
    return Error(Errc::unimplemented,
                 fmt::format("sampling on a device: a graph of {} parts is not built yet\ntry: "
                             "partition.parts 1, with cluster.replicas as many as hosts; or "
                             "sample.on \"auto\", with which devices gather the rows",
                             job.partition.parts));
  }
  for (const auto& process : layout.processes) {
    const auto& ranks = whose == DevicesOf::ranks ? process.ranks : process.samples_for;
    if (!ranks.empty() && process.maps.empty()) {
      return Error(
          Errc::failed_precondition,
          fmt::format("sampling on a device: expected the graph in the process {} rank "
                      "{}, which has no part\ntry: cluster.replicas as many as hosts",
                      whose == DevicesOf::ranks ? "of" : "that samples for", raw(ranks.front())));
    }
  }
  return gpu::check_rows_of_whole_graph(collect);
}

/// Rows and lists are on devices for batches that these gather and sample.
Status check_memory_asked(const Job& job, const DevicePlan& plan) {
  const bool budget = job.features.device_budget != DeviceBudget{};
  const auto refused = [&](const char* key, const char* made) {
    return Error(Errc::invalid_argument,
                 fmt::format("{}: expected batches that devices {}, but the host does: {}\ntry: "
                             "without this key",
                             key, made, plan.why_not));
  };
  if (budget && !plan.rows) {
    return refused("features.cache.device_budget", "gather the rows of");
  }
  if (job.sample.pinned_lists && !plan.batches) {
    return refused("sample.device_lists", "sample");
  }
  return ok_status();
}

/// Of exact inference.
std::size_t product_rows_of(const Job& job) {
  return job.cluster.device.kind == DeviceKind::emulated ? gpu::emulated_product_rows
                                                         : gpu::cuda_product_rows;
}

bool has_sampler_devices(const Job& job) {
  return job.cluster.sampler_devices.kind != DeviceKind::cpu;
}

/// Decides which of the devices make batches, or gather their rows, and why others do not.
Status plan_batches(DevicePlan& plan, const Job& job, const Layout& layout,
                    const SampleOptions& sample, const CollectOptions& collect, DevicesOf whose) {
  if (job.sample.on == SampleOn::host) {
    plan.why_not = "sample.on is \"host\"";
  } else {
    auto possible = check_rows_there(job, layout, collect, whose);
    plan.rows = possible.ok();
    possible = possible ? check_graph_there(job, layout, collect, whose) : possible;
    plan.staged = plan.rows && !possible;
    possible = possible ? gpu::check_device_sampling(sample) : possible;
    plan.batches = possible.ok();
    if (!possible && job.sample.on == SampleOn::device) {
      return Error(Errc::invalid_argument,
                   fmt::format("sample.on: \"device\": {}", possible.error().what()));
    }
    if (!possible) {
      const auto& text = possible.error().what();
      plan.why_not = text.substr(0, text.find('\n'));
    }
  }
  const bool uses = plan.learns || whose == DevicesOf::samplers;
  return uses ? check_memory_asked(job, plan) : ok_status();
}

/// \param here  devices of this host, or null
DeviceFacts facts_of(const DevicePlan& plan, const DeviceChoice& choice, gpu::Devices* here,
                     std::vector<std::uint64_t> part_rows) {
  DeviceFacts facts{.rows = plan.rows,
                    .batches = plan.batches,
                    .staged = plan.staged,
                    .part_rows = std::move(part_rows)};
  if (choice.kind == DeviceKind::emulated) {
    facts.devices = choice.count;
    facts.memory_bytes = choice.memory_bytes > 0 ? choice.memory_bytes : emulated_memory_bytes;
  } else if (here != nullptr) {
    facts.devices = here->names().size();
    const auto memory = here->memory(Rank{0});
    facts.memory_bytes = memory ? memory->total : 0;
  }
  return facts;
}

/// Of a device with one rank, whose memory is not known.
DeviceMemory memory_of_rank(const DevicePlan& plan, const Job& job, const GraphInfo& graph) {
  const DeviceFacts facts{.rows = plan.rows,
                          .batches = plan.batches,
                          .staged = plan.staged,
                          .product_rows = product_rows_of(job)};
  return device_memory(job, graph, make_plan(job, graph), facts);
}

/// What of batches the host does beside devices, for the start of a run.
std::string text_of_host(const Job& job, const DevicePlan& plan) {
  const bool elsewhere = job.partition.parts > 1 || job.cluster.hosts > 1;
  return plan.rows ? fmt::format(", gathers rows; the host samples batches{} ({})",
                                 plan.staged && elsewhere ? " and stages rows of other parts" : "",
                                 plan.why_not)
                   : fmt::format("; the host makes batches ({})", plan.why_not);
}

}  // namespace

Result<DevicePlan> device_plan(const Job& job, const Layout& layout, const SampleOptions& sample,
                               const CollectOptions& collect) {
  DevicePlan plan{.learns = job.cluster.device.kind != DeviceKind::cpu};
  if (has_sampler_devices(job)) {
    plan.why_not = "processes that sample for the ranks have devices of their own";
    return plan;
  }
  TROUPE_RETURN_IF_ERROR(plan_batches(plan, job, layout, sample, collect, DevicesOf::ranks));
  return plan;
}

Result<DevicePlan> sampler_plan(const Job& job, const Layout& layout, const SampleOptions& sample,
                                const CollectOptions& collect) {
  DevicePlan plan;
  if (has_sampler_devices(job)) {
    TROUPE_RETURN_IF_ERROR(plan_batches(plan, job, layout, sample, collect, DevicesOf::samplers));
  }
  return plan;
}

void plan_memory(DevicePlan& plan, const Job& job, const GraphInfo& graph, const PartHeat& heat) {
  if (!plan.learns) {
    return;
  }
  const auto memory = memory_of_rank(plan, job, graph);
  plan.exact_bytes = memory.exact;
  plan.exact_on_host = memory.exact == 0 && job.infers_exactly() && !job.task.knowledge();
  if (plan.rows) {
    plan.heat = heat;
    plan.reserved_per_rank = memory.reserved();
  }
}

void plan_program_memory(DevicePlan& plan, const Job& job, const GraphInfo& graph,
                         const PartHeat& heat) {
  if (plan.learns && plan.rows) {
    plan.heat = heat;
    plan.reserved_per_rank = memory_of_rank(plan, job, graph).batches;
  }
}

void plan_sampler_memory(DevicePlan& plan, const Job& job, const GraphInfo& graph,
                         const PartHeat& heat) {
  if (plan.rows) {
    plan.heat = heat;
    plan.reserved_per_rank =
        memory_of_samplers(plan, job, graph, make_plan(job, graph), nullptr).reserved();
  }
}

gpu::DeviceDataOptions data_options(const DevicePlan& plan, const Job& job,
                                    std::shared_ptr<const SampleOptions> sample,
                                    const CollectOptions& collect, const gpu::Devices& devices,
                                    std::span<const Rank> ranks) {
  std::map<std::size_t, std::uint64_t> ranks_of;
  for (const Rank rank : ranks) {
    ++ranks_of[gpu::device_of(devices, rank)];
  }
  std::uint64_t most = 1;
  for (const auto& [device, count] : ranks_of) {
    most = std::max(most, count);
  }
  gpu::FeaturePlan features = gpu::feature_plan(collect, job.features.normalize);
  if (plan.staged) {
    features = {.normalize = job.features.normalize, .staged = true};
  }
  return {.sample = plan.batches ? std::move(sample) : nullptr,
          .features = std::move(features),
          .topology = job.sample.pinned_lists ? gpu::Topology::pinned : gpu::Topology::device,
          .budget = job.features.device_budget,
          .heat = plan.heat,
          .reserved_bytes = times(plan.reserved_per_rank, most),
          .exact_bytes = plan.exact_bytes};
}

DeviceMemory memory_of_devices(const DevicePlan& plan, const Job& job, const GraphInfo& graph,
                               const Plan& of_job, gpu::Devices* here,
                               std::vector<std::uint64_t> part_rows) {
  auto facts = facts_of(plan, job.cluster.device, here, std::move(part_rows));
  facts.product_rows = product_rows_of(job);
  return device_memory(job, graph, of_job, facts);
}

DeviceMemory memory_of_samplers(const DevicePlan& plan, const Job& job, const GraphInfo& graph,
                                const Plan& of_job, gpu::Devices* here,
                                std::vector<std::uint64_t> part_rows) {
  auto facts = facts_of(plan, job.cluster.sampler_devices, here, std::move(part_rows));
  facts.samplers = true;
  return device_memory(job, graph, of_job, facts);
}

std::string device_text(const Job& job, const DevicePlan& plan, const gpu::FoundDevices& here) {
  const DeviceChoice& choice = job.cluster.device;
  const bool known = choice.automatic || here.kind == DeviceKind::cuda;
  const auto device = choice.kind != DeviceKind::emulated && known
                          ? fmt::format("{} ({})", to_string(choice), here.text)
                          : to_string(choice);
  const auto precision = job.train.precision;
  const auto products = precision == nn::Precision::float32
                            ? std::string()
                            : fmt::format("products in {}", nn::to_string(precision));
  const auto after = products.empty() ? std::string() : "; " + products;
  if (!plan.learns && choice.automatic) {
    return fmt::format("device {}: not used{}", device, after);
  }
  if (!plan.learns) {
    return products.empty() ? std::string() : fmt::format("device {}: {}", device, products);
  }
  std::string by_host = plan.batches || has_sampler_devices(job) ? "" : text_of_host(job, plan);
  if (!job.embedding.empty()) {
    by_host += "; learned rows and their gradients pass through the host";
  }
  if (plan.exact_on_host) {
    by_host += "; exact inference on CPUs (processes with parts have no ranks)";
  }
  return fmt::format("device {}: trains{}{}{}", device, plan.batches ? ", makes batches" : "",
                     by_host, after);
}

std::string sampler_text(const Job& job, const DevicePlan& plan) {
  if (!has_sampler_devices(job)) {
    return {};
  }
  const auto device = fmt::format("sampler devices {}: ", to_string(job.cluster.sampler_devices));
  if (plan.batches) {
    return device + "make batches";
  }
  return plan.rows
             ? fmt::format("{}gather rows; their hosts sample batches ({})", device, plan.why_not)
             : fmt::format("{}not used ({})", device, plan.why_not);
}

std::string device_text(const Job& job, const DevicePlan& plan) {
  const auto& choice = job.cluster.device;
  const bool looks = choice.automatic || choice.kind == DeviceKind::cuda;
  return device_text(job, plan, looks ? gpu::find_devices() : gpu::FoundDevices{});
}

}  // namespace troupe
