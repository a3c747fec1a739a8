#include "actors/holder_tables.hpp"

#include "actors/error.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <functional>
#include <thread>

namespace troupe {
namespace {

constexpr std::chrono::milliseconds busy_pause{20};
constexpr int most_tries = 500;
constexpr std::chrono::milliseconds longest_attempt{3000};

/// One request, again while the holder is busy, and now and then: a holder of this process that is lost with
/// the request answers nobody, and the next one in its place, or nobody, is found then.
template <class Reply, class Message>
Result<Ref<Reply>> ask(caf::scoped_actor& self, const std::function<caf::actor()>& find,
                       const Ref<Message>& message, std::chrono::milliseconds deadline) {
  using Clock = std::chrono::steady_clock;
  const auto give_up = Clock::now() + deadline;
  Result<Ref<Reply>> answer = Error(Errc::peer_lost, "the holder is not there");
  for (int busy = 0; busy < most_tries;) {
    const auto holder = find();
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(give_up - Clock::now());
    if (!holder || left.count() <= 0) {
      return answer;
    }
    self->request(holder, std::min(left, longest_attempt), message)
        .receive([&](const Ref<Reply>& reply) { answer = reply; },
                 [&](const caf::error& error) { answer = from_caf(error); });
    if (!answer && answer.error().code() == Errc::overloaded) {
      ++busy;
      std::this_thread::sleep_for(busy_pause);
    } else if (answer || answer.error().code() != Errc::deadline_exceeded) {
      return answer;
    }
  }
  return answer;
}

std::chrono::milliseconds deadline_of(const Replicas& to) {
  return to.request_deadline.value_or(to.recovery_deadline);
}

}  // namespace

Status HolderTables::read(std::uint32_t part, const Take& take) const {
  if (part >= links_.holders.size()) {
    return Error(Errc::internal, fmt::format("learned rows: expected holders of {} parts, found {}",
                                             parts(), links_.holders.size()));
  }
  const auto& replicas = *links_.holders[part];
  caf::scoped_actor self(system_);
  const auto piece_of = [&](const ReadCopy& what) {
    Result<Ref<CopyPiece>> piece = Error(Errc::peer_lost, "no holder");
    for (std::size_t i = 0; i < replicas.actors.size() && !piece; ++i) {
      piece = ask<CopyPiece>(self, replicas.actors[i], Ref<ReadCopy>(what), deadline_of(replicas));
    }
    return piece;
  };
  for (const auto& table : links_.plan->tables) {
    const auto row_bytes =
        sizeof(std::uint64_t) + sizeof(float) * (2 * table.dim + sparse_state_cols(table));
    ReadCopy what{.step = step_,
                  .node_type = table.node_type,
                  .first = 0,
                  .count = std::max<std::uint64_t>(1, table_piece_bytes / row_bytes)};
    for (bool ended = false; !ended; what.first += what.count) {
      const auto piece = piece_of(what);
      if (!piece) {
        return Error(piece.error()).with(replicas.what);
      }
      ended = (*piece)->last || (*piece)->ids.empty();
      TROUPE_RETURN_IF_ERROR(take(**piece));
    }
  }
  return ok_status();
}

Status load_tables(caf::actor_system& system, const LearnedRowsLinks& links,
                   const TableSource& from, std::uint64_t step) {
  caf::scoped_actor self(system);
  const auto send = [&](CopyPiece piece) -> Status {
    piece.step = step;
    const Ref<LoadCopy> message(LoadCopy{std::move(piece)});
    for (const auto& replicas : links.holders) {
      for (const auto& holder : replicas->actors) {
        if (const auto done = ask<net::Done>(self, holder, message, deadline_of(*replicas));
            !done) {
          return Error(done.error()).with(replicas->what);
        }
      }
    }
    return ok_status();
  };
  for (std::uint32_t part = 0; part < from.parts(); ++part) {
    TROUPE_RETURN_IF_ERROR(from.read(part, [&](const CopyPiece& piece) {
      auto more = piece;
      more.last = false;
      return send(std::move(more));
    }));
  }
  return send({.last = true});
}

}  // namespace troupe
