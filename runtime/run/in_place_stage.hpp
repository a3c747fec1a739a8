#pragma once
/// \file in_place_stage.hpp
/// A stage of exact inference in a process that has all of the graph: rows are summed where they lie,
/// instead of being sampled, numbered and copied block by block. The bits are the same.
#include "runtime/base/executor.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/matrix.hpp"
#include "runtime/base/result.hpp"
#include "runtime/feature/row_collection.hpp"
#include "runtime/graph/part.hpp"
#include "runtime/nn/device_inference.hpp"
#include "runtime/nn/network.hpp"
#include "runtime/run/device_share.hpp"
#include "runtime/run/inference_blocks.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace troupe {

/// Where a block is computed.
struct InferPlace {
  Executor& executor;
  nn::DeviceInference* device = nullptr;  ///< null: on the executor
};

/// The computation of some rows of a matrix; other computations make others.
struct InferBlock {
  InferenceBlock nodes;         ///< by local index
  std::uint64_t first_row = 0;  ///< of `to`: where the node with index 0 goes
  std::shared_ptr<Matrix> to;
  /// Writes the rows of the nodes. \returns edges that were read \errors those of the device
  std::function<Result<std::uint64_t>(const InferPlace&, MutMatrix rows)> make;

  Result<std::uint64_t> run(const InferPlace& on) const {
    return make(on, to->view().slice(first_row + nodes.first, nodes.count));
  }
};

/// Rows of the whole graph by node type; ids of a type are rows. Null: none.
using WholeRows = std::vector<std::shared_ptr<Matrix>>;

struct InPlaceStage {
  std::shared_ptr<const nn::Network> network;
  const std::vector<nn::InferStage>& stages;
  std::uint32_t stage = 0;
  EdgeDir dir = EdgeDir::in;
  const std::vector<RowDecoder>& decoders;                     ///< by node type, of the features
  const std::map<PartId, std::shared_ptr<const Part>>& parts;  ///< all of the graph
  Segment parameters = {};                                     ///< float32
  WholeRows inputs = {};  ///< the outputs of the stage before; of the first stage none: features
  WholeRows outputs = {};

  std::uint64_t block_bytes = nn::infer_block_bytes;
  std::optional<DeviceShare> device = std::nullopt;  ///< none: blocks are computed on the CPU
};

/// A computation of a stage in place.
struct InPlaceBlock {
  InferBlock block;
  std::uint32_t round = 0;  ///< begins when all computations of the rounds before are done
  std::optional<std::pair<PartId, NodeTypeId>> output;  ///< none: rows on the way to the outputs
};

/// The computations of a stage, in order of rounds: rows of features that do not lie as float32 yet,
/// products of sources, outputs. Devices make the products themselves, where the first block needs them.
/// \returns nothing where the stage has to go by sampled blocks: features are too wide to be turned into
///   float32, ids have 8 bytes, a list has 2^32 entries or more, rows of the sources are larger than a
///   device's share
/// \requires the network reads in place
std::optional<std::vector<InPlaceBlock>> in_place_blocks(const InPlaceStage& stage);

}  // namespace troupe
