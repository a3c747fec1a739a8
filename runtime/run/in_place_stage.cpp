#include "runtime/run/in_place_stage.hpp"

#include "runtime/nn/ops/cpu_block_ops.hpp"
#include "runtime/nn/ops/linear.hpp"
#include "runtime/nn/ops/tape.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace troupe {
namespace {

/// What the computations of a stage share; the matrices are filled round by round.
struct Shared {
  std::shared_ptr<const nn::Network> network;
  Segment parameters;
  std::uint32_t stage = 0;
  EdgeDir dir = EdgeDir::in;
  std::map<PartId, std::shared_ptr<const Part>> parts;
  std::vector<ConstMatrix> rows;     ///< by node type, as the stage reads them
  std::vector<ConstMatrix> sources;  ///< by edge type: those rows, or on the CPU their products
  std::vector<std::shared_ptr<const Matrix>> owners;
  // Of devices:
  std::vector<nn::SourceRows> device_sources = {};
  std::size_t piece_rows = 0;  ///< of their products
  /// By the device's number, which alone reads and writes it.
  std::vector<std::optional<nn::ResidentRows>> resident = {};
};

constexpr std::uint64_t most_edges = std::numeric_limits<std::uint32_t>::max();

class StageBuilder {
 public:
  explicit StageBuilder(const InPlaceStage& stage)
      : stage_(stage), of_(stage.stages[stage.stage]) {}

  std::optional<std::vector<InPlaceBlock>> build() {
    shared_->network = stage_.network;
    shared_->parameters = stage_.parameters;
    shared_->stage = stage_.stage;
    shared_->dir = stage_.dir;
    shared_->parts = stage_.parts;
    if (!find_rows() || !lists_fit()) {
      return std::nullopt;
    }
    find_sources();
    if (stage_.device && !sources_fit()) {
      return std::nullopt;
    }
    for (const auto& output : of_.outputs) {
      for (const auto& [id, part] : stage_.parts) {
        add_outputs(output, *part);
      }
    }
    return std::move(blocks_);
  }

 private:
  std::uint64_t nodes(NodeTypeId type) const {
    std::uint64_t count = 0;
    for (const auto& [id, part] : stage_.parts) {
      count += part->nodes_of(type).count;
    }
    return count;
  }

  /// Rows that the stage reads, by type: outputs of the stage before, or features.
  bool find_rows() {
    const auto types = of_.in_cols.size();
    std::vector<std::uint64_t> counts;
    for (std::size_t t = 0; t < types; ++t) {
      counts.push_back(nodes(static_cast<NodeTypeId>(t)));
      shared_->rows.push_back({nullptr, counts[t], 0});
    }
    const bool fit = nn::features_fit(stage_.stages, counts);
    for (std::size_t t = 0; t < types; ++t) {
      if (of_.in_cols[t] == 0) {
        continue;
      }
      if (stage_.stage > 0 || !stage_.inputs.empty()) {
        shared_->rows[t] = std::as_const(*stage_.inputs[t]).view();
        shared_->owners.push_back(stage_.inputs[t]);
      } else if (const auto stored = stored_rows(t)) {
        shared_->rows[t] = *stored;
      } else if (fit) {
        shared_->rows[t] = decoded_rows(t, counts[t]);
      } else {
        return false;
      }
    }
    return true;
  }

  /// Features as they are stored, where that is one float32 matrix.
  std::optional<ConstMatrix> stored_rows(std::size_t type) const {
    const auto& table = stage_.parts.begin()->second->nodes[type].features;
    const auto* at = table ? table->data.bytes.data() : nullptr;
    if (stage_.parts.size() != 1 || !stage_.decoders[type].keeps_rows() || at == nullptr ||
        reinterpret_cast<std::uintptr_t>(at) % alignof(float) != 0) {
      return std::nullopt;
    }
    return ConstMatrix{reinterpret_cast<const float*>(at), table->rows, table->info.cols};
  }

  ConstMatrix decoded_rows(std::size_t type, std::uint64_t count) {
    const auto& decoder = stage_.decoders[type];
    const auto to = std::make_shared<Matrix>(count, decoder.cols());
    shared_->owners.push_back(to);
    for (const auto& [id, part] : stage_.parts) {
      const auto& own = part->nodes[type];
      for (const auto& nodes : even_blocks(own.count, to->cols())) {
        const auto run = [decoder, part = part, type, nodes](
                             const InferPlace& on, MutMatrix rows) -> Result<std::uint64_t> {
          const auto& table = *part->nodes[type].features;
          nn::for_each_chunk(on.executor, rows.rows, [&](std::size_t first, std::size_t chunk) {
            for (std::size_t i = first; i < first + chunk; ++i) {
              decoder.decode(table.row(nodes.first + i), rows.row(i));
            }
          });
          return std::uint64_t{0};
        };
        blocks_.push_back({.block = {nodes, raw(own.first), to, run}, .round = 0, .output = {}});
      }
    }
    return std::as_const(*to).view();
  }

