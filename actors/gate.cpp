#include "actors/gate.hpp"

#include "actors/error.hpp"
#include "actors/gate_actors.hpp"
#include "actors/wire_table.hpp"

#include <caf/all.hpp>

#include <vector>

namespace troupe {
namespace {

caf::message error_message(const Error& why) {
  return caf::make_message(to_caf(why));
}

}  // namespace

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
      [entry, proxy = std::move(proxy), requester, id](const Result<net::Frame>& reply) {
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

void Gate::on_ending(const Error& why) {
  if (options_.on_end) {
    options_.on_end(why);
  }
}

void Gate::on_link_down(const Error& why) {
  std::map<std::uint64_t, caf::actor> proxies;
  std::vector<caf::actor> exports;
  caf::strong_actor_ptr sink;
  {
    const std::lock_guard guard(mutex_);
    down_ = why;
    proxies.swap(proxies_);
    exports = served_.clear();
    sink.swap(sink_);
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
