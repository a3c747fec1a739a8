#pragma once
/// \file device_inference.hpp
/// Exact inference of networks on a device: blocks whose rows and lists are in host memory are computed in
/// the device's memory, and their outputs are copied back.
#include "runtime/base/buffer.hpp"
#include "runtime/base/executor.hpp"
#include "runtime/base/matrix.hpp"
#include "runtime/base/result.hpp"
#include "runtime/nn/network.hpp"
#include "runtime/nn/ops/block_ops.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace troupe::nn {

/// Rows in a device's memory that the blocks of one stage read where they lie. They go back with it.
struct ResidentRows {
  std::vector<ConstMatrix> by_edge_type;
  std::vector<Buffer> memory;
};

/// Rows of all sources of an edge type, in host memory.
struct SourceRows {
  EdgeTypeId edge_type{};
  ConstMatrix rows;
  std::size_t product_cols = 0;  ///< Of Network::source_product(), which takes their place; 0: none
};

/// Lifecycle:  one per device of a process; calls in any order. Operations are made with the first call, and
///   again with the first one after an error, which ends them
/// Threads:    one at a time
/// Guarantees: a row has the same bits whatever rows are computed with it, if products have a fixed height
///   (BlockOps::product_rows())
/// Owns:       of device memory between calls the parameters alone. Borrows: arguments, until a call returns
class DeviceInference {
 public:
  using MakeOps = std::function<Result<std::unique_ptr<BlockOps>>()>;

  /// \param number  of the device among those of the process that infer, from 0
  DeviceInference(std::size_t number, MakeOps make_ops);

  std::size_t number() const { return number_; }

  /// As Network::infer(), with all arguments in host memory.
  /// \param host  threads that prepare the memory of `out` while the device computes
  /// \errors those of the device, with the size of the block: out_of_memory, cuda_failure
  Status infer(Executor& host, const Network& network, const Segment& parameters,
               const InferInput& input, MutMatrix out);

  /// Copies rows of sources to the device, or makes their products there.
  /// \param sources     of the stage; rows that several edge types read are copied once
  /// \param piece_rows  rows that products are made of at a time, a multiple of product_rows()
  /// \errors as infer()
  Result<ResidentRows> keep(const Network& network, const Segment& parameters, std::uint32_t stage,
                            std::span<const SourceRows> sources, std::size_t piece_rows);
  /// As Network::infer_in_place(), with lists and own rows in host memory.
  /// \param input  its `sources` are not read
  /// \param resident  of the stage, from keep()
  /// \errors as infer()
  Status infer_in_place(Executor& host, const Network& network, const Segment& parameters,
                        const InPlaceInput& input, const ResidentRows& resident, MutMatrix out);

 private:
  class Arrays;

  Status begin(const Segment& parameters);
  Status end(Status done);
  template <class Record>
  Status compute(Executor& host, const Segment& parameters, MutMatrix out, const Record& record);
  std::span<const float> parameters() const;
  MutMatrix product_of(const Network& network, std::uint32_t stage, const SourceRows& of,
                       std::size_t piece_rows, Arrays& keeps);

  std::size_t number_;
  MakeOps make_ops_;
  std::unique_ptr<BlockOps> ops_;  ///< Null: not made yet, or they had an error
  Segment parameters_;             ///< That there are on the device
  Buffer parameters_there_;
  InlineExecutor executor_;
};

}  // namespace troupe::nn
