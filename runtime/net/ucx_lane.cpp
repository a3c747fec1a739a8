#ifdef TROUPE_HAVE_UCX
#include "runtime/net/ucx_lane.hpp"

#include <cstring>
#include <fmt/format.h>
#include <new>
#include <openssl/rand.h>
#include <utility>

namespace troupe::net {
namespace {

constexpr std::size_t rendezvous_from = 8000;  // what fits into one slot of shared memory is copied
constexpr std::size_t most_held = 256;
constexpr auto longest_lane_linger = std::chrono::milliseconds(100);

bool pending(ucs_status_ptr_t request) {
  return request != nullptr && !UCS_PTR_IS_ERR(request);
}

std::uint64_t version_of(const UcxApi& api) {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  api.get_version(&major, &minor, &release);
  return std::uint64_t{major} << 32 | minor << 16 | release;
}

}  // namespace

Result<std::shared_ptr<UcxStreamLane>> UcxStreamLane::open(std::shared_ptr<UcxContext> context,
                                                           UcxLaneEvents& events,
                                                           const FrameLimits& limits) {
  auto lane = std::make_shared<UcxStreamLane>(std::move(context), events, limits);
  TROUPE_RETURN_IF_ERROR(lane->worker_.start());
  lane->offer_.address = lane->worker_.address();
  lane->offer_.version = version_of(lane->worker_.api());
  lane->offer_.place = ucx_place();
  auto& key = lane->offer_.key;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(key.data()), static_cast<int>(key.size())) != 1) {
    return Error(Errc::internal, "UCX: the system gave no random bytes for a link's key");
  }
  lane->worker_.schedule(lane);
  return lane;
}

UcxStreamLane::UcxStreamLane(std::shared_ptr<UcxContext> context, UcxLaneEvents& events,
                             const FrameLimits& limits)
    : worker_(std::move(context), *this),
      events_(&events),
      linger_(worker_.io().context),
      reader_(limits) {
  for (auto& slot : slots_) {
    slot.lane = this;
  }
}

void UcxStreamLane::touch() {
  worker_.touch();
  worker_.schedule(shared_from_this());
}

