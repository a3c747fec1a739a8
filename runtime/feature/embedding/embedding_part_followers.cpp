// What a part has, for replicas of it that were lost.
#include "runtime/feature/embedding/embedding_part.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace troupe {
namespace {

constexpr std::size_t most_followers = 4;

LearnedEvent event_of(const std::shared_ptr<const SparseGradients>& share) {
  return {.kind = LearnedEvent::share,
          .generation = share->generation,
          .step = share->step,
          .rank = share->rank,
          .weight = share->weight,
          .sections = share->sections,
          .nodes = share->nodes,
          .rows = share->rows};
}
LearnedEvent event_of(const KeepLearned& keep) {
  return {.kind = LearnedEvent::keep,
          .generation = keep.generation,
          .step = keep.step,
          .best = keep.best,
          .oldest = keep.oldest};
}
LearnedEvent event_of(const BeginLearned& begin) {
  return {.kind = LearnedEvent::begin, .generation = begin.generation, .step = begin.step};
}

}  // namespace

void EmbeddingPart::note(const Event& event) {
  for (auto next = followers_.begin(); next != followers_.end();) {
    auto& follower = next->second;
    if (!follower.ended) {
      follower.events.push_back(event);
    }
    // One that does not come for so many is lost, or needs none.
    next = follower.events.size() > most_events() ? followers_.erase(next) : std::next(next);
  }
}

EmbeddingPart::Actions EmbeddingPart::follow(const FollowLearned& request, Ticket ticket) {
  if (!generation_) {
    return answer(ticket, refused(Errc::not_found, "this replica was restarted, and has none"));
  }
  if (!applied_) {
    return answer(ticket, refused(Errc::overloaded, "a generation begins"));
  }
  const auto copy = std::make_shared<std::shared_ptr<const Copy>>();
  waiting_.push_back({.ticket = ticket,
                      .step = *applied_,
                      .access = Access::reads,
                      .name = "copy learned rows for a replica",
                      .run =
                          [tables = tables_, copy](Executor&) {
                            *copy = tables->copy();
                            return Result<Reply>(Reply(LearnedState{}));
                          },
                      .done = [copy, follower = request.follower](
                                  EmbeddingPart& of,
                                  Reply& reply) { reply = of.begin_following(follower, *copy); },
                      .or_later = true});
  Actions actions;
  schedule(actions);
  return actions;
}

/// \param copy  at the step that is applied
LearnedState EmbeddingPart::begin_following(std::uint64_t follower,
                                            std::shared_ptr<const Copy> copy) {
  followers_.erase(follower);
  if (followers_.size() == most_followers) {
    followers_.erase(followers_.begin());
  }
  auto& fresh = followers_[follower];
  LearnedState state{.generation = *generation_, .step = *applied_};
  for (const auto& [step, kept] : kept_) {
    state.kept.push_back(step);
    fresh.copies.emplace(step, kept);
  }
  fresh.copies.emplace(*applied_, std::move(copy));
  // What is to be kept at a step comes before the shares that end the step.
  for (const auto& [id, running] : running_) {
    if (running.keeps) {
      fresh.events.emplace_back(*running.keeps);
    }
  }
  for (const auto& waiting : waiting_) {
    if (waiting.keeps) {
      fresh.events.emplace_back(*waiting.keeps);
    }
  }
  for (const auto& of_step : shares_) {
    for (const auto& share : of_step) {
      if (share != nullptr) {
        fresh.events.emplace_back(share);
      }
    }
  }
  return state;
}

EmbeddingPart::Actions EmbeddingPart::pull(const PullLearned& request, Ticket ticket) {
  const auto found = followers_.find(request.follower);
  const auto lost = [&](const char* why) { return answer(ticket, refused(Errc::not_found, why)); };
  if (found == followers_.end()) {
    return lost("nothing is noted for that replica: it was too slow, or this one was restarted");
  }
  auto& follower = found->second;
  if (request.from < follower.first || request.from - follower.first > follower.events.size()) {
    return lost("that replica has what was never noted for it, or lacks what is no longer");
  }
  follower.copies.clear();
  for (; follower.first < request.from; ++follower.first) {
    follower.events.pop_front();
  }
  if (follower.events.empty()) {
    follower.ended = follower.ended || request.last;
    return answer(ticket, Reply(LearnedEvent{}));
  }
  return answer(ticket, Reply(std::visit([](const auto& event) { return event_of(event); },
                                         follower.events.front())));
}

std::shared_ptr<const EmbeddingPart::Copy> EmbeddingPart::find_copy(const ReadCopy& request) const {
  const auto follower = followers_.find(request.follower);
  if (request.follower != 0 && follower == followers_.end()) {
    return nullptr;
  }
  const auto& copies = request.follower == 0 ? kept_ : follower->second.copies;
  const auto found = copies.find(request.step);
  return found == copies.end() ? nullptr : found->second;
}

bool EmbeddingPart::has(const SparseGradients& share) const {
  if (!generation_ || share.generation > *generation_) {
    return false;
  }
  if (share.generation < *generation_) {
    return true;
  }
  if (!applied_ || raw(share.rank) >= plan_->world) {
    return false;
  }
  const auto ahead = share.step - *applied_;
  return share.step < *applied_ ||
         (ahead < shares_.size() && shares_[ahead][raw(share.rank)] != nullptr);
}

EmbeddingPart::Actions EmbeddingPart::lose() {
  Actions actions;
  const auto why = refused(Errc::overloaded, "they are copied from another replica");
  for (auto& waiting : std::exchange(waiting_, {})) {
    actions.answers.push_back({*waiting.ticket, why});
  }
  ++beginnings_;
  generation_.reset();
  applied_.reset();
  shares_.clear();
  kept_.clear();
  loading_.reset();
  followers_.clear();
  return actions;
}

}  // namespace troupe
