#include "launcher/rank_threads.hpp"

#include "actors/message.hpp"
#include "launcher/session_state.hpp"

#include <caf/all.hpp>

#include <exception>
#include <fmt/format.h>
#include <mutex>
#include <thread>

namespace troupe {
namespace {

/// Where the ranks work, as their actors are started.
struct Places {
  std::mutex mutex;
  std::map<Rank, SessionPlace> by_rank;
};

/// \param epochs  of the job
caf::actor start_rank(Places& places, const RankPlace& at, std::uint32_t epochs) {
  SessionRankOptions options;
  options.rank = at.options.rank;
  options.world = at.options.world;
  options.ahead = at.options.ahead;
  options.channel_budget = at.options.channel_budget;
  options.lookahead = at.options.lookahead;
  options.order = at.options.orders.at("train");
  options.sample = at.options.sample;
  options.collect = at.options.collect;
  options.epochs = epochs;
  options.holders = at.host->holders;
  options.learned = at.options.learned;
  options.generation = at.options.generation;
  options.means = at.device ? at.device->means : nullptr;
  options.executor = at.executor;
  options.say = at.options.say;
  auto actor = spawn_session_rank(at.system, std::move(options), at.data_path);
  const std::lock_guard guard(places.mutex);
  places.by_rank[at.options.rank] = {&at.system, actor, at.options, at.host, at.device};
  return actor;
}

Status result_of(const RankThreads::RankFunction& fn, Session& session) {
  try {
    TROUPE_RETURN_IF_ERROR(fn(session));
    return session.status();
  } catch (const std::exception& error) {
    return Error(Errc::internal, fmt::format("exception: {}", error.what()));
  } catch (...) {
    return Error(Errc::internal, "exception of a type without a text");
  }
}

/// Result of a rank's function. A session that lost a peer counts before whatever the function returns
/// or throws for it.
Status call(const RankThreads::RankFunction& fn, Session& session) {
  auto result = result_of(fn, session);
  const auto& status = session.status();
  return !status && status.error().code() == Errc::peer_lost ? status : result;
}

}  // namespace

std::vector<TensorDigest> with_names(const EmbeddingPlan* plan,
                                     const std::vector<TableDigest>& tables) {
  std::vector<TensorDigest> named;
  for (const auto& table : tables) {
    const auto* options = plan == nullptr ? nullptr : plan->find(table.node_type);
    if (options != nullptr) {
      named.push_back({options->name, table.rows, table.best});
    }
  }
  return named;
}

struct RankThreads::State {
  std::shared_ptr<SessionRun> run = std::make_shared<SessionRun>();
  std::shared_ptr<Places> places = std::make_shared<Places>();
  RanksOptions options;
  RankFunction fn;
  RankEvents events;
  std::mutex joining;
  std::vector<std::thread> threads;

  std::mutex mutex;
  SessionOutcome outcome;
  std::size_t under_way = 0;

