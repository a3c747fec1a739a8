#include "runtime/nn/device_inference.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/nn/ops/tape.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <utility>

namespace troupe::nn {
namespace {

std::uint64_t edges_of(std::span<const LayerBlock> blocks) {
  return std::accumulate(blocks.begin(), blocks.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const LayerBlock& block) {
                           return block.offsets.empty() ? sum : sum + block.num_edges();
                         });
}

Status in_block(Status done, std::size_t rows, std::span<const LayerBlock> blocks) {
  return done ? done
              : Status(Error(done.error())
                           .with(fmt::format("block of {} nodes with {} edges", rows,
                                             edges_of(blocks))));
}

/// Writes to each page of rows that are about to be overwritten. A copy to memory that nobody has written yet takes
/// a page fault for each, on one thread.
void write_pages(Executor& executor, MutMatrix rows) {
  constexpr std::size_t page = 4096 / sizeof(float);
  constexpr std::size_t piece = 512 * page;
  const auto values = rows.flat();
  executor.parallel_for((values.size() + piece - 1) / piece, [&](std::size_t i) {
    const std::size_t end = std::min((i + 1) * piece, values.size());
    for (std::size_t at = i * piece; at < end; at += page) {
      values[at] = 0;
    }
  });
}

}  // namespace

/// Arrays of one call in the device's memory, which go back in the order of its work.
class DeviceInference::Arrays {
 public:
  explicit Arrays(BlockOps& ops) : ops_(ops) {}

  MutMatrix room(std::size_t rows, std::size_t cols) {
    return {reinterpret_cast<float*>(take(rows * cols * sizeof(float))), rows, cols};
  }
  /// \requires the host's array stays as it is until the work is done
  ConstMatrix copied(ConstMatrix host) {
    const auto there = room(host.rows, host.cols);
    ops_.upload(host.data, there.data, host.size() * sizeof(float));
    return there;
  }
  template <class T>
  std::span<const T> copied(std::span<const T> host) {
    std::byte* const there = take(host.size_bytes());
    ops_.upload(host.data(), there, host.size_bytes());
    return {reinterpret_cast<const T*>(there), host.size()};
  }
  std::vector<LayerBlock> copied(std::span<const LayerBlock> host) {
    std::vector<LayerBlock> there(host.begin(), host.end());
    for (LayerBlock& block : there) {
      if (block.offsets.empty()) {
        continue;  // not read
      }
      const std::uint32_t first = block.first_edge();
      block.edges = {first, first + block.num_edges()};
      block.offsets = copied(block.offsets);
      block.sources = copied(block.sources);
      if (!block.weights.empty()) {
        block.weights = copied(block.weights);
      }
    }
    return there;
  }
  std::vector<Buffer> take_all() { return std::move(arrays_); }

 private:
  std::byte* take(std::size_t size_bytes) {
    return arrays_.emplace_back(ops_.memory()->take(size_bytes)).data();
  }

  BlockOps& ops_;
  std::vector<Buffer> arrays_;
};

DeviceInference::DeviceInference(std::size_t number, MakeOps make_ops)
    : number_(number), make_ops_(std::move(make_ops)) {}

std::span<const float> DeviceInference::parameters() const {
  return {parameters_there_.as<float>().data(), parameters_.as<float>().size()};
}

/// Operations and parameters are there.
Status DeviceInference::begin(const Segment& parameters) {
  if (!ops_) {
    TROUPE_ASSIGN_OR_RETURN(ops_, make_ops_());
    TROUPE_ASSERT(ops_->memory() != nullptr, "operations in host memory", number_);
  }
  const auto bytes = parameters.bytes;
  if (parameters_.bytes.data() != bytes.data() || parameters_.bytes.size() != bytes.size()) {
    parameters_ = parameters;  // kept, so that no others lie there
    parameters_there_ = Buffer();
    parameters_there_ = ops_->memory()->take(bytes.size());
    ops_->upload(bytes.data(), parameters_there_.data(), bytes.size());
  }
  return ok_status();
}

