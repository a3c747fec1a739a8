#include "actors/director.hpp"

#include "actors/error.hpp"
#include "actors/message.hpp"
#include "runtime/run/table_source.hpp"
#include "tests/support/expect.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;

/// A trainer whose first `good_epochs` epochs go well; then it does `then`.
enum class Then { fail, die };
caf::behavior fake_trainer(caf::event_based_actor* self, std::uint32_t good_epochs, Then then) {
  return {
      [=](const Ref<net::EpochRequest>& request) -> caf::result<Ref<net::EpochResult>> {
        if (request->epoch < good_epochs) {
          net::EpochResult result;
          result.epoch = request->epoch;
          result.loss_weight = 1;
          return Ref<net::EpochResult>(result);
        }
        if (then == Then::die) {
          self->quit(caf::exit_reason::kill);
          return self->make_response_promise<Ref<net::EpochResult>>();
        }
        return to_caf(Error(Errc::deadline_exceeded, "holder of part 1: no answer"));
      },
      [](const Ref<net::KeepBest>&) { return Ref<net::Done>(net::Done{}); },
      [](const Ref<net::Restore>&) { return Ref<net::Done>(net::Done{}); },
      [](const Ref<net::TakeState>&) {
        return Ref<net::StateReply>(net::StateReply{std::make_shared<const net::TrainingState>()});
      },
  };
}

struct Ended {
  Result<RunRecord> record = Error(Errc::internal, "still running");
  std::vector<std::uint32_t> epochs;
};

Ended direct(std::uint32_t good_epochs, Then then) {
  caf::actor_system_config config;
  caf::actor_system system(config);
  std::promise<Result<RunEnd>> promise;
  auto future = promise.get_future();
  Ended ended;
  DirectorOptions options;
  const std::vector<caf::actor> trainers = {system.spawn(fake_trainer, 100U, then),
                                            system.spawn(fake_trainer, good_epochs, then)};
  options.world = 2;
  options.trainer = [trainers](Rank rank) { return trainers[raw(rank)]; };
  options.start = std::make_shared<const Checkpoint>();
  options.io = std::make_shared<InlineExecutor>();
  options.conductor.epochs = 5;
  options.conductor.world = 2;
  options.conductor.train_only = true;
  options.progress = [&](const EpochRecord& epoch) { ended.epochs.push_back(epoch.epoch + 1); };
  options.on_end = [&](Result<RunEnd> end) { promise.set_value(std::move(end)); };
  spawn_director(system, std::move(options));
  if (future.wait_for(10s) == std::future_status::ready) {
    auto end = future.get();
    ended.record = end ? Result<RunRecord>(end->record) : Result<RunRecord>(end.error());
  }
  for (const auto& trainer : trainers) {
    caf::anon_send_exit(trainer, caf::exit_reason::kill);
  }
  return ended;
}

