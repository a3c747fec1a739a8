// What the ranks of sessions do together: each rank owns a slice, adds up the shares of all ranks in
// rank order and answers with the sum. A barrier is a sum of nothing.
#include "actors/error.hpp"
#include "actors/session_rank_state.hpp"
#include "runtime/net/codec.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace troupe::session_rank {
namespace {

/// Number and kind travel in one word, so that ranks that disagree can be told.
constexpr unsigned kind_bits = 3;

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
  }
  return fmt::format("something unknown ({})", kind);
}

std::uint64_t latest(const State& state) {
  return state.now ? state.now->number : 0;
}

/// Tells the rank's thread what came out.
void answer(Operation& operation) {
  operation.promise->deliver(Ref<Together>(operation.result));
  operation.promise.reset();
  operation.told = true;
}

void answer_shares(Operation& operation, const caf::message& answer) {
  for (auto& promise : std::exchange(operation.shares, {})) {
    promise.deliver(answer);
  }
}

void add_share(Self* self, Operation& operation, const Ref<net::GradientChunk>& share,
               caf::response_promise promise) {
  auto& state = self->state;
  const auto kind = share->step & ((1U << kind_bits) - 1);
  Result<std::optional<GradientReducer::Sum>> sum = Error(
      Errc::invalid_argument,
      fmt::format("rank {} is in {}, rank {} in {}; all ranks must make the same calls in the "
                  "same order",
                  raw(share->rank), name_of(kind), raw(state.options.rank),
                  name_of(static_cast<std::uint64_t>(operation.what))));
  if (share->step == word_of(operation)) {
    sum = operation.reducer.add(share);
    if (!sum) {
      sum = Error(Errc::invalid_argument,
                  fmt::format("{}: rank {} brings a vector of another length than rank {} ({})",
                              name_of(kind), raw(share->rank), raw(state.options.rank),
                              sum.error().what()));
    }
  }
  if (!sum) {
    promise.deliver(to_caf(sum.error()));
    return break_collectives(self, sum.error());
  }
  operation.arrived[raw(share->rank)] = true;
  operation.shares.push_back(std::move(promise));
  if (*sum) {
    answer_shares(operation, caf::make_message(Ref<net::GradientSum>(**sum)));
  }
}

void take_sum(Self* self, Rank owner, const net::GradientSum& sum) {
  auto& operation = *self->state.now;
  const auto slice =
      gradient_slice(operation.result.values.size(), self->state.options.world, owner);
  const auto values = sum.values.as<float>();
  if (values.size() != slice.size) {
    return break_collectives(
        self, Error(Errc::data_corruption, fmt::format("sum of rank {}: expected {} numbers, "
                                                       "found {}",
                                                       raw(owner), slice.size, values.size())));
  }
  std::ranges::copy(values,
                    operation.result.values.begin() + static_cast<std::ptrdiff_t>(slice.first));
  operation.answered[raw(owner)] = true;
  if (raw(owner) == 0) {
    operation.result.weight = sum.weight;
    operation.result.number = sum.loss_sum;
    operation.result.batches = sum.batches;
  }
  operation.done = std::ranges::all_of(operation.answered, [](bool here) { return here; });
  if (operation.done && operation.promise) {
    answer(operation);
  }
}

void send_shares(Self* self, const Contribute& request) {
  auto& state = self->state;
  const auto& operation = *state.now;
  for (std::uint32_t r = 0; r < state.options.world; ++r) {
    const auto owner = static_cast<Rank>(r);
    const auto slice = gradient_slice(operation.result.values.size(), state.options.world, owner);
    net::GradientChunk chunk;
    chunk.step = word_of(operation);
    chunk.rank = state.options.rank;
    chunk.weight = request.weight;
    chunk.sum_bytes =
        net::gradient_sum_bytes(slice.size * sizeof(float), owner, state.options.world);
    if (request.weight > 0) {
      chunk.values = {
          request.values.owner,
          request.values.bytes.subspan(slice.first * sizeof(float), slice.size * sizeof(float))};
    }
    if (r == 0) {
      chunk.loss_sum = request.number;
      chunk.batch = request.batch;
    }
    const auto is_current = [self, number = operation.number] {
      return self->state.now && self->state.now->number == number && !self->state.broken;
    };
    self->request(state.peers[r], caf::infinite, Ref<net::GradientChunk>(std::move(chunk)))
        .then(
            [self, owner, is_current](const Ref<net::GradientSum>& sum) {
              if (is_current()) {
                take_sum(self, owner, *sum);
              }
            },
            [self, owner, is_current](const caf::error& error) {
              if (is_current()) {
                break_collectives(
                    self, from_caf(error).with(fmt::format("reducing with rank {}", raw(owner))));
              }
            });
  }
}

