#include "runtime/base/saturating.hpp"
#include "runtime/job/embedding_rules.hpp"
#include "runtime/job/knowledge_rules.hpp"
#include "runtime/job/memory_facts.hpp"
#include "runtime/nn/ops/linear.hpp"

#include <algorithm>
#include <numeric>

namespace troupe {
namespace {

/// What `GrowBuffer` takes more than was asked for, as a divisor.
constexpr std::uint64_t growth = 4;
/// Parameters, gradient, its clipped copy, optimizer state, best epoch, snapshot, and the exchange:
/// shares of two steps, their sum, the mean.
constexpr std::uint64_t vectors_per_rank = 12;
/// Of the director: the state to go back to, the one under way and the one being written, with optimizer
/// state and best parameters each.
constexpr std::uint64_t vectors_of_director = 12;
/// Of rows and state: two that holders keep for roll-backs while a third one is made.
constexpr std::uint64_t learned_copies = 3;

std::uint64_t cols_of(const MemoryFacts& of, std::size_t layer, std::size_t type) {
  if (layer > 0 || of.job.model.linear_input) {
    return of.job.model.hidden;
  }
  const auto cols =
      type < of.job.model.types.nodes.size() ? of.job.model.types.nodes[type].cols : 0;
  return cols > 0 ? cols : of.job.model.hidden;
}

/// What the convolution keeps, and edges by source.
std::uint64_t conv_memory(const MemoryFacts& of, std::uint32_t layer, std::size_t e,
                          const Reach::Hop& sources, const Reach::Hop& targets) {
  const auto& type = of.graph.edge_types[e];
  const bool in = of.job.sample.edge_dir == EdgeDir::in;
  const nn::BlockCounts counts{
      .sources = sources.nodes[raw(in ? type.source : type.destination)],
      .destinations = targets.nodes[raw(in ? type.destination : type.source)],
      .edges = sources.edges[e]};
  const auto numbers = of.model->pass_numbers(layer, static_cast<EdgeTypeId>(e), counts);
  return plus(times(numbers, float_bytes), times(counts.edges, 16));
}

std::uint64_t partials(const MemoryFacts& of) {
  std::uint64_t widest = 0;
  for (const auto& slice : of.model->layout()) {
    widest = std::max<std::uint64_t>(widest, slice.size());
  }
  const auto rows =
      std::accumulate(of.reach.nodes.begin(), of.reach.nodes.end(), std::uint64_t{0}, plus);
  return matrix_bytes(widest,
                      std::min<std::uint64_t>(nn::most_partials, divide_up(rows, nn::chunk_rows)));
}

/// What a decoder keeps of a batch's pairs, as a device does, whose lists and sums are the most.
std::uint64_t decoder_memory(const MemoryFacts& of) {
  const auto& model = of.job.model;
  const auto& decoder = model.decoder;
  constexpr std::uint64_t lists = 24;  // both ends, sorted, with lists by row
  constexpr std::uint64_t scores = 4;  // an output, its gradient and its term
  constexpr std::uint64_t running_sums = 16;
  constexpr std::uint64_t vectors = 4;  // of both ends, or of a product, with gradients
  const auto sums = decoder.kind == "mlp" ? times(vectors, plus(model.out_dim, decoder.hidden))
                                          : times(running_sums, decoder.outputs);
  const auto each = plus(plus(lists, times(scores, decoder.outputs)), sums);
  const auto rows =
      std::accumulate(of.batch_seeds.begin(), of.batch_seeds.end(), std::uint64_t{0}, plus);
  // Gradients by the decoder and by each of its ends.
  return of.pairs == 0
             ? 0
             : plus(matrix_bytes(of.pairs, each), matrix_bytes(rows, times(3, model.out_dim)));
}

/// What the loss of a batch's triples keeps on a device.
std::uint64_t triple_memory(const MemoryFacts& of) {
  const auto cols = of.job.model.out_dim;
  const auto chunks = shared_candidates(of.job).chunks;
  const auto rows =
      plus(times(2, of.triples), times(chunks.chunks_of(of.triples), chunks.negatives));
  constexpr std::uint64_t lists = 24;
  // Rows as they are and by their lengths, and gradients; of relations factors in their place.
  const auto of_rows = matrix_bytes(plus(rows, of.triples), plus(times(3, cols), lists));
  const auto size = std::min(chunks.triples, of.triples);
  // Queries with their gradients; scores, gradients and shares.
  const auto of_chunk = plus(matrix_bytes(size, times(2, cols)),
                             matrix_bytes(size, times(4, plus(chunks.negatives, 1))));
  return of.triples == 0 ? 0 : plus(of_rows, of_chunk);
}

}  // namespace

std::uint64_t memory_of_activations(const MemoryFacts& of) {
  if (of.model == nullptr || of.reach.after.empty()) {
    return 0;
  }
  const auto layers = of.job.model.layers;
  std::uint64_t sum = 0;
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    const auto hops = of.reach.after.size() - 1;
    const auto from = hops - std::min<std::size_t>(layer, hops);
    const auto& sources = of.reach.after[from];
    const auto& targets = of.reach.after[from > 0 ? from - 1 : 0];
    const auto out = layer + 1 == layers ? of.job.model.out_dim : of.job.model.hidden;
    for (std::size_t e = 0; e < of.graph.edge_types.size(); ++e) {
      sum = plus(sum, conv_memory(of, layer, e, sources, targets));
    }
    for (std::size_t t = 0; t < of.graph.node_types.size(); ++t) {
      // The convolution's rows and the layer's, their gradient, lengths and statistics.
      sum = plus(sum,
                 matrix_bytes(targets.nodes[t], times(out + 2, of.job.model.batch_norm ? 5 : 3)));
      const bool dropped = layer == 0 && of.job.model.input_dropout > 0;
      const bool learned = embedding_cols(of.job, of.graph.node_types[t]) > 0;
      const bool input_gradient = layer > 0 || of.job.model.linear_input || learned;
      if (layer == 0 && of.job.model.linear_input) {
        sum = plus(sum, matrix_bytes(sources.nodes[t], of.job.model.hidden));
      }
      sum = plus(sum, matrix_bytes(sources.nodes[t],
                                   times(cols_of(of, layer, t),
                                         (dropped ? 1U : 0U) + (input_gradient ? 1U : 0U))));
    }
  }
  sum = plus(plus(sum, partials(of)), plus(decoder_memory(of), triple_memory(of)));
  return plus(sum, sum / growth);
}

