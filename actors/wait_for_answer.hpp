#pragma once
/// \file wait_for_answer.hpp
/// Answers to requests of a thread that may block, with deadlines but without timers. Actors use request() and then().
#include <caf/fwd.hpp>
#include <caf/message.hpp>
#include <caf/message_id.hpp>

#include <chrono>

namespace troupe {

/// Blocks until the answer to a request has come; other messages, such as late answers, are dropped.
/// CAF 0.17 keeps the timer of a request that was answered. Its message comes to the mailbox later, where nothing takes
/// it out and each receive() looks at it. So the request is sent with caf::infinite, and the deadline is given here.
/// \param id  as the handle that request() returned has it
/// \returns the answer, a caf::error among others; caf::sec::request_timeout: none came within `within`
/// \requires nothing but answers is sent to `self`
caf::message wait_for_answer(caf::scoped_actor& self, caf::message_id id,
                             std::chrono::milliseconds within);

}  // namespace troupe
