// Collectives of the ranks of sessions. A barrier is a sum of nothing.
#include "actors/error.hpp"
#include "actors/offload.hpp"
#include "actors/session_rank_state.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace troupe::session_rank {
namespace {

/// Number and kind travel in one word, so that ranks that disagree are found.
constexpr unsigned kind_bits = 3;
constexpr std::uint64_t kind_mask = (1U << kind_bits) - 1;

std::uint64_t word_of(const Operation& operation) {
  return operation.number << kind_bits | static_cast<std::uint64_t>(operation.what);
}

std::string name_of(std::uint64_t kind) {
  switch (static_cast<Collective>(kind)) {
    case Collective::sum:
      return "all_reduce";
    case Collective::mean:
      return "all_reduce_mean";
    case Collective::barrier:
      return "barrier";
    case Collective::step:
      return "end_step";
    case Collective::device_sum:
      return "all_reduce on a device";
    case Collective::device_mean:
      return "all_reduce_mean on a device";
    case Collective::tensors:
      return "make_tensor or delete_tensor";
  }
  return fmt::format("something unknown ({})", kind);
}

bool on_device(Collective what) {
  return what == Collective::device_sum || what == Collective::device_mean;
}

Error with_name(const Operation& operation, Error why) {
  return std::move(why).with(name_of(static_cast<std::uint64_t>(operation.what)));
}

/// \param epoch  of an end_step; of other collectives it has no meaning
std::string call_of(std::uint64_t kind, std::uint64_t epoch) {
  return static_cast<Collective>(kind) == Collective::step
             ? fmt::format("end_step of epoch({})", epoch)
             : name_of(kind);
}

std::uint64_t latest(const State& state) {
  return state.now ? state.now->number : 0;
}

/// Tells the rank's thread what came out.
void answer(Operation& operation) {
  operation.promise->deliver(Ref<Together>(operation.result));
  operation.promise.reset();
  operation.handed = true;
}

/// Checks that a rank is in the same collective as this one, and in the same epoch.
Status check_call(const State& state, const net::GradientChunk& share) {
  const auto& operation = *state.now;
  const bool same_epoch = operation.what != Collective::step || share.weight == operation.epoch;
  if (share.step >> kind_bits != operation.number ||
      (share.step == word_of(operation) && same_epoch)) {
    return ok_status();
  }
  return Error(Errc::invalid_argument,
               fmt::format("rank {} is in {}, rank {} in {}; all ranks must make the same calls in "
                           "the same order",
                           raw(share.rank), call_of(share.step & kind_mask, share.weight),
                           raw(state.options.rank),
                           call_of(static_cast<std::uint64_t>(operation.what), operation.epoch)));
}

void say_news(State& state) {
  if (const auto news = state.route->news(); news && state.options.say) {
    state.options.say(*news);
  }
}

void finish(Operation& operation) {
  operation.done = true;
  if (operation.promise) {
    answer(operation);
  }
}

/// Vectors of all ranks are of one length, which a rank states in place of a batch digest: that of a vector on its
/// device, or of one in pieces.
Digest length_word(std::size_t size) {
  return {.low = size, .high = 0};
}

/// \errors invalid_argument: vectors of several lengths
Status check_lengths(const Operation& operation) {
  const auto& words = operation.result.batches;
  for (std::size_t rank = 1; rank < words.size(); ++rank) {
    if (words[rank] != words[0]) {
      return Error(Errc::invalid_argument,
                   fmt::format("expected vectors of one length, rank 0 has {} numbers, rank {} has "
                               "{}",
                               words[0].low, rank, words[rank].low));
    }
  }
  return ok_status();
}

void take_launched(Self* self, std::uint64_t number, const Status& status) {
  auto& state = self->state;
  if (state.broken || latest(state) != number) {
    return;
  }
  if (!status) {
    return break_collectives(self, with_name(*state.now, status.error()));
  }
  finish(*state.now);
}

/// All ranks have their vectors ready, and launch. The end comes as a message.
void launch(Self* self, const Operation& operation) {
  auto& state = self->state;
  auto done = [self, handle = caf::actor_cast<caf::actor>(self),
               number = operation.number](const Status& status) {
    caf::anon_send(handle, Ref<Continuation>(Continuation{
                               [self, number, status] { take_launched(self, number, status); }}));
  };
  const auto divisor = operation.what == Collective::device_mean ? operation.result.weight : 1;
  state.options.executor->post_first([mean = state.route->communicator(), divisor,
                                      vector = operation.vector, done = std::move(done)] {
    mean->launch({.vector = vector, .weight = divisor, .after = [] {}, .done = done});
  });
}

/// The agreement of the ranks on vectors that are on devices.
void take_agreement(Self* self, Operation& operation) {
  auto& state = self->state;
  if (const auto same = check_lengths(operation); !same) {
    return break_collectives(self, with_name(operation, same.error()));
  }
  const auto next = state.route->take(operation.number, operation.result);
  say_news(state);
  if (!next) {
    return break_collectives(self, with_name(operation, next.error()));
  }
  operation.result.by_devices = *next == ReductionRoute::Next::launch;
  operation.result.by_devices ? launch(self, operation) : finish(operation);
}

void take_result(Self* self, std::uint64_t number, Result<Reduced> sum) {
  auto& state = self->state;
  if (state.broken || latest(state) != number) {
    return;
  }
  auto& operation = *state.now;
  if (!sum) {
    return break_collectives(self, with_name(operation, sum.error()));
  }
  operation.result = *std::move(sum);
  if (on_device(operation.what)) {
    return take_agreement(self, operation);
  }
  if (operation.what != Collective::step) {
    if (const auto same = check_lengths(operation); !same) {
      return break_collectives(self, with_name(operation, same.error()));
    }
  }
  finish(operation);
}

/// A timer that comes before the deadline is enough: it sets the next one. So there are at most as many timers as
/// deadlines of different lengths.
void set_timer(Self* self, const Operation& operation) {
  auto& timers = self->state.timers;
  if (!timers.empty() && *timers.begin() <= operation.deadline) {
    return;
  }
  timers.insert(operation.deadline);
  self->delayed_send(self, operation.deadline - self->clock().now(),
                     Ref<OperationDeadline>(OperationDeadline{operation.deadline}));
}

void arm(Self* self, Operation& operation, const Contribute& request) {
  operation.deadline = self->clock().now() + request.deadline;
  set_timer(self, operation);
}

/// A barrier that ran into its deadline is waited for again; it may be over by now.
void wait_again(Self* self, const Contribute& request, caf::response_promise promise) {
  auto& operation = *self->state.now;
  if (operation.promise || operation.what != Collective::barrier ||
      request.what != Collective::barrier) {
    return promise.deliver(to_caf(Error(
        Errc::failed_precondition,
        fmt::format("{}: expected the {} to be over first, got {}; try: {}", rank_name(self->state),
                    name_of(static_cast<std::uint64_t>(operation.what)),
                    name_of(static_cast<std::uint64_t>(request.what)),
                    operation.what == Collective::barrier
                        ? "barrier() again until all ranks are there, or a longer deadline of it"
                        : "one call after the other"))));
  }
  operation.promise = std::move(promise);
  if (operation.done) {
    return answer(operation);
  }
  arm(self, operation, request);
}

std::string missing_ranks(const std::vector<bool>& here) {
  std::string names;
  for (std::size_t r = 0; r < here.size(); ++r) {
    if (!here[r]) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", r);
    }
  }
  return names;
}

}  // namespace

