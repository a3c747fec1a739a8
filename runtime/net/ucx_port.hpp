#pragma once
/// \file ucx_port.hpp
/// What a link sees of UCX: a port per process and a lane per link. For the sources of links only;
/// brings no header of UCX, so that links are the same in a build without it.
#include "runtime/net/tcp_batch.hpp"
#include "runtime/net/tcp_io.hpp"
#include "runtime/net/ucx_place.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace troupe::net {

/// Random bytes that a link's end tells its peer over the authenticated connection. What comes over
/// UCX without one of them is dropped.
using UcxKey = std::array<std::byte, 16>;

/// How a peer reaches one end of a link.
struct UcxOffer {
  UcxKey key{};
  std::uint64_t version = 0;  ///< of UCX: another may read an address otherwise
  UcxPlace place;
  std::vector<std::byte> address;  ///< of its worker, as UCX packs it
};

/// Gets what a lane receives; asked for what it sends.
/// Threads: the network thread
class UcxLaneEvents {
 public:
  virtual ~UcxLaneEvents() = default;
  virtual void fill(TcpBatch& batch) = 0;  ///< with what waits to be sent
  virtual void on_sent() = 0;              ///< nothing is under way any more
  virtual void on_frames(std::vector<Frame>& frames) = 0;
  /// It carries nothing any more. peer_lost: UCX failed; else the peer sent what cannot be
  virtual void on_lane_error(Error why) = 0;
};

/// Carries the bytes of pieces for one link, in order, each way.
/// Lifecycle:  connect() before pump(); shut() at the end, after which `events` are not called
/// Threads:    the network thread
class UcxLane {
 public:
  virtual ~UcxLane() = default;
  virtual const UcxOffer& offer() const = 0;
  /// \errors unimplemented: the peer cannot be reached over UCX, with its reason
  virtual Status connect(const UcxOffer& peer) = 0;
  virtual void pump() = 0;  ///< asks for what is to be sent
  virtual bool sending() const = 0;
  virtual void drain() = 0;  ///< delivers what has arrived
  /// \param rest  of the writer that filled batches: parts of it may be under way
  virtual void shut(PieceWriter rest) = 0;
};

/// The UCX of one process, on its network thread.
/// Lifecycle:  takes part in the network thread's work as long as there are lanes
class UcxPort {
 public:
  /// \errors those of ucx_here()
  static Result<std::shared_ptr<UcxPort>> open(TcpIo::State& io);
  virtual ~UcxPort() = default;
  /// \requires the lane is shut before `events` go
  virtual Result<std::shared_ptr<UcxLane>> lane(UcxLaneEvents& events,
                                                const FrameLimits& limits) = 0;
  virtual const std::string& what() const = 0;  ///< as ucx_here()
};

}  // namespace troupe::net
