#include "bench/support/kernels.hpp"

#include <cstring>

namespace troupe::bench {

Result<Sampled> sample_batch(const BenchData& data, std::uint64_t number) {
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
        __builtin_prefetch(next.data() + byte);
      }
    }
    const auto bytes = row(ids[i]);
    std::memcpy(to, bytes.data(), bytes.size());
    to += bytes.size();
  }
}

}  // namespace troupe::bench
