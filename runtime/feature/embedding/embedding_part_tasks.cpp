// What the tasks of embedding_part.hpp do.
#include "runtime/base/assert.hpp"
#include "runtime/feature/embedding/embedding_part.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace troupe {

std::size_t EmbeddingPart::Tables::place_of(NodeTypeId type) const {
  const auto found = std::ranges::find_if(
      tables, [&](const EmbeddingTable& table) { return table.options().node_type == type; });
  TROUPE_ASSERT(found != tables.end(), "no table of the node type", raw(type));
  return static_cast<std::size_t>(found - tables.begin());
}

Result<EmbeddingPart::Reply> EmbeddingPart::Tables::start(Executor& executor, const Copy* copy) {
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (copy != nullptr) {
      tables[i].put(copy->rows[i]);
    } else {
      tables[i].start(executor);
    }
  }
  steps = copy == nullptr ? 0 : copy->steps;
  best = copy == nullptr ? nullptr : copy->best;
  return Reply(Done{});
}

Result<EmbeddingPart::Reply> EmbeddingPart::Tables::apply(Executor& executor,
                                                          const Shares& shares) {
  std::uint64_t weight = 0;
  for (const auto& share : shares) {
    weight += share->weight;
  }
  if (weight == 0) {
    return Reply(Done{});
  }
  ++steps;
  for (auto& table : tables) {
    std::vector<EmbeddingTable::Gradients> gradients;
    for (const auto& share : shares) {
      const float* rows = share->rows.as<float>().data();
      std::size_t node = 0;
      for (const auto& section : share->sections) {
        if (section.node_type == table.options().node_type) {
          gradients.push_back({std::span<const NodeId>(share->nodes).subspan(node, section.nodes),
                               {rows, section.nodes, section.cols}});
        }
        node += section.nodes;
        rows += section.nodes * section.cols;
      }
    }
    table.apply(executor, gradients, weight, steps);
  }
  return Reply(Done{});
}

const Matrix& EmbeddingPart::Tables::rows_of(NodeTypeId type, bool of_best) const {
  const auto place = place_of(type);
  return of_best && best ? (*best)[place] : tables[place].rows().rows;
}

Result<EmbeddingPart::Reply> EmbeddingPart::Tables::count(Executor& executor,
                                                          const RankEntities& request) {
  TROUPE_ASSIGN_OR_RETURN(
      auto counted, counts(executor, request, rows_of(request.node_type, request.best).view()));
  return Reply(std::move(counted));
}

Result<EmbeddingPart::Reply> EmbeddingPart::Tables::gather(Executor& executor,
                                                           const ReadLearned& request) {
  Buffer buffer(learned_values(request.sections) * sizeof(float));
  auto out = buffer.as<float>();
  auto nodes = std::span<const NodeId>(request.nodes);
  for (const auto& section : request.sections) {
    const auto& rows = rows_of(section.node_type, request.best);
    tables[place_of(section.node_type)].gather(executor, rows.view(), nodes.first(section.nodes),
                                               out.first(section.nodes * section.cols));
    nodes = nodes.subspan(section.nodes);
    out = out.subspan(section.nodes * section.cols);
  }
  return Reply(LearnedRows{std::move(buffer).freeze()});
}

std::shared_ptr<const EmbeddingPart::Copy> EmbeddingPart::Tables::copy() const {
  auto copy = std::make_shared<Copy>();
  for (const auto& table : tables) {
    copy->rows.push_back(table.rows().copy());
  }
  copy->steps = steps;
  copy->best = best;
  return copy;
}

Result<EmbeddingPart::Reply> EmbeddingPart::Tables::keep_best() {
  auto rows = std::make_shared<std::vector<Matrix>>();
  for (const auto& table : tables) {
    rows->push_back(std::move(table.rows().copy().rows));
  }
  best = std::move(rows);
  return Reply(Done{});
}

Result<EmbeddingPart::Reply> EmbeddingPart::Tables::digests(Executor& executor) {
  LearnedDigests all;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const auto& table = tables[i];
    const auto now = table.digest(executor, table.rows().rows.view());
    all.tables.push_back({.node_type = table.options().node_type,
                          .rows = now,
                          .best = best ? table.digest(executor, (*best)[i].view()) : now});
  }
  return Reply(std::move(all));
}

}  // namespace troupe
