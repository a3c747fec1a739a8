#include "actors/gate.hpp"

#include "actors/error.hpp"
#include "actors/wire_table.hpp"

#include <caf/actor_proxy.hpp>
#include <caf/all.hpp>

#include <fmt/format.h>
#include <vector>

namespace troupe {
namespace {

/// Answers a request that came to a proxy. By hand: caf::response_promise needs a scheduled actor.
void answer_requester(const caf::strong_actor_ptr& proxy, const caf::strong_actor_ptr& requester,
                      caf::message_id id, caf::message content) {
  if (requester && id.is_request()) {
    requester->enqueue(proxy, id.response_id(), std::move(content), nullptr);
  }
}

caf::message error_message(const Error& why) {
  return caf::make_message(to_caf(why));
}

}  // namespace

/// Stands for one actor at the other end. Runs on the sender's thread.
class Gate::Proxy final : public caf::actor_proxy {
 public:
  Proxy(caf::actor_config& config, std::shared_ptr<Gate> gate, std::uint64_t target)
      : caf::actor_proxy(config), gate_(std::move(gate)), target_(target) {}
  const char* name() const override { return "troupe.proxy"; }

  using caf::abstract_actor::enqueue;
  void enqueue(caf::mailbox_element_ptr what, caf::execution_unit* context) override {
    if (what->content().match_elements<caf::exit_msg>()) {
      return;  // one client's end must not end a proxy that all share
    }
    if (handle_system_message(*what, context, false)) {
      return;
    }
    const caf::strong_actor_ptr self(ctrl());
    if (const auto why = death()) {
      return answer_requester(self, what->sender, what->mid, caf::make_message(*why));
    }
    gate_->request(self, target_, *what);
  }
  void kill_proxy(caf::execution_unit* context, caf::error why) override {
    {
      const std::lock_guard guard(mutex_);
      death_ = why;
    }
    cleanup(std::move(why), context);
  }

 private:
  /// Why it is dead, if it is: it must not reach whoever comes after its actor.
  std::optional<caf::error> death() const {
    const std::lock_guard guard(mutex_);
    return death_;
  }

  const std::shared_ptr<Gate> gate_;
  const std::uint64_t target_;
  mutable std::mutex mutex_;
  std::optional<caf::error> death_;
};

/// Receives what local actors answer to requests that came over the link. Runs on the answering
/// actor's thread.
class Gate::ReplySink final : public caf::monitorable_actor {
 public:
  ReplySink(caf::actor_config& config, std::weak_ptr<Gate> gate)
      : caf::monitorable_actor(config), gate_(std::move(gate)) {}
  const char* name() const override { return "troupe.reply_sink"; }

  using caf::abstract_actor::enqueue;
  void enqueue(caf::mailbox_element_ptr what, caf::execution_unit* /*context*/) override {
    if (const auto gate = gate_.lock()) {
      gate->answer(what->mid.request_id().integer_value(), what->move_content_to_message());
    }
  }
  void end() { cleanup(caf::exit_reason::normal, nullptr); }

