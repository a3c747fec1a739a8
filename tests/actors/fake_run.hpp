#pragma once
/// \file fake_run.hpp
/// A run of three epochs and an evaluation at its end, for tests of the director: one rank, one evaluator
/// and three processes, none of which does anything but answer when the test lets it.
#include "actors/director.hpp"
#include "actors/error.hpp"
#include "actors/message.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <fmt/format.h>
#include <future>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace troupe::testing {

inline constexpr std::size_t host_0 = 0;     // has the trainer
inline constexpr std::size_t host_1 = 1;     // has the evaluator
inline constexpr std::size_t sampler_0 = 2;  // has neither
inline const std::vector<std::string> process_names = {"host 0", "host 1", "sampler 0 of rank 0"};

/// To be done later.
struct Again {
  std::function<void()> what;
};
/// To the evaluator: as its proxy when the link is down for good.
struct LinkDown {};
struct FakeEvaluatorState {
  caf::typed_response_promise<Ref<net::InferResult>> open;
  std::uint64_t work = 0;
};
struct FakeTrainerState {
  std::shared_ptr<const net::TrainingState> at = std::make_shared<const net::TrainingState>();
};

/// A run of three epochs and an evaluation at its end, on three fake processes.
class FakeRun {
 public:
  struct Times {
    std::chrono::milliseconds return_deadline{500};
    std::chrono::milliseconds step_deadline{60'000};
  };
  FakeRun() : FakeRun(Times()) {}
  explicit FakeRun(Times times) : system_(config_) {
    for (std::size_t i = 0; i < 3; ++i) {
      start(i);
    }
    DirectorOptions options;
    options.trainer = [this](Rank) { return handle(host_0, trainer_); };
    options.evaluators = {{"evaluator of host 1"},
                          [this](std::size_t) { return handle(host_1, evaluator_); }};
    options.supervisors = {process_names,
                           [this](std::size_t i) { return handle(i, supervisors_[i]); }};
    options.return_deadline = times.return_deadline;
    options.step_deadline = times.step_deadline;
    options.start = std::make_shared<const Checkpoint>();
    options.io = std::make_shared<InlineExecutor>();
    options.conductor.epochs = 3;
    options.conductor.seeds["test"] = std::make_shared<const SeedList>(
        SeedList{.node_type = {}, .original = {OriginalId{0}}, .global = {NodeId{0}}});
    options.heartbeat = std::chrono::milliseconds(10);
    options.lost_after = std::chrono::seconds(5);
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

  /// The evaluator's signs of life count work, whatever it does.
  std::atomic<bool> evaluator_works{false};

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
    return changed_.wait_for(guard, std::chrono::seconds(10),
                             [&] { return std::ranges::count(told_, what) >= times; });
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
    if (future.wait_for(std::chrono::seconds(20)) != std::future_status::ready) {
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

  template <class Self, class Reply>
  auto answer(Self* self, const std::string& what, Reply reply);
  static caf::behavior train(caf::stateful_actor<FakeTrainerState>* self, FakeRun* run);
  static caf::behavior evaluate(caf::stateful_actor<FakeEvaluatorState>* self, FakeRun* run);
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

/// Answers when it is let go.
template <class Self, class Answer>
void answer_when(Self* self, const std::function<bool()>& is_held, Answer answer) {
  if (!is_held()) {
    return answer();
  }
  self->delayed_send(self, std::chrono::milliseconds(2),
                     Ref<Again>(Again{[=] { answer_when(self, is_held, answer); }}));
}

/// Answers with `reply()`, at once or when the test lets `what` go.
template <class Self, class Reply>
auto FakeRun::answer(Self* self, const std::string& what, Reply reply) {
  auto promise = self->template make_response_promise<decltype(reply())>();
  const bool held = is_held(what);
  const auto deliver = [promise, reply] {
    auto to = promise;
    to.deliver(reply());
  };
  if (held) {
    answer_when(
        self, [this, what] { return still_held(what); }, deliver);
  } else {
    deliver();
  }
  return promise;
}

inline Ref<net::Done> done() {
  return Ref<net::Done>(net::Done{});
}

inline caf::behavior FakeRun::train(caf::stateful_actor<FakeTrainerState>* self, FakeRun* run) {
  return {
      [=](const Ref<net::EpochRequest>& request) {
        return run->answer(self, fmt::format("epoch {}", request->epoch),
                           [self, epoch = request->epoch] {
                             auto next = *self->state.at;
                             next.epoch = epoch + 1;
                             next.global_step = next.epoch;
                             self->state.at = std::make_shared<const net::TrainingState>(next);
                             net::EpochResult result;
                             result.epoch = epoch;
                             result.loss_weight = 1;
                             return Ref<net::EpochResult>(result);
                           });
      },
      [=](const Ref<net::Restore>& restore) {
        self->state.at = restore->state;
        return run->answer(self, fmt::format("restore step {}", restore->state->global_step), done);
      },
      [=](const Ref<net::TakeState>&) {
        return Ref<net::StateReply>(net::StateReply{self->state.at});
      },
      [](const Ref<net::Ping>&) { return Ref<net::Pong>(net::Pong{}); },
      [=](const Ref<net::KeepBest>&) { return run->answer(self, "keep", done); },
      [=](const Ref<net::Finish>&) {
        return run->answer(self, "finish",
                           [] { return Ref<net::FinishResult>(net::FinishResult{}); });
      },
      [](const Ref<Again>& again) { again->what(); },
  };
}

inline caf::behavior FakeRun::evaluate(caf::stateful_actor<FakeEvaluatorState>* self,
                                       FakeRun* run) {
  return {
      [=](const Ref<net::InferRequest>&) {
        const auto promise =
            run->answer(self, "infer", [] { return Ref<net::InferResult>(net::InferResult{}); });
        self->state.open = promise;
        return promise;
      },
      [=](const Ref<net::ScoreRequest>&) {
        return run->answer(self, "score", [] {
          net::ScoreResult result{.positions = {0}, .cols = 2, .outputs = {}, .labels = {1}};
          result.outputs = Segment::of(std::vector<float>{0, 1});
          return Ref<net::ScoreResult>(std::move(result));
        });
      },
      [=](const Ref<net::Ping>&) {
        return Ref<net::Pong>(net::Pong{.work = run->evaluator_works ? ++self->state.work : 0});
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

inline caf::behavior FakeRun::supervise(caf::event_based_actor* self, FakeRun* run,
                                        std::size_t process) {
  return {
      [=](const Ref<net::Regroup>& request) {
        if (process == host_0) {
          const std::lock_guard guard(run->mutex_);
          caf::anon_send_exit(run->trainer_, caf::exit_reason::kill);
          run->trainer_ = self->home_system().spawn(train, run);
        }
        return run->answer(self,
                           process == host_0 ? fmt::format("regroup {}", request->generation)
                                             : fmt::format("regroup of {}", process),
                           done);
      },
      [=](const Ref<net::Introduce>&) {
        return run->answer(self, fmt::format("introduce to {}", process), done);
      },
      [](const Ref<Again>& again) { again->what(); },
  };
}

}  // namespace troupe::testing