  ~State() {
    join();
    places->by_rank.clear();
  }
  void join() {
    const std::lock_guard guard(joining);
    for (auto& thread : threads) {
      thread.join();
    }
    threads.clear();
  }
  void end(Rank rank, const Status& result);
  void note_open_turn(const Session::State& session) const;
  void work(Rank rank);
};

/// Tells the actors that a rank's function has returned: its own, or all if that ends the run.
void RankThreads::State::end(Rank rank, const Status& result) {
  const auto tell = [](const SessionPlace& place, const Error& why) {
    caf::anon_send(place.actor, Ref<EndRank>(EndRank{why}));
  };
  if (result) {
    return tell(places->by_rank.at(rank),
                Error(Errc::failed_precondition,
                      fmt::format("rank {} has ended: its function has returned; all ranks must "
                                  "make the same calls in the same order",
                                  raw(rank))));
  }
  const auto& why = result.error();
  const auto name = fmt::format("rank {}", raw(rank));
  const auto named = why.what().starts_with(name + ":") ? why : Error(why).with(name);
  {
    const std::lock_guard guard(mutex);
    if (!outcome.status) {
      return;  // all were told before
    }
    outcome.status = named;
  }
  if (events.failed) {
    events.failed(named);
  }
  for (const auto& [other, place] : places->by_rank) {
    tell(place, Error(Errc::cancelled, fmt::format("the run has ended: {}", named.what())));
  }
}

/// A turn without end_step() at the return, which all ranks leave alike: end_step() is a call of all of them.
void RankThreads::State::note_open_turn(const Session::State& session) const {
  if (session.in_turn && session.rank() == 0 && run->say) {
    run->say(
        fmt::format("rank 0: its function returned in step {} of epoch({}), which is not counted: "
                    "digest and checkpoints are without it; try: end_step() before the return",
                    session.position.step + 1, session.position.epoch));
  }
}

void RankThreads::State::work(Rank rank) {
  {
    const auto& place = places->by_rank.at(rank);
    auto state = std::make_unique<Session::State>(run, place);
    auto& inside = *state;
    Session session(std::move(state));
    auto result = inside.keep(inside.begin_learned());
    if (result) {
      result = call(fn, session);
    }
    if (result) {
      note_open_turn(inside);
    }
    auto tables = result ? inside.digest_learned() : Result(std::vector<TableDigest>());
    if (!tables) {
      result = tables.error();
    } else if (!tables->empty()) {
      const std::lock_guard guard(mutex);
      outcome.tensors = with_names(inside.tables(), *tables);
      outcome.tables = *std::move(tables);
    }
    end(rank, result);
    if (rank == places->by_rank.begin()->first) {
      const std::lock_guard guard(mutex);
      outcome.batches = session.digest();
      outcome.steps = session.global_step();
    }
  }  // waits for a checkpoint that is being written
  bool last = false;
  {
    const std::lock_guard guard(mutex);
    last = --under_way == 0;
  }
  if (last && events.ended) {
    events.ended();
  }
}

RankThreads::RankThreads(const Job& job, SessionSetup setup) : state_(std::make_unique<State>()) {
  state_->run->job = job;
  state_->run->resume = std::move(setup.resume);
  state_->run->write_checkpoint = std::move(setup.write_checkpoint);
  state_->run->load_tables = std::move(setup.load_tables);
  state_->run->load_tensors = std::move(setup.load_tensors);
  state_->run->say = std::move(setup.say);
  state_->run->on_epoch = std::move(setup.on_epoch);
  state_->run->on_step = std::move(setup.on_step);
  state_->options = setup.options;
}
RankThreads::~RankThreads() = default;

void RankThreads::add_to(ClusterHooks& hooks) {
  hooks.take_only = true;
  hooks.own_program = true;
  hooks.device_batches = state_->options.device_batches;
  hooks.spawn_rank = [places = state_->places, epochs = state_->run->job.train.epochs](
                         const RankPlace& at) -> Result<caf::actor> {
    return start_rank(*places, at, epochs);
  };
}

void RankThreads::start(RankFunction fn, RankEvents events) {
  auto& s = *state_;
  s.fn = std::move(fn);
  s.events = std::move(events);
  s.under_way = s.places->by_rank.size();
  for (const auto& [rank, place] : s.places->by_rank) {
    s.threads.emplace_back([&s, r = rank] { s.work(r); });
  }
  if (s.threads.empty() && s.events.ended) {
    s.events.ended();
  }
}

SessionOutcome RankThreads::wait() {
  state_->join();
  {  // handles go before their actor system
    const std::lock_guard guard(state_->places->mutex);
    state_->places->by_rank.clear();
  }
  return state_->outcome;
}

void RankThreads::stop() {
  state_->run->stop = true;
}

void RankThreads::fail(const Error& why) {
  {
    const std::lock_guard guard(state_->mutex);
    if (state_->outcome.status) {
      state_->outcome.status = why;
    }
  }
  const std::lock_guard guard(state_->places->mutex);
  for (const auto& [rank, place] : state_->places->by_rank) {
    caf::anon_send(place.actor, Ref<EndRank>(EndRank{why}));
  }
}

}  // namespace troupe
