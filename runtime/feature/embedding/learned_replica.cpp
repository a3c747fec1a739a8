#include "runtime/feature/embedding/learned_replica.hpp"

#include "runtime/base/ids.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace troupe {
namespace {

/// Of what the replica asks of its own part.
constexpr EmbeddingPart::Ticket own_ticket = ~EmbeddingPart::Ticket{0};
/// Of what it keeps as another replica does: the answer waits for shares that come later.
constexpr EmbeddingPart::Ticket keep_ticket = own_ticket - 1;
constexpr std::chrono::milliseconds first_pause{1};
constexpr std::chrono::milliseconds longest_pause{32};

SparseGradients share_of_event(LearnedEvent event) {
  return {.generation = event.generation,
          .step = event.step,
          .rank = event.rank,
          .weight = event.weight,
          .sections = std::move(event.sections),
          .nodes = std::move(event.nodes),
          .rows = std::move(event.rows)};
}

void append(LearnedReplica::Actions& to, LearnedReplica::Actions more) {
  std::ranges::move(more.answers, std::back_inserter(to.answers));
  std::ranges::move(more.tasks, std::back_inserter(to.tasks));
  if (more.ask) {
    to.ask = std::move(more.ask);
    to.after = more.after;
  }
}

}  // namespace

LearnedReplica::LearnedReplica(std::shared_ptr<const Part> part,
                               std::shared_ptr<const EmbeddingPlan> plan, CountEntities count,
                               std::uint64_t number, std::uint64_t piece_bytes)
    : part_(std::move(part), std::move(plan), std::move(count)),
      number_(number),
      piece_bytes_(piece_bytes) {
  stage_ = number_ == 0 ? Stage::alone : Stage::fresh;
  seen_.resize(part_.plan()->world);
}

// ---- requests ----

LearnedReplica::Actions LearnedReplica::refused(Ticket ticket, Errc code, const char* why) const {
  Actions actions;
  actions.answers.push_back({ticket, part_.refused(code, why)});
  return actions;
}

/// Answers a request at a step from the rows that are here, or refuses it until they are.
template <class Request, class Serve>
LearnedReplica::Actions LearnedReplica::served(const Request& request, Ticket ticket, Serve serve) {
  constexpr auto* copied = "they are copied from another replica";
  if (stage_ == Stage::fresh) {
    auto actions = refused(ticket, Errc::overloaded, copied);
    append(actions, ask_for_state());
    return actions;
  }
  if (stage_ == Stage::alone) {
    return absorb(serve());
  }
  const bool here = stage_ == Stage::follows && part_.applied() &&
                    request.generation <= *part_.generation() &&
                    request.step <= part_.complete() + 1;
  return here ? absorb(serve()) : refused(ticket, Errc::overloaded, copied);
}

LearnedReplica::Actions LearnedReplica::read(std::shared_ptr<const ReadLearned> request,
                                             Ticket ticket) {
  const auto& what = *request;
  return served(what, ticket, [&] { return part_.read(std::move(request), ticket); });
}
LearnedReplica::Actions LearnedReplica::rank(std::shared_ptr<const RankEntities> request,
                                             Ticket ticket) {
  const auto& what = *request;
  return served(what, ticket, [&] { return part_.rank(std::move(request), ticket); });
}
LearnedReplica::Actions LearnedReplica::keep(const KeepLearned& request, Ticket ticket) {
  return served(request, ticket, [&] { return part_.keep(request, ticket); });
}
LearnedReplica::Actions LearnedReplica::digest(const DigestLearned& request, Ticket ticket) {
  return served(request, ticket, [&] { return part_.digest(request, ticket); });
}

LearnedReplica::Actions LearnedReplica::add(std::shared_ptr<const SparseGradients> share,
                                            Ticket ticket) {
  if (copies()) {
    see(*share);
  }
  const auto& what = *share;
  if (stage_ == Stage::follows && !part_.has(what)) {
    return refused(ticket, Errc::overloaded, "gradients come by way of another replica");
  }
  return served(what, ticket, [&] { return part_.add(std::move(share), ticket); });
}