 private:
  std::weak_ptr<Gate> gate_;
};

Gate::Gate(caf::actor_system& system, const GateOptions& options)
    : system_(system), options_(options) {}
Gate::~Gate() = default;

std::shared_ptr<Gate> Gate::make(caf::actor_system& system, std::shared_ptr<net::Link> link,
                                 const GateOptions& options) {
  std::shared_ptr<Gate> gate(new Gate(system, options));
  caf::actor_config config;
  gate->sink_ = caf::make_actor<ReplySink, caf::strong_actor_ptr>(
      system.next_actor_id(), system.node(), &system, config, gate->weak_from_this());
  gate->endpoint_ = std::make_shared<net::Endpoint>(std::move(link), gate, options.endpoint);
  gate->endpoint_->start();
  return gate;
}

caf::actor Gate::proxy(Address address) {
  const auto target = address.word();
  caf::actor made;
  Error why(Errc::peer_lost, "the link is down");
  {
    const std::lock_guard guard(mutex_);
    if (const auto found = proxies_.find(target); found != proxies_.end()) {
      return found->second;
    }
    caf::actor_config config;
    made = caf::make_actor<Proxy, caf::actor>(system_.next_actor_id(), system_.node(), &system_,
                                              config, shared_from_this(), target);
    if (!down_) {
      return proxies_[target] = made;
    }
    why = *down_;
  }
  caf::actor_cast<caf::actor_proxy*>(made)->kill_proxy(nullptr, to_caf(why));
  return made;
}

void Gate::export_actor(Address address, const caf::actor& actor) {
  const auto target = address.word();
  std::uint64_t incarnation = 0;
  std::vector<net::FrameHeader> orphans;
  {
    const std::lock_guard guard(mutex_);
    incarnation = ++incarnations_[target];
    exports_[target] = {actor, incarnation};
    orphans = take_orphans(target);  // of whom it replaces
  }
  fail_orphans(orphans, Error(Errc::peer_lost, "another actor has taken its place"));
  // Not under the mutex: runs at once if the actor is dead already.
  actor->attach_functor([weak = weak_from_this(), target, incarnation](const caf::error& why) {
    if (const auto gate = weak.lock()) {
      gate->export_died(target, incarnation, from_caf(why));
    }
  });
}

void Gate::close(const Error& why) {
  endpoint_->close(why);
}

bool Gate::wait_closed(std::chrono::milliseconds timeout) {
  std::unique_lock guard(mutex_);
  return closed_changed_.wait_for(guard, timeout, [this] { return closed_; });
}

net::EndpointStats Gate::stats() const {
  return endpoint_->stats();
}

// ---- requesting ----

void Gate::request(caf::strong_actor_ptr proxy, std::uint64_t target, caf::mailbox_element& what) {
  const auto* entry = find_wire_entry(what.content());
  const auto requester = what.sender;
  const auto id = what.mid;
  if (entry == nullptr) {
    return answer_requester(
        proxy, requester, id,
        error_message(
            Error(Errc::unimplemented, "proxy: a message of a type that does not travel")));
  }
  net::Frame frame;
  const auto reply_bytes = entry->encode_request(what.content(), frame);
  frame.head.target = target;
  frame.head.generation = options_.generation ? options_.generation->load() : 0;
  const auto deadline = entry->long_running ? options_.long_deadline : options_.endpoint.deadline;
  endpoint_->request(
      std::move(frame), reply_bytes,
      [entry, proxy = std::move(proxy), requester, id](Result<net::Frame> reply) {
        if (!reply) {
          return answer_requester(proxy, requester, id, error_message(reply.error()));
        }
        auto content = entry->decode_reply(*reply);
        answer_requester(proxy, requester, id,
                         content ? *std::move(content) : error_message(content.error()));
      },
      deadline);
}

void Gate::target_down(std::uint64_t target, const Error& why) {
  caf::actor victim;
  {
    const std::lock_guard guard(mutex_);
    const auto found = proxies_.find(target);
    if (found == proxies_.end()) {
      return;
    }
    victim = found->second;
    proxies_.erase(found);
  }
  caf::actor_cast<caf::actor_proxy*>(victim)->kill_proxy(nullptr, to_caf(why));
}

// ---- serving ----

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

void Gate::on_request(net::Frame frame) {
  const auto head = frame.head;
  if (head.method == static_cast<std::uint32_t>(net::Method::actor_down)) {
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
    const auto found = exports_.find(head.target);
    if (entry != nullptr && found != exports_.end()) {
      target = found->second.actor;
      sink = sink_;
      serving_[head.request] = head;
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
      serving_.erase(head.request);
    }
    return endpoint_->fail(head, content.error());
  }
  caf::actor_cast<caf::strong_actor_ptr>(target)->enqueue(
      std::move(sink), caf::make_message_id(head.request), *std::move(content), nullptr);
}

void Gate::answer(std::uint64_t id, const caf::message& content) {
  net::FrameHeader head;
  {
    const std::lock_guard guard(mutex_);
    const auto found = serving_.find(id);
    if (found == serving_.end()) {
      return;  // the link went down, or it is answered already
    }
    head = found->second;
    serving_.erase(found);
  }
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
std::vector<net::FrameHeader> Gate::take_orphans(std::uint64_t target) {
  std::vector<net::FrameHeader> orphans;
  for (auto it = serving_.begin(); it != serving_.end();) {
    if (it->second.target == target) {
      orphans.push_back(it->second);
      it = serving_.erase(it);
    } else {
      ++it;
    }
  }
  return orphans;
}

void Gate::fail_orphans(const std::vector<net::FrameHeader>& orphans, const Error& why) {
  for (const auto& head : orphans) {
    endpoint_->fail(head, Error(Errc::peer_lost, fmt::format("the actor at address {:#x} ended: {}",
                                                             head.target, why.what())));
  }
}

void Gate::export_died(std::uint64_t target, std::uint64_t incarnation, const Error& why) {
  std::vector<net::FrameHeader> orphans;
  {
    const std::lock_guard guard(mutex_);
    const auto found = exports_.find(target);
    if (down_ || found == exports_.end() || found->second.incarnation != incarnation) {
      return;
    }
    exports_.erase(found);
    orphans = take_orphans(target);
  }
  fail_orphans(orphans, why);
  // A request, not a notice: it survives a cut link.
  endpoint_->request(
      net::to_frame(net::ActorDown{target, incarnation, why.what()}),
      net::Wire<net::ActorDown>::reply_bytes({}), [](const Result<net::Frame>&) {},
      options_.long_deadline);
}

void Gate::on_ending(const Error& why) {
  if (options_.on_end) {
    options_.on_end(why);
  }
}

void Gate::on_link_down(const Error& why) {
  std::map<std::uint64_t, caf::actor> proxies;
  std::map<std::uint64_t, Export> exports;
  caf::strong_actor_ptr sink;
  {
    const std::lock_guard guard(mutex_);
    down_ = why;
    proxies.swap(proxies_);
    exports.swap(exports_);
    sink.swap(sink_);
    serving_.clear();
  }
  for (auto& [target, proxy] : proxies) {
    caf::actor_cast<caf::actor_proxy*>(proxy)->kill_proxy(nullptr, to_caf(why));
  }
  if (sink) {
    static_cast<ReplySink*>(caf::actor_cast<caf::abstract_actor*>(sink))->end();
  }
  {
    const std::lock_guard guard(mutex_);
    closed_ = true;
  }
  closed_changed_.notify_all();
}

}  // namespace troupe
