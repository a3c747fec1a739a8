#pragma once
/// \file memory_facts.hpp
/// What the bounds of a job's memory are made of, and the bounds by what the memory is for. The factors
/// are those of the code that allocates. For memory_plan.cpp and device_memory.cpp.
#include "runtime/base/saturating.hpp"
#include "runtime/graph/graph_info.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/plan.hpp"
#include "runtime/job/reach.hpp"
#include "runtime/nn/network.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace troupe {

inline constexpr std::uint64_t float_bytes = sizeof(float);

/// Bytes of a matrix of float32.
constexpr std::uint64_t matrix_bytes(std::uint64_t rows, std::uint64_t cols) {
  return times(times(rows, cols), float_bytes);
}

/// What is in one process; with `simulate` in all of them together.
struct MemoryLoad {
  std::uint64_t ranks = 0;
  std::uint64_t paths = 0;  ///< ranks whose batches are sampled and collected here
  std::uint64_t evaluators = 0;
  std::uint64_t served = 0;  ///< parts with a holder here
  std::uint64_t mapped = 0;  ///< parts that are read in place
  std::uint64_t topologies = 0;
  bool directs = false;

  void add(const ProcessPlan& process);
};

/// Borrows: graph, facts and plan
struct MemoryFacts {
  /// \param planned  all but its memory
  MemoryFacts(const Job& given, const GraphInfo& info, const GraphFacts& known,
              const Plan& planned);

  std::uint64_t parts() const { return std::max<std::uint64_t>(job.partition.parts, 1); }
  /// Of so many bytes those that come from other processes.
  std::uint64_t remote(std::uint64_t bytes) const;

  Job job;  ///< Fitted to the graph
  const GraphInfo& graph;
  const GraphFacts& facts;
  const Plan& plan;
  std::unique_ptr<const nn::Network> model;  ///< Null: the job has none
  std::uint64_t nodes = 0;
  std::uint64_t edges = 0;
  std::uint64_t seeds = 0;
  std::uint64_t scored = 0;
  std::uint64_t pair_bytes = 0;            ///< of links and pairs that processes keep in memory
  std::uint64_t largest = 0;               ///< seeds of the longest list that batches come from
  std::vector<std::uint64_t> batch_seeds;  ///< of its batches, by node type
  std::uint64_t pairs = 0;                 ///< of a batch, that a decoder takes
  std::uint64_t triples = 0;               ///< of a batch
  Reach reach;
};

std::uint64_t memory_of_store(const MemoryFacts& of, const MemoryLoad& load);
/// Tables beside lists. Halos hold all lists in every part at most.
std::uint64_t memory_of_tables(const MemoryFacts& of, const MemoryLoad& load);
/// Ids, orders and owners of all processes' lists; positions, labels and outputs of the scored ones.
std::uint64_t memory_of_seeds(const MemoryFacts& of, const MemoryLoad& load);
/// Rows that one cache keeps, with their ids and places.
std::uint64_t memory_of_cached_rows(const MemoryFacts& of);
/// Each data path has one: those of ranks and of evaluators; lists are of a rank's samplers together.
std::uint64_t memory_of_caches(const MemoryFacts& of, const MemoryLoad& load);

/// Batches of one rank that it has requested and not trained on.
/// \param one      bytes of one of them
/// \param counted  bytes that it counts as when it is finished
std::uint64_t memory_in_flight(const MemoryFacts& of, std::uint64_t one, std::uint64_t counted);
/// Batches of one rank in a pass.
std::uint64_t batches_of_rank(const MemoryFacts& of);
/// Of one rank.
std::uint64_t memory_of_batches(const MemoryFacts& of);
/// Of one rank: lists of batches that are sampled before they are requested, and what the cache knows of
/// their rows: which of them are read, by whom, and places in its table.
std::uint64_t memory_of_batches_ahead(const MemoryFacts& of);

/// Of one rank: what forward keeps, what backward needs, partial gradients of the widest matrix.
std::uint64_t memory_of_activations(const MemoryFacts& of);
std::uint64_t memory_of_parameters(const MemoryFacts& of, const MemoryLoad& load);
/// Rows with state, copies for roll-backs and of the best epoch, and a rank's rows and gradients of a
/// batch with the shares of two steps, which every holder gets from every rank.
std::uint64_t memory_of_learned_rows(const MemoryFacts& of, const MemoryLoad& load);

/// Of all layers of the nodes here, and of one again while the next inference computes it.
std::uint64_t memory_of_outputs(const MemoryFacts& of, const MemoryLoad& load);
/// Of one evaluator: the costliest stage.
std::uint64_t memory_of_blocks(const MemoryFacts& of, const MemoryLoad& load);

}  // namespace troupe
