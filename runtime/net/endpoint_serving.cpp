#include "runtime/net/endpoint.hpp"
#include "runtime/net/endpoint_state.hpp"
#include "runtime/net/saturate.hpp"

#include <fmt/format.h>

namespace troupe::net {

void Endpoint::on_request(std::uint64_t link_number, Frame&& frame) {
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
  auto* const same = s.serving.find(id);
  if (same != nullptr && same->kept) {
    same->most_reply_bytes = frame.head.max_reply_bytes;
    give_kept(id);
    return false;
  }
  if (id == 0 || same != nullptr) {  // sent again: its answer is still to come
    ++s.stats.dropped;
    return false;
  }
  if (id > largest_request) {
    refuse(frame.head, Error(Errc::invalid_argument,
                             fmt::format("expected a request number from 1 to {}, found {}",
                                         largest_request, id)));
    return false;
  }
  const auto bytes = saturating_add(frame.size_bytes(), frame.head.max_reply_bytes);
  if (fits(s.serving_bytes, bytes, s.options.serving_bytes, s.serving.empty())) {
    s.serving.insert(id, State::Serving{bytes, frame.head.max_reply_bytes, {}});
    s.serving_bytes = saturating_add(s.serving_bytes, bytes);
    return true;
  }
  refuse(frame.head,
         Error(Errc::overloaded, fmt::format("the peer serves {} of {} bytes; the request needs {}",
                                             s.serving_bytes, s.options.serving_bytes, bytes)));
  return false;
}

/// Answers a request that is not served.
void Endpoint::refuse(const FrameHeader& head, const Error& why) {
  auto& s = *state_;
  ++s.stats.refused;
  Frame refusal;
  encode_error(why, refusal);
  refusal.head.kind = FrameKind::failure;
  refusal.head.request = head.request;
  refusal.head.method = head.method;
  s.send(std::move(refusal));
}

void Endpoint::answer_peer(const FrameHeader& to, FrameKind kind, Frame&& frame) {
  auto& s = *state_;
  frame.head.kind = kind;
  frame.head.target = 0;
  frame.head.request = to.request;
  frame.head.method = to.method;
  frame.head.max_reply_bytes = 0;
  const std::lock_guard guard(s.mutex);
  const auto* const found = s.serving.find(to.request);
  if (found == nullptr || found->kept) {
    return;
  }
  if (s.link && kind == FrameKind::reply && frame.size_bytes() > found->most_reply_bytes) {
    return keep_answer(to.request, std::move(frame));
  }
  s.serving_bytes -= s.serving.take(to.request).bytes;
  if (s.link) {
    ++s.stats.served;
    s.send(std::move(frame));
  }
}

void Endpoint::keep_answer(std::uint64_t id, Frame&& frame) {
  auto& s = *state_;
  auto& serving = *s.serving.find(id);
  s.serving_bytes -= std::exchange(serving.bytes, frame.size_bytes());
  s.serving_bytes = saturating_add(s.serving_bytes, serving.bytes);
  serving.kept = std::make_unique<Frame>(std::move(frame));
  ++s.stats.too_large;
  s.after(std::min(s.options.deadline, longest_deadline), [weak = weak_from_this(), id] {
    if (const auto self = weak.lock()) {
      self->drop_kept(id);
    }
  });
  give_kept(id);
}

/// Sends a kept answer, or its size to a peer that has announced less.
void Endpoint::give_kept(std::uint64_t id) {
  auto& s = *state_;
  const auto& found = *s.serving.find(id);
  const auto bytes = found.kept->size_bytes();
  if (bytes > found.most_reply_bytes) {
    Frame size;
    size.head.kind = FrameKind::too_large;
    size.head.request = id;
    size.head.method = found.kept->head.method;
    size.head.max_reply_bytes = bytes;
    return s.send(std::move(size));
  }
  const auto answered = s.serving.take(id);
  s.serving_bytes -= answered.bytes;
  ++s.stats.served;
  s.send(std::move(*answered.kept));
}

/// Drops an answer that was not fetched in time: its peer has given up, or is served again.
void Endpoint::drop_kept(std::uint64_t id) {
  auto& s = *state_;
  State::Serving dropped;  // freed without the lock
  const std::lock_guard guard(s.mutex);
  const auto* const found = s.serving.find(id);
  if (found != nullptr && found->kept) {
    dropped = s.serving.take(id);
    s.serving_bytes -= dropped.bytes;
  }
}

void Endpoint::reply(const FrameHeader& to, Frame&& frame) {
  answer_peer(to, FrameKind::reply, std::move(frame));
}

void Endpoint::fail(const FrameHeader& to, const Error& why) {
  Frame frame;
  encode_error(why, frame);
  answer_peer(to, FrameKind::failure, std::move(frame));
}

}  // namespace troupe::net
