#include "runtime/job/plan.hpp"

#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace troupe {
namespace {

template <class Id>
std::string list(const std::vector<Id>& ids) {
  std::vector<std::uint32_t> numbers;
  for (const Id id : ids) {
    numbers.push_back(raw(id));
  }
  return numbers.empty() ? "none" : fmt::format("{}", fmt::join(numbers, ", "));
}

std::string samplers_text(std::uint32_t samplers) {
  return fmt::format("collector, {} sampler{}", samplers, samplers == 1 ? "" : "s");
}

void print_process(const ProcessPlan& process, const Layout& layout, const Job& job,
                   std::string& out) {
  out += fmt::format("{}: parts {}; ranks {}\n", process.name, list(process.serves),
                     list(process.ranks));
  if (process.directs) {
    out += "  director\n";
  }
  for (const PartId part : process.serves) {
    out += fmt::format("  holder of part {}\n", raw(part));
  }
  const auto samplers = job.cluster.samplers_per_trainer;
  for (const Rank rank : process.ranks) {
    const bool here = layout.samplers_of(rank).empty();
    out += fmt::format("  rank {}: trainer{}\n", raw(rank),
                       here ? ", " + samplers_text(samplers) : "");
  }
  for (const Rank rank : process.samples_for) {
    out += fmt::format("  for rank {}: {}\n", raw(rank),
                       samplers_text(job.cluster.has_servers() ? samplers : 1));
  }
  if (!process.serves.empty()) {
    out += "  evaluator\n";
  }
}

/// One line for the node types and one for the edge types, if there are several.
std::string types_text(const BatchCost& batch) {
  if (batch.nodes.size() < 2 && batch.edges.size() < 2) {
    return "";
  }
  const auto line = [](const char* what, const std::vector<BatchCost::OfType>& types) {
    std::vector<std::string> words;
    for (const auto& type : types) {
      words.push_back(fmt::format("{} {}", type.most, type.name));
    }
    return fmt::format("  {}: {}\n", what, fmt::join(words, ", "));
  };
  return line("nodes", batch.nodes) + line("edges", batch.edges);
}

}  // namespace

std::string bytes_text(std::uint64_t bytes) {
  static constexpr std::array<const char*, 7> units = {"B",   "KiB", "MiB", "GiB",
                                                       "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

std::string to_string(const Plan& plan, const Job& job) {
  std::string out;
  for (const ProcessPlan& process : plan.layout.processes) {
    if (!process.agent) {
      print_process(process, plan.layout, job, out);
    }
  }
  out += fmt::format("ranks: {}\n", plan.world);
  out += fmt::format("parameters: {} ({})\n", plan.parameters, bytes_text(plan.parameters * 4));
  out += fmt::format("an epoch: {} batches in {} steps\n", plan.batches_per_epoch,
                     plan.steps_per_epoch);
  out += fmt::format("a batch, at most: {} nodes, {} edges, {} of features\n", plan.batch.max_nodes,
                     plan.batch.max_edges, bytes_text(plan.batch.feature_bytes));
  out += types_text(plan.batch);
  out += fmt::format("a batch, from other hosts, at most: {}\n", bytes_text(plan.batch.wire_bytes));
  if (!job.embedding.empty()) {
    out += fmt::format("learned rows, of a rank in a step, at most: {} in {} messages\n",
                       bytes_text(plan.batch.learned_bytes), plan.batch.learned_messages);
  }
  const auto ahead = job.cluster.batches_ahead();
  out += fmt::format("batches in flight of a rank: {}\n",
                     ahead > 0 ? fmt::format("{}", ahead)
                               : fmt::format("{}, up to {} while it waits for data",
                                             AutoBatches::first, AutoBatches::most));
  out += fmt::format("store: {}\n", bytes_text(plan.store_bytes));
  out +=
      fmt::format("memory of the largest process, at most: {}\n", bytes_text(plan.process_bytes));
  for (const auto& item : plan.memory.items) {
    out += fmt::format("  {}: {}\n", item.name, bytes_text(item.bytes));
  }
  return out;
}

}  // namespace troupe
