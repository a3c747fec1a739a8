#include "actors/gate_actors.hpp"

namespace troupe {

void answer_requester(const caf::strong_actor_ptr& proxy, const caf::strong_actor_ptr& requester,
                      caf::message_id id, caf::message content) {
  if (requester && id.is_request()) {
    requester->enqueue(proxy, id.response_id(), std::move(content), nullptr);
  }
}

void Gate::Proxy::enqueue(caf::mailbox_element_ptr what, caf::execution_unit* context) {
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

void Gate::Proxy::kill_proxy(caf::execution_unit* context, caf::error why) {
  {
    const std::lock_guard guard(mutex_);
    death_ = why;
  }
  cleanup(std::move(why), context);
}

std::optional<caf::error> Gate::Proxy::death() const {
  const std::lock_guard guard(mutex_);
  return death_;
}

void Gate::ReplySink::enqueue(caf::mailbox_element_ptr what, caf::execution_unit* /*context*/) {
  if (const auto gate = gate_.lock()) {
    gate->answer(what->mid.request_id().integer_value(), what->move_content_to_message());
  }
}

}  // namespace troupe
