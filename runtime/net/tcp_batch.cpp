#include "runtime/net/tcp_batch.hpp"

#include <algorithm>
#include <cstring>

namespace troupe::net {
namespace {

constexpr std::size_t batch_bytes = std::size_t{1} << 20;
constexpr std::size_t block_bytes = std::size_t{64} << 10;
constexpr std::size_t copied_below = 2048;
constexpr std::size_t parts_of_piece = 1 + 2 + max_segments;  // with its own header
constexpr std::size_t most_buffers = 64;                      // Asio passes no more to one call

}  // namespace

bool TcpBatch::has_room() const {
  return bytes_ < batch_bytes && buffers_.size() + parts_of_piece <= most_buffers &&
         used_ + parts_of_piece * copied_below <= block_bytes;
}

void TcpBatch::fill(PieceWriter& writer) {
  for (auto& frame : written_) {
    writer.recycle(std::move(frame));
  }
  written_.clear();
  while (has_room()) {
    auto piece = writer.next();
    if (!piece) {
      return;
    }
    put(std::as_bytes(std::span(&piece->header, 1)));
    for (const auto& span : piece->spans) {
      put(span);
    }
    if (piece->frame) {
      frames_.push_back(std::move(piece->frame));
    }
  }
}

void TcpBatch::add(std::span<const std::byte> bytes) {
  TROUPE_ASSERT(used_ + bytes.size() <= block_bytes, "room in a batch", bytes.size());
  if (block_.size() == 0) {
    block_ = Buffer(block_bytes);
  }
  std::byte* to = block_.data() + used_;
  std::memcpy(to, bytes.data(), bytes.size());
  used_ += bytes.size();
  bytes_ += bytes.size();
  if (!buffers_.empty()) {
    auto& last = buffers_.back();
    if (static_cast<const std::byte*>(last.data()) + last.size() == to) {
      last = {last.data(), last.size() + bytes.size()};
      return;
    }
  }
  buffers_.emplace_back(to, bytes.size());
}

void TcpBatch::put(std::span<const std::byte> bytes) {
  if (bytes.size() < copied_below) {
    return add(bytes);
  }
  buffers_.emplace_back(bytes.data(), bytes.size());
  bytes_ += bytes.size();
}

void TcpBatch::written(std::size_t bytes) {
  while (bytes > 0) {
    auto& first = buffers_[next_];
    const std::size_t n = std::min(bytes, first.size());
    first += n;
    bytes -= n;
    next_ += first.size() == 0 ? 1U : 0U;
  }
  if (empty()) {
    buffers_.clear();
    next_ = 0;
    used_ = 0;
    bytes_ = 0;
    for (auto& frame : frames_) {
      frame->frame = {};  // here and not under the lock of the link
      written_.push_back(std::move(frame));
    }
    frames_.clear();
  }
}

void TcpBatch::drop_block() {
  block_ = {};
}

}  // namespace troupe::net
