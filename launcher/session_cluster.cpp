#include "launcher/session_cluster.hpp"

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

caf::actor start_rank(Places& places, const RankPlace& at) {
  SessionRankOptions options;
  options.rank = at.options.rank;
  options.world = at.options.world;
  options.batches_in_flight = at.options.batches_in_flight;
  options.channel_budget = at.options.channel_budget;
  options.order = at.options.orders.at("train");
  options.sample = at.options.sample;
  options.collect = at.options.collect;
  auto actor = spawn_session_rank(at.system, std::move(options), at.data_path);
  const std::lock_guard guard(places.mutex);
  places.by_rank[at.options.rank] = {&at.system, actor, at.options, at.host};
  return actor;
}

Status call(const SessionCluster::RankFunction& fn, Session& session) {
  try {
    TROUPE_RETURN_IF_ERROR(fn(session));
    return session.status();
  } catch (const std::exception& error) {
    return Error(Errc::internal, fmt::format("exception: {}", error.what()));
  } catch (...) {
    return Error(Errc::internal, "exception of a type without a text");
  }
}

}  // namespace

struct SessionCluster::State {
  std::shared_ptr<SessionRun> run = std::make_shared<SessionRun>();
  std::shared_ptr<Places> places = std::make_shared<Places>();
  std::unique_ptr<SimulatedCluster> cluster;
  RankFunction fn;
  Events events;
  std::vector<std::thread> threads;

  std::mutex mutex;
  SessionOutcome outcome;
  std::size_t under_way = 0;

  ~State() {
    join();
    places->by_rank.clear();
  }
  void join() {
    for (auto& thread : threads) {
      thread.join();
    }
    threads.clear();
  }
  void end(Rank rank, const Status& result);
  void work(Rank rank);
};

/// Tells the actors that a rank's function has returned: its own, or all if that ends the run.
void SessionCluster::State::end(Rank rank, const Status& result) {
  const auto tell = [](const SessionPlace& place, const Error& why) {
    caf::anon_send(place.actor, Ref<EndRank>(EndRank{why}));
  };
  if (result) {
    return tell(places->by_rank.at(rank),
                Error(Errc::failed_precondition,
                      fmt::format("rank {} has ended: its function has returned", raw(rank))));
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

void SessionCluster::State::work(Rank rank) {
  {
    const auto& place = places->by_rank.at(rank);
    Session session(std::make_unique<Session::State>(run, place));
    const auto result = call(fn, session);
    end(rank, result);
    if (raw(rank) == 0) {
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

SessionCluster::SessionCluster(std::unique_ptr<State> state) : state_(std::move(state)) {}
SessionCluster::~SessionCluster() = default;

Result<std::unique_ptr<SessionCluster>> SessionCluster::create(const Job& job,
                                                               const PartitionedStore& store,
                                                               SessionSetup setup,
                                                               ClusterHooks hooks) {
  auto state = std::make_unique<State>();
  state->run->job = job;
  state->run->resume = std::move(setup.resume);
  state->run->write_checkpoint = std::move(setup.write_checkpoint);
  state->run->say = std::move(setup.say);
  hooks.take_only = true;
  hooks.spawn_rank = [places = state->places](const RankPlace& at) -> Result<caf::actor> {
    return start_rank(*places, at);
  };
  TROUPE_ASSIGN_OR_RETURN(state->cluster, SimulatedCluster::create(job, store, std::move(hooks)));
  return std::unique_ptr<SessionCluster>(new SessionCluster(std::move(state)));
}

void SessionCluster::start(RankFunction fn, Events events) {
  auto& s = *state_;
  s.fn = std::move(fn);
  s.events = std::move(events);
  s.under_way = s.places->by_rank.size();
  for (const auto& [rank, place] : s.places->by_rank) {
    s.threads.emplace_back([&s, r = rank] { s.work(r); });
  }
}

SessionOutcome SessionCluster::wait() {
  state_->join();
  return state_->outcome;
}

void SessionCluster::stop() {
  state_->run->stop = true;
}

SimulatedCluster& SessionCluster::cluster() {
  return *state_->cluster;
}

}  // namespace troupe
