// Learned rows of a session's rank: its thread asks for one thing at a time.
#include "actors/error.hpp"
#include "actors/session_rank_state.hpp"

#include <caf/all.hpp>

#include <fmt/format.h>
#include <utility>

namespace troupe::session_rank {
namespace {

/// Takes the promise of the current request. \returns false: it is answered with an error already
bool begin_request(Self* self) {
  auto& state = self->state;
  auto promise = self->make_response_promise();
  std::optional<Error> why = state.ended ? state.ended : state.learned_error;
  if (!why && !state.learned->used()) {
    why = Error(Errc::failed_precondition,
                fmt::format("{}: the job has no learned rows", rank_name(state)));
  }
  if (!why && state.learned_waits) {
    why = Error(Errc::failed_precondition,
                fmt::format("{}: expected the request for learned rows before to be over first",
                            rank_name(state)));
  }
  if (why) {
    promise.deliver(to_caf(*why));
    return false;
  }
  state.learned_waits = std::move(promise);
  return true;
}

/// Answers the request under way, unless it was answered before.
template <class Reply>
void end_request(Self* self, Result<Reply> reply) {
  if (const auto waits = std::exchange(self->state.learned_waits, std::nullopt)) {
    auto promise = *waits;
    deliver(promise, std::move(reply));
  }
}

}  // namespace

void learned_failed(Self* self, const Error& why) {
  self->state.learned_error = why;
  end_request(self, Result<net::Done>(why));
}

void gather_learned(Self* self, const GatherLearned& request) {
  if (begin_request(self)) {
    self->state.learned->read(
        request.nodes, request.step, false, [self](Result<LearnedRowsClient::Rows> rows) {
          end_request(self, rows ? Result<GatheredLearned>(GatheredLearned{*std::move(rows)})
                                 : Result<GatheredLearned>(rows.error()));
        });
  }
}

void share_learned(Self* self, const ShareLearned& request) {
  if (!begin_request(self)) {
    return;
  }
  Contribution mine;
  mine.weight = request.weight;
  mine.learned = request.gradients;
  const auto left = [self] { end_request(self, Result<net::Done>(net::Done{})); };
  if (request.nodes) {
    self->state.learned->send_of(request.nodes, request.step, mine, left);
  } else {
    self->state.learned->send(request.step, mine, left);
  }
}

void command_learned(Self* self, const CommandLearned& request) {
  if (!begin_request(self)) {
    return;
  }
  const auto then = [self](Result<net::Done> done) { end_request(self, std::move(done)); };
  if (request.what == CommandLearned::What::begin) {
    self->state.learned->begin(request.step, then);
  } else {
    self->state.learned->keep({.step = request.step, .oldest = request.step}, then);
  }
}

void digest_learned(Self* self, const DigestAllLearned& request) {
  if (begin_request(self)) {
    self->state.learned->digest(request.step, [self](Result<std::vector<TableDigest>> tables) {
      end_request(self, tables ? Result<DigestedLearned>(DigestedLearned{*std::move(tables)})
                               : Result<DigestedLearned>(tables.error()));
    });
  }
}

}  // namespace troupe::session_rank
