#include "launcher/commands.hpp"
#include "launcher/decide_device.hpp"
#include "launcher/device_plan.hpp"
#include "launcher/end_at_signal.hpp"
#include "launcher/epoch_time.hpp"
#include "launcher/prepare_run.hpp"
#include "launcher/prepare_store.hpp"
#include "launcher/print_error.hpp"
#include "launcher/processes/checkpoint_copies.hpp"
#include "launcher/read_job.hpp"
#include "launcher/temporary_folder.hpp"
#include "runtime/base/free_memory.hpp"
#include "runtime/base/saturating.hpp"
#include "runtime/graph/store_layout.hpp"
#include "runtime/job/collect_options.hpp"
#include "runtime/job/job_file.hpp"
#include "runtime/job/link_encryption.hpp"
#include "runtime/job/plan.hpp"
#include "runtime/job/sample_options.hpp"
#include "runtime/job/unused_keys.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

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

/// The store of a trial, and the job that fits it; no store: why there is none.
struct TrialStore {
  Job job;
  std::optional<PartitionedStore> store = {};
  std::string why_not = {};
};

/// A store that is partitioned already, or else a small one that is partitioned at random to measure.
TrialStore store_of_trial(const Checked& checked, double seconds) {
  const auto& [job, borrowed, plan, bytes_here] = checked;
  TrialStore trial{borrowed.job};
  const bool measures = seconds > 0 && plan.steps_per_epoch > 0 && !reported_epoch_seconds(job);
  if (!borrowed.partitioned && (!measures || plan.store_bytes > most_partitioned)) {
    trial.why_not = "the store is not partitioned yet; try: troupe partition, or a first run";
    return trial;
  }
  if (bytes_here > free_memory_bytes() / 2) {
    trial.why_not = fmt::format(
        "all processes together may need {} MiB here, more than half of "
        "what is free; try: one epoch of the run",
        bytes_here >> 20U);
    return trial;
  }
  if (!borrowed.partitioned) {
    trial.job.partition.method = "random";
  }
  auto store = prepare_store(trial.job, [](const std::string&) {});
  if (!store) {
    trial.why_not = store.error().what();
  } else {
    trial.store = *std::move(store);
  }
  return trial;
}

/// The expected time of an epoch, and how it is known.
std::string time_text(const Checked& checked, const TrialStore& trial, double seconds) {
  const auto& [job, borrowed, plan, bytes_here] = checked;
  if (const auto known = reported_epoch_seconds(job)) {
    return fmt::format("time per epoch, without evaluation: {:.3g} s, as {} has it\n", *known,
                       (job.output / "report.json").string());
  }
  if (seconds <= 0 || plan.steps_per_epoch == 0) {
    return unknown(seconds <= 0 ? "not measured (--measure 0)" : "there are no training seeds");
  }
  if (!trial.store) {
    return unknown(trial.why_not);
  }
  const auto measured = measure_epoch_seconds(trial.job, *trial.store, seconds);
  if (!measured) {
    return unknown(measured.error().what());
  }
  return fmt::format(
      "time per epoch, without evaluation: {:.3g} s, measured in {:g} s with all "
      "ranks in this process{}\n",
      *measured, seconds, borrowed.partitioned ? "" : ", parts at random");
}

