#include "bench/support/kernels.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/base/prefetch.hpp"
#include "runtime/sample/sampling_work.hpp"

#include <cstring>

namespace troupe::bench {
namespace {

/// As a sampler does it; all of the time counts as growing.
Result<Sampled> sample_links(const BenchData& data, std::uint64_t number) {
  SamplingInputs inputs;
  inputs.graph = data.graph;
  inputs.book = data.book;
  inputs.options = data.sample;
  inputs.halos = std::make_shared<const std::vector<std::shared_ptr<const Part>>>();
  inputs.lists_here = [&data](PartId part) { return data.parts[raw(part)]; };
  inputs.scratch = data.scratch;
  const Stopwatch all;
  SamplingWork work(std::move(inputs), data.key(number), data.order->seeds_of(0, number));
  TROUPE_ASSIGN_OR_RETURN(const auto step, work.step({}));
  TROUPE_ASSERT(step.done, "all lists are here: questions left", step.ask.size());
  Sampled result;
  for (const auto nodes : work.frontier().nodes) {
    result.cost.frontier_nodes += nodes;
  }
  result.batch = std::make_shared<const SampledBatch>(std::move(work).take());
  result.cost.grow_us = all.us();
  return result;
}

}  // namespace

Result<Sampled> sample_batch(const BenchData& data, std::uint64_t number) {
  if (data.order->links() != nullptr) {
    return sample_links(data, number);
  }
  Sampled result;
  auto& cost = result.cost;
  const auto seeds = data.order->batch(0, number);
  Stopwatch grow;
  BatchBuilder builder(*data.graph, *data.book, data.sample, data.key(number),
                       data.order->seeds().node_type, seeds, {}, data.scratch);
  auto questions = builder.questions();
  cost.grow_us += grow.us();
  while (!builder.done()) {
    for (const auto& question : questions) {
      cost.frontier_nodes += question.request.num_nodes();
      const Stopwatch draw;
      TROUPE_ASSIGN_OR_RETURN(auto reply,
                              sample_one_hop(*data.parts[raw(question.part)], question.request));
      cost.draw_us += draw.us();
      grow = {};
      TROUPE_RETURN_IF_ERROR(builder.answer(question.id, std::move(reply)));
      cost.grow_us += grow.us();
    }
    grow = {};
    questions = builder.questions();
    cost.grow_us += grow.us();
  }
  grow = {};
  result.batch = std::make_shared<const SampledBatch>(std::move(builder).take());
  cost.grow_us += grow.us();
  return result;
}

Result<Batch> collect_batch(const BenchData& data, std::shared_ptr<const SampledBatch> sampled,
                            std::shared_ptr<const CollectOptions> collect) {
  RowCollection rows(*data.book, collect ? collect : data.collect, std::move(sampled));
  std::vector<RowCollection::PartHere> parts;
  for (const auto& question : rows.questions()) {
    parts.push_back({question.id, *data.parts[raw(question.part)]});
  }
  TROUPE_RETURN_IF_ERROR(rows.answer_from(parts));
  return std::move(rows).take();
}

void copy_rows(const BenchData& data, const SampledBatch& sampled, std::span<std::byte> out) {
  constexpr std::size_t ahead = 8;  // rows
  const auto& ids = sampled.nodes[0].ids;
  const auto row = [&data](NodeId id) {
    const auto owner = data.book->owner(NodeTypeId{0}, id);
    const auto& nodes = data.parts[raw(owner)]->nodes[0];
    return nodes.features->row(nodes.local(id));
  };
  std::byte* to = out.data();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i + ahead < ids.size()) {
      const auto next = row(ids[i + ahead]);
      for (std::size_t byte = 0; byte < next.size(); byte += 64) {
        prefetch(next.data() + byte);
      }
    }
    const auto bytes = row(ids[i]);
    std::memcpy(to, bytes.data(), bytes.size());
    to += bytes.size();
  }
}

}  // namespace troupe::bench
