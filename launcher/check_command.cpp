#include "launcher/commands.hpp"
#include "launcher/decide_device.hpp"
#include "launcher/device_plan.hpp"
#include "launcher/end_at_signal.hpp"
#include "launcher/epoch_time.hpp"
#include "launcher/prepare_store.hpp"
#include "launcher/print_error.hpp"
#include "launcher/processes/checkpoint_copies.hpp"
#include "launcher/read_job.hpp"
#include "runtime/base/free_memory.hpp"
#include "runtime/base/saturating.hpp"
#include "runtime/base/staged_directory.hpp"
#include "runtime/graph/store_layout.hpp"
#include "runtime/job/collect_options.hpp"
#include "runtime/job/job_file.hpp"
#include "runtime/job/link_encryption.hpp"
#include "runtime/job/plan.hpp"
#include "runtime/job/sample_options.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <ranges>

namespace troupe {
namespace {

/// More is not partitioned for a trial.
constexpr std::uint64_t most_partitioned = std::uint64_t{1} << 30;

std::uint64_t longest(const Part& part, EdgeDir dir) {
  std::uint64_t most = 0;
  for (std::size_t e = 0; e < part.edges.size(); ++e) {
    const auto lists = part.edges[e].lists(dir);
    for (std::size_t node = 0; node + 1 < lists.offsets.size(); ++node) {
      most = std::max(most, lists.degree(node));
    }
  }
  return most;
}

/// Bytes of the features of a part's nodes.
std::uint64_t node_feature_bytes(const PartitionedStore& store, PartId part) {
  const auto& info = store.info();
  const auto& partition = store.partition();
  const auto p = raw(part);
  std::uint64_t bytes = 0;
  const auto add = [&](const std::optional<FeatureInfo>& features, std::uint64_t rows) {
    bytes = plus(bytes, features ? times(rows, features->row_bytes()) : 0);
  };
  for (std::size_t type = 0; type < info.node_types.size(); ++type) {
    const auto& first = partition.ranges.first_node[type];
    add(info.node_types[type].features, first[p + 1] - first[p]);
    if (partition.halo_features) {
      add(info.node_types[type].features, partition.halo_nodes[type][p]);
    }
  }
  return bytes;
}

/// Bytes of all features of a part.
std::uint64_t feature_bytes(const PartitionedStore& store, PartId part) {
  const auto& info = store.info();
  const auto& partition = store.partition();
  const auto p = raw(part);
  std::uint64_t bytes = node_feature_bytes(store, part);
  for (std::size_t type = 0; type < info.edge_types.size(); ++type) {
    const auto& features = info.edge_types[type].features;
    bytes = plus(bytes, features ? times(partition.edges[type][p], features->row_bytes()) : 0);
  }
  return bytes;
}

/// Bytes of a part in memory, with features that are still to be added.
Result<std::uint64_t> bytes_in_memory(const PartitionedStore& store, PartId part) {
  TROUPE_ASSIGN_OR_RETURN(auto bytes, store.part_bytes(part));
  if (store.partition().features_later) {
    TROUPE_ASSIGN_OR_RETURN(const auto added, store.added_files(part));
    bytes = plus(bytes, added.empty() ? feature_bytes(store, part) : 0);
  }
  const bool halo = store.partition().halo_hops > 0 || store.partition().halo_features;
  return plus(bytes, halo ? halo_index_bytes(store.info()) : 0);
}

/// Bytes of all weights of a part, those of halos and of both directions.
std::uint64_t weight_bytes(const PartitionedStore& store, PartId part) {
  std::uint64_t bytes = 0;
  for (const auto& file : store.partition().files) {
    const bool weights = file.path.ends_with("weights.npy");
    const bool own = file.path.starts_with(store_layout::part_prefix(part));
    bytes = plus(bytes, weights && own ? file.bytes : 0);
  }
  return bytes;
}

/// One pass over the offsets. A graph store has lists in one direction only.
Result<GraphFacts> facts_of(const Job& job) {
  GraphFacts facts;
  if (store_kind(job.dataset.path) == StoreKind::partitioned) {
    TROUPE_ASSIGN_OR_RETURN(const auto store, PartitionedStore::open(job.dataset.path, {}));
    facts.longest_list = 0;
    for (std::uint32_t p = 0; p < store.partition().parts; ++p) {
      TROUPE_ASSIGN_OR_RETURN(const auto part, store.load_lists(static_cast<PartId>(p)));
      facts.longest_list = std::max(*facts.longest_list, longest(*part, job.sample.edge_dir));
      TROUPE_ASSIGN_OR_RETURN(const auto bytes, bytes_in_memory(store, static_cast<PartId>(p)));
      facts.part_bytes.push_back(bytes);
      facts.weight_bytes.push_back(weight_bytes(store, static_cast<PartId>(p)));
      facts.row_bytes.push_back(node_feature_bytes(store, static_cast<PartId>(p)));
    }
  } else if (store_kind(job.dataset.path) == StoreKind::graph &&
             job.sample.edge_dir == EdgeDir::in) {
    TROUPE_ASSIGN_OR_RETURN(const auto graph, GraphStore::open(job.dataset.path, {}));
    facts.longest_list = longest(*graph.graph(), EdgeDir::in);
  }
  return facts;
}

std::string unknown(const std::string& why) {
  return fmt::format("time per epoch: not known: {}\n", why);
}

/// A checked job and what is known of it.
struct Checked {
  const Job& job;
  const BorrowedJob& borrowed;
  const Plan& plan;
  std::uint64_t bytes_here = 0;  ///< Memory of all its processes as one
};

/// The expected time of an epoch, and how it is known.
std::string time_text(const Checked& checked, double seconds) {
  const auto& [job, borrowed, plan, bytes_here] = checked;
  if (const auto known = reported_epoch_seconds(job)) {
    return fmt::format("time per epoch, without evaluation: {:.3g} s, as {} has it\n", *known,
                       (job.output / "report.json").string());
  }
  if (seconds <= 0 || plan.steps_per_epoch == 0) {
    return unknown(seconds <= 0 ? "not measured (--measure 0)" : "there are no training seeds");
  }
  if (!borrowed.partitioned && plan.store_bytes > most_partitioned) {
    return unknown("the store is not partitioned yet; try: troupe partition, or a first run");
  }
  if (bytes_here > free_memory_bytes() / 2) {
    return unknown(
        fmt::format("all processes together may need {} MiB here, more than half of "
                    "what is free; try: one epoch of the run",
                    bytes_here >> 20U));
  }
  Job here = borrowed.job;
  if (!borrowed.partitioned) {
    here.partition.method = "random";
  }
  const auto store = prepare_store(here, [](const std::string&) {});
  if (!store) {
    return unknown(store.error().what());
  }
  const auto measured = measure_epoch_seconds(here, *store, seconds);
  if (!measured) {
    return unknown(measured.error().what());
  }
  return fmt::format(
      "time per epoch, without evaluation: {:.3g} s, measured in {:g} s with all "
      "ranks in this process{}\n",
      *measured, seconds, borrowed.partitioned ? "" : ", parts at random");
}

/// Whether the built-in models do not train on the job's batches.
bool is_for_programs(const Job& job) {
  const bool nothing_drawn =
      job.task.predicts_links() && job.task.negatives.kind == Negatives::none;
  return job.task.walks() || nothing_drawn || !job.features.collect;
}

/// What devices hold is printed, and added to what processes hold.
/// \errors out_of_memory: what a device holds for sure has no room
Status add_devices(const DeviceMemory& memory, Plan& plan, std::string& text) {
  if (memory.copies > 0) {
    plan.memory.items.push_back({"copies of batches for the host", memory.copies});
  }
  if (memory.staged > 0) {
    plan.memory.items.push_back({"rows of batches on their way to devices", memory.staged});
  }
  if (memory.pinned() > 0) {
    plan.memory.items.push_back({"pinned for devices", memory.pinned()});
  }
  plan.process_bytes = plan.memory.bytes();
  text += to_string(memory);
  return check_device_memory(memory);
}

/// The plan of a job's devices is printed behind that of its processes, whose memory it adds to.
/// \errors those of device_plan(); out_of_memory: what a device holds for sure has no room
Result<std::string> check_devices(Job job, const GraphInfo& graph, const GraphFacts& facts,
                                  Plan& plan) {
  decide_device(job);
  const bool learns = job.cluster.device.kind != DeviceKind::cpu;
  const bool samples = job.cluster.sampler_devices.kind != DeviceKind::cpu;
  if (!learns && !samples) {
    return std::string();
  }
  const auto sample = sample_options(job, graph);
  TROUPE_ASSIGN_OR_RETURN(const auto collect, collect_options(job, graph, BatchReader::trainer));
  std::string text;
  if (learns) {
    TROUPE_ASSIGN_OR_RETURN(const auto devices, device_plan(job, plan.layout, sample, collect));
    const auto here = gpu::open_devices(job.cluster.device);  // an error: those of other hosts
    TROUPE_RETURN_IF_ERROR(add_devices(
        memory_of_devices(devices, job, graph, plan, here ? here->get() : nullptr, facts.row_bytes),
        plan, text));
  }
  TROUPE_ASSIGN_OR_RETURN(const auto samplers, sampler_plan(job, plan.layout, sample, collect));
  if (samplers.rows) {
    const auto here = gpu::open_devices(job.cluster.sampler_devices.automatic
                                            ? DeviceChoice{.kind = DeviceKind::cuda}
                                            : job.cluster.sampler_devices);
    TROUPE_RETURN_IF_ERROR(
        add_devices(memory_of_samplers(samplers, job, graph, plan, here ? here->get() : nullptr,
                                       facts.row_bytes),
                    plan, text));
  }
  return text;
}

const std::string time_of_program =
    "time per epoch: that of a program of your own (`troupe run JOB -- PROGRAM`), which the job's "
    "batches are for\n";

/// Which device was chosen, where checkpoints are kept, which links are plain: what there is to say of that.
/// \param keepers  hosts_of_copies()
void print_cluster_notes(const ClusterJob& cluster, const std::vector<HostSpec>& keepers) {
  if (const auto found = decided_text(cluster.device, gpu::find_devices()); !found.empty()) {
    fmt::print("{}\n", found);
  }
  if (!keepers.empty()) {
    fmt::print("checkpoints: kept here and on {}\n",
               fmt::join(keepers | std::views::transform(&HostSpec::address), ", "));
  }
  if (const auto warning = plain_links_warning(cluster); !warning.empty()) {
    fmt::print("\n{}\n", warning);
  }
}

}  // namespace

ExitCode check_command(const CheckArguments& arguments) {
  const EndAtSignal end_at_signal;
  auto job = read_job_or_print(arguments.job);
  if (!job) {
    return ExitCode::usage;
  }
  for (const auto& check : {check_precision(*job), check_reduce(*job)}) {
    if (!check && !is_for_programs(*job)) {
      return print_error(check.error(), ExitCode::usage);
    }
  }
  std::error_code error;
  const auto temporary = std::filesystem::temp_directory_path(error);
  const auto scratch =
      StagedDirectory::create(temporary / fmt::format("troupe-check-{}", getpid()));
  if (!scratch) {
    return data_error(scratch.error());
  }
  auto borrowed = borrow_data(*job, scratch->path());
  if (!borrowed) {
    return data_error(borrowed.error());
  }
  const Say say = [](const std::string& text) { fmt::print(stderr, "{}\n", text); };
  const auto graph = prepare_graph_info(borrowed->job, say);
  if (!graph) {
    return data_error(graph.error());
  }
  const bool own = is_for_programs(*job);
  const auto trainer = own ? JobTrainer::own : JobTrainer::built_in;
  if (!fit_to_graph_or_print(*job, *graph, trainer) ||
      !fit_to_graph_or_print(borrowed->job, *graph, trainer)) {
    return ExitCode::usage;
  }
  const auto facts = facts_of(borrowed->job);
  if (!facts) {
    return data_error(facts.error());
  }
  const auto keepers = hosts_of_copies(*job);
  if (!keepers) {
    return print_error(keepers.error());
  }
  auto plan = make_plan(*job, *graph, *facts);
  const auto devices = own ? std::string() : check_devices(*job, *graph, *facts, plan);
  fmt::print("{}{}", to_string(plan, *job), devices ? *devices : std::string());
  std::fflush(stdout);
  if (!devices) {
    return print_error(devices.error());
  }
  Job here = *job;
  here.cluster.launch = "simulate";
  const auto bytes_here = make_plan(here, *graph, *facts).process_bytes;
  fmt::print("{}", own ? time_of_program
                       : time_text({*job, *borrowed, plan, bytes_here}, arguments.measure));
  print_cluster_notes(job->cluster, *keepers);
  if (arguments.full) {
    fmt::print("\n{}\n", job->json);
  }
  return ExitCode::done;
}

}  // namespace troupe