TEST(Director, LeadsAllEpochsAndGivesTheRecord) {
  const auto ended = direct(100, Then::fail);

  ASSERT_OK(ended.record);
  EXPECT_EQ(ended.epochs, (std::vector<std::uint32_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ((*ended.record).epochs.size(), 5U);
}

TEST(Director, EndsWithTheErrorOfTheTrainerThatFailed) {
  const auto ended = direct(2, Then::fail);

  EXPECT_ERROR(ended.record, Errc::deadline_exceeded, "trainer 1: holder of part 1: no answer");
  EXPECT_EQ(ended.epochs, (std::vector<std::uint32_t>{1, 2}));
}

TEST(Director, EndsWhenATrainerDies) {
  const auto ended = direct(1, Then::die);

  EXPECT_ERROR(ended.record, Errc::peer_lost, "trainer 1");
}

// ---- recovery, with supervisors that start trainers again ----

/// Requests to a host's supervisor and its trainers, in order.
struct Requests {
  void add(const std::string& what) {
    const std::lock_guard guard(mutex);
    lines.push_back(what);
  }
  std::uint64_t count(const std::string& what) const {
    const std::lock_guard guard(mutex);
    return static_cast<std::uint64_t>(std::ranges::count(lines, what));
  }
  mutable std::mutex mutex;
  std::vector<std::string> lines;
};

/// One host with one trainer, which is lost in its third epoch `losses` times.
struct Host {
  Requests requests;
  std::atomic<int> losses{0};
  std::atomic<bool> deaf{false};  ///< loses it by silence instead
  std::mutex mutex;
  caf::actor trainer;
  caf::actor supervisor;

  caf::actor current() {
    const std::lock_guard guard(mutex);
    return trainer;
  }
};

struct ReviveState {
  std::uint32_t generation = 0;
  std::shared_ptr<const net::TrainingState> at = std::make_shared<const net::TrainingState>();
  bool deaf = false;
};

caf::behavior mortal_trainer(caf::stateful_actor<ReviveState>* self, Host* host) {
  using Epoch = Ref<net::EpochResult>;
  return {
      [=](const Ref<net::EpochRequest>& request) -> caf::result<Epoch> {
        host->requests.add(fmt::format("epoch {} in {}", request->epoch, request->generation));
        if (request->epoch == 2 && host->losses-- > 0) {
          if (host->deaf) {
            self->state.deaf = true;
          } else {
            self->quit(caf::exit_reason::kill);
          }
          return self->make_response_promise<Epoch>();
        }
        auto next = *self->state.at;
        next.epoch = request->epoch + 1;
        next.global_step = next.epoch;
        self->state.at = std::make_shared<const net::TrainingState>(next);
        net::EpochResult result;
        result.epoch = request->epoch;
        result.loss_weight = 1;
        return Epoch(result);
      },
      [=](const Ref<net::Restore>& restore) {
        host->requests.add(
            fmt::format("restore step {} in {}", restore->state->global_step, restore->generation));
        self->state.at = restore->state;
        return Ref<net::Done>(net::Done{});
      },
      [=](const Ref<net::TakeState>&) {
        return Ref<net::StateReply>(net::StateReply{self->state.at});
      },
      [=](const Ref<net::Ping>&) -> caf::result<Ref<net::Pong>> {
        if (self->state.deaf) {
          return self->make_response_promise<Ref<net::Pong>>();
        }
        return Ref<net::Pong>(net::Pong{});
      },
      [](const Ref<net::KeepBest>&) { return Ref<net::Done>(net::Done{}); },
      [](const Ref<net::Finish>&) { return Ref<net::FinishResult>(net::FinishResult{}); },
  };
}

caf::behavior fake_supervisor(caf::event_based_actor* self, Host* host) {
  return {
      [=](const Ref<net::Regroup>& request) {
        host->requests.add(fmt::format("regroup {}", request->generation));
        const std::lock_guard guard(host->mutex);
        caf::anon_send_exit(host->trainer, caf::exit_reason::kill);
        host->trainer = self->home_system().spawn(mortal_trainer, host);
        return Ref<net::Done>(net::Done{});
      },
      [=](const Ref<net::Introduce>&) { return Ref<net::Done>(net::Done{}); },
      [](const Ref<net::Ping>&) { return Ref<net::Pong>(net::Pong{}); },
  };
}

/// No learned rows.
struct NoTables final : TableSource {
  std::uint32_t parts() const override { return 0; }
  Status read(std::uint32_t, const Take&) const override { return ok_status(); }
};

/// \param load  puts learned rows back; none: there are none
/// \param write  writes them at the end
Result<RunEnd> direct_with_supervisor(Host& host,
                                      std::function<Status(const Checkpoint&)> load = {},
                                      std::function<Status(std::uint64_t)> write = {}) {
  caf::actor_system_config config;
  caf::actor_system system(config);
  std::promise<Result<RunEnd>> promise;
  auto future = promise.get_future();
  host.trainer = system.spawn(mortal_trainer, &host);
  host.supervisor = system.spawn(fake_supervisor, &host);
  DirectorOptions options;
  options.trainer = [&host](Rank) { return host.current(); };
  options.supervisors = {{"host 0"}, [&host](std::size_t) { return host.supervisor; }};
  Checkpoint start;
  if (load) {
    start.tables = std::make_shared<const NoTables>();
  }
  options.load_tables = std::move(load);
  options.write_tables = std::move(write);
  options.start = std::make_shared<const Checkpoint>(std::move(start));
  options.io = std::make_shared<InlineExecutor>();
  options.conductor.epochs = 5;
  options.conductor.train_only = true;
  options.heartbeat = 5ms;
  options.lost_after = 50ms;
  options.max_rollbacks = 3;
  options.on_end = [&](Result<RunEnd> end) { promise.set_value(std::move(end)); };
  spawn_director(system, std::move(options));
  Result<RunEnd> end = Error(Errc::internal, "still running");
  if (future.wait_for(20s) == std::future_status::ready) {
    end = future.get();
  }
  caf::anon_send_exit(host.supervisor, caf::exit_reason::kill);
  caf::anon_send_exit(host.current(), caf::exit_reason::kill);
  return end;
}

TEST(DirectorRecovery, ALostTrainerIsReplacedAndAllGoOnFromTheLastState) {
  Host host;
  host.losses = 1;

  ASSERT_OK_AND_ASSIGN(const auto end, direct_with_supervisor(host));

  EXPECT_EQ(end.record.epochs.size(), 5U);
  EXPECT_EQ(host.requests.count("regroup 1"), 1U);
  EXPECT_EQ(host.requests.count("restore step 2 in 1"), 1U) << "the state after two epochs";
  EXPECT_EQ(host.requests.count("epoch 1 in 1"), 0U) << "what was done is not done again";
  EXPECT_EQ(host.requests.count("epoch 2 in 1"), 1U);
}

TEST(DirectorRecovery, ATrainerWithoutASignOfLifeIsALostOne) {
  Host host;
  host.losses = 1;
  host.deaf = true;

  ASSERT_OK_AND_ASSIGN(const auto end, direct_with_supervisor(host));

  EXPECT_EQ(end.record.epochs.size(), 5U);
  EXPECT_EQ(host.requests.count("regroup 1"), 1U);
}

TEST(DirectorRecovery, OneThatIsLostAgainAndAgainEndsTheRun) {
  Host host;
  host.losses = 1000;

  EXPECT_ERROR(direct_with_supervisor(host), Errc::peer_lost, "trainer 0");
  EXPECT_EQ(host.requests.count("regroup 3"), 1U);
  EXPECT_EQ(host.requests.count("regroup 4"), 0U);
}

TEST(DirectorRecovery, AHolderThatIsLostWhileItGetsLearnedRowsGetsThemAgain) {
  Host host;
  int loads = 0;
  const auto lost_twice = [&](const Checkpoint&) -> Status {
    return ++loads < 3 ? Error(Errc::peer_lost, "part 1: the holder is not there") : ok_status();
  };

  ASSERT_OK_AND_ASSIGN(const auto end, direct_with_supervisor(host, lost_twice));

  EXPECT_EQ(end.record.epochs.size(), 5U);
  EXPECT_EQ(loads, 3);
  EXPECT_EQ(host.requests.count("restore step 0 in 2"), 1U);
  EXPECT_EQ(host.requests.count("restore step 0 in 1"), 0U) << "before rows are there";
}

TEST(DirectorRecovery, LearnedRowsThatCannotBeReadEndTheRun) {
  Host host;
  const auto torn = [](const Checkpoint&) -> Status {
    return Error(Errc::data_corruption, "learned-0.bin: torn");
  };

  EXPECT_ERROR(direct_with_supervisor(host, torn), Errc::data_corruption,
               "putting learned rows back: learned-0.bin: torn");
  EXPECT_EQ(host.requests.count("regroup 1"), 0U);
}

TEST(DirectorRecovery, HoldersThatAreAlwaysLostWithLearnedRowsEndTheRun) {
  Host host;
  const auto lost = [](const Checkpoint&) -> Status {
    return Error(Errc::peer_lost, "part 1: the holder is not there");
  };

  EXPECT_ERROR(direct_with_supervisor(host, lost), Errc::peer_lost, "putting learned rows back");
  EXPECT_EQ(host.requests.count("regroup 3"), 1U);
}

Status have_rows(const Checkpoint& /*of*/) {
  return ok_status();
}

TEST(DirectorRecovery, AHolderThatIsLostBeforeItsRowsAreWrittenTakesAllBack) {
  for (const auto code : {Errc::peer_lost, Errc::not_found}) {
    Host host;
    int writes = 0;
    const auto lost_once = [&](std::uint64_t step) -> Status {
      EXPECT_EQ(step, 5U);
      return ++writes == 1 ? Error(code, "part 1: no holder") : ok_status();
    };

    ASSERT_OK_AND_ASSIGN(const auto end, direct_with_supervisor(host, have_rows, lost_once));

    EXPECT_EQ(end.record.epochs.size(), 5U);
    EXPECT_EQ(writes, 2);
    EXPECT_EQ(host.requests.count("regroup 1"), 1U);
    // The rows are gone with the holder: from the start, where no checkpoint has them.
    EXPECT_EQ(host.requests.count("epoch 0 in 1"), code == Errc::not_found ? 1U : 0U);
  }
}

TEST(DirectorRecovery, RowsThatAreNeverWrittenEndTheRun) {
  for (const auto& [code, most] : {std::pair(Errc::not_found, 4), {Errc::failed_precondition, 1}}) {
    Host host;
    int writes = 0;
    const auto never = [&, code = code](std::uint64_t) -> Status {
      ++writes;
      return Error(code, "no rows");
    };

    EXPECT_ERROR(direct_with_supervisor(host, have_rows, never), code, "writing learned rows");
    EXPECT_EQ(writes, most);
  }
}

TEST(DirectorRecovery, LossesAreCountedInARowOnly) {
  Host host;
  host.losses = 3;

  EXPECT_OK(direct_with_supervisor(host));
}

// ---- stopping ----

struct SlowState {
  std::optional<caf::response_promise> scheduled;  ///< asked for by the schedule, not answered yet
  std::optional<caf::response_promise> last;
  bool answered = false;
};

Ref<net::StateReply> state_of_step(std::uint64_t step) {
  auto state = std::make_shared<net::TrainingState>();
  state->step = step;
  state->global_step = step;
  return Ref<net::StateReply>(net::StateReply{std::move(state)});
}

/// Never ends its epoch. When the run is to stop, it first gives the older state that the schedule
/// asked for, and a while later the one to stop with.
caf::behavior slow_trainer(caf::stateful_actor<SlowState>* self) {
  return {
      [=](const Ref<net::EpochRequest>&) {
        return self->make_response_promise<Ref<net::EpochResult>>();
      },
      [](const Ref<net::Restore>&) { return Ref<net::Done>(net::Done{}); },
      [=](const Ref<net::TakeState>& request) {
        auto promise = self->make_response_promise();
        if (request->multiple_of > 0) {
          if (!self->state.answered) {
            self->state.scheduled = promise;
          }
          return;
        }
        self->state.answered = true;
        self->state.scheduled->deliver(state_of_step(5));
        self->state.last = promise;
        self->delayed_send(self, 50ms, 7);
      },
      [=](int step) { self->state.last->deliver(state_of_step(static_cast<std::uint64_t>(step))); },
  };
}

TEST(Director, StopsWithTheStateThatStoppingAskedFor) {
  caf::actor_system_config config;
  caf::actor_system system(config);
  std::promise<Result<RunEnd>> promise;
  auto future = promise.get_future();
  std::vector<std::uint64_t> written;
  DirectorOptions options;
  const auto trainer = system.spawn(slow_trainer);
  options.trainer = [trainer](Rank) { return trainer; };
  options.start = std::make_shared<const Checkpoint>();
  options.io = std::make_shared<InlineExecutor>();
  options.conductor.epochs = 5;
  options.conductor.train_only = true;
  options.checkpoints.steps = 1;
  options.write_checkpoint = [&](const Checkpoint& what) {
    written.push_back(what.training.global_step);
    return ok_status();
  };
  options.on_end = [&](Result<RunEnd> end) { promise.set_value(std::move(end)); };
  const auto director = spawn_director(system, std::move(options));
  std::this_thread::sleep_for(50ms);  // it trains

  caf::anon_send(director, Ref<StopRun>(StopRun{}));

  ASSERT_EQ(future.wait_for(10s), std::future_status::ready);
  EXPECT_ERROR(future.get(), Errc::cancelled, "interrupted");
  EXPECT_EQ(written, (std::vector<std::uint64_t>{5, 7}));
  caf::anon_send_exit(trainer, caf::exit_reason::kill);
}

/// A run of five epochs whose writes take until `say` was called, or 10 s. \returns what was said
std::vector<std::string> said_while_writing(caf::actor_system& system, const caf::actor& trainer,
                                            CheckpointSchedule schedule,
                                            std::function<void(const caf::actor&)> then) {
  std::promise<Result<RunEnd>> promise;
  std::promise<void> said;
  const auto said_now = said.get_future().share();
  std::vector<std::string> lines;
  DirectorOptions options;
  options.trainer = [trainer](Rank) { return trainer; };
  options.start = std::make_shared<const Checkpoint>();
  options.io = std::make_shared<ComputePool>(1);
  options.conductor.epochs = 5;
  options.conductor.train_only = true;
  options.checkpoints = schedule;
  options.quiet_wait = 20ms;
  options.write_checkpoint = [said_now](const Checkpoint&) {
    said_now.wait_for(10s);
    return ok_status();
  };
  options.say = [&](const std::string& line) {
    lines.push_back(line);
    if (lines.size() == 1) {
      said.set_value();
    }
  };
  options.on_end = [&](Result<RunEnd> end) { promise.set_value(std::move(end)); };
  const auto director = spawn_director(system, std::move(options));
  then(director);
  EXPECT_EQ(promise.get_future().wait_for(20s), std::future_status::ready);
  caf::anon_send_exit(trainer, caf::exit_reason::kill);
  return lines;
}

TEST(Director, SaysWhatARunThatIsDoneWaitsFor) {
  caf::actor_system_config config;
  caf::actor_system system(config);
  Host host;

  const auto lines = said_while_writing(system, system.spawn(mortal_trainer, &host), {.epochs = 5},
                                        [](const caf::actor&) {});

  EXPECT_EQ(lines, (std::vector<std::string>{"waiting until the checkpoint of step 5 is written"}));
}

TEST(Director, SaysWhatARunThatIsToStopWaitsFor) {
  caf::actor_system_config config;
  caf::actor_system system(config);

  const auto lines = said_while_writing(system, system.spawn(slow_trainer), {.steps = 1},
                                        [](const caf::actor& director) {
                                          std::this_thread::sleep_for(50ms);  // it trains
                                          caf::anon_send(director, Ref<StopRun>(StopRun{}));
                                        });

  EXPECT_EQ(lines, (std::vector<std::string>{"waiting until the checkpoint of step 5 is written"}));
}

/// A run of five epochs with a checkpoint after each. \returns what was said
std::vector<std::string> said_of_checkpoints(std::function<Status(const Checkpoint&)> write) {
  caf::actor_system_config config;
  caf::actor_system system(config);
  Host host;
  const auto trainer = system.spawn(mortal_trainer, &host);
  std::promise<Result<RunEnd>> promise;
  std::vector<std::string> lines;
  DirectorOptions options;
  options.trainer = [trainer](Rank) { return trainer; };
  options.start = std::make_shared<const Checkpoint>();
  options.io = std::make_shared<InlineExecutor>();
  options.conductor.epochs = 5;
  options.conductor.train_only = true;
  options.checkpoints.epochs = 1;
  options.write_checkpoint = std::move(write);
  options.say = [&](const std::string& line) { lines.push_back(line); };
  options.on_end = [&](Result<RunEnd> end) { promise.set_value(std::move(end)); };
  spawn_director(system, std::move(options));
  auto future = promise.get_future();
  EXPECT_EQ(future.wait_for(20s), std::future_status::ready);
  EXPECT_OK(future.get());
  caf::anon_send_exit(trainer, caf::exit_reason::kill);
  return lines;
}

TEST(Director, SaysLessAndLessOfCheckpointsThatCannotBeWritten) {
  const auto lines = said_of_checkpoints(
      [](const Checkpoint&) { return Status(Error(Errc::failed_precondition, "full")); });

  EXPECT_EQ(lines,
            (std::vector<std::string>{"checkpoint of step 1 not written: full",
                                      "checkpoint of step 2 not written (2 in a row): full",
                                      "checkpoint of step 4 not written (4 in a row): full",
                                      "checkpoint of step 5 not written (5 in a row): full"}))
      << "and the last one";
}

TEST(Director, SaysThatCheckpointsCanBeWrittenAgain) {
  const auto lines = said_of_checkpoints([](const Checkpoint& what) {
    return what.training.global_step <= 3 ? Status(Error(Errc::failed_precondition, "full"))
                                          : ok_status();
  });

  EXPECT_EQ(lines, (std::vector<std::string>{
                       "checkpoint of step 1 not written: full",
                       "checkpoint of step 2 not written (2 in a row): full",
                       "checkpoint of step 4 is written, after 3 that could not be"}));
}

}  // namespace
}  // namespace troupe