LearnedReplica::Actions LearnedReplica::begin(const BeginLearned& request, Ticket ticket) {
  const bool known = stage_ == Stage::follows && request.generation <= *part_.generation();
  if (known && !part_.applied()) {
    return refused(ticket, Errc::overloaded, "it begins as another replica does");
  }
  if (stage_ == Stage::alone || known) {
    return absorb(part_.begin(request, ticket));
  }
  if (part_.may_begin(request.step) && stage_ != Stage::begins) {
    if (stage_ == Stage::reads) {
      part_.drop_loading();
    }
    stage_ = Stage::alone;  // What went before is over, for all.
    return absorb(part_.begin(request, ticket));
  }
  auto actions = refused(ticket, Errc::overloaded, "they are copied from another replica");
  if (stage_ == Stage::fresh) {
    append(actions, ask_for_state());
  }
  return actions;
}

LearnedReplica::Actions LearnedReplica::read_copy(const ReadCopy& request, Ticket ticket) {
  return absorb(part_.read_copy(request, ticket));
}

/// Rows that come from a disk are for a generation that begins from them.
LearnedReplica::Actions LearnedReplica::load(const CopyPiece& piece, Ticket ticket) {
  if (copies()) {
    auto actions = lost();
    append(actions, absorb(part_.load(piece, ticket)));
    return actions;
  }
  return absorb(part_.load(piece, ticket));
}

LearnedReplica::Actions LearnedReplica::follow(const FollowLearned& request, Ticket ticket) {
  if (stage_ == Stage::follows) {
    return refused(ticket, Errc::overloaded, "this replica gets some from another one");
  }
  if (copies()) {
    return refused(ticket, Errc::not_found, "this replica was restarted, too");
  }
  return absorb(part_.follow(request, ticket));
}
LearnedReplica::Actions LearnedReplica::pull(const PullLearned& request, Ticket ticket) {
  return absorb(part_.pull(request, ticket));
}

LearnedReplica::Actions LearnedReplica::finished(std::uint64_t task, Result<Reply> outcome) {
  return absorb(part_.finished(task, std::move(outcome)));
}

LearnedReplica::Actions LearnedReplica::absorb(EmbeddingPart::Actions actions) {
  Actions all;
  all.tasks = std::move(actions.tasks);
  for (auto& answer : actions.answers) {
    if (answer.ticket == own_ticket) {
      append(all, went_on(answer.reply));
    } else if (answer.ticket == keep_ticket) {
      // Where a generation begins, that comes as an event.
      keep_failed_ = keep_failed_ || (!answer.reply && answer.reply.error().code() != Errc::fenced);
    } else {
      all.answers.push_back(std::move(answer));
    }
  }
  return all;
}

// ---- from another replica ----

LearnedReplica::Actions LearnedReplica::replace_lost() {
  return stage_ == Stage::fresh ? ask_for_state() : Actions{};
}

LearnedReplica::Actions LearnedReplica::ask_for_state() {
  stage_ = Stage::asks;
  Actions actions;
  actions.ask = FollowLearned{number_};
  return actions;
}

LearnedReplica::Actions LearnedReplica::lost() {
  stage_ = Stage::alone;
  return absorb(part_.lose());
}

LearnedReplica::Actions LearnedReplica::again() {
  auto actions = lost();
  append(actions, ask_for_state());
  return actions;
}

LearnedReplica::Actions LearnedReplica::heard(Result<Reply> answer) {
  if (!copies() || stage_ == Stage::begins) {
    return {};
  }
  if (!answer) {
    return stage_ == Stage::asks ? lost() : again();
  }
  if (const auto* state = std::get_if<LearnedState>(&*answer); stage_ == Stage::asks && state) {
    return take_state(*state);
  }
  if (auto* piece = std::get_if<CopyPiece>(&*answer); stage_ == Stage::reads && piece) {
    return take_piece(std::move(*piece));
  }
  if (auto* event = std::get_if<LearnedEvent>(&*answer); stage_ == Stage::follows && event) {
    return keep_failed_ ? again() : take_event(std::move(*event));
  }
  return lost();
}

/// The part's own answer to what was taken last.
LearnedReplica::Actions LearnedReplica::went_on(const Result<Reply>& answer) {
  if (!copies()) {
    return {};
  }
  if (!answer && stage_ == Stage::reads && answer.error().code() == Errc::overloaded) {
    auto actions = next_piece();  // Tasks of before are under way; the same again
    actions.after = longest_pause;
    return actions;
  }
  if (!answer) {
    return stage_ == Stage::follows ? again() : lost();
  }
  if (stage_ == Stage::reads) {
    if (table_ended_) {
      ++table_;
      row_ = 0;
    } else {
      row_ += rows_of_a_piece();
    }
    if (table_ == part_.plan()->tables.size()) {
      copies_left_.pop_back();
      table_ = 0;
    }
    return copies_left_.empty() ? begin_at_state() : next_piece();
  }
  if (stage_ == Stage::begins) {
    stage_ = Stage::follows;
    if (!std::ranges::binary_search(state_.kept, state_.step)) {
      part_.drop_copy(state_.step);
    }
  } else {
    ++events_;
  }
  return pull_next(std::chrono::milliseconds(0));
}

