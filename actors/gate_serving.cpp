// The serving half of a gate: exported actors, and the peer's requests to them.
#include "actors/error.hpp"
#include "actors/gate.hpp"
#include "actors/wire_table.hpp"

#include <caf/all.hpp>

#include <fmt/format.h>

namespace troupe {

void Gate::export_actor(Address address, const caf::actor& actor) {
  const auto target = address.word();
  net::ServedTargets<caf::actor>::Exported exported;
  {
    const std::lock_guard guard(mutex_);
    exported = served_.put(target, actor);
  }
  fail_orphans(exported.orphans, Error(Errc::peer_lost, "another actor has taken its place"));
  // Not under the mutex: runs at once if the actor is dead already.
  actor->attach_functor(
      [weak = weak_from_this(), target, incarnation = exported.incarnation](const caf::error& why) {
        if (const auto gate = weak.lock()) {
          gate->export_died(target, incarnation, from_caf(why));
        }
      });
}

/// A trainer of an older generation must not be heard by those of a newer one; nor must what the
/// director asked before a roll-back, which a link may send again.
bool Gate::is_fenced(const net::FrameHeader& head) const {
  const auto role = static_cast<Role>(head.target >> 32);
  const bool follows = role == Role::trainer || role == Role::evaluator;
  return options_.generation && follows && head.generation < options_.generation->load();
}

void Gate::take_actor_down(const net::Frame& frame) {
  const auto down = net::Wire<net::ActorDown>::decode(frame);
  if (!down) {
    return endpoint_->fail(frame.head, down.error());
  }
  bool news = false;
  {
    const std::lock_guard guard(mutex_);
    auto& seen = downs_seen_[down->target];
    news = down->incarnation > seen;
    seen = std::max(seen, down->incarnation);
  }
  if (news) {
    target_down(down->target, Error(Errc::peer_lost, down->why));
  }
  endpoint_->reply(frame.head, net::to_frame(net::Done{}));
}

void Gate::on_request(net::Frame&& frame) {
  const auto head = frame.head;
  if (head.method == net::Wire<net::ActorDown>::method) {
    return take_actor_down(frame);
  }
  if (is_fenced(head)) {
    return endpoint_->fail(
        head,
        Error(Errc::fenced, fmt::format("request {}: generation {} is over, now {}", head.request,
                                        head.generation, options_.generation->load())));
  }
  const auto* entry = find_wire_entry(head.method);
  caf::actor target;
  caf::strong_actor_ptr sink;
  {
    const std::lock_guard guard(mutex_);
    if (down_) {
      return;
    }
    if (entry != nullptr) {
      if (auto found = served_.begin(head)) {
        target = *std::move(found);
      }
      sink = sink_;
    }
  }
  if (!target) {
    return endpoint_->fail(
        head, Error(Errc::peer_lost, fmt::format("request {}: no actor at address {:#x} that takes "
                                                 "method {}",
                                                 head.request, head.target, head.method)));
  }
  auto content = entry->decode_request(frame);
  if (!content) {
    {
      const std::lock_guard guard(mutex_);
      served_.end(head.request);
    }
    return endpoint_->fail(head, content.error());
  }
  caf::actor_cast<caf::strong_actor_ptr>(target)->enqueue(
      std::move(sink), caf::make_message_id(head.request), *std::move(content), nullptr);
}

void Gate::answer(std::uint64_t id, const caf::message& content) {
  std::optional<net::FrameHeader> open;
  {
    const std::lock_guard guard(mutex_);
    open = served_.end(id);
  }
  if (!open) {
    return;  // the link went down, or it is answered already
  }
  const auto& head = *open;
  const auto* entry = find_wire_entry(head.method);
  if (entry->is_reply(content)) {
    net::Frame frame;
    entry->encode_reply(content, frame);
    endpoint_->reply(head, std::move(frame));
  } else if (content.match_elements<caf::error>()) {
    endpoint_->fail(head, from_caf(content.get_as<caf::error>(0)));
  } else {
    endpoint_->fail(head, Error(Errc::internal, fmt::format("the answer to method {} is of a type "
                                                            "that does not travel",
                                                            head.method)));
  }
}

/// A request's promise dies with its actor; nobody else answers it.
void Gate::fail_orphans(const std::vector<net::FrameHeader>& orphans, const Error& why) {
  for (const auto& head : orphans) {
    endpoint_->fail(head, Error(Errc::peer_lost, fmt::format("the actor at address {:#x} ended: {}",
                                                             head.target, why.what())));
  }
}

void Gate::export_died(std::uint64_t target, std::uint64_t incarnation, const Error& why) {
  std::optional<std::vector<net::FrameHeader>> orphans;
  {
    const std::lock_guard guard(mutex_);
    if (!down_) {
      orphans = served_.remove(target, incarnation);
    }
  }
  if (!orphans) {
    return;  // the link is down, or another has its place
  }
  fail_orphans(*orphans, why);
  // A request, not a notice: it survives a cut link.
  endpoint_->request(
      net::to_frame(net::ActorDown{target, incarnation, why.what()}),
      net::Wire<net::ActorDown>::reply_bytes({}), [](const Result<net::Frame>&) {},
      options_.long_deadline);
}

}  // namespace troupe
