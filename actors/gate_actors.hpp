#pragma once
/// \file gate_actors.hpp
/// The two local actors of a gate, without mailbox: both run on the thread of whoever sends to them.
/// Only for actors/gate*.cpp.
#include "actors/gate.hpp"

#include <caf/actor_proxy.hpp>
#include <caf/all.hpp>

#include <memory>
#include <mutex>
#include <optional>

namespace troupe {

/// Answers a request that came to a proxy. By hand: caf::response_promise needs a scheduled actor.
void answer_requester(const caf::strong_actor_ptr& proxy, const caf::strong_actor_ptr& requester,
                      caf::message_id id, caf::message content);

/// Stands for one actor at the other end. Runs on the sender's thread.
class Gate::Proxy final : public caf::actor_proxy {
 public:
  Proxy(caf::actor_config& config, std::shared_ptr<Gate> gate, std::uint64_t target)
      : caf::actor_proxy(config), gate_(std::move(gate)), target_(target) {}
  const char* name() const override { return "troupe.proxy"; }

  using caf::abstract_actor::enqueue;
  void enqueue(caf::mailbox_element_ptr what, caf::execution_unit* context) override;
  void kill_proxy(caf::execution_unit* context, caf::error why) override;

 private:
  /// Why it is dead, if it is: it must not reach whoever comes after its actor.
  std::optional<caf::error> death() const;

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
  void enqueue(caf::mailbox_element_ptr what, caf::execution_unit* context) override;
  void end() { cleanup(caf::exit_reason::normal, nullptr); }

 private:
  std::weak_ptr<Gate> gate_;
};

}  // namespace troupe