Status UcxStreamLane::connect(const UcxOffer& peer) {
  if (peer.version != offer_.version) {
    return Error(Errc::unimplemented, "the peer has another version of UCX");
  }
  if (is_apart(peer.place, offer_.place)) {
    return Error(
        Errc::unimplemented,
        "the peer is on this machine, but in another namespace of networks or processes, or "
        "with another /dev/shm");
  }
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(peer.address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = &UcxStreamLane::on_error;
  params.err_handler.arg = this;
  const auto status = worker_.api().ep_create(worker_.handle(), &params, &endpoint_);
  if (status != UCS_OK) {
    endpoint_ = nullptr;
    return Error(Errc::unimplemented, fmt::format("UCX does not reach the peer: {}",
                                                  worker_.api().status_string(status)));
  }
  peer_key_ = peer.key;
  touch();
  return ok_status();
}

// ---- sending ----

void UcxStreamLane::pump() {
  std::size_t total = 0;
  while (endpoint_ != nullptr && events_ != nullptr && !failed_ && !slots_[turn_].used) {
    if (total >= most_in_a_row) {
      return touch();  // others wait
    }
    auto& slot = slots_[turn_];
    events_->fill(slot.batch);
    if (slot.batch.empty()) {
      return slot.batch.drop_block();
    }
    turn_ = 1 - turn_;
    send(slot);
    total += slot.bytes;
  }
}

void UcxStreamLane::send(Slot& slot) {
  slot.used = true;
  slot.bytes = 0;
  slot.open = 1;  // this call
  auto header = slot.headers.begin();
  for (const auto& bytes : slot.batch.unwritten()) {
    slot.bytes += bytes.size();
    if (!send_chunk(slot, *header++, bytes)) {
      break;
    }
  }
  --slot.open;
  release_sent();
  if (sending()) {
    touch();
  }
}

/// In order: the memory of a frame is let go with its last piece.
void UcxStreamLane::release_sent() {
  while (slots_[oldest_].used && slots_[oldest_].open == 0 && !failed_) {
    auto& slot = slots_[oldest_];
    slot.used = false;
    slot.batch.written(slot.bytes);
    oldest_ = 1 - oldest_;
  }
}

bool UcxStreamLane::send_chunk(Slot& slot, UcxChunkHeader& header,
                               const boost::asio::const_buffer& bytes) {
  header = {peer_key_, next_out_++};
  ucp_request_param_t param{};
  param.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = bytes.size() >= rendezvous_from ? UCP_AM_SEND_FLAG_RNDV : UCP_AM_SEND_FLAG_EAGER;
  param.cb.send = &UcxStreamLane::on_sent;
  param.user_data = &slot;
  ++slot.open;
  auto* request = worker_.api().am_send_nbx(endpoint_, UcxWorker::message_id, &header,
                                            sizeof header, bytes.data(), bytes.size(), &param);
  if (pending(request)) {
    return true;
  }
  --slot.open;
  if (UCS_PTR_IS_ERR(request)) {
    fail(Errc::peer_lost,
         fmt::format("UCX cannot send: {}", worker_.api().status_string(UCS_PTR_STATUS(request))));
    return false;
  }
  return true;
}

void UcxStreamLane::on_sent(void* request, ucs_status_t status, void* slot) {
  auto& sent = *static_cast<Slot*>(slot);
  auto& lane = *sent.lane;
  lane.worker_.api().request_free(request);
  if (status != UCS_OK) {
    lane.fail(Errc::peer_lost,
              fmt::format("UCX cannot send: {}", lane.worker_.api().status_string(status)));
  }
  if (--sent.open == 0) {
    lane.touch();
  }
}

void UcxStreamLane::finish_sent() {
  release_sent();
  pump();
  if (!sending() && events_ != nullptr) {
    events_->on_sent();
  }
}

// ---- receiving ----

ucs_status_t UcxStreamLane::on_message(const void* header, std::size_t header_bytes, void* data,
                                       std::size_t bytes, bool rendezvous) {
  UcxChunkHeader chunk;
  if (header_bytes == sizeof chunk) {
    std::memcpy(&chunk, header, sizeof chunk);
  }
  if (header_bytes != sizeof chunk || chunk.key != offer_.key) {
    ++worker_.io().ucx_strangers;
    return UCS_OK;
  }
  return on_chunk(chunk.number, {data, bytes, rendezvous});
}

ucs_status_t UcxStreamLane::on_chunk(std::uint64_t number, const Chunk& chunk) {
  if (failed_ || events_ == nullptr) {
    return UCS_OK;
  }
  if (chunk.bytes == 0 || chunk.bytes > max_piece_bytes) {
    fail(Errc::data_corruption, fmt::format("UCX message: length: expected 1..{} bytes, found {}",
                                            max_piece_bytes, chunk.bytes));
    return UCS_OK;
  }
  if (number - next_in_ >= most_held || held_.contains(number)) {
    fail(Errc::data_corruption,
         fmt::format("UCX message: number: expected one of {} from {} that is not here, found {}",
                     most_held, next_in_, number));
    return UCS_OK;
  }
  if (number == next_in_ && !receiving_ && !chunk.rendezvous) {
    ++next_in_;
    take({static_cast<const std::byte*>(chunk.data), chunk.bytes});
    if (!held_.empty()) {
      touch();
    }
    return UCS_OK;
  }
  held_.emplace(number, chunk);
  touch();
  return UCS_INPROGRESS;  // it is kept
}

void UcxStreamLane::take_held() {
  while (!receiving_ && !failed_ && events_ != nullptr) {
    const auto next = held_.find(next_in_);
    if (next == held_.end()) {
      return;
    }
    const auto chunk = next->second;
    held_.erase(next);
    ++next_in_;
    if (chunk.rendezvous) {
      receive(chunk);
    } else {
      take({static_cast<const std::byte*>(chunk.data), chunk.bytes});
      worker_.api().am_data_release(worker_.handle(), chunk.data);
    }
  }
}

void UcxStreamLane::receive(const Chunk& chunk) {
  auto place = reader_.direct();
  direct_ = place.size() >= chunk.bytes;
  if (!direct_) {
    scratch_.resize(max_piece_bytes);
    place = scratch_;
  }
  receiving_ = true;
  receiving_bytes_ = chunk.bytes;
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.recv_am = &UcxStreamLane::on_received;
  param.user_data = this;
  auto* request = worker_.api().am_recv_data_nbx(worker_.handle(), chunk.data, place.data(),
                                                 chunk.bytes, &param);
  if (!pending(request)) {
    received_ = UCS_PTR_STATUS(request);
    finish_received();
  }
}

void UcxStreamLane::on_received(void* request, ucs_status_t status, std::size_t, void* self) {
  auto& lane = *static_cast<UcxStreamLane*>(self);
  lane.worker_.api().request_free(request);
  lane.received_ = status;
  lane.touch();
}

void UcxStreamLane::finish_received() {
  const auto status = std::exchange(received_, std::nullopt);
  if (!status) {
    return;
  }
  receiving_ = false;
  if (*status != UCS_OK) {
    return fail(Errc::peer_lost,
                fmt::format("UCX cannot receive: {}", worker_.api().status_string(*status)));
  }
  if (events_ == nullptr) {
    return;
  }
  if (direct_) {
    deliver(reader_.fed(receiving_bytes_, frames_));
  } else {
    take(std::span(scratch_).first(receiving_bytes_));
  }
}

void UcxStreamLane::take(std::span<const std::byte> bytes) {
  try {
    deliver(reader_.feed(bytes, frames_));
  } catch (const std::bad_alloc&) {
    fail(Errc::out_of_memory, "no memory for a frame that the peer sends");
  }
}

void UcxStreamLane::deliver(const Status& status) {
  if (!frames_.empty()) {
    events_->on_frames(frames_);
    frames_.clear();
  }
  if (!status.ok()) {
    fail(status.error().code(), status.error().what());
  } else if (reader_.goodbye()) {
    fail(Errc::data_corruption, "UCX message: expected pieces of frames, found a goodbye");
  }
}

// ---- the end ----

void UcxStreamLane::on_error(void* self, ucp_ep_h, ucs_status_t status) {
  auto& lane = *static_cast<UcxStreamLane*>(self);
  lane.fail(Errc::peer_lost,
            fmt::format("UCX lost the peer: {}", lane.worker_.api().status_string(status)));
}

void UcxStreamLane::fail(Errc code, const std::string& what) {
  if (!failed_) {
    failed_.emplace(code, what);
    touch();
  }
}

void UcxStreamLane::settle() {
  finish_received();
  take_held();
  finish_sent();
  if (failed_ && events_ != nullptr && !std::exchange(told_, true)) {
    events_->on_lane_error(*failed_);
  }
  end_if_done();
}

/// What UCX does not give back at once ends with its worker.
void UcxStreamLane::shut(PieceWriter rest) {
  if (std::exchange(events_, nullptr) == nullptr) {
    return;
  }
  rest_ = std::move(rest);
  for (const auto& [number, chunk] : std::exchange(held_, {})) {
    worker_.api().am_data_release(worker_.handle(), chunk.data);
  }
  linger_.expires_after(longest_lane_linger);
  linger_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error) {
      self->end();
    }
  });
  close_endpoint();
  touch();
}

void UcxStreamLane::close_endpoint() {
  if (endpoint_ == nullptr) {
    return;
  }
  ucp_request_param_t param{};
  param.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  param.cb.send = &UcxStreamLane::on_closed;
  param.user_data = this;
  if (!pending(worker_.api().ep_close_nbx(endpoint_, &param))) {
    endpoint_ = nullptr;
  }
}

void UcxStreamLane::on_closed(void* request, ucs_status_t, void* self) {
  auto& lane = *static_cast<UcxStreamLane*>(self);
  lane.worker_.api().request_free(request);
  lane.endpoint_ = nullptr;
  lane.touch();
}

void UcxStreamLane::end_if_done() {
  if (events_ == nullptr && endpoint_ == nullptr && !receiving_ && slots_[0].open == 0 &&
      slots_[1].open == 0) {
    linger_.cancel();
    end();
  }
}

void UcxStreamLane::end() {
  worker_.end();
  rest_ = {};
}

}  // namespace troupe::net
#endif
