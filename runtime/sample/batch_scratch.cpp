#include "runtime/sample/batch_scratch.hpp"

#include "runtime/base/buffer.hpp"

#include <atomic>
#include <span>
#include <utility>

namespace troupe {
namespace {

std::atomic<std::size_t> table_bytes{0};  ///< Of all scratch of the process

}  // namespace

BatchScratch::~BatchScratch() {
  table_bytes -= counted_bytes_;
}

std::uint64_t scratch_bytes() {
  return table_bytes + buffer_pool_stats().most_bytes;
}

std::size_t BatchScratch::bytes() const {
  std::size_t bytes = 0;
  for (const auto& of_type : numbers) {
    bytes += of_type.bytes();
  }
  for (const auto& of_type : numbers_in_trees) {
    bytes += of_type.bytes();
  }
  return bytes;
}

std::unique_ptr<BatchScratch> BatchScratchPool::take(const PartitionBook& book, bool disjoint) {
  std::unique_ptr<BatchScratch> scratch;
  {
    const std::lock_guard guard(mutex_);
    if (!kept_.empty()) {
      scratch = std::move(kept_.back());
      kept_.pop_back();
    }
  }
  if (!scratch) {
    scratch = std::make_unique<BatchScratch>();
    for (std::size_t type = 0; type < book.node_types(); ++type) {
      const auto nodes = book.count(static_cast<NodeTypeId>(type));
      scratch->numbers.emplace_back(nodes);
      scratch->numbers_in_trees.emplace_back(nodes);
    }
  }
  for (auto& numbers : scratch->numbers_in_trees) {
    numbers.begin();
  }
  for (auto& numbers : disjoint ? std::span<NodeNumbers>() : scratch->numbers) {
    numbers.begin();
  }
  return scratch;
}

void BatchScratchPool::give_back(std::unique_ptr<BatchScratch> scratch) {
  const auto bytes = scratch->bytes();
  table_bytes += bytes - std::exchange(scratch->counted_bytes_, bytes);  // they only grow
  const std::lock_guard guard(mutex_);
  kept_.push_back(std::move(scratch));
}

std::size_t BatchScratchPool::kept_bytes() const {
  const std::lock_guard guard(mutex_);
  std::size_t bytes = 0;
  for (const auto& scratch : kept_) {
    bytes += scratch->bytes();
  }
  return bytes;
}

}  // namespace troupe