void contribute(Self* self, const Contribute& request) {
  auto& state = self->state;
  auto promise = self->make_response_promise();
  if (state.ended || state.broken) {
    return promise.deliver(to_caf(state.ended ? *state.ended : *state.broken));
  }
  if (!state.exchange->knows_peers()) {
    return promise.deliver(to_caf(Error(
        Errc::failed_precondition, fmt::format("{}: does not know its peers", rank_name(state)))));
  }
  if (state.now && !state.now->handed) {
    return wait_again(self, request, std::move(promise));
  }
  const auto number = latest(state) + 1;
  state.now = Operation{.what = request.what,
                        .number = number,
                        .epoch = request.epoch,
                        .promise = std::move(promise),
                        .vector = request.vector};
  arm(self, *state.now, request);
  for (const auto& share : state.exchange->reducer().early()) {
    if (const auto same = check_call(state, *share); !same) {
      return break_collectives(self, same.error());
    }
  }
  const auto weight = request.what == Collective::step ? request.epoch : request.weight;
  Contribution mine{request.values, weight, request.number, request.batch};
  if (request.length) {
    mine.batch = length_word(*request.length);
  }
  if (on_device(request.what)) {
    mine.batch = length_word(request.vector.size());
    mine.offer = state.route->offer();
    say_news(state);
  }
  state.exchange->begin(
      {word_of(*state.now), request.values.bytes.size() / sizeof(float),
       request.what == Collective::mean},
      mine, [self, number](Result<Reduced> sum) { take_result(self, number, std::move(sum)); });
}