/// After an error all operations would do nothing.
Status DeviceInference::end(Status done) {
  if (!done) {
    ops_.reset();
    parameters_ = {};
    parameters_there_ = {};
  }
  return done;
}

/// record(tape, arrays, where the rows go) on the device; then the rows are copied to `out`.
template <class Record>
Status DeviceInference::compute(Executor& host, const Segment& parameters, MutMatrix out,
                                const Record& record) {
  TROUPE_RETURN_IF_ERROR(end(begin(parameters)));
  Status done = ok_status();
  {
    Arrays arrays(*ops_);
    Tape tape(*ops_);
    const MutMatrix there = arrays.room(out.rows, out.cols);
    record(tape, arrays, there);
    write_pages(host, out);
    done = ops_->download(there.data, out.data, out.size() * sizeof(float));
  }
  return end(std::move(done));
}

Status DeviceInference::infer(Executor& host, const Network& network, const Segment& parameters,
                              const InferInput& input, MutMatrix out) {
  auto done = compute(host, parameters, out, [&](Tape& tape, Arrays& arrays, MutMatrix there) {
    InferInput copy = input;
    copy.blocks = arrays.copied(input.blocks);
    for (auto* const all : {&copy.rows, &copy.edge_features}) {
      for (ConstMatrix& rows : *all) {
        rows = rows.cols > 0 ? arrays.copied(rows) : rows;  // else not read
      }
    }
    network.infer(tape, executor_, this->parameters(), copy, there);
  });
  return in_block(std::move(done), out.rows, input.blocks);
}

Status DeviceInference::infer_in_place(Executor& host, const Network& network,
                                       const Segment& parameters, const InPlaceInput& input,
                                       const ResidentRows& resident, MutMatrix out) {
  auto done = compute(host, parameters, out, [&](Tape& tape, Arrays& arrays, MutMatrix there) {
    InPlaceInput copy = input;
    copy.blocks = arrays.copied(input.blocks);
    copy.own = arrays.copied(input.own);
    copy.sources = resident.by_edge_type;
    network.infer_in_place(tape, executor_, this->parameters(), copy, there);
  });
  return in_block(std::move(done), out.rows, input.blocks);
}

/// Piece by piece: the rows before the product need not have room at once.
MutMatrix DeviceInference::product_of(const Network& network, std::uint32_t stage,
                                      const SourceRows& of, std::size_t piece_rows, Arrays& keeps) {
  const MutMatrix out = keeps.room(of.rows.rows, of.product_cols);
  for (std::size_t first = 0; first < out.rows; first += piece_rows) {
    const std::size_t count = std::min(piece_rows, out.rows - first);
    Arrays arrays(*ops_);
    Tape tape(*ops_);
    network.source_product(tape, executor_, parameters(), stage, of.edge_type,
                           arrays.copied(of.rows.slice(first, count)), out.slice(first, count));
  }
  return out;
}

Result<ResidentRows> DeviceInference::keep(const Network& network, const Segment& parameters,
                                           std::uint32_t stage, std::span<const SourceRows> sources,
                                           std::size_t piece_rows) {
  TROUPE_RETURN_IF_ERROR(end(begin(parameters)));
  ResidentRows resident;
  resident.by_edge_type.resize(network.options().types.edges.size());
  std::map<const float*, ConstMatrix> copies;
  std::uint64_t rows = 0;
  Status done = ok_status();
  {
    Arrays keeps(*ops_);
    for (const SourceRows& of : sources) {
      auto& there = resident.by_edge_type[raw(of.edge_type)];
      rows += of.rows.rows;
      if (of.product_cols > 0) {
        there = product_of(network, stage, of, piece_rows, keeps);
        continue;
      }
      const auto found = copies.find(of.rows.data);
      there = found == copies.end() ? keeps.copied(of.rows) : found->second;
      copies[of.rows.data] = there;
    }
    done = ops_->finish();
    resident.memory = keeps.take_all();
  }
  if (!done) {
    resident = {};
  }
  done = end(std::move(done));
  return done ? Result<ResidentRows>(std::move(resident))
              : Error(done.error()).with(fmt::format("{} rows of sources", rows));
}

}  // namespace troupe::nn
