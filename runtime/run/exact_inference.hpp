#pragma once
/// \file exact_inference.hpp
/// Exact layer-wise inference on one host: every layer's outputs of all nodes of its parts, from all
/// their neighbors, block by block. Names the batches that are needed and computes their outputs;
/// knows no actors. A process that has all of the graph computes its stages in place
/// (in_place_stage.hpp) where it can; its blocks need no batches.
#include "runtime/base/executor.hpp"
#include "runtime/base/matrix.hpp"
#include "runtime/base/result.hpp"
#include "runtime/feature/ready_batch.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/nn/network.hpp"
#include "runtime/run/device_share.hpp"
#include "runtime/run/exact_inputs.hpp"
#include "runtime/run/in_place_stage.hpp"
#include "runtime/run/inference_blocks.hpp"
#include "runtime/run/inference_progress.hpp"
#include "runtime/wire/messages.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

struct ExactInferenceOptions {
  std::shared_ptr<const nn::Network> network;
  EdgeDir dir = EdgeDir::in;
  std::vector<RowDecoder> decoders;  ///< Of the features, for the first layer
  /// By edge type, of features of edges, for every layer; null: the network reads none.
  std::shared_ptr<const std::vector<RowDecoder>> edge_decoders = nullptr;
  std::map<std::string, std::shared_ptr<const SeedList>> seeds;  ///< By role
  std::shared_ptr<const EmbeddingPlan> tables = nullptr;         ///< null: no rows are learned
  std::uint64_t block_bytes = nn::infer_block_bytes;
  /// Ends with the input rows of the network's last layer instead of the logits.
  bool embeddings = false;
  /// Blocks are computed on devices; none: on the CPU. \requires check_device()
  std::optional<DeviceShare> device = std::nullopt;
};

/// The graph, and what of it lies on the host.
struct InferenceHost {
  std::string process;  ///< Its name, for messages
  std::shared_ptr<const GraphInfo> graph;
  std::shared_ptr<const PartitionBook> book;
  std::map<PartId, std::shared_ptr<const Part>> parts;
  std::function<bool(PartId)> scores;  ///< Whether this host gives the scores of a part
  HostId id{};
  bool traced = false;  ///< Blocks have numbers in the trace
};

struct BlockInferred {
  std::uint64_t edges = 0;
};

/// The stages that exact inference takes.
std::vector<nn::InferStage> stages_of(const nn::Network& network, bool embeddings);

/// Where rows are learned, layer 0 makes the rows that the network's first layer reads, and holders keep
/// them as tensor 0; all hosts must have made them before the next layer begins.
/// Lifecycle: per layer accept() and begin(); next() and, for each block whose answer has come or that needs
///   none, arrived(), a computation() and computed(), until that says so; then outputs(). Parameters are set before the first layer
/// Threads:   one at a time; computations on any
class ExactInference {
 public:
  /// Rows that a layer makes: of one node type in one part.
  using OutputKey = std::pair<PartId, NodeTypeId>;
  /// A block to be computed, after it was sampled with all neighbors and collected. Two are in flight at
  /// most, of each device.
  struct Ask {
    std::uint64_t block = 0;               ///< Unique in the layer
    std::uint64_t flow = 0;                ///< Its number in the trace; 0: none
    std::optional<SampleBatch> request;    ///< None: nothing has to be sampled
    std::optional<ReadLearned> read = {};  ///< Learned rows, of the part
    PartId part{};
  };

  ExactInference(ExactInferenceOptions options, InferenceHost host);

  /// Whether each node of the parts here is a block that has room in a device's share.
  /// \errors out_of_memory: one has not, with the bytes it takes and the share
  Status check_device() const;

  /// Of requests.
  std::uint32_t layers() const { return static_cast<std::uint32_t>(stages_.size()) + inputs(); }
  /// \errors failed_precondition: no such layer, or not the first one and no parameters yet
  Status check(std::uint32_t layer) const;
  /// The layer of a request is the next one. \errors as check()
  Status accept(const net::InferRequest& request);
  /// Accepted last.
  const net::InferRequest& request() const { return request_; }
  /// Counts accepted requests.
  std::uint64_t turn() const { return turn_; }
  /// Whether the request accepted last was this one, which is made again.
  bool answers(const net::InferRequest& request) const;
  /// The result of a request that is made again. Nothing: it is not that of the layer finished last.
  std::optional<net::InferResult> finished(const net::InferRequest& request) const;
  /// \param values  float32 [parameters of the network]
  /// \errors data_corruption: another number of them
  Status set_parameters(const Segment& values);
  /// Where the learned rows stand that belong to the parameters.
  void set_learned(std::uint32_t generation, std::uint64_t step);
  bool makes_inputs() const { return makes_inputs_; }
  /// With the first layer the logits are dropped.
  void begin(std::uint32_t layer);

  /// Drops the layer under way.
  void cancel();

