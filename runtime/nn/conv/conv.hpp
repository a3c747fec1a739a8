#pragma once
/// \file conv.hpp
/// A convolution along one edge type: its parameters, and its part of a layer's rows, as terms on a
/// tape (ops/tape.hpp). `Network` sums the terms of all convolutions that end at a node type and
/// finishes the rows. A new model is a class like SageConv and a row of catalog.cpp.
#include "runtime/base/saturating.hpp"
#include "runtime/nn/ops/tape.hpp"
#include "runtime/nn/parameter_list.hpp"
#include "runtime/sample/mini_batch.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe::nn {

/// Columns of a convolution in one layer.
struct ConvShape {
  std::size_t source = 0;       ///< of the source type's rows
  std::size_t destination = 0;  ///< of the destination type's own rows
  std::size_t out = 0;
  bool last = false;     ///< of the last layer
  std::size_t edge = 0;  ///< of the edges' features; 0: none are read
};

/// What a convolution adds to the rows of a node type in one layer.
struct ConvTerms {
  std::vector<Term> neighbors;      ///< made from sources' rows
  std::vector<std::size_t> own;     ///< parameters [out, destination]: products with own rows
  std::vector<std::size_t> biases;  ///< parameters [out]
};

/// Rows and edges of a block, for estimates.
struct BlockCounts {
  std::uint64_t sources = 0;
  std::uint64_t destinations = 0;
  std::uint64_t edges = 0;
};

/// How a convolution reads the rows of sources.
struct SourceUse {
  /// Along edges alone: sources may lie anywhere and be as many as the graph has.
  bool in_place = false;
  /// After a product with this parameter (0: its first one); none: as they are.
  std::optional<std::size_t> product = {};
};

/// A convolution at work on one block.
struct ConvCall {
  Tape& tape;
  ConvShape shape;
  std::size_t parameter;  ///< number of its first parameter; the others follow
  Rows source;            ///< [block.num_src or more] rows of the source type
  const LayerBlock& block;
  /// Block of the same edge type in the layer below, of the first layer ForwardInput::below; null: none.
  const LayerBlock* below;
  bool messages = false;  ///< `source` has what messages() made
  /// [block.num_dst or more] the destinations' rows, where sources are read in place; none: the
  /// first of `source`.
  std::optional<Rows> own = {};
  bool multiplied = false;  ///< `source` is that product already (SourceUse)
  /// [block.num_dst or more] rows of the destination type; none: those of `source`.
  std::optional<Rows> destination = {};
  std::size_t shared = 0;                  ///< number of the layer's first shared parameter
  std::optional<Rows> edge_features = {};  ///< a row per edge of the block, if `shape.edge` > 0
  std::vector<Rows> prepared = {};         ///< what record_source() made of the source type's rows
  DropoutMask attention_mask =
      {};  ///< mask of the weights of attention; inactive: none are dropped
};

/// The edge types that end at a node type, of a convolution that records them together.
struct JointCall {
  Tape& tape;
  ConvShape shape;        ///< `source` and `destination` are the columns of the node type's rows
  std::size_t parameter;  ///< number of the first of node_parameters()
  Rows own;               ///< rows of the node type before the layer, destinations first
  std::span<const ConvCall> edges;
};

/// Threads: immutable; any number of threads at once
class Conv {
 public:
  virtual ~Conv() = default;

  /// Parameters in order; names without the layer's prefix, e.g. "lin_l.weight".
  virtual std::vector<NewParameter> parameters(const ConvShape& shape) const = 0;

  /// Parameters that a layer has once, for all edge types. \param shapes  by edge type that takes part
  virtual std::vector<NewParameter> shared_parameters(std::span<const ConvShape> /*shapes*/) const {
    return {};
  }
  /// Parameters that a layer has once for each node type with rows after it, whatever edge types end there.
  /// \param shape  `source` and `destination` are the columns of that type's rows
  virtual std::vector<NewParameter> node_parameters(const ConvShape& /*shape*/) const { return {}; }
  /// What these add to the rows: `own` and `biases` alone. \param parameter  number of the first one
  virtual ConvTerms node_terms(std::size_t /*parameter*/) const { return {}; }

  /// Whether record_joint() takes the place of record().
  virtual bool is_joint() const { return false; }
  /// Parameters that a layer has once for each node type that edges start at, of a joint one.
  virtual std::vector<NewParameter> source_parameters(const ConvShape& /*shape*/) const {
    return {};
  }
  /// Rows made of a source type's rows once in a layer, whatever edge types read them.
  virtual std::vector<Rows> record_source(Tape& /*tape*/, Rows /*rows*/,
                                          std::size_t /*parameter*/) const {
    return {};
  }
  virtual ConvTerms record_joint(const JointCall& /*call*/) const { return {}; }

  /// Records operations on sources and returns the terms that end at destinations.
  virtual ConvTerms record(const ConvCall& call) const = 0;

  /// Numbers (float32) that forward and backward keep for a block, at most: rows made on the way to
  /// the terms, and their gradients. By default those of a product before and after a sum.
  virtual std::uint64_t pass_numbers(const ConvShape& shape, const BlockCounts& counts) const {
    return plus(times(counts.sources, 2 * shape.out), times(counts.destinations, 2 * shape.source));
  }

  /// Exact inference computes a layer's rows where a node lies and sends them to the neighbors'
  /// hosts. A convolution that weighs neighbors by what only their host knows (their degree), or
  /// whose products make rows narrower, sends messages instead.
  /// \returns columns of the messages; none: rows are sent as they are
  virtual std::optional<std::size_t> message_cols(const ConvShape& /*shape*/) const {
    return std::nullopt;
  }
  /// Exact inference that has all rows at hand reads sources where they lie, and makes the product of
  /// each once instead of in every block.
  virtual SourceUse source_use(const ConvShape& /*shape*/) const { return {}; }
  /// Whether blocks may list their rows in place of offsets (LayerBlock::listed).
  virtual bool takes_listed_rows() const { return false; }
  /// Messages [block.num_dst, message_cols] of the destinations, from their rows `call.source`.
  virtual Rows messages(const ConvCall& call) const { return call.source; }
};

}  // namespace troupe::nn
