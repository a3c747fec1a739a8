#include "launcher/processes/run_verdict.hpp"

#include <chrono>
#include <utility>

namespace troupe {

void RunVerdict::complete() {
  {
    const std::lock_guard guard(mutex_);
    if (!state_) {
      state_ = ok_status();
    }
  }
  changed_.notify_all();
}

void RunVerdict::fail(const Error& why) {
  OnFail tell;
  {
    const std::lock_guard guard(mutex_);
    if (finished_ || (state_ && !*state_)) {
      return;
    }
    state_ = why;
    tell = std::exchange(on_fail_, nullptr);
    finished_ = tell != nullptr;
  }
  changed_.notify_all();
  if (tell) {
    tell(why);
  }
}

Status RunVerdict::wait_complete(const std::function<bool()>& stop) {
  std::unique_lock guard(mutex_);
  while (!changed_.wait_for(guard, std::chrono::milliseconds(20),
                            [this] { return state_.has_value(); })) {
    if (stop()) {
      return Error(Errc::cancelled, "interrupted");
    }
  }
  return *state_;
}

bool RunVerdict::begin(OnFail on_fail) {
  std::optional<Error> failed;
  {
    const std::lock_guard guard(mutex_);
    if (finished_) {
      return false;
    }
    if (!state_ || *state_) {
      on_fail_ = std::move(on_fail);
      return true;
    }
    finished_ = true;
    failed = state_->error();
  }
  on_fail(*failed);
  return false;
}

bool RunVerdict::finish(const Status& how) {
  const std::lock_guard guard(mutex_);
  on_fail_ = nullptr;
  if (finished_) {
    return false;
  }
  finished_ = true;
  how_ = how;
  return true;
}

Status RunVerdict::outcome() const {
  const std::lock_guard guard(mutex_);
  return state_ && !*state_ ? *state_ : how_;
}

}  // namespace troupe