  /// The blocks that may be requested or computed now, and were not before.
  std::vector<Ask> next();
  void arrived(std::uint64_t block);
  /// The computation of a block that has arrived. \param ready  null: nothing was requested
  InferBlock computation(std::uint64_t block, std::shared_ptr<const ReadyBatch> ready) const;
  /// The same of a block of inputs. \param learned  null: nothing was to be read
  /// \errors data_corruption: another number of rows than was asked for
  Result<InferBlock> input_computation(std::uint64_t block,
                                       std::shared_ptr<const LearnedRows> learned) const;
  void computed(std::uint64_t block, std::uint64_t edges);
  /// All blocks of the layer are computed.
  bool done() const { return left_.empty() && in_flight_.empty(); }
  /// \requires done()
  std::map<OutputKey, std::shared_ptr<const Matrix>> outputs() const;
  /// The number of the tensor that holders keep the layer's outputs as.
  std::uint32_t tensor() const { return makes_inputs_ ? 0 : layer_ + 1; }
  /// The outputs of the last layer become the logits. Nodes and edges of the layer.
  net::InferResult finish();

  /// Nothing is computed now; blocks are awaited, or there is no layer under way.
  bool waits() const;
  std::uint64_t blocks_done() const { return blocks_done_; }
  /// The outputs of the last layer are there, as tensor() at the holders.
  bool complete() const { return !logits_.empty(); }
  const Segment& parameters() const { return parameters_; }
  InferenceReport progress() const;
  /// Logits and labels of a role's seeds that lie here.
  /// \errors failed_precondition: the last layer is not there, or there is no such role
  Result<net::ScoreResult> scores(const std::string& role) const;

 private:
  struct Block {
    std::optional<OutputKey> output;  ///< None: rows on the way to outputs
    InferenceBlock nodes;
    std::uint32_t round = 0;  ///< Begins when no block of an earlier round is left
    std::optional<InferBlock> in_place = {};
    std::optional<InputBlock> input = {};
    bool arrived = false;
  };
  const nn::InferStage& stage() const { return stages_[layer_]; }
  NodeTypeId source_of(EdgeTypeId edge) const;
  std::uint64_t read_cols(const nn::InferStage& stage, const nn::InferStage::Output& output) const;
  std::uint64_t work_of(const nn::InferStage& stage) const;
  std::shared_ptr<const CollectOptions> stage_inputs() const;
  std::shared_ptr<const SampleOptions> stage_sample() const;
  BlockInputs block_inputs(const Part& part, const nn::InferStage::Output& output) const;
  std::vector<std::uint64_t> edge_bytes(NodeTypeId type) const;
  BlockInputs device_inputs(const Part& part, std::uint32_t stage,
                            const nn::InferStage::Output& output) const;
  nn::InferFootprint footprint(std::uint32_t stage, NodeTypeId type) const;
  std::vector<InferenceBlock> cut(const Part& part, const nn::InferStage::Output& output) const;
  std::size_t most_in_flight() const;
  bool has_whole_graph() const { return host_.parts.size() == host_.book->parts(); }
  /// Layers before those of the network.
  std::uint32_t inputs() const { return options_.tables ? 1 : 0; }
  bool reads_tensors() const { return layer_ + inputs() > 0; }
  void begin_inputs();
  void make_outputs(const std::vector<nn::InferStage::Output>& outputs);
  std::optional<std::vector<InPlaceBlock>> blocks_in_place() const;
  std::uint64_t flow(std::uint64_t block) const;
  Ask ask(std::uint64_t number, const Block& block) const;

  ExactInferenceOptions options_;
  InferenceHost host_;
  std::vector<nn::InferStage> stages_;
  std::vector<std::uint64_t> work_;  ///< [layers]
  Segment parameters_;               ///< float32; empty: not set yet

  net::InferRequest request_;
  std::uint64_t turn_ = 0;
  std::optional<std::pair<net::InferRequest, net::InferResult>> finished_;
  std::uint32_t layer_ = 0;  ///< of the network
  bool makes_inputs_ = false;
  ReadLearned learned_at_;  ///< Generation, step and `best` of the inputs
  std::shared_ptr<const SampleOptions> sample_;
  std::shared_ptr<const CollectOptions> collect_;
  std::deque<Block> left_;
  std::map<std::uint64_t, Block> in_flight_;
  std::uint64_t next_block_ = 0;
  /// Where the rows of a part go: into its own matrix, or that of the whole graph.
  struct Output {
    std::shared_ptr<Matrix> rows;
    std::uint64_t first = 0;
    std::uint64_t count = 0;
  };
  std::map<OutputKey, Output> outputs_;
  WholeRows whole_;   ///< By node type, of the layer under way; empty: not all is here
  WholeRows inputs_;  ///< whole_ of a layer that is finished
  std::uint32_t inputs_layer_ = 0;  ///< The layer after it
  std::uint64_t work_done_ = 0;
  net::InferResult result_;
  std::uint64_t blocks_done_ = 0;
  std::map<OutputKey, std::shared_ptr<const Matrix>> logits_;  ///< Once the last layer is done
};

}  // namespace troupe
