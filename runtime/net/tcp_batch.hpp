#pragma once
/// \file tcp_batch.hpp
/// What one write to a socket takes: many pieces at once. For the sources of TCP links only.
#include "runtime/base/buffer.hpp"
#include "runtime/net/piece.hpp"

#include <boost/asio/buffer.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace troupe::net {

/// Bytes that one link sends in a row; then the network thread serves its other links.
inline constexpr std::size_t most_in_a_row = std::size_t{4} << 20;

/// Pieces of about 1 MiB together. Small parts are copied side by side; large ones are written from
/// where they lie and kept alive until then.
/// Threads: one at a time.
class TcpBatch {
 public:
  /// Takes pieces up to its size. \requires empty()
  void fill(PieceWriter& writer);
  /// Adds bytes of no frame: a copy.
  void add(std::span<const std::byte> bytes);
  bool empty() const { return next_ == buffers_.size(); }
  std::span<const boost::asio::const_buffer> unwritten() const {
    return std::span(buffers_).subspan(next_);
  }
  /// `bytes` were written. When all are, lets go of everything but its block.
  void written(std::size_t bytes);
  void drop_block();  ///< gives back the memory of small parts; \requires empty()

 private:
  bool has_room() const;
  void put(std::span<const std::byte> bytes);

  Buffer block_;  // of small parts
  std::size_t used_ = 0;
  std::size_t bytes_ = 0;
  std::vector<boost::asio::const_buffer> buffers_;
  std::size_t next_ = 0;                                         // of buffers_
  std::vector<std::unique_ptr<PieceWriter::Outgoing>> frames_;   // keep what buffers_ say
  std::vector<std::unique_ptr<PieceWriter::Outgoing>> written_;  // empty, for the writer
};

}  // namespace troupe::net
