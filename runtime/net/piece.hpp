#pragma once
/// \file piece.hpp
/// Cuts frames into pieces of at most 256 KiB and puts them together again. Classes take turns
/// piece by piece, and within a class the frames under way do (decision 0009): nothing waits behind
/// a gigabyte. Frames of a class begin in the order of their push; so one that fits into a piece is
/// never overtaken. What a receiver holds incomplete is bounded by the two limits below.
#include "runtime/base/result.hpp"
#include "runtime/net/frame.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe::net {

inline constexpr std::size_t max_piece_bytes = std::size_t{256} << 10;
/// Frames of one class that are under way at once; the next one waits until one of them is through.
inline constexpr std::size_t max_interleaved_frames = 16;
/// Whole sizes of the frames of one class under way at once; more only for a frame alone.
inline constexpr std::uint64_t max_interleaved_bytes = std::uint64_t{4} << 30;

/// In front of every piece.
struct PieceHeader {
  static constexpr std::uint8_t first = 1;  ///< piece of its frame
  static constexpr std::uint8_t last = 2;
  /// A sign of life, of no frame: no bytes follow, all else is 0.
  static constexpr std::uint8_t heartbeat = 4;
  /// Why the sender closes the link, of no frame: the code in a byte, then a sentence. Nothing
  /// follows it.
  static constexpr std::uint8_t goodbye = 8;

  std::uint32_t bytes = 0;  ///< of the piece after this header, 1..max_piece_bytes
  std::uint32_t frame = 0;  ///< number of the frame on this link; starts at 0, wraps
  TrafficClass traffic = TrafficClass::control;
  std::uint8_t flags = 0;
  /// CRC-16 of the bytes before it (`seal`). Without it a length that was changed on the way makes the reader wait
  /// for bytes that never come, while heartbeats say that all is well.
  std::uint16_t checksum = 0;
};
static_assert(sizeof(PieceHeader) == 12);

/// Fills in the checksum.
void seal(PieceHeader& header);
bool is_sealed(const PieceHeader& header);

/// The longest sentence in a goodbye; a longer one is cut.
inline constexpr std::size_t max_goodbye_text = 4096;

std::array<std::byte, sizeof(PieceHeader)> heartbeat_piece();
std::vector<std::byte> goodbye_piece(const Error& why);

/// The few places where the bytes of one piece lie.
class PieceSpans {
 public:
  void push_back(std::span<const std::byte> span) { spans_[size_++] = span; }
  auto begin() const { return spans_.begin(); }
  auto end() const { return spans_.begin() + static_cast<std::ptrdiff_t>(size_); }

 private:
  std::array<std::span<const std::byte>, 2 + max_segments> spans_;  // header, message, segments
  std::size_t size_ = 0;
};

/// Frames that wait to be written.
/// Threads: one at a time (the link's lock or network thread).
class PieceWriter {
 public:
  void push(Frame&& frame);  ///< seals it
  bool empty() const;
  std::uint64_t queued_bytes() const;

  struct Outgoing {
    std::uint32_t number = 0;
    Frame frame;
    std::size_t part = 0;    ///< 0: header, 1: message, 2..: segments
    std::size_t offset = 0;  ///< in that part
    std::span<const std::byte> rest() const;
    void skip_empty();  ///< parts
    bool complete() const { return part == 2 + frame.segments.size(); }
  };
  /// A piece: its header and the memory it lies in, which is valid as long as the last piece of its
  /// frame is neither destroyed nor, if it was not handed out yet, the writer.
  struct Piece {
    PieceHeader header;
    PieceSpans spans;
    std::unique_ptr<Outgoing> frame;  ///< with the last piece
  };
  std::optional<Piece> next();
  /// Takes back what came with a last piece, once it is written: saves making another.
  void recycle(std::unique_ptr<Outgoing> done);

 private:
  /// One class: the frames under way, the next to get a piece first, and those behind them.
  struct Lane {
    std::deque<std::unique_ptr<Outgoing>> under_way;
    std::deque<std::unique_ptr<Outgoing>> waiting;
    std::uint64_t bytes_under_way = 0;  ///< whole sizes
    void admit();                       ///< takes from `waiting` what the limits allow
  };
  Piece cut(Outgoing& outgoing);

  std::array<Lane, traffic_classes> lanes_;
  std::size_t turn_ = 0;
  std::uint32_t next_number_ = 0;
  std::uint64_t queued_bytes_ = 0;
  std::vector<std::unique_ptr<Outgoing>> spare_;
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

  /// Where the next bytes from the wire belong, if that is known: the rest of a segment, as far as
  /// this piece goes. Whoever reads them to this place calls fed() instead of feed(). Valid until
  /// then.
  std::span<std::byte> direct() const;
  /// `bytes` of direct(), from its beginning, were written. \errors as feed()
  Status fed(std::size_t bytes, std::vector<Frame>& out);

  /// The peer's goodbye, once it is in. A byte after it is data_corruption.
  const std::optional<Error>& goodbye() const { return goodbye_; }

 private:
  struct Incoming;
  /// The incomplete frames of one class, by number.
  struct Lane {
    std::map<std::uint32_t, std::unique_ptr<Incoming>> frames;
    std::uint64_t bytes = 0;  ///< whole sizes, of those whose header is in
  };
  Status note(Status status);  ///< remembers an error
  Status take(std::span<const std::byte> bytes, std::vector<Frame>& out);
  Status take_header(std::span<const std::byte>& bytes);
  Status begin_piece();
  Status begin_frameless();
  Status begin_in_frame();
  Status end_goodbye();
  Status end_piece(std::vector<Frame>& out);

  FrameLimits limits_;
  std::array<Lane, traffic_classes> lanes_;
  Incoming* current_ = nullptr;      ///< the frame of piece_
  std::unique_ptr<Incoming> whole_;  ///< for frames of one piece; used again and again
  PieceHeader piece_;
  std::size_t header_bytes_ = 0;  ///< of piece_ that are in
  std::size_t piece_left_ = 0;    ///< bytes of the piece that are still to come
  std::string goodbye_bytes_;
  std::optional<Error> goodbye_;
  std::optional<Error> broken_;
};

}  // namespace troupe::net
