#include "runtime/job/memory_plan.hpp"

#include "runtime/base/buffer.hpp"
#include "runtime/base/saturating.hpp"
#include "runtime/job/memory_facts.hpp"

#include <algorithm>
#include <string_view>
#include <thread>

namespace troupe {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;
/// The program with its libraries and the buffers of its links.
constexpr std::uint64_t base_bytes = 48 * mib;
/// Stack, arena and scratch memory of a compute thread, for the matrix library too.
constexpr std::uint64_t thread_bytes = 4 * mib;
constexpr const char* learned_name = "learned rows";
constexpr const char* batches_name = "batches in flight";
constexpr const char* ahead_name = "batches known ahead";
constexpr const char* outputs_name = "outputs of exact inference";
constexpr const char* blocks_name = "blocks of exact inference";

std::uint64_t memory_of_program(const ClusterJob& cluster) {
  std::uint64_t threads = cluster.threads;
  for (std::uint32_t host = 0; host < cluster.named.size(); ++host) {
    threads = std::max<std::uint64_t>(threads, cluster.threads_on(host));
  }
  threads = threads > 0 ? threads : std::max(1U, std::thread::hardware_concurrency());
  return base_bytes + times(threads, thread_bytes);
}

/// Freed blocks lie in the pool of buffers, up to its limit, and in the allocator's arenas, which
/// kept up to half of what blocks and outputs of inference had taken. Batches reach their bounds
/// seldom.
std::uint64_t kept_memory(const Job& job, const std::vector<MemoryPlan::Item>& items) {
  const auto bytes_of = [&](std::string_view name) {
    return std::ranges::find(items, name, &MemoryPlan::Item::name)->bytes;
  };
  const auto inference = plus(bytes_of(outputs_name), bytes_of(blocks_name));
  const bool pinned = job.cluster.device.kind == DeviceKind::cuda;
  const std::uint64_t limit = pinned ? pinned_pool_limit_bytes : pool_limit_bytes;
  return plus(std::min<std::uint64_t>(limit, bytes_of(batches_name) / 4), inference / 2);
}

MemoryPlan bounds(const MemoryFacts& of, const MemoryLoad& load) {
  // Ranks whose batches come from other processes hold them too.
  const auto holders = std::max(load.ranks, load.paths);
  MemoryPlan plan;
  plan.items = {{"program and threads", memory_of_program(of.job.cluster)},
                {"store", memory_of_store(of, load)},
                {"tables of lists", memory_of_tables(of, load)},
                {"seeds and their scores", memory_of_seeds(of, load)},
                {batches_name, times(holders, memory_of_batches(of))},
                {ahead_name, times(load.ranks, memory_of_batches_ahead(of))},
                {"activations and their gradients", times(load.ranks, memory_of_activations(of))},
                {"parameters and optimizer", memory_of_parameters(of, load)},
                {learned_name, memory_of_learned_rows(of, load)},
                {outputs_name, memory_of_outputs(of, load)},
                {blocks_name, times(load.evaluators, memory_of_blocks(of, load))},
                {"caches", memory_of_caches(of, load)}};
  std::erase_if(plan.items, [&of](const MemoryPlan::Item& item) {
    return (item.name == learned_name && of.job.embedding.empty()) ||
           (item.name == ahead_name && item.bytes == 0);
  });
  plan.items.push_back({"freed memory that is kept", kept_memory(of.job, plan.items)});
  return plan;
}

}  // namespace

std::uint64_t MemoryPlan::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& item : items) {
    sum = plus(sum, item.bytes);
  }
  return sum;
}

MemoryPlan memory_plan(const Job& job, const GraphInfo& graph, const GraphFacts& facts,
                       const Plan& plan) {
  const MemoryFacts known(job, graph, facts, plan);
  if (job.cluster.launch == "simulate") {
    MemoryLoad all;
    for (const auto& process : plan.layout.processes) {
      all.add(process);
    }
    return bounds(known, all);
  }
  MemoryPlan largest;
  for (const auto& process : plan.layout.processes) {
    MemoryLoad load;
    load.add(process);
    if (auto of_process = bounds(known, load); of_process.bytes() > largest.bytes()) {
      largest = std::move(of_process);
    }
  }
  return largest;
}

}  // namespace troupe
