#include "runtime/net/endpoint.hpp"
#include "runtime/net/endpoint_state.hpp"
#include "runtime/net/saturate.hpp"

#include <fmt/format.h>

namespace troupe::net {

void Endpoint::on_request(std::uint64_t link_number, Frame frame) {
  auto& s = *state_;
  std::shared_ptr<RequestHandler> handler;
  {
    const std::lock_guard guard(s.mutex);
    if (!s.is_current(link_number)) {
      return;
    }
    s.stats.bytes_received += frame.size_bytes();
    if (!admit(frame)) {
      return;
    }
    handler = s.handler;
  }
  handler->on_request(std::move(frame));
}

bool Endpoint::admit(const Frame& frame) {
  auto& s = *state_;
  const auto id = frame.head.request;
  if (id == 0 || s.serving.contains(id)) {  // sent again: its answer is still to come
    ++s.stats.dropped;
    return false;
  }
  const auto bytes = saturating_add(frame.size_bytes(), frame.head.max_reply_bytes);
  if (fits(s.serving_bytes, bytes, s.options.serving_bytes, s.serving.empty())) {
    s.serving.emplace(id, bytes);
    s.serving_bytes = saturating_add(s.serving_bytes, bytes);
    return true;
  }
  ++s.stats.refused;
  Frame refusal;
  encode_error(
      Error(Errc::overloaded, fmt::format("the peer serves {} of {} bytes; the request needs {}",
                                          s.serving_bytes, s.options.serving_bytes, bytes)),
      refusal);
  refusal.head.kind = FrameKind::failure;
  refusal.head.request = id;
  refusal.head.method = frame.head.method;
  s.send(std::move(refusal));
  return false;
}

void Endpoint::answer_peer(const FrameHeader& to, FrameKind kind, Frame frame) {
  auto& s = *state_;
  frame.head.kind = kind;
  frame.head.target = 0;
  frame.head.request = to.request;
  frame.head.method = to.method;
  frame.head.max_reply_bytes = 0;
  const std::lock_guard guard(s.mutex);
  const auto served = s.serving.extract(to.request);
  if (!served) {
    return;
  }
  s.serving_bytes -= served.mapped();
  if (s.link) {
    ++s.stats.served;
    s.send(std::move(frame));
  }
}

void Endpoint::reply(const FrameHeader& to, Frame frame) {
  answer_peer(to, FrameKind::reply, std::move(frame));
}

void Endpoint::fail(const FrameHeader& to, const Error& why) {
  Frame frame;
  encode_error(why, frame);
  answer_peer(to, FrameKind::failure, std::move(frame));
}

}  // namespace troupe::net
