#pragma once
/// \file ucx_lane.hpp
/// The bytes of one link over UCX. For the sources of UCX links only.
#ifdef TROUPE_HAVE_UCX
#include "runtime/net/ucx_worker.hpp"

#include <boost/asio/steady_timer.hpp>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace troupe::net {

/// With every message: whose it is and which of them.
struct UcxChunkHeader {
  UcxKey key{};
  std::uint64_t number = 0;  ///< on this link and direction, from 0
};
static_assert(sizeof(UcxChunkHeader) == 24);

/// The stream of pieces is cut where it lies in memory: small parts side by side, a part of a segment
/// alone. Such a chunk is one active message. Large ones are only announced (rendezvous) and then read
/// by the receiver straight into their final place.
/// Guarantees: at most two batches of about 1 MiB are under way; a receiver keeps at most
///   `most_held` announcements
class UcxStreamLane final : public UcxLane,
                            public UcxWorkerUser,
                            public std::enable_shared_from_this<UcxStreamLane> {
 public:
  /// A message as UCX hands it over.
  struct Chunk {
    void* data = nullptr;  ///< or, of a rendezvous, what stands for it
    std::size_t bytes = 0;
    bool rendezvous = false;
  };
  static Result<std::shared_ptr<UcxStreamLane>> open(std::shared_ptr<UcxContext> context,
                                                     UcxLaneEvents& events,
                                                     const FrameLimits& limits);
  UcxStreamLane(std::shared_ptr<UcxContext> context, UcxLaneEvents& events,
                const FrameLimits& limits);
  const UcxOffer& offer() const override { return offer_; }
  Status connect(const UcxOffer& peer) override;
  void pump() override;
  bool sending() const override { return slots_[0].used || slots_[1].used; }
  void drain() override { worker_.drain(); }
  void shut(PieceWriter rest) override;

  // Of the worker.
  void settle() override;
  ucs_status_t on_message(const void* header, std::size_t header_bytes, void* data,
                          std::size_t bytes, bool rendezvous) override;

 private:
  /// One batch under way.
  struct Slot {
    UcxStreamLane* lane = nullptr;
    TcpBatch batch;
    std::array<UcxChunkHeader, 64> headers{};
    std::size_t bytes = 0;
    std::size_t open = 0;  ///< messages that UCX has not finished
    bool used = false;
  };
  void touch();
  void send(Slot& slot);
  bool send_chunk(Slot& slot, UcxChunkHeader& header, const boost::asio::const_buffer& bytes);
  void release_sent();
  void finish_sent();
  ucs_status_t on_chunk(std::uint64_t number, const Chunk& chunk);
  void take_held();
  void receive(const Chunk& chunk);
  void finish_received();
  void take(std::span<const std::byte> bytes);
  void deliver(const Status& status);
  void fail(Errc code, const std::string& what);
  void close_endpoint();
  void end_if_done();
  void end();
  static void on_sent(void* request, ucs_status_t status, void* slot);
  static void on_received(void* request, ucs_status_t status, std::size_t bytes, void* self);
  static void on_error(void* self, ucp_ep_h endpoint, ucs_status_t status);
  static void on_closed(void* request, ucs_status_t status, void* self);

  UcxWorker worker_;
  UcxLaneEvents* events_;  ///< null: shut
  UcxOffer offer_;
  ucp_ep_h endpoint_ = nullptr;
  UcxKey peer_key_{};
  std::optional<Error> failed_;
  bool told_ = false;
  asio::steady_timer linger_;
  // Sending.
  std::array<Slot, 2> slots_;
  std::size_t turn_ = 0;    ///< of slots_, the next to be used
  std::size_t oldest_ = 0;  ///< the next to be released
  std::uint64_t next_out_ = 0;
  PieceWriter rest_;  ///< after the end
  // Receiving.
  PieceReader reader_;
  std::vector<Frame> frames_;
  std::vector<std::byte> scratch_;
  std::map<std::uint64_t, Chunk> held_;
  std::uint64_t next_in_ = 0;
  bool receiving_ = false;
  bool direct_ = false;  ///< into its final place
  std::size_t receiving_bytes_ = 0;
  std::optional<ucs_status_t> received_;
};

}  // namespace troupe::net
#endif