void take_share(Self* self, const Ref<net::GradientChunk>& share) {
  auto& state = self->state;
  auto promise = self->make_response_promise();
  const auto number = share->step >> kind_bits;
  // A sum that this rank owns may still be missing elsewhere when this rank has ended.
  if ((state.ended || state.broken) && !state.exchange->reducer().knows(share->step)) {
    return promise.deliver(to_caf(state.ended ? *state.ended : *state.broken));
  }
  if (number > latest(state) + 1) {
    return promise.deliver(to_caf(Error(
        Errc::invalid_argument, fmt::format("share {} of rank {}: {} is at {}", number,
                                            raw(share->rank), rank_name(state), latest(state)))));
  }
  auto same = state.now ? check_call(state, *share) : ok_status();
  if (!same) {
    promise.deliver(to_caf(same.error()));
    return break_collectives(self, same.error());
  }
  const auto taken = state.exchange->take_share(share, std::move(promise));
  if (!taken && state.now && share->step == word_of(*state.now)) {
    break_collectives(self, with_name(*state.now, taken.error()));
  }
}

void check_deadline(Self* self, const OperationDeadline& reached) {
  auto& state = self->state;
  state.timers.erase(reached.timer);
  if (!state.now || !state.now->promise) {
    return;
  }
  auto& operation = *state.now;
  if (self->clock().now() < operation.deadline) {
    return set_timer(self, operation);
  }
  const auto arrived = state.exchange->reducer().arrived();
  const bool all_here = std::ranges::all_of(arrived, [](bool here) { return here; });
  const Error why(Errc::deadline_exceeded,
                  fmt::format("{} of rank {}: missing {} {}",
                              name_of(static_cast<std::uint64_t>(operation.what)),
                              raw(state.options.rank), all_here ? "the answers of ranks" : "ranks",
                              missing_ranks(all_here ? state.exchange->answered() : arrived)));
  operation.promise->deliver(to_caf(why));
  operation.promise.reset();
  if (operation.what != Collective::barrier) {
    break_collectives(self, why);
  }
}

void decide(Self* self, std::span<const GradientReducer::Share> shares, net::GradientSum& sum) {
  auto& state = self->state;
  if (raw(state.options.rank) == 0 && on_device(static_cast<Collective>(sum.step & kind_mask))) {
    state.route->decide(shares, sum);
    say_news(state);
  }
}

void break_collectives(Self* self, const Error& why) {
  auto& state = self->state;
  if (!state.broken) {
    state.broken = why;
  }
  state.route->begin_generation();  // what devices exchange ends with an error
  state.exchange->drop();
  state.exchange->fail_shares(why);
  if (state.now && !state.now->done && state.now->promise) {
    state.now->promise->deliver(to_caf(why));
    state.now->promise.reset();
  }
}

}  // namespace troupe::session_rank
