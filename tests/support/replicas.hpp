#pragma once
// One actor as the only replica of what it serves: not waited for when it is lost.
#include "actors/replica_client.hpp"

#include <memory>
#include <utility>

namespace troupe::testing {

inline std::shared_ptr<const Replicas> only(
    caf::actor actor, std::chrono::milliseconds deadline = std::chrono::milliseconds(60'000)) {
  Replicas one;
  one.what = "a part";
  one.actors.emplace_back([actor = std::move(actor)] { return actor; });
  one.request_deadline = deadline;
  one.recovery_deadline = std::chrono::milliseconds(0);
  return std::make_shared<const Replicas>(std::move(one));
}

}  // namespace troupe::testing
