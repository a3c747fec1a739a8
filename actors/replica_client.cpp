#include "actors/replica_client.hpp"

#include "actors/offload.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace troupe {
namespace {

constexpr std::chrono::milliseconds longest_pause{1000};

/// Whether another replica, or time, may mend it. A tensor is not found at a restarted holder.
bool may_mend(Errc code) {
  return code == Errc::peer_lost || code == Errc::deadline_exceeded || code == Errc::overloaded ||
         code == Errc::not_found;
}

}  // namespace

void ReplicaClient::begin(Open open) {
  const auto id = next_id_++;
  if (open.to->request_deadline) {
    open.give_up = self_->clock().now() + open.to->recovery_deadline;
  }
  open.pause = open.to->first_pause;
  open_.emplace(id, std::move(open));
  attempt(id);
}

void ReplicaClient::attempt(std::uint64_t id) {
  auto& open = open_.at(id);
  const auto replica = open.to->actors[open.first + open.tried % open.replicas]();
  if (!replica) {
    return next_attempt(id, Error(Errc::peer_lost, "it is lost, and not back"));
  }
  open.target = replica.address();
  if (watched_.insert(open.target).second) {
    self_->monitor(replica);
  }
  open.send(id, replica);
}

void ReplicaClient::next_attempt(std::uint64_t id, const Error& why) {
  auto& open = open_.at(id);
  open.target = {};
  const auto now = self_->clock().now();
  if (!open.give_up) {
    open.give_up = now + open.to->recovery_deadline;
  }
  if (++open.tried % open.replicas != 0) {
    return attempt(id);
  }
  if (why.code() == Errc::not_found) {  // A tensor that no replica has
    return give_up(id, why);
  }
  if (now >= *open.give_up || !open.waits) {
    return give_up(
        id, Error(Errc::deadline_exceeded,
                  fmt::format("{}: none of {} {} answered within {} ms; the last one: {}; try: a "
                              "larger cluster.recovery_deadline, or cluster.replicas",
                              open.to->what, open.replicas, open.to->who,
                              open.to->recovery_deadline.count(), why.what())));
  }
  const auto pause = open.pause;
  open.pause = std::min(open.pause * 2, longest_pause);
  later(id, pause, [this](std::uint64_t again) { attempt(again); });
}

void ReplicaClient::give_up(std::uint64_t id, const Error& why) {
  later(id, std::chrono::milliseconds(0), [this, why](std::uint64_t failed) {
    const auto node = open_.extract(failed);
    node.mapped().fail(why);
  });
}

void ReplicaClient::later(std::uint64_t id, std::chrono::milliseconds after,
                          std::function<void(std::uint64_t)> rest) {
  self_->delayed_send(self_, after,
                      Ref<Continuation>(Continuation{[this, id, rest = std::move(rest)] {
                        if (open_.contains(id)) {
                          rest(id);
                        }
                      }}));
}

bool ReplicaClient::take(std::uint64_t id, const caf::actor_addr& target) {
  const auto found = open_.find(id);
  if (found == open_.end() || found->second.target != target) {
    return false;
  }
  open_.erase(found);
  return true;
}

void ReplicaClient::refused(std::uint64_t id, const caf::actor_addr& target, const Error& why) {
  const auto found = open_.find(id);
  if (found == open_.end() || found->second.target != target) {
    return;
  }
  if (may_mend(why.code())) {
    return next_attempt(id, why);
  }
  const auto node = open_.extract(found);
  node.mapped().fail(why);
}

void ReplicaClient::on_down(const caf::down_msg& down) {
  watched_.erase(down.source);
  std::vector<std::uint64_t> lost;
  for (const auto& [id, open] : open_) {
    if (open.target == down.source) {
      lost.push_back(id);
    }
  }
  const Error why(Errc::peer_lost, fmt::format("it ended: {}", from_caf(down.reason).what()));
  for (const auto id : lost) {
    next_attempt(id, why);
  }
}

}  // namespace troupe
