#pragma once
/// \file tape.hpp
/// Records the block operations of one pass of a network while a set of functions computes them,
/// and computes the gradients backwards. Convolutions describe themselves with it (conv/conv.hpp);
/// users of networks need it only for operations of their own.
///
/// Gradients of rows that several terms use are added in the order in which the terms were made, so
/// that their bits depend on the description alone.
#include "runtime/base/executor.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/matrix.hpp"
#include "runtime/nn/ops/block_ops.hpp"
#include "runtime/nn/parameter_list.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace troupe::nn {

/// Rows of a tape: an input, or the result of an operation. Valid until the tape's next begin().
struct Rows {
  std::uint32_t index = 0;
};

/// A summand of a combination. Made by the tape's own(), aggregate(), weighted_sum(), attend().
struct Term {
  Rows source;
  Path path;
  /// Numbers of the parameters whose sum the term's rows are multiplied with, all of one shape
  /// [out, in]; empty: no product.
  std::vector<std::size_t> weights;
  std::optional<Rows> weights_of_edges = {};  ///< of attend(): weights of attention()
  std::uint32_t order = 0;                    ///< among all terms of the pass
  std::optional<std::size_t> factor = {};     ///< parameter in the factor of own rows
  /// Of aggregate() along a block with listed rows: number of what the tape made of it.
  std::optional<std::size_t> listed = {};
};

/// What follows the sum of a combination's terms, by parameter number.
struct Ending {
  std::vector<std::size_t> biases = {};  ///< each [cols]; their sum is added
  bool l2 = false;
  bool norm = false;          ///< layer normalization
  std::size_t norm_gain = 0;  ///< parameter; the one after it is the bias
  bool relu = false;
  Activation activation = Activation::none;  ///< instead of ReLU: ELU or leaky ReLU
  float slope = 0;                           ///< of leaky ReLU below 0
  DropoutMask mask = {};
  std::span<const OriginalId> ids = {};
};

/// Lifecycle:  begin(), operations, then backward() once if `keep`; again. Memory is kept for the
///   next pass, which finds it warm if it records the same operations
/// Threads:    one caller at a time
/// Borrows:    `ops`; from begin() to the end of backward(): executor, parameters, inputs, blocks,
///   factors and ids
class Tape {
 public:
  explicit Tape(BlockOps& ops);
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;
  ~Tape();

  BlockOps& ops() const { return ops_; }

  /// Begins a pass. \param keep  backward() follows
  void begin(Executor& executor, const ParameterList& list, std::span<const float> parameters,
             bool keep);

  /// Rows from outside. \param gradient  backward() computes their gradient
  Rows input(ConstMatrix rows, bool gradient = false);
  /// Rows with a mask's elements dropped, also weights of attention().
  /// \param ids  [rows]; none: rows have their numbers as ids
  Rows drop(Rows rows, const DropoutMask& mask, std::span<const OriginalId> ids = {});

  /// Each destination's own row. \param weights  [out, in] of the product; empty: none
  Term own(Rows rows, std::vector<std::size_t> weights = {});
  /// Own rows times a factor each. \param factors [rows]
  Term scaled(Rows rows, std::span<const float> factors);
  Term scaled(Rows rows, float factor);
  /// Own rows times `factor` plus a parameter [1].
  Term scaled_by(Rows rows, float factor, std::size_t parameter);
  /// In-neighbors' rows. \param weights  [out, in] of the product after the sum; empty: none
  Term aggregate(Rows rows, const LayerBlock& block, Aggregator aggregator,
                 std::vector<std::size_t> weights = {});
  /// In-neighbors' rows, each times a weight [out, in] before the sum. Rows that no edge takes have no
  /// product where the block lists its rows.
  Term aggregate_products(Rows rows, const LayerBlock& block, Aggregator aggregator,
                          std::size_t weight);
  Term weighted_sum(Rows rows, const LayerBlock& block, const EdgeFactors& factors,
                    std::vector<std::size_t> weights = {});

  /// The block whose destinations are the edges of `block`, each with its source as the only neighbor:
  /// terms along it have a row per edge. \requires a block with offsets, as block_from_edges()
  const LayerBlock& block_to_edges(const LayerBlock& block);
  /// The block whose sources are the edges of `block`: terms along it take rows of in-edges, with the
  /// weights that these have.
  const LayerBlock& block_from_edges(const LayerBlock& block);