void arm(Self* self, Operation& operation, const Contribute& request) {
  ++operation.attempt;
  self->delayed_send(
      self, request.deadline,
      Ref<OperationDeadline>(OperationDeadline{operation.number, operation.attempt}));
}

/// A barrier that ran into its deadline is waited for again; it may be over by now.
void wait_again(Self* self, const Contribute& request, caf::response_promise promise) {
  auto& operation = *self->state.now;
  if (operation.promise || operation.what != Collective::barrier ||
      request.what != Collective::barrier) {
    return promise.deliver(
        to_caf(Error(Errc::failed_precondition,
                     fmt::format("{}: expected the {} to be over first", rank_name(self->state),
                                 name_of(static_cast<std::uint64_t>(operation.what))))));
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
  if (state.peers.size() != state.options.world) {
    return promise.deliver(to_caf(Error(
        Errc::failed_precondition, fmt::format("{}: does not know its peers", rank_name(state)))));
  }
  if (state.now && !state.now->told) {
    return wait_again(self, request, std::move(promise));
  }
  const auto world = state.options.world;
  const auto size = request.values.bytes.size() / sizeof(float);
  const auto number = latest(state) + 1;
  const auto slice = gradient_slice(size, world, state.options.rank);
  state.before = std::move(state.now);
  state.now = Operation{request.what,
                        number,
                        GradientReducer(world, slice.size, 0, request.what == Collective::mean),
                        std::vector<bool>(world),
                        {},
                        {},
                        std::vector<bool>(world),
                        std::move(promise),
                        0,
                        false,
                        false};
  state.now->result.values.resize(size);
  send_shares(self, request);
  arm(self, *state.now, request);  // after this rank's own share, which is never missing
  for (auto& early : std::exchange(state.early, {})) {
    if (!state.broken) {
      add_share(self, *state.now, early.share, std::move(early.promise));
    } else {
      early.promise.deliver(to_caf(*state.broken));
    }
  }
}

void take_share(Self* self, const Ref<net::GradientChunk>& share) {
  auto& state = self->state;
  auto promise = self->make_response_promise();
  const auto number = share->step >> kind_bits;
  const auto& before = state.before;
  if (raw(share->rank) >= state.options.world) {
    return promise.deliver(
        to_caf(Error(Errc::invalid_argument, fmt::format("share: expected a rank < {}, found {}",
                                                         state.options.world, raw(share->rank)))));
  }
  if (before && number == before->number) {  // a repeat: it is over here
    return add_share(self, *state.before, share, std::move(promise));
  }
  // The sum that this rank owns may still be missing elsewhere when this rank has ended.
  if (state.now && number == state.now->number &&
      (!(state.ended || state.broken) || state.now->done)) {
    return add_share(self, *state.now, share, std::move(promise));
  }
  if (state.ended || state.broken) {
    return promise.deliver(to_caf(state.ended ? *state.ended : *state.broken));
  }
  if (number != latest(state) + 1 || state.early.size() >= 2 * std::size_t{state.options.world}) {
    return promise.deliver(to_caf(Error(
        Errc::invalid_argument, fmt::format("share {} of rank {}: {} is at {}", number,
                                            raw(share->rank), rank_name(state), latest(state)))));
  }
  state.early.push_back({share, std::move(promise)});
}

void check_deadline(Self* self, const OperationDeadline& deadline) {
  auto& state = self->state;
  if (!state.now || state.now->number != deadline.number ||
      state.now->attempt != deadline.attempt || !state.now->promise) {
    return;
  }
  auto& operation = *state.now;
  const bool all_here = std::ranges::all_of(operation.arrived, [](bool here) { return here; });
  const Error why(Errc::deadline_exceeded,
                  fmt::format("{} of rank {}: missing {} {}",
                              name_of(static_cast<std::uint64_t>(operation.what)),
                              raw(state.options.rank), all_here ? "the answers of ranks" : "ranks",
                              missing_ranks(all_here ? operation.answered : operation.arrived)));
  operation.promise->deliver(to_caf(why));
  operation.promise.reset();
  if (operation.what != Collective::barrier) {
    break_collectives(self, why);
  }
}

void break_collectives(Self* self, const Error& why) {
  auto& state = self->state;
  if (!state.broken) {
    state.broken = why;
  }
  for (auto& early : std::exchange(state.early, {})) {
    early.promise.deliver(to_caf(why));
  }
  if (!state.now || state.now->done) {
    return;
  }
  if (state.now->promise) {
    state.now->promise->deliver(to_caf(why));
    state.now->promise.reset();
  }
  answer_shares(*state.now, caf::make_message(to_caf(why)));
}

}  // namespace troupe::session_rank
