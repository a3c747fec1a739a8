#pragma once
/// \file decoder.hpp
/// What turns the rows of a link's two ends into numbers: the score of the link, or one output for
/// each class of an edge. Its parameters follow those of the network in the same flat vector, and have
/// names that begin with "decoder.". Decoders compute with a set of functions, in its memory.
#include "runtime/base/executor.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/kinds.hpp"
#include "runtime/base/matrix.hpp"
#include "runtime/nn/ops/block_ops.hpp"
#include "runtime/nn/parameter_list.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::nn {

struct DecoderOptions {
  std::string kind;           ///< row of the table; empty: the network has no decoder
  std::uint64_t hidden = 64;  ///< of "mlp": columns between its two products
  std::uint64_t outputs = 1;
  /// Edge types of links, where these are of several: "distmult" has vectors for each, one after the other.
  std::vector<EdgeTypeId> relations = {};

  std::uint64_t relation_count() const { return relations.empty() ? 1 : relations.size(); }
  friend bool operator==(const DecoderOptions&, const DecoderOptions&) = default;
};

/// The decoder of one pass at a time. All arrays are in the memory of its functions.
/// Lifecycle: forward(), then backward() at most once; again once a device has been waited for. Threads:
///   one at a time
/// Borrows:   the functions; from forward() to the end of backward() the pairs, and the parameters
class Decoder {
 public:
  virtual ~Decoder() = default;

  /// \param parameters  the decoder's own
  /// \returns [pairs, outputs], valid until the next call. A pair's bits depend on its rows alone
  virtual ConstMatrix forward(Executor& executor, std::span<const float> parameters,
                              const RowPairs& pairs) = 0;

  /// Gradients of sum(outputs * grad): of the rows of both ends they are added, of the parameters
  /// written.
  /// \param sources, destinations  of the rows' shapes; the same where the ends are of one matrix
  virtual void backward(ConstMatrix grad, MutMatrix sources, MutMatrix destinations,
                        std::span<float> parameters) = 0;
};

struct DecoderKind {
  std::string_view name;  ///< as in the job file
  std::string_view help;  ///< one line, with the source
  bool many = false;      ///< has any number of outputs, not only a score
  std::vector<NewParameter> (*parameters)(const DecoderOptions& options,
                                          std::uint64_t cols) = nullptr;
  std::unique_ptr<Decoder> (*make)(const DecoderOptions& options, std::uint64_t cols,
                                   BlockOps& ops) = nullptr;
};
std::span<const DecoderKind> decoder_kinds();

/// Parts of the parameters of "mlp" with one output.
struct PerceptronOfPairs {
  ConstMatrix source;           ///< [hidden, columns]
  ConstMatrix destination;      ///< [hidden, columns]
  std::span<const float> bias;  ///< [hidden]
  std::span<const float> out;   ///< [hidden]
};
/// \requires options.kind "mlp", one output, and as many parameters as it has
PerceptronOfPairs perceptron_of(const DecoderOptions& options, std::uint64_t cols,
                                std::span<const float> parameters);

/// Parameters of a decoder of rows of `cols` columns. \requires a kind of the table
std::vector<NewParameter> decoder_parameters(const DecoderOptions& options, std::uint64_t cols);
/// The parameters that links of an edge type are scored with.
struct ParameterRange {
  std::size_t first = 0;
  std::size_t count = 0;
};
/// \requires the type is one of `options.relations`, where there are such
ParameterRange parameters_of(const DecoderOptions& options, std::uint64_t cols, EdgeTypeId links);
/// Of one relation: it takes the parameters of parameters_of(). \requires a kind of the table
std::unique_ptr<Decoder> make_decoder(const DecoderOptions& options, std::uint64_t cols,
                                      BlockOps& ops);

}  // namespace troupe::nn
