#include "actors/wait_for_answer.hpp"

#include <caf/all.hpp>

#include <algorithm>

namespace troupe {

caf::message wait_for_answer(caf::scoped_actor& self, caf::message_id id,
                             std::chrono::milliseconds within) {
  using Clock = std::chrono::steady_clock;
  using WallClock = std::chrono::high_resolution_clock;
  constexpr Clock::duration longest_sleep = std::chrono::seconds(1);
  const auto give_up = Clock::now() + within;
  for (auto left = give_up - Clock::now(); left.count() > 0; left = give_up - Clock::now()) {
    // CAF waits by the wall clock, which may be set meanwhile: not for long at once.
    if (self->await_data(WallClock::now() + std::min(left, longest_sleep))) {
      const auto next = self->dequeue();
      if (next && next->mid == id) {
        return next->move_content_to_message();
      }
    }
  }
  return caf::make_message(caf::make_error(caf::sec::request_timeout));
}

}  // namespace troupe
