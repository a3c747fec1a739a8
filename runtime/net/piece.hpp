#pragma once
/// \file piece.hpp
/// Cuts frames into pieces of at most 256 KiB and puts them together again. Classes take turns
/// piece by piece, so a small frame never waits behind a large one of another class. Within a class
/// the first frame is finished before the next begins: that keeps their order, and at most one
/// frame per class is incomplete at the receiver.
#include "runtime/base/result.hpp"
#include "runtime/net/frame.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace troupe::net {

inline constexpr std::size_t max_piece_bytes = std::size_t{256} << 10;

/// In front of every piece.
struct PieceHeader {
  std::uint32_t bytes = 0;  ///< of the piece after this header, 1..max_piece_bytes
  std::uint32_t frame = 0;  ///< number of the frame on this link; starts at 0, wraps
  TrafficClass traffic = TrafficClass::control;
  std::uint8_t flags = 0;  ///< 1: first piece of its frame, 2: last
  std::uint16_t reserved = 0;
};
static_assert(sizeof(PieceHeader) == 12);

/// Frames that wait to be written.
/// Threads: one at a time (the link's lock or network thread).
class PieceWriter {
 public:
  void push(Frame frame);  ///< seals it
  bool empty() const;
  std::uint64_t queued_bytes() const;

  /// The next piece: its header and the memory it lies in, valid until the next call of next().
  struct Piece {
    PieceHeader header;
    std::vector<std::span<const std::byte>> spans;
  };
  std::optional<Piece> next();

 private:
  struct Outgoing {
    std::uint32_t number = 0;
    Frame frame;
    std::vector<std::span<const std::byte>> parts;  ///< what is left of header, meta, segments
    std::size_t part = 0;                           ///< the first of `parts` that is not empty
    bool begun = false;
  };
  Piece cut(Outgoing& outgoing);

  std::array<std::deque<std::unique_ptr<Outgoing>>, traffic_classes> queues_;
  std::size_t turn_ = 0;
  std::uint32_t next_number_ = 0;
  std::uint64_t queued_bytes_ = 0;
  std::unique_ptr<Outgoing> finished_;  ///< keeps the memory of the last piece of a frame
};

/// Puts pieces together. Lengths are checked against limits before anything is allocated; segments
/// are written straight into their final pooled buffer.
/// Threads: one at a time.
class PieceReader {
 public:
  explicit PieceReader(FrameLimits limits);
  ~PieceReader();

  /// Takes bytes as they come from the wire, in any cut. Complete frames are appended to `out`.
  /// \errors data_corruption, invalid_argument (limits): the link must be closed
  /// After an error every call returns that error.
  Status feed(std::span<const std::byte> bytes, std::vector<Frame>& out);

 private:
  struct Incoming;
  Status take(std::span<const std::byte> bytes, std::vector<Frame>& out);
  Status begin_piece();
  Status end_piece(std::vector<Frame>& out);

  FrameLimits limits_;
  std::array<std::unique_ptr<Incoming>, traffic_classes>
      incoming_;  ///< at most one incomplete frame per class
  PieceHeader piece_;
  std::size_t header_bytes_ = 0;  ///< of piece_ that are in
  std::size_t piece_left_ = 0;    ///< bytes of the piece that are still to come
  std::optional<Error> broken_;
};

}  // namespace troupe::net