  std::vector<InferenceBlock> even_blocks(std::uint64_t count, std::uint64_t cols) const {
    const auto fitting = std::max<std::uint64_t>(
        stage_.block_bytes / (std::max<std::uint64_t>(cols, 1) * sizeof(float)), 1);
    std::vector<InferenceBlock> blocks;
    for (std::uint64_t first = 0; first < count; first += fitting) {
      blocks.push_back({first, std::min(fitting, count - first)});
    }
    return blocks;
  }

  /// A block counts its edges and its sources in 32 bits.
  bool lists_fit() const {
    for (const auto& [id, part] : stage_.parts) {
      for (const auto& output : of_.outputs) {
        for (const auto e : output.edges) {
          const auto& lists = part->edges_of(e).lists(stage_.dir);
          const auto sources = shared_->rows[raw(source_of(e))].rows;
          if (!lists.present() || lists.neighbours.width_bytes() != sizeof(std::uint32_t) ||
              sources > most_edges || longest(lists) > most_edges) {
            return false;
          }
        }
      }
    }
    return true;
  }

  static std::uint64_t longest(const NeighbourLists& lists) {
    std::uint64_t most = 0;
    for (std::size_t i = 0; i + 1 < lists.offsets.size(); ++i) {
      most = std::max(most, lists.degree(i));
    }
    return most;
  }

  NodeTypeId source_of(EdgeTypeId edge) const {
    return stage_.network->options().types.edges[raw(edge)].source;
  }

  void find_sources() {
    shared_->sources.resize(stage_.network->options().types.edges.size());
    for (const auto& output : of_.outputs) {
      for (const auto e : output.edges) {
        const ConstMatrix rows = shared_->rows[raw(source_of(e))];
        const auto cols = stage_.network->source_product_cols(stage_.stage, e);
        const bool here = cols > 0 && !stage_.device;
        shared_->sources[raw(e)] = here ? products(e, rows, cols) : rows;
        shared_->device_sources.push_back({e, rows, cols});
      }
    }
  }

  /// Rows of all sources fit into the share of a device.
  bool sources_fit() {
    std::map<const float*, std::uint64_t> of_rows;
    std::uint64_t bytes = 0;
    std::uint64_t cols = 1;
    for (const auto& source : shared_->device_sources) {
      const auto& rows = source.rows;
      auto& taken = source.product_cols > 0 ? bytes : of_rows[rows.data];
      const auto product = rows.rows * source.product_cols * sizeof(float);
      taken = source.product_cols > 0 ? taken + product : rows.size() * sizeof(float);
      cols = std::max<std::uint64_t>(cols, 2 * rows.cols + source.product_cols);
    }
    for (const auto& [data, taken] : of_rows) {
      bytes += taken;
    }
    // Pieces of products take the place of a block.
    const auto height = std::max<std::uint64_t>(stage_.device->product_rows, 1);
    const auto fitting = stage_.device->block_bytes() / 2 / (cols * sizeof(float));
    shared_->piece_rows = std::max<std::uint64_t>(fitting / height, 1) * height;
    shared_->resident.resize(stage_.device->devices);
    return bytes <= stage_.device->resident_bytes();
  }

  ConstMatrix products(EdgeTypeId edge, ConstMatrix rows, std::uint64_t cols) {
    const auto to = std::make_shared<Matrix>(rows.rows, cols);
    shared_->owners.push_back(to);
    for (const auto& nodes : even_blocks(rows.rows, rows.cols)) {
      const auto run = [shared = shared_, edge, source = rows.slice(nodes.first, nodes.count)](
                           const InferPlace& on, MutMatrix out) -> Result<std::uint64_t> {
        nn::CpuBlockOps ops;
        nn::Tape tape(ops);
        shared->network->source_product(tape, on.executor, shared->parameters.as<float>(),
                                        shared->stage, edge, source, out);
        return std::uint64_t{0};
      };
      blocks_.push_back({.block = {nodes, 0, to, run}, .round = 1, .output = {}});
    }
    return std::as_const(*to).view();
  }

  void add_outputs(const nn::InferStage::Output& output, const Part& part) {
    const auto& own = part.nodes_of(output.type);
    for (const auto& nodes : stage_.device ? cut_for_device(output, part) : cut(output, part)) {
      const auto run = [shared = shared_, output, id = part.id, nodes](const InferPlace& on,
                                                                       MutMatrix rows) {
        return sum_in_place(*shared, output, *shared->parts.at(id), nodes, on, rows);
      };
      blocks_.push_back({.block = {nodes, raw(own.first), stage_.outputs[raw(output.type)], run},
                         .round = 2,
                         .output = std::pair(part.id, output.type)});
    }
  }

