// Processes that are lost and come back while the director leads the run.
#include "actors/director.hpp"
#include "actors/error.hpp"
#include "actors/message.hpp"
#include "tests/support/expect.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <fmt/format.h>
#include <future>
#include <mutex>

namespace troupe {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t host_0 = 0;     // has the trainer
constexpr std::size_t host_1 = 1;     // has the evaluator
constexpr std::size_t sampler_0 = 2;  // has neither
const std::vector<std::string> process_names = {"host 0", "host 1", "sampler 0 of rank 0"};

/// To be done later.
struct Again {
  std::function<void()> what;
};
/// To the evaluator: as its proxy when the link is down for good.
struct LinkDown {};
struct EvaluatorState {
  caf::response_promise open;
};
struct TrainerState {
  std::shared_ptr<const net::TrainingState> at = std::make_shared<const net::TrainingState>();
};

/// A run of three epochs and an evaluation at its end, on three fake processes.
class FakeRun {
 public:
  explicit FakeRun(std::chrono::milliseconds return_deadline = 500ms) : system_(config_) {
    for (std::size_t i = 0; i < 3; ++i) {
      start(i);
    }
    DirectorOptions options;
    options.trainer = [this](Rank) { return handle(host_0, trainer_); };
    options.evaluators = {{"evaluator of host 1"},
                          [this](std::size_t) { return handle(host_1, evaluator_); }};
    options.supervisors = {process_names,
                           [this](std::size_t i) { return handle(i, supervisors_[i]); }};
    options.return_deadline = return_deadline;
    options.start = std::make_shared<const Checkpoint>();
    options.io = std::make_shared<InlineExecutor>();
    options.conductor.epochs = 3;
    options.heartbeat = 10ms;
    options.lost_after = 5s;
    options.on_end = [this](Result<RunEnd> end) { promise_.set_value(std::move(end)); };
    hold("epoch 1");
    director_ = spawn_director(system_, std::move(options));
  }
  ~FakeRun() {
    caf::anon_send_exit(director_, caf::exit_reason::kill);
    for (std::size_t i = 0; i < 3; ++i) {
      end_actors(i);
    }
    system_.await_all_actors_done();  // they use what is here
  }

  /// What is held is not answered until it is let go.
  void hold(const std::string& what) {
    const std::lock_guard guard(mutex_);
    held_.insert(what);
  }
  void let_go(const std::string& what) {
    const std::lock_guard guard(mutex_);
    held_.erase(what);
  }
  bool wait_told(const std::string& what, std::ptrdiff_t times = 1) {
    std::unique_lock guard(mutex_);
    return changed_.wait_for(guard, 10s, [&] { return std::ranges::count(told_, what) >= times; });
  }
  std::ptrdiff_t count(const std::string& what) {
    const std::lock_guard guard(mutex_);
    return std::ranges::count(told_, what);
  }
  void lose(std::size_t process) {
    {
      const std::lock_guard guard(mutex_);
      there_[process] = false;
    }
    end_actors(process);
    change();
  }
  void end_actors(std::size_t process) {
    caf::anon_send_exit(supervisors_[process], caf::exit_reason::kill);
    if (process == host_0) {
      caf::anon_send_exit(trainer_, caf::exit_reason::kill);
    } else if (process == host_1) {
      caf::anon_send(evaluator_, Ref<LinkDown>(LinkDown{}));
    }
  }
  void bring_back(std::size_t process) {
    start(process);
    change();
  }
  void change() { caf::anon_send(director_, Ref<ProcessesChanged>(ProcessesChanged{})); }
  Result<RunEnd> end() {
    auto future = promise_.get_future();
    if (future.wait_for(20s) != std::future_status::ready) {
      return Error(Errc::internal, "still running");
    }
    return future.get();
  }

 private:
  bool is_held(const std::string& what) {
    {
      const std::lock_guard guard(mutex_);
      told_.push_back(what);
    }
    changed_.notify_all();
    const std::lock_guard guard(mutex_);
    return held_.contains(what);
  }
  bool still_held(const std::string& what) {
    const std::lock_guard guard(mutex_);
    return held_.contains(what);
  }
  caf::actor handle(std::size_t process, const caf::actor& actor) {
    const std::lock_guard guard(mutex_);
    return there_[process] ? actor : caf::actor();
  }
  void start(std::size_t process) {
    const auto supervisor = system_.spawn(supervise, this, process);
    const std::lock_guard guard(mutex_);
    supervisors_[process] = supervisor;
    if (process == host_0) {
      trainer_ = system_.spawn(train, this);
    } else if (process == host_1) {
      evaluator_ = system_.spawn(evaluate, this);
    }
    there_[process] = true;
  }