LearnedReplica::Actions LearnedReplica::take_state(const LearnedState& state) {
  state_ = state;
  std::ranges::sort(state_.kept);
  copies_left_ = state_.kept;
  if (!std::ranges::binary_search(state_.kept, state_.step)) {
    copies_left_.push_back(state_.step);
  }
  table_ = 0;
  row_ = 0;
  stage_ = Stage::reads;
  return next_piece();
}

std::uint64_t LearnedReplica::rows_of_a_piece() const {
  const auto& table = part_.plan()->tables[table_];
  const auto row_bytes =
      sizeof(std::uint64_t) + sizeof(float) * (2 * table.dim + sparse_state_cols(table));
  return std::max<std::uint64_t>(1, piece_bytes_ / row_bytes);
}

LearnedReplica::Actions LearnedReplica::next_piece() {
  const auto& table = part_.plan()->tables[table_];
  Actions actions;
  actions.ask = ReadCopy{.step = copies_left_.back(),
                         .node_type = table.node_type,
                         .first = row_,
                         .count = rows_of_a_piece(),
                         .follower = number_};
  return actions;
}

LearnedReplica::Actions LearnedReplica::take_piece(CopyPiece piece) {
  const auto& tables = part_.plan()->tables;
  if (piece.step != copies_left_.back() || piece.node_type != tables[table_].node_type) {
    return lost();
  }
  table_ended_ = piece.last || piece.ids.empty();
  piece.last = table_ended_ && table_ + 1 == tables.size();
  return absorb(part_.load(piece, own_ticket));
}

LearnedReplica::Actions LearnedReplica::begin_at_state() {
  stage_ = Stage::begins;
  events_ = 0;
  asked_last_ = false;
  keep_failed_ = false;
  return absorb(part_.begin({.generation = state_.generation, .step = state_.step}, own_ticket));
}

LearnedReplica::Actions LearnedReplica::pull_next(std::chrono::milliseconds after) {
  asked_last_ = all_come_here();
  Actions actions;
  actions.ask = PullLearned{.follower = number_, .from = events_, .last = asked_last_};
  actions.after = after;
  return actions;
}

LearnedReplica::Actions LearnedReplica::take_event(LearnedEvent event) {
  if (event.kind == LearnedEvent::nothing) {
    if (asked_last_) {
      stage_ = Stage::alone;
      return {};
    }
    pause_ = std::clamp(pause_ * 2, first_pause, longest_pause);
    return pull_next(pause_);
  }
  pause_ = std::chrono::milliseconds(0);
  switch (event.kind) {
    case LearnedEvent::share:
      return absorb(part_.add(
          std::make_shared<const SparseGradients>(share_of_event(std::move(event))), own_ticket));
    case LearnedEvent::keep:
      return keep_as_other(event);
    case LearnedEvent::begin:
      return absorb(part_.begin({.generation = event.generation, .step = event.step}, own_ticket));
    default:
      return lost();
  }
}

/// Goes on at once: shares that end the step before may come after it.
LearnedReplica::Actions LearnedReplica::keep_as_other(const LearnedEvent& event) {
  auto actions = absorb(part_.keep({.generation = event.generation,
                                    .step = event.step,
                                    .best = event.best,
                                    .oldest = event.oldest},
                                   keep_ticket));
  ++events_;
  append(actions, keep_failed_ ? again() : pull_next(std::chrono::milliseconds(0)));
  return actions;
}

void LearnedReplica::see(const SparseGradients& share) {
  if (raw(share.rank) >= seen_.size()) {
    return;
  }
  auto& seen = seen_[raw(share.rank)];
  if (share.generation > seen.generation) {
    seen = {.generation = share.generation};
  }
  if (share.generation == seen.generation) {
    seen.of_two_steps = seen.of_two_steps || (seen.step && *seen.step != share.step);
    seen.step = seen.step.value_or(share.step);
  }
}

bool LearnedReplica::all_come_here() const {
  return std::ranges::all_of(seen_, [&](const Seen& seen) {
    return seen.of_two_steps && seen.generation == part_.generation();
  });
}

}  // namespace troupe