  /// Consecutive nodes whose rows on the way take at most `block_bytes`, with at most as many edges as it
  /// has bytes for 16 an edge, which bounds the time of a block; at least one node each.
  std::vector<InferenceBlock> cut(const nn::InferStage::Output& output, const Part& part) const {
    const auto in_cols = *std::ranges::max_element(of_.in_cols);
    const auto row_bytes = (in_cols * output.edges.size() + 2 * output.cols) * sizeof(float);
    const auto most_rows =
        std::max<std::uint64_t>(stage_.block_bytes / std::max<std::uint64_t>(row_bytes, 1), 1);
    const auto edges_in_block =
        std::min(stage_.block_bytes / 16, most_edges);  // one more list may follow
    std::vector<InferenceBlock> blocks;
    std::uint64_t edges = 0;
    for (std::uint64_t node = 0; node < part.nodes_of(output.type).count; ++node) {
      std::uint64_t degree = 0;
      for (const auto e : output.edges) {
        degree = std::max(degree, part.edges_of(e).lists(stage_.dir).degree(node));
      }
      if (blocks.empty() || blocks.back().count == most_rows || edges + degree > edges_in_block) {
        blocks.push_back({node, 0});
        edges = 0;
      }
      edges += degree;
      ++blocks.back().count;
    }
    return blocks;
  }

  /// The same of a device, which has the sources' rows already.
  std::vector<InferenceBlock> cut_for_device(const nn::InferStage::Output& output,
                                             const Part& part) const {
    const auto footprint =
        stage_.network->infer_footprint(stage_.stage, output.type, stage_.device->product_rows);
    BlockInputs inputs{.rows = std::vector<BlockInputs::Rows>(of_.in_cols.size()),
                       .along = {},
                       .own = output.type,
                       .own_bytes = footprint.rows[raw(output.type)] + footprint.destinations};
    for (const auto e : output.edges) {
      inputs.along.push_back(
          {&part.edges_of(e).lists(stage_.dir), source_of(e), footprint.edges[raw(e)]});
    }
    return inference_blocks(inputs, part.nodes_of(output.type).count,
                            stage_.device->bytes_of_block(stage_.block_bytes, footprint.fixed));
  }

  static Result<std::uint64_t> sum_in_place(Shared& shared, const nn::InferStage::Output& output,
                                            const Part& part, const InferenceBlock& nodes,
                                            const InferPlace& on, MutMatrix rows) {
    nn::InPlaceInput input;
    input.stage = shared.stage;
    input.type = output.type;
    input.blocks.resize(shared.sources.size());
    input.sources = shared.sources;
    input.own = shared.rows[raw(output.type)].slice(
        raw(part.nodes_of(output.type).first) + nodes.first, nodes.count);
    std::vector<std::vector<std::uint32_t>> offsets;
    offsets.reserve(output.edges.size());
    std::uint64_t edges = 0;
    for (const auto e : output.edges) {
      const auto& lists = part.edges_of(e).lists(shared.dir);
      const auto begin = lists.offsets[nodes.first];
      const auto count = lists.offsets[nodes.first + nodes.count] - begin;
      auto& of_edge = offsets.emplace_back();
      for (std::uint64_t i = 0; i <= nodes.count; ++i) {
        of_edge.push_back(static_cast<std::uint32_t>(lists.offsets[nodes.first + i] - begin));
      }
      input.blocks[raw(e)] = {
          .num_dst = static_cast<std::uint32_t>(nodes.count),
          .num_src = static_cast<std::uint32_t>(shared.sources[raw(e)].rows),
          .offsets = of_edge,
          .sources = lists.neighbours.visit([&](auto ids) { return narrow(ids, begin, count); })};
      edges += count;
    }
    TROUPE_RETURN_IF_ERROR(infer(shared, input, on, rows));
    return edges;
  }

  static Status infer(Shared& shared, const nn::InPlaceInput& input, const InferPlace& on,
                      MutMatrix rows) {
    if (on.device == nullptr) {
      nn::CpuBlockOps ops;
      nn::Tape tape(ops);
      shared.network->infer_in_place(tape, on.executor, shared.parameters.as<float>(), input, rows);
      return ok_status();
    }
    auto& resident = shared.resident.at(on.device->number());
    if (!resident) {
      TROUPE_ASSIGN_OR_RETURN(resident,
                              on.device->keep(*shared.network, shared.parameters, shared.stage,
                                              shared.device_sources, shared.piece_rows));
    }
    return on.device->infer_in_place(on.executor, *shared.network, shared.parameters, input,
                                     *resident, rows);
  }

  static std::span<const std::uint32_t> narrow(std::span<const std::uint32_t> ids,
                                               std::uint64_t begin, std::uint64_t count) {
    return ids.subspan(begin, count);
  }
  static std::span<const std::uint32_t> narrow(std::span<const std::uint64_t> /*ids*/,
                                               std::uint64_t /*begin*/, std::uint64_t /*count*/) {
    return {};  // lists_fit() refused them
  }

  const InPlaceStage& stage_;
  const nn::InferStage& of_;
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::vector<InPlaceBlock> blocks_;
};

}  // namespace

std::optional<std::vector<InPlaceBlock>> in_place_blocks(const InPlaceStage& stage) {
  return StageBuilder(stage).build();
}

}  // namespace troupe