  static caf::behavior train(caf::stateful_actor<TrainerState>* self, FakeRun* run);
  static caf::behavior evaluate(caf::stateful_actor<EvaluatorState>* self, FakeRun* run);
  static caf::behavior supervise(caf::event_based_actor* self, FakeRun* run, std::size_t process);

  caf::actor_system_config config_;
  caf::actor_system system_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> told_;
  std::set<std::string> held_;
  std::array<bool, 3> there_{};
  std::array<caf::actor, 3> supervisors_;
  caf::actor trainer_;
  caf::actor evaluator_;
  caf::actor director_;
  std::promise<Result<RunEnd>> promise_;
};

/// Answers at once, or when it is let go.
template <class Self, class Answer>
void answer_when(Self* self, const std::function<bool()>& is_held, Answer answer) {
  if (!is_held()) {
    return answer();
  }
  self->delayed_send(self, 2ms, Ref<Again>(Again{[=] { answer_when(self, is_held, answer); }}));
}

caf::behavior FakeRun::train(caf::stateful_actor<TrainerState>* self, FakeRun* run) {
  return {
      [=](const Ref<net::EpochRequest>& request) {
        auto promise = self->make_response_promise();
        const auto what = fmt::format("epoch {}", request->epoch);
        run->is_held(what);
        answer_when(
            self, [=] { return run->still_held(what); },
            [=, epoch = request->epoch] {
              auto next = *self->state.at;
              next.epoch = epoch + 1;
              next.global_step = next.epoch;
              self->state.at = std::make_shared<const net::TrainingState>(next);
              net::EpochResult result;
              result.epoch = epoch;
              result.loss_weight = 1;
              auto to = promise;
              to.deliver(Ref<net::EpochResult>(result));
            });
      },
      [=](const Ref<net::Restore>& restore) {
        run->is_held(fmt::format("restore step {}", restore->state->global_step));
        self->state.at = restore->state;
        return Ref<net::Done>(net::Done{});
      },
      [=](const Ref<net::TakeState>&) {
        return Ref<net::StateReply>(net::StateReply{self->state.at});
      },
      [](const Ref<net::Ping>&) { return Ref<net::Pong>(net::Pong{}); },
      [](const Ref<net::KeepBest>&) { return Ref<net::Done>(net::Done{}); },
      [](const Ref<net::Finish>&) { return Ref<net::FinishResult>(net::FinishResult{}); },
      [](const Ref<Again>& again) { again->what(); },
  };
}

caf::behavior FakeRun::evaluate(caf::stateful_actor<EvaluatorState>* self, FakeRun* run) {
  return {
      [=](const Ref<net::InferRequest>&) {
        self->state.open = self->make_response_promise();
        run->is_held("infer");
        answer_when(
            self, [=] { return run->still_held("infer"); },
            [=] { self->state.open.deliver(Ref<net::InferResult>(net::InferResult{})); });
      },
      [=](const Ref<LinkDown>&) {
        if (self->state.open.pending()) {
          self->state.open.deliver(to_caf(Error(Errc::peer_lost, "the link is down")));
        }
        run->is_held("link down");
        self->quit(caf::exit_reason::kill);
      },
      [](const Ref<Again>& again) { again->what(); },
  };
}

caf::behavior FakeRun::supervise(caf::event_based_actor* self, FakeRun* run, std::size_t process) {
  return {
      [=](const Ref<net::Regroup>& request) {
        if (process == host_0) {
          run->is_held(fmt::format("regroup {}", request->generation));
          const std::lock_guard guard(run->mutex_);
          caf::anon_send_exit(run->trainer_, caf::exit_reason::kill);
          run->trainer_ = self->home_system().spawn(train, run);
        }
        return Ref<net::Done>(net::Done{});
      },
      [](const Ref<net::Introduce>&) { return Ref<net::Done>(net::Done{}); },
  };
}

TEST(DirectorReturn, AnEvaluatorsProcessLostWhileTrainingDoesNotRollBack) {
  FakeRun run;
  ASSERT_TRUE(run.wait_told("epoch 1"));

  run.lose(host_1);
  run.bring_back(host_1);
  run.let_go("epoch 1");

  EXPECT_OK(run.end());
  EXPECT_EQ(run.count("regroup 1"), 0);
  EXPECT_EQ(run.count("epoch 1"), 1);
}

TEST(DirectorReturn, TheEvaluationWaitsForItsProcess) {
  FakeRun run(10s);
  ASSERT_TRUE(run.wait_told("epoch 1"));
  run.lose(host_1);
  run.let_go("epoch 1");
  ASSERT_TRUE(run.wait_told("epoch 2"));
  std::this_thread::sleep_for(50ms);  // the evaluation is due
  EXPECT_EQ(run.count("infer"), 0);

  run.bring_back(host_1);

  EXPECT_OK(run.end());
  EXPECT_EQ(run.count("infer"), 1);
  EXPECT_EQ(run.count("regroup 1"), 0);
}

TEST(DirectorReturn, AnEvaluatorsProcessLostWhileEvaluatingRollsBack) {
  FakeRun run(10s);
  run.hold("infer");
  run.let_go("epoch 1");
  ASSERT_TRUE(run.wait_told("infer"));

  run.lose(host_1);
  ASSERT_TRUE(run.wait_told("link down"));
  run.let_go("infer");
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(run.count("regroup 1"), 0) << "not before it is back";
  run.bring_back(host_1);

  EXPECT_OK(run.end());
  EXPECT_EQ(run.count("regroup 1"), 1);
  EXPECT_EQ(run.count("restore step 3"), 1) << "what was trained is not trained again";
  EXPECT_EQ(run.count("infer"), 2);
}

TEST(DirectorReturn, ATrainersProcessThatComesBackMakesAllGoOnFromTheLastState) {
  FakeRun run(10s);
  ASSERT_TRUE(run.wait_told("epoch 1"));

  run.lose(host_0);
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(run.count("regroup 1"), 0);
  run.let_go("epoch 1");
  run.bring_back(host_0);

  ASSERT_OK_AND_ASSIGN(const auto end, run.end());
  EXPECT_EQ(end.record.epochs.size(), 3U);
  EXPECT_EQ(run.count("regroup 1"), 1);
  EXPECT_EQ(run.count("restore step 1"), 1);
  EXPECT_EQ(run.count("epoch 0"), 1);
}

TEST(DirectorReturn, ASamplersProcessIsNoReasonToRollBack) {
  FakeRun run(10s);
  ASSERT_TRUE(run.wait_told("epoch 1"));

  run.lose(sampler_0);
  run.bring_back(sampler_0);
  run.lose(sampler_0);
  run.let_go("epoch 1");
  run.bring_back(sampler_0);

  EXPECT_OK(run.end());
  EXPECT_EQ(run.count("regroup 1"), 0);
}

TEST(DirectorReturn, NewsWithoutAChangeChangeNothing) {
  FakeRun run;
  ASSERT_TRUE(run.wait_told("epoch 1"));
  for (int i = 0; i < 100; ++i) {
    run.change();
  }
  run.let_go("epoch 1");

  EXPECT_OK(run.end());
  EXPECT_EQ(run.count("regroup 1"), 0);
}

TEST(DirectorReturn, OneThatDoesNotComeBackEndsTheRunWithItsName) {
  for (const auto process : {host_0, host_1, sampler_0}) {
    FakeRun run(100ms);
    ASSERT_TRUE(run.wait_told("epoch 1"));

    run.lose(process);
    run.let_go("epoch 1");

    const auto end = run.end();
    EXPECT_ERROR(end, Errc::peer_lost,
                 process_names[process] + ": lost, and not back within 100 ms");
    EXPECT_ERROR(end, Errc::peer_lost, "try:");
  }
}

TEST(DirectorReturn, WhereNoneComesBackALossEndsTheRunAtOnce) {
  FakeRun run(0ms);
  ASSERT_TRUE(run.wait_told("epoch 1"));

  run.end_actors(sampler_0);

  EXPECT_ERROR(run.end(), Errc::peer_lost, "sampler 0 of rank 0: the actor ended");
}

TEST(DirectorReturn, EveryWaitHasItsWholeDeadline) {
  FakeRun run(600ms);
  ASSERT_TRUE(run.wait_told("epoch 1"));
  run.lose(host_1);
  run.let_go("epoch 1");
  ASSERT_TRUE(run.wait_told("epoch 2"));
  std::this_thread::sleep_for(400ms);  // the evaluation waits

  run.lose(host_0);
  run.bring_back(host_1);
  std::this_thread::sleep_for(400ms);  // longer than the rest of the first wait
  run.bring_back(host_0);

  EXPECT_OK(run.end());
  EXPECT_EQ(run.count("regroup 1"), 1);
}

TEST(DirectorReturn, LossesWhileItRecoversAreWaitedForToo) {
  FakeRun run(10s);
  ASSERT_TRUE(run.wait_told("epoch 1"));
  run.lose(host_0);
  run.lose(host_1);
  run.lose(sampler_0);
  run.let_go("epoch 1");
  for (const auto process : {sampler_0, host_1, host_0}) {
    EXPECT_EQ(run.count("regroup 1"), 0);
    run.bring_back(process);
  }

  EXPECT_OK(run.end());
  EXPECT_EQ(run.count("regroup 1"), 1);
}

}  // namespace
}  // namespace troupe