  /// Scores of the first `count` rows for each head: [count, heads].
  /// \param vectors  parameter [heads, columns of a head]
  Rows head_scores(Rows rows, std::size_t count, std::size_t vectors);
  struct Attention {
    float slope = 0.2F;     ///< of leaky ReLU below 0
    bool one_loop = false;  ///< each destination has exactly one self loop
  };
  /// Weights of a block's edges: softmax over in-edges of leaky_relu(source + destination), per
  /// head. \param source, destination  scores of both ends
  Rows attention(Rows source, Rows destination, const LayerBlock& block, const Attention& how);
  /// Attention along one block whose scores come from rows of both ends (PairAttention).
  struct Pair {
    Rows source;
    Rows destination;
    /// Parameter [heads, columns of a head]; of `product` [heads, 1]. None: a one for each head, whose
    /// rows have one column.
    std::optional<std::size_t> vectors = {};
    const LayerBlock* block = nullptr;
    PairScore score = PairScore::dynamic;
    float slope = 0.2F;
    float scale = 1;
    bool one_loop = false;
    std::optional<Rows> edges = {};  ///< a row per edge of the block, added to those of both ends
  };
  /// Weights of the edges of several blocks with the same destinations, one softmax over them all.
  /// \returns for each part what attention() gives
  std::vector<Rows> pair_attention(std::span<const Pair> parts);
  /// The first `count` rows, the columns of each head times a matrix of its own.
  /// \param weights  parameter [heads * columns, columns]
  Rows head_products(Rows rows, std::size_t count, std::size_t weights);
  /// share * fresh + (1 - share) * old, with share = 1 / (1 + exp(-gate)).
  /// \param old   as many rows as `fresh` or more
  /// \param gate  parameter [1]
  Rows gate(Rows fresh, Rows old, std::size_t gate);
  /// In-neighbors' rows times the weights of attention(), as they are or after drop().
  /// \param mean  over the heads, instead of one after the other
  Term attend(Rows rows, Rows weights, const LayerBlock& block, bool mean);

  /// A matrix mixed from parameters, whose number can stand for a weight in this pass.
  /// \param bases         parameter [n * out, in]: n matrices one below the other
  /// \param coefficients  parameter [n]
  std::size_t mix(std::size_t bases, std::size_t coefficients);

  /// Factors of graph convolutions with one self loop per node (GcnFactors), in the tape's memory.
  EdgeFactors degree_factors(const LayerBlock& block, const LayerBlock* below);
  /// The same with the block's weights of edges.
  EdgeFactors weighted_degree_factors(const LayerBlock& block, const LayerBlock* below);
  /// In-neighbors' rows times the block's weights of edges, as aggregate() takes them; the same as
  /// that where the block has none. \requires mean or sum
  Term weighted_aggregate(Rows rows, const LayerBlock& block, Aggregator aggregator,
                          std::vector<std::size_t> weights = {});

  /// The combination of terms, shape [rows, cols].
  /// \param into  where the result goes; no data: into the tape's memory
  Rows combine(std::vector<Term> terms, std::size_t rows, const Ending& ending,
               MutMatrix into = {});
  /// Rows normalized by column over the batch, in training, else with running statistics; then the
  /// activation and dropout of `ending`.
  /// \param gain      parameter [cols]; the three after it are the bias, and the running mean and variance,
  ///   whose "gradients" are the batch's mean and unbiased variance; those of no rows are the running ones
  /// \param into      where the result goes; no data: into the tape's memory
  Rows batch_norm(Rows rows, std::size_t gain, bool training, const Ending& ending,
                  MutMatrix into = {});
  /// The first `count` rows times weight [out, in].
  Rows linear(Rows rows, std::size_t count, std::size_t weight);

  ConstMatrix value(Rows rows) const;

