#include "runtime/job/device_memory.hpp"

#include "runtime/base/id_list.hpp"
#include "runtime/base/saturating.hpp"
#include "runtime/feature/staged_rows.hpp"
#include "runtime/graph/alias_tables.hpp"
#include "runtime/job/embedding_rules.hpp"
#include "runtime/job/fanout.hpp"
#include "runtime/job/memory_facts.hpp"
#include "runtime/sample/batch_builder.hpp"
#include "runtime/sample/choice/choices.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>

namespace troupe {
namespace {

/// Parameters, gradient, mean over ranks, two states of the optimizer, best epoch.
constexpr std::uint64_t vectors_on_device = 6;
/// What ranks with devices of their own exchange gradients in: slices of all ranks, and the mean.
constexpr std::uint64_t vectors_to_exchange = 2;
/// While a batch is made: of a node the table that numbers it, of an edge slots, entries and sums.
constexpr std::uint64_t making_node_bytes = 88;
constexpr std::uint64_t making_edge_bytes = 40;
/// Counts and offsets of a row, for each edge type.
constexpr std::uint64_t making_row_bytes = 8;
/// What is added to the room of a hop along an edge type (gpu/sample/batch_room.hpp) beside an eighth:
/// 32 rows and 32 edges, with all data.
constexpr std::uint64_t room_of_hop_bytes = 2048;
/// Of a batch's nodes: global and original ids.
constexpr std::uint64_t ids_of_node_bytes = 16;

/// Lists of the types that hops follow, and the nodes whose original ids draws read.
void add_lists(const MemoryFacts& of, bool samples, DeviceMemory& memory) {
  const auto fanout = fanout_by_hop(of.job.sample, of.graph);
  const auto* choice = find_kind(choice_kinds(), of.job.sample.choice);
  const bool weighted = choice != nullptr && choice->needs_weights;
  std::vector<bool> listed(of.graph.node_types.size());
  auto& lists = of.job.sample.pinned_lists ? memory.pinned_lists : memory.lists;
  for (std::size_t e = 0; e < of.graph.edge_types.size(); ++e) {
    if (!samples || !is_sampled(fanout, e)) {
      continue;
    }
    const auto& type = of.graph.edge_types[e];
    const auto rows = raw(type.list_type(of.job.sample.edge_dir));
    const auto neighbours = raw(type.neighbour_type(of.job.sample.edge_dir));
    const auto data = of.job.sample.edge_data & edge_data_of(type);
    const auto entry = id_width_bytes(of.graph.node_types[neighbours].count) +
                       data.stored().bytes() + (weighted ? alias_bytes : 0);
    listed[rows] = true;
    lists = plus(lists, times(plus(of.graph.node_types[rows].count, 1), sizeof(std::uint64_t)));
    lists = plus(lists, times(type.count, entry));
  }
  for (std::size_t t = 0; t < of.graph.node_types.size(); ++t) {
    const auto& type = of.graph.node_types[t];
    std::uint64_t label = 0;
    if (type.labels) {
      label = type.labels->kind == LabelInfo::Kind::classes ? sizeof(std::int64_t)
                                                            : times(type.labels->classes, 4);
    }
    memory.ids =
        plus(memory.ids, times(type.count, plus(label, sizeof(std::uint64_t) *
                                                           (listed[t] ? std::uint64_t{2} : 1U))));
  }
}

/// A batch as it stays on the device, and what making one takes besides.
struct BatchOfDevice {
  std::uint64_t kept = 0;
  std::uint64_t unused = 0;  ///< Room in its arrays, where the device samples
  std::uint64_t making = 0;
  std::uint64_t copied = 0;  ///< To the host
  std::uint64_t hashed = 0;  ///< Of these, rows of nodes
};

BatchOfDevice batch_of_device(const MemoryFacts& of) {
  BatchOfDevice batch;
  std::uint64_t arrays = 0;
  for (std::size_t t = 0; t < of.reach.nodes.size(); ++t) {
    const auto& features = of.graph.node_types[t].features;
    const auto cols = features && of.job.features.collect ? features->cols : 0;
    const auto rows = matrix_bytes(of.reach.nodes[t], cols);
    batch.kept = plus(batch.kept, rows);
    batch.hashed = plus(batch.hashed, of.job.digest == DigestMode::full ? rows : 0);
  }
  for (std::size_t e = 0; e < of.reach.edges.size(); ++e) {
    const auto& type = of.graph.edge_types[e];
    const auto& features = type.features;
    const bool wanted = of.job.sample.edge_data.entries && features;
    const auto rows = of.reach.nodes[raw(type.list_type(of.job.sample.edge_dir))];
    const auto per_edge = sizeof(std::uint32_t) + of.job.sample.edge_data.bytes();
    const auto rows_of_edges = matrix_bytes(of.reach.edges[e], wanted ? features->cols : 0);
    batch.kept = plus(batch.kept, rows_of_edges);
    batch.copied = plus(batch.copied, rows_of_edges);
    arrays = plus(arrays, times(of.reach.edges[e], per_edge));
    arrays = plus(arrays, times(plus(rows, 1), sizeof(std::uint32_t)));
    batch.making = plus(batch.making, times(rows, making_row_bytes));
  }
  const auto nodes =
      std::accumulate(of.reach.nodes.begin(), of.reach.nodes.end(), std::uint64_t{0}, plus);
  const auto edges =
      std::accumulate(of.reach.edges.begin(), of.reach.edges.end(), std::uint64_t{0}, plus);
  arrays = plus(arrays, times(nodes, ids_of_node_bytes));
  batch.kept = plus(batch.kept, arrays);
  batch.copied = plus(batch.hashed, plus(batch.copied, arrays));
  batch.unused =
      plus(arrays / 8, times(of.job.sample.hops() * of.reach.edges.size(), room_of_hop_bytes));
  batch.making = plus(batch.making, times(nodes, making_node_bytes));
  batch.making = plus(batch.making, times(edges, making_edge_bytes));
  return batch;
}

/// Learned rows of a batch as they go up, and these behind the features where there are both; in buffers
/// that grow by a quarter.
std::uint64_t learned_of_batch(const MemoryFacts& of) {
  std::uint64_t bytes = 0;
  for (std::size_t t = 0; t < of.reach.nodes.size(); ++t) {
    const auto& type = of.graph.node_types[t];
    const auto learned = embedding_cols(of.job, type);
    const auto features =
        type.features && of.job.features.collect ? std::uint64_t{type.features->cols} : 0;
    const auto joined = learned > 0 && features > 0 ? plus(features, learned) : 0;
    bytes = plus(bytes, matrix_bytes(of.reach.nodes[t], plus(learned, joined)));
  }
  return plus(bytes, bytes / 4);
}

/// Ranks whose batches devices of a process make.
const std::vector<Rank>& ranks_served(const ProcessPlan& process, bool samplers) {
  return samplers ? process.samples_for : process.ranks;
}

/// The process with such ranks that has the most parts' rows, in bytes; and whether one lacks some.
struct RowsOfProcesses {
  std::uint64_t most = 0;
  bool some_elsewhere = false;
};

RowsOfProcesses rows_of_processes(const MemoryFacts& of, const DeviceFacts& facts) {
  RowsOfProcesses found;
  const auto all = bytes_of(TieredTables{of.graph});
  for (const auto& process : of.plan.layout.processes) {
    auto rows = facts.part_rows.empty() ? proportion(all, process.maps.size(), of.parts())
                                        : std::uint64_t{0};
    for (const auto part : process.maps) {
      rows = plus(rows, facts.part_rows.empty() ? 0 : facts.part_rows[raw(part)]);
    }
    if (!ranks_served(process, facts.samplers).empty()) {
      found.most = std::max(found.most, rows);
      found.some_elsewhere = found.some_elsewhere || process.maps.size() < of.parts();
    }
  }
  return found;
}

/// Slots and rows of a batch that come from elsewhere (runtime/feature/staged_rows.hpp), all of them at
/// most.
std::uint64_t block_of_staged(const MemoryFacts& of, bool some_elsewhere) {
  std::uint64_t bytes = 0;
  for (std::size_t t = 0; t < of.reach.nodes.size(); ++t) {
    const auto row_bytes = some_elsewhere ? bytes_of_row(of.graph.node_types[t].features) : 0;
    bytes = plus(bytes, times(of.reach.nodes[t], plus(sizeof(std::uint64_t), row_bytes)));
    bytes = plus(bytes, 2 * StagedRows::alignment);
  }
  return bytes;
}

/// A block of all nodes of a type.
std::uint64_t whole_block(const MemoryFacts& of, const nn::InferFootprint& footprint,
                          const nn::InferStage::Output& output) {
  auto bytes = times(of.graph.node_types[raw(output.type)].count, footprint.destinations);
  for (std::size_t t = 0; t < footprint.rows.size(); ++t) {
    bytes = plus(bytes, times(of.graph.node_types[t].count, footprint.rows[t]));
  }
  for (std::size_t e = 0; e < footprint.edges.size(); ++e) {
    bytes = plus(bytes, times(of.graph.edge_types[e].count, footprint.edges[e]));
  }
  return bytes;
}

/// Exact inference on devices: rows that the blocks of a stage read where they lie, and as much for a block.
/// 0: there is none, or evaluators are in processes without ranks.
std::uint64_t wanted_by_exact(const MemoryFacts& of, std::size_t product_rows) {
  const auto& processes = of.plan.layout.processes;
  const bool there = std::ranges::any_of(processes, [](const ProcessPlan& process) {
    return !process.ranks.empty() && !process.serves.empty();
  });
  if (!there || of.model == nullptr || !of.job.infers_exactly() || of.job.task.knowledge()) {
    return 0;
  }
  std::uint64_t most = 0;
  const auto stages = of.model->infer_stages();
  for (std::uint32_t number = 0; number < stages.size(); ++number) {
    const auto& stage = stages[number];
    std::uint64_t rows = 0;
    for (std::size_t t = 0; of.model->reads_in_place() && t < stage.in_cols.size(); ++t) {
      rows = plus(rows, matrix_bytes(of.graph.node_types[t].count, stage.in_cols[t]));
    }
    most = std::max(most, rows);
    for (const auto& output : stage.outputs) {
      const auto block = of.model->infer_footprint(number, output.type, product_rows);
      most = std::max(
          most, plus(block.fixed, std::min(whole_block(of, block, output), nn::infer_block_bytes)));
    }
  }
  return times(2, most);
}

/// Ranks of the device that has the most.
std::uint64_t ranks_of_device(const Plan& plan, const DeviceFacts& facts) {
  const auto devices = facts.devices;
  std::uint64_t most = 1;
  for (const auto& process : plan.layout.processes) {
    std::vector<std::uint64_t> ranks(std::max<std::uint64_t>(devices, 1));
    for (const auto rank : ranks_served(process, facts.samplers)) {
      most = std::max(most, devices == 0 ? 1 : ++ranks[raw(rank) % devices]);
    }
  }
  return most;
}

std::string rows_name(const DeviceMemory& memory) {
  return fmt::format("rows of features (device_budget {}, of {})", to_string(memory.budget),
                     bytes_text(memory.all_rows));
}

struct NamedBytes {
  std::string name;
  std::uint64_t bytes = 0;
};

std::vector<NamedBytes> items_of(const DeviceMemory& memory) {
  std::vector<NamedBytes> items;
  if (memory.samples) {
    items.push_back({"neighbor lists", memory.lists});
  }
  if (memory.keeps_rows) {
    items.push_back({"original ids and labels", memory.ids});
    items.push_back({rows_name(memory), memory.rows});
  }
  items.push_back({memory.keeps_rows ? "batches in flight" : "copy of a batch", memory.batches});
  if (!memory.samplers) {
    items.push_back({"activations and their gradients", memory.activations});
    items.push_back({"parameters and optimizer", memory.parameters});
  }
  if (memory.exact > 0) {
    items.push_back({"exact inference", memory.exact});
  }
  return items;
}

}  // namespace

std::uint64_t DeviceMemory::reserved() const {
  return plus(plus(batches, activations), parameters);
}

std::uint64_t DeviceMemory::bytes() const {
  return plus(plus(lists, ids), plus(plus(rows, exact), reserved()));
}

std::uint64_t exact_share(std::uint64_t wanted, std::uint64_t memory_bytes) {
  return memory_bytes == 0 ? wanted : std::min(wanted, memory_bytes / 8);
}

std::vector<EdgeTypeId> types_with_edge_features(const Job& job, const GraphInfo& graph) {
  std::vector<EdgeTypeId> types;
  for (std::size_t e = 0; e < graph.edge_types.size(); ++e) {
    if (job.sample.edge_data.entries && graph.edge_types[e].features) {
      types.push_back(static_cast<EdgeTypeId>(e));
    }
  }
  return types;
}

DeviceMemory device_memory(const Job& job, const GraphInfo& graph, const Plan& plan,
                           const DeviceFacts& facts) {
  const GraphFacts nothing;
  const MemoryFacts of(job, graph, nothing, plan);
  const auto batch = batch_of_device(of);
  DeviceMemory memory{.budget = job.features.device_budget,
                      .keeps_rows = facts.rows || facts.batches,
                      .samples = facts.batches,
                      .samplers = facts.samplers,
                      .ranks = ranks_of_device(plan, facts),
                      .memory_bytes = facts.memory_bytes};
  memory.margin = device_margin(facts.memory_bytes);
  if (!facts.samplers) {
    memory.exact = exact_share(wanted_by_exact(of, facts.product_rows), facts.memory_bytes);
    memory.activations = times(memory.ranks, memory_of_activations(of));
    const bool exchanges = memory.ranks == 1 && job.cluster.world() > 1;
    const auto vectors = vectors_on_device + (exchanges ? vectors_to_exchange : 0);
    memory.parameters = times(memory.ranks, matrix_bytes(plan.parameters, vectors));
  }
  if (!memory.keeps_rows) {  // a copy in buffers that grow by a quarter
    memory.batches =
        times(memory.ranks, plus(plus(batch.kept, batch.kept / 4), learned_of_batch(of)));
    return memory;
  }
  const auto elsewhere = rows_of_processes(of, facts);
  const auto staged = facts.staged ? block_of_staged(of, elsewhere.some_elsewhere) : 0;
  const auto kept = plus(batch.kept, memory.samples ? batch.unused : 0);
  const auto making =
      plus(memory.samples ? batch.making : staged, facts.samplers ? 0 : learned_of_batch(of));
  memory.batches = times(memory.ranks, plus(memory_in_flight(of, kept, kept), making));
  memory.staged = times(memory.ranks, memory_in_flight(of, staged, staged));
  // Blocks are powers of two.
  const auto block = times(facts.staged ? batch.hashed : batch.copied, 2);
  memory.copies = times(memory.ranks, memory_in_flight(of, block, block));
  if (facts.staged) {
    memory.all_rows = elsewhere.most;
  } else {
    add_lists(of, memory.samples, memory);
    const auto edge_features = types_with_edge_features(of.job, graph);
    memory.all_rows = bytes_of({graph, edge_features});
  }
  const auto beside = plus(plus(memory.lists, memory.ids),
                           plus(plus(memory.reserved(), memory.exact), memory.margin));
  const auto free = facts.memory_bytes == 0
                        ? memory.all_rows
                        : facts.memory_bytes - std::min(beside, facts.memory_bytes);
  memory.rows = budget_bytes(memory.budget, memory.all_rows, free);
  memory.pinned_rows = memory.all_rows - memory.rows;
  return memory;
}

Status check_device_memory(const DeviceMemory& memory) {
  const auto sure = plus(plus(memory.lists, memory.ids), plus(memory.rows, memory.parameters));
  if (memory.memory_bytes == 0 || sure <= memory.memory_bytes) {
    return ok_status();
  }
  return Error(
      Errc::out_of_memory,
      fmt::format("a device has too little memory: {}\ntry: {}", line_of(memory),
                  memory.keeps_rows ? "a smaller features.cache.device_budget, sample.device_lists "
                                      "\"pinned\", or sample.on \"host\""
                                    : "a smaller model"));
}

Error with_figures(const Error& error, const DeviceMemory& memory) {
  if (error.code() != Errc::out_of_memory || error.what().find("\ntry: ") != std::string::npos) {
    return error;
  }
  return {error.code(),
          fmt::format("{}; planned for a device with {} rank{}: {}\ntry: a smaller "
                      "sample.batch_size, sample.fanout{}{}, or fewer ranks per device",
                      error.what(), memory.ranks, memory.ranks == 1 ? "" : "s", line_of(memory),
                      memory.rows > 0 ? ", features.cache.device_budget" : "",
                      memory.samplers ? "" : ", model.hidden")};
}

std::string line_of(const DeviceMemory& memory) {
  std::vector<std::string> words;
  for (const auto& [name, bytes] : items_of(memory)) {
    words.push_back(fmt::format("{} {}", name, bytes_text(bytes)));
  }
  const auto of =
      memory.memory_bytes == 0 ? "" : fmt::format(" of {}", bytes_text(memory.memory_bytes));
  return fmt::format("at most {}{}: {}; pinned memory of the host {}", bytes_text(memory.bytes()),
                     of, fmt::join(words, ", "), bytes_text(memory.pinned()));
}

std::string to_string(const DeviceMemory& memory) {
  std::string out = fmt::format(
      "memory of a {} {} rank{}, at most: {}{}\n",
      memory.samplers ? "sampler's device for" : "device with", memory.ranks,
      memory.ranks == 1 ? "" : "s", bytes_text(memory.bytes()),
      memory.memory_bytes == 0 ? "" : fmt::format(" of {}", bytes_text(memory.memory_bytes)));
  for (const auto& [name, bytes] : items_of(memory)) {
    out += fmt::format("  {}: {}\n", name, bytes_text(bytes));
  }
  if (memory.memory_bytes > 0 && memory.keeps_rows) {
    out += fmt::format("  margin of device_budget \"auto\": {}\n", bytes_text(memory.margin));
  }
  if (memory.keeps_rows) {
    out += fmt::format(
        "pinned memory of the host: {} of rows, {} of neighbor lists, at most {} of batches\n",
        bytes_text(memory.pinned_rows), bytes_text(memory.pinned_lists),
        bytes_text(plus(memory.copies, memory.staged)));
  }
  if (memory.memory_bytes > 0 && memory.bytes() > memory.memory_bytes) {
    out +=
        "  bounds of batches and activations are above the device's memory: batches near them "
        "fail\n";
  }
  return out;
}

}  // namespace troupe