std::uint64_t memory_of_parameters(const MemoryFacts& of, const MemoryLoad& load) {
  const auto vectors = times(load.ranks, vectors_per_rank) + load.evaluators +
                       (load.directs ? vectors_of_director : 0);
  return matrix_bytes(of.plan.parameters, vectors);
}

std::uint64_t memory_of_learned_rows(const MemoryFacts& of, const MemoryLoad& load) {
  std::uint64_t tables = 0;
  std::uint64_t of_batch = 0;
  const auto plan = embedding_plan(of.job, of.graph);
  for (const auto& table : plan ? plan->tables : std::vector<EmbeddingOptions>()) {
    const auto nodes = of.graph.node_types[raw(table.node_type)].count;
    const auto per_row =
        plus(times(1 + learned_copies, plus(table.dim, sparse_state_cols(table))), table.dim);
    tables = plus(tables, matrix_bytes(plus(nodes / of.parts(), 1), per_row));
    const auto rows = of.reach.nodes[raw(table.node_type)];
    of_batch = plus(of_batch, times(rows, plus(sizeof(NodeId), table.dim * float_bytes)));
  }
  const auto shares = times(times(of_batch, of.job.cluster.world()), 2);
  return plus(plus(times(tables, load.served), times(times(of_batch, 4), load.ranks)),
              load.served > 0 ? shares : 0);
}

}  // namespace troupe