  /// Gradients of sum(result * grad) with respect to all parameters, written to `gradient`, and to
  /// the inputs that asked for theirs.
  /// \requires begin() with `keep`; `grad` has the shape of the result
  void backward(Rows result, ConstMatrix grad, std::span<float> gradient);
  /// The same of several results, none of which another one uses: gradients of the sum over them.
  struct Result {
    Rows rows;
    ConstMatrix grad;
  };
  void backward(std::span<const Result> results, std::span<float> gradient);
  /// Of an input that asked for it: valid until the next pass, where it is a result itself as long as `grad`.
  ConstMatrix gradient(Rows input) const;

 private:
  struct Slot;
  struct Operation;
  struct ParameterGradients;
  struct Mixture;
  struct Listed;
  struct EdgeBlock {
    explicit EdgeBlock(PassMemory* memory) : numbers(memory) {}
    LayerBlock block;
    GrowBuffer<std::uint32_t> numbers;
  };
  struct SortedBlock {
    explicit SortedBlock(PassMemory* memory) : edges(memory) {}
    const LayerBlock* block = nullptr;
    EdgesBySource edges;
  };

  std::size_t listed_block(const LayerBlock& block);
  EdgeBlock& next_edge_block(const LayerBlock& block);
  void pick_sources();
  void placed_backward(Operation& operation, ConstMatrix grad);
  void placed_term_backward(Operation& operation, std::size_t position, ConstMatrix grad,
                            ParameterGradients& gradients);
  Operation& append();
  GcnFactors& next_factors();
  ConstMatrix parameter(std::size_t number) const;
  void mixtures_backward(ParameterGradients& gradients);
  MutMatrix parameters_of(const std::vector<std::size_t>& numbers, GrowBuffer<float>& sum) const;
  TermWork work_of(const Term& term, std::size_t position, std::size_t rows, bool first,
                   Slot& slot);
  const Operation& attention_of(Rows weights) const;
  Rows last() const { return {static_cast<std::uint32_t>(used_ - 1)}; }
  /// Null: not among the blocks of this pass.
  SortedBlock* find_sorted(const LayerBlock* block) const;
  const EdgesBySource& by_source(const LayerBlock& block) const;
  void sort_by_source();
  void use(Rows rows, std::uint32_t order, const UseWork& work);
  void drop_backward(Operation& operation, MutMatrix grad);
  void head_scores_backward(Operation& operation, ConstMatrix grad, ParameterGradients& gradients);
  void attention_backward(Operation& operation, MutMatrix grad);
  void pair_attention_backward(Operation& first, ParameterGradients& gradients);
  void head_products_backward(Operation& operation, ConstMatrix grad,
                              ParameterGradients& gradients);
  void gate_backward(Operation& operation, MutMatrix grad, ParameterGradients& gradients);
  void batch_norm_backward(Operation& operation, MutMatrix grad, ParameterGradients& gradients);
  void combination_backward(Operation& operation, MutMatrix grad, ParameterGradients& gradients);
  void operation_backward(Operation& operation, MutMatrix grad, ParameterGradients& gradients);
  void term_backward(Operation& operation, std::size_t position, ConstMatrix grad,
                     ParameterGradients& gradients);
  /// False: nothing used the rows.
  bool collect_gradient(Operation& operation);

  BlockOps& ops_;
  Executor* executor_ = nullptr;
  const ParameterList* list_ = nullptr;
  std::span<const float> parameters_;
  bool keep_ = false;
  std::uint32_t terms_ = 0;
  std::size_t used_ = 0;     ///< operations of this pass
  std::size_t factors_ = 0;  ///< memories of factors in use
  std::size_t mixed_ = 0;    ///< mixtures of this pass
  std::vector<std::unique_ptr<Operation>> operations_;
  std::vector<std::unique_ptr<Mixture>> mixtures_;
  std::vector<std::unique_ptr<GcnFactors>> factor_memory_;
  std::vector<std::unique_ptr<SortedBlock>> sorted_;  ///< the first so many are of this pass
  std::size_t blocks_sorted_ = 0;
  std::vector<std::unique_ptr<Listed>> listed_;  ///< the first so many are of this pass
  std::size_t blocks_listed_ = 0;
  std::vector<std::unique_ptr<EdgeBlock>> edge_blocks_;  ///< the first so many are of this pass
  std::size_t edge_blocks_used_ = 0;
  GrowBuffer<float> shared_gradient_;  ///< of a parameter that several operations use
};

}  // namespace troupe::nn