/// Why the built-in models do not train on the job's batches; empty: they do.
std::string why_for_programs(const Job& job) {
  if (job.task.walks()) {
    return "/task/kind is \"walk\"";
  }
  if (job.task.predicts_links() && job.task.negatives.kind == Negatives::none) {
    return "/task/negatives/kind is \"none\"";
  }
  return job.features.collect ? "" : "/features/collect is false";
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
  const auto sample = sample_options(job, graph);
  TROUPE_ASSIGN_OR_RETURN(const auto collect, collect_options(job, graph, BatchReader::trainer));
  std::string text;
  TROUPE_ASSIGN_OR_RETURN(const auto devices, device_plan(job, plan.layout, sample, collect));
  if (devices.learns) {
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

std::string text_for_programs(const std::string& why) {
  return fmt::format(
      "time per epoch: that of a program of your own, which the job's batches are for: {}\n"
      "`troupe run JOB -- PROGRAM` and `troupe batches` take the job, `troupe run JOB` alone "
      "refuses it\n",
      why);
}

/// Which device was chosen, where checkpoints are kept, which links are plain: what there is to say of that.
/// \param keepers  hosts_of_copies()
void print_cluster_notes(const ClusterJob& cluster, const std::vector<HostSpec>& keepers) {
  if (const auto found = decided_text(cluster.device, gpu::find_devices()); !found.empty()) {
    fmt::print("{}\n", found);
  }
  if (!keepers.empty()) {
    std::vector<std::string> names;  // clang 14 cannot take a view of them
    std::ranges::transform(keepers, std::back_inserter(names), &HostSpec::address);
    fmt::print("checkpoints: kept here and on {}\n", fmt::join(names, ", "));
  }
  if (const auto warning = plain_links_warning(cluster); !warning.empty()) {
    fmt::print("\n{}\n", warning);
  }
}

/// Prints the plan, the time of an epoch and notes of a job that fits its data.
/// \param graph  of its data
ExitCode print_plan(const Job& job, const BorrowedJob& borrowed, const GraphInfo& graph,
                    const CheckArguments& arguments) {
  const auto why_own = why_for_programs(job);
  const bool own = !why_own.empty();
  const auto facts = facts_of(borrowed.job);
  if (!facts) {
    return data_error(facts.error());
  }
  const auto keepers = hosts_of_copies(job);
  if (!keepers) {
    return print_error(keepers.error());
  }
  auto plan = make_plan(job, graph, *facts);
  const auto devices = own ? std::string() : check_devices(job, graph, *facts, plan);
  fmt::print("{}{}", to_string(plan, job), devices ? *devices : std::string());
  std::fflush(stdout);
  if (!devices) {
    return print_error(devices.error());
  }
  Job here = job;
  here.cluster.launch = "simulate";
  const Checked checked{job, borrowed, plan, make_plan(here, graph, *facts).process_bytes};
  const auto trial = store_of_trial(checked, own ? 0 : arguments.measure);
  if (trial.store) {
    const auto trainer = own ? JobTrainer::own : JobTrainer::built_in;
    if (const auto made = check_cluster_plan(trial.job, *trial.store, trainer); !made) {
      return print_error(made.error());
    }
  }
  fmt::print("{}", own ? text_for_programs(why_own) : time_text(checked, trial, arguments.measure));
  for (const auto& key : unused_keys(job)) {
    fmt::print("{}\n", to_string(key));
  }
  print_cluster_notes(job.cluster, *keepers);
  if (arguments.full) {
    fmt::print("\n{}\n", job.json);
  }
  return ExitCode::done;
}

}  // namespace

ExitCode check_command(const CheckArguments& arguments) {
  const EndAtSignal end_at_signal;
  if (std::isnan(arguments.measure)) {
    return print_error(
        Error(Errc::invalid_argument, "--measure: expected a number of seconds, found nan"));
  }
  auto job = read_job_or_print(arguments.job);
  if (!job) {
    return ExitCode::usage;
  }
  const auto trainer = why_for_programs(*job).empty() ? JobTrainer::built_in : JobTrainer::own;
  if (const auto early = check_before_data(*job, trainer); !early) {
    return print_error(early.error(), ExitCode::usage);
  }
  const auto scratch = temporary_folder("check");
  if (!scratch) {
    return data_error(scratch.error());
  }
  auto borrowed = borrow_data(*job, scratch->path());
  if (!borrowed) {
    return data_error(borrowed.error());
  }
  const Say say = [](const std::string& text) { fmt::print(stderr, "{}\n", text); };
  std::optional<GraphInfo> graph;
  if (const auto code = prepare_graph(borrowed->job, trainer, say, graph); !graph) {
    return code;
  }
  if (!fit_to_graph_or_print(*job, *graph, trainer) ||
      !fit_to_graph_or_print(borrowed->job, *graph, trainer)) {
    return ExitCode::usage;
  }
  return print_plan(*job, *borrowed, *graph, arguments);
}

}  // namespace troupe
