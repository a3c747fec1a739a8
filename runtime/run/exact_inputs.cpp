#include "runtime/run/exact_inputs.hpp"

#include "runtime/nn/ops/linear.hpp"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>

namespace troupe {

ReadLearned InputBlock::question() const {
  ReadLearned read;
  read.sections = {{.node_type = type, .cols = dim, .nodes = nodes.count}};
  const auto first = part->nodes_of(type).first;
  for (std::uint64_t i = 0; i < nodes.count; ++i) {
    read.nodes.push_back(advance(first, nodes.first + i));
  }
  return read;
}

Status InputBlock::check(const LearnedRows& learned) const {
  const auto expected = nodes.count * dim;
  const auto found = learned.rows.bytes.size() / sizeof(float);
  return found == expected
             ? ok_status()
             : Status(Error(Errc::data_corruption,
                            fmt::format("learned rows of part {}: expected {} numbers, found {}",
                                        raw(part->id), expected, found)));
}

void InputBlock::fill(Executor& executor, const LearnedRows* learned, MutMatrix rows) const {
  const auto& table = part->nodes[raw(type)].features;
  const auto cols = features.cols();
  const auto values = learned == nullptr ? std::span<const float>() : learned->rows.as<float>();
  nn::for_each_chunk(executor, nodes.count, [&](std::size_t first, std::size_t chunk) {
    for (std::size_t i = first; i < first + chunk; ++i) {
      const auto row = rows.row(i);
      if (cols > 0) {
        features.decode(table->row(nodes.first + i), row.first(cols));
      }
      std::ranges::copy(values.subspan(i * dim, dim),
                        row.begin() + static_cast<std::ptrdiff_t>(cols));
    }
  });
}

std::vector<InputBlock> input_blocks(const std::map<PartId, std::shared_ptr<const Part>>& parts,
                                     const EmbeddingPlan& plan,
                                     const std::vector<std::uint64_t>& in_cols,
                                     const std::vector<RowDecoder>& decoders,
                                     std::uint64_t block_bytes) {
  std::vector<InputBlock> blocks;
  for (std::size_t t = 0; t < in_cols.size(); ++t) {
    if (in_cols[t] == 0) {
      continue;
    }
    const auto type = static_cast<NodeTypeId>(t);
    const auto* table = plan.find(type);
    const auto most = std::max<std::uint64_t>(block_bytes / (in_cols[t] * sizeof(float)), 1);
    for (const auto& [id, part] : parts) {
      const auto count = part->nodes_of(type).count;
      for (std::uint64_t first = 0; first < count; first += most) {
        blocks.push_back({.part = part,
                          .type = type,
                          .nodes = {first, std::min(most, count - first)},
                          .features = decoders[t],
                          .dim = table == nullptr ? 0 : table->dim});
      }
    }
  }
  return blocks;
}

}  // namespace troupe
