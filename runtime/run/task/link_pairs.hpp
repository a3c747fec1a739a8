#pragma once
/// \file link_pairs.hpp
/// Pairs of rows of a batch's links, and the decoder that makes numbers of them; for tasks of links and
/// of edges.
#include "runtime/nn/decoder.hpp"
#include "runtime/nn/ops/block_ops.hpp"
#include "runtime/nn/ops/grow_buffer.hpp"
#include "runtime/nn/ops/staged_arrays.hpp"
#include "runtime/run/task/task.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace troupe {

/// Lifecycle: decode(), then gradients() at most once; again once a device has been waited for. Threads: one
///   at a time
/// Borrows:   the functions, in whose memory rows, parameters and gradients are
class LinkPairs {
 public:
  /// \errors invalid_argument: the network has no decoder
  static Result<LinkPairs> create(const nn::Network& network, nn::BlockOps& ops);

  /// \errors failed_precondition: the batch has no links, ends of other types than the network has rows
  ///   of, links of an edge type that is not learned, or not the same number of negatives for each
  Status check(const Batch& batch) const;

  /// \param negatives  after the positive links those drawn for each, one positive's after the other
  /// \returns [pairs, outputs], valid until the next call
  ConstMatrix decode(const TaskPass& pass, bool negatives);
  /// \param grad  of what decode() returned
  /// \param to    valid until the next call
  void gradients(ConstMatrix grad, const TaskPass& pass, TaskGradients& to);

 private:
  LinkPairs(const nn::Network& network, nn::BlockOps& ops);
  std::size_t place_of(NodeTypeId type) const;

  nn::BlockOps* ops_;
  std::vector<NodeTypeId> types_;  ///< with rows
  std::uint64_t cols_ = 0;
  std::size_t parameters_ = 0;
  nn::DecoderOptions options_;
  nn::ParameterRange range_ = {};  ///< of the relation of the last batch
  std::unique_ptr<nn::Decoder> decoder_;
  std::vector<std::uint32_t> sources_;
  std::vector<std::uint32_t> destinations_;
  nn::StagedArrays pairs_;
  std::vector<nn::GrowBuffer<float>> row_gradients_;  ///< of each type
  nn::GrowBuffer<float> parameter_gradients_;
  std::size_t from_ = 0;  ///< place of the sources' rows
  std::size_t to_ = 0;    ///< of the destinations'
};

}  // namespace troupe
