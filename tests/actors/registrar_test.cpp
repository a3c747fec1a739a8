#include "actors/registrar.hpp"

#include "runtime/wire/messages.hpp"
#include "tests/actors/scripted_system.hpp"
#include "tests/support/expect.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace troupe {
namespace {

using namespace std::chrono_literals;

std::string text(const net::ProcessInstance& instance) {
  return fmt::format("{}.{}", raw(instance.process), instance.incarnation);
}

/// What the registrar did, in order.
class Log {
 public:
  explicit Log(testing::ScriptedSystem& system) : system_(system) {}
  void add(std::string line) { lines_.push_back(std::move(line)); }
  /// Whether a line is added so many times before ten seconds of virtual time have passed.
  bool wait(const std::string& line, int times = 1) {
    return system_.run_until([&] { return count(line) >= times; });
  }
  bool wait_part(const std::string& part) {
    return system_.run_until([&] {
      return std::ranges::any_of(
          lines_, [&](const auto& line) { return line.find(part) != std::string::npos; });
    });
  }
  int count(const std::string& line) const {
    return static_cast<int>(std::ranges::count(lines_, line));
  }

 private:
  testing::ScriptedSystem& system_;
  std::vector<std::string> lines_;
};

struct Faults {
  bool cannot_spawn = false;
  bool slow_to_learn = false;  ///< members do not answer tables
  bool slow_to_end = false;    ///< nor the end
};

caf::behavior fake_process(caf::event_based_actor* self, std::uint32_t id, Log* log,
                           Faults* faults) {
  using Done = Ref<net::Done>;
  const auto done = [] { return Done(net::Done{}); };
  return {
      [=](const Ref<net::SpawnProcess>& spawn) -> caf::result<Done> {
        log->add(fmt::format("{} spawns {} as {}", id, text(spawn->instance), spawn->name));
        if (faults->cannot_spawn) {
          return to_caf(Error(Errc::failed_precondition, "no such program"));
        }
        return done();
      },
      [=](const Ref<net::KillProcess>& kill) {
        log->add(fmt::format("{} kills {}", id, text(kill->instance)));
        return done();
      },
      [=](const Ref<net::Members>& members) -> caf::result<Done> {
        std::string line = fmt::format("{} learns", id);
        for (const auto& entry : members->entries) {
          line += " " + text(entry.instance) + "@" + entry.address;
        }
        log->add(line);
        if (faults->slow_to_learn) {
          return self->make_response_promise<Done>();
        }
        return done();
      },
      [=](const Ref<net::EndProcess>& end) -> caf::result<Ref<net::LinkTotals>> {
        log->add(fmt::format("{} ends: {} {}", id, to_string(end->code), end->why));
        if (faults->slow_to_end) {
          return self->make_response_promise<Ref<net::LinkTotals>>();
        }
        return Ref<net::LinkTotals>(
            net::LinkTotals{.requests = id, .bytes = 100, .max_in_flight_bytes = id});
      },
  };
}

/// Agents 1 and 2, their processes 3 and 4; all fakes.
class RegistrarTest : public ::testing::Test {
 protected:
  RegistrarTest() {
    Job job;
    job.cluster.launch = "local";
    job.cluster.hosts = 2;
    job.cluster.trainers_per_host = 1;
    job.partition.parts = 2;
    options_.roster.layout = make_layout(job);
    options_.roster.version = "v";
    options_.roster.first_pause = 1ms;
    options_.welcome = {"{job}", "/folder", "/store", 99, 0};
    options_.generation = [] { return 5U; };
    options_.member = options_.agent = [this](ProcessId id) { return handle(id); };
    options_.start_agent = [this](HostId host, const net::ProcessInstance& instance) {
      log_.add(fmt::format("agent {} on host {}", text(instance), raw(host)));
    };
    options_.expect = [this](const auto& instance) { log_.add("expect " + text(instance)); };
    options_.drop = [this](const auto& instance, const std::string&) {
      log_.add("drop " + text(instance));
    };
    options_.changed = [this](const Roster& roster) {
      std::string line = "settled";
      for (std::uint32_t id = 1; id <= 4; ++id) {
        line += roster.settled(static_cast<ProcessId>(id)) ? fmt::format(" {}", id) : "";
      }
      log_.add(line);
    };
    options_.complete = [this] { log_.add("complete"); };
    options_.give_up = [this](const Error& why) {
      log_.add(fmt::format("give up: {}: {}", to_string(why.code()), why.what()));
    };
    options_.say = [this](const std::string& line) { log_.add("say: " + line); };
    options_.notice = [this](const net::Notice& notice) { log_.add("notice: " + notice.text); };
    for (std::uint32_t id = 1; id <= 4; ++id) {
      handles_[static_cast<ProcessId>(id)] = system_.add(
          fmt::format("process {}", id), (*system_).spawn(fake_process, id, &log_, &faults_));
    }
  }

  caf::actor handle(ProcessId id) { return hidden_.contains(id) ? caf::actor() : handles_.at(id); }
  /// There is no link to it now.
  void hide(std::uint32_t id, bool on = true) {
    if (on) {
      hidden_.insert(static_cast<ProcessId>(id));
    } else {
      hidden_.erase(static_cast<ProcessId>(id));
    }
  }
  void start() { registrar_ = system_.add("registrar", spawn_registrar(*system_, options_)); }
  template <class Reply, class Request>
  Result<Reply> ask(Request request) {
    const auto asked = peer_.request(registrar_, std::move(request));
    EXPECT_TRUE(system_.run_until([&] { return peer_.is_answered(asked); }));
    TROUPE_ASSIGN_OR_RETURN(const auto reply, peer_.answer_to<Reply>(asked));
    return *reply;
  }
  static net::ProcessInstance instance(std::uint32_t id, std::uint32_t incarnation) {
    return {static_cast<ProcessId>(id), incarnation};
  }
  Result<net::Welcome> join(std::uint32_t id, std::uint32_t incarnation = 1) {
    return ask<net::Welcome>(net::Join{instance(id, incarnation), fmt::format("a:{}", id), "v"});
  }
  void ready(std::uint32_t id, std::uint32_t incarnation = 1) {
    EXPECT_OK(ask<net::Done>(net::Ready{instance(id, incarnation), Errc::ok, ""}));
  }
  void exited(std::uint32_t id, std::uint32_t incarnation, const std::string& how = "exit code 1") {
    EXPECT_OK(ask<net::Done>(net::ProcessExited{instance(id, incarnation), how}));
  }
  void link_lost(std::uint32_t id, std::uint32_t incarnation) {
    caf::anon_send(registrar_,
                   Ref<LinkLost>(LinkLost{instance(id, incarnation), "silent for 3.0 s"}));
  }
  void bring_all() {
    start();
    for (std::uint32_t id = 1; id <= 4; ++id) {
      ASSERT_OK(join(id));
    }
    ready(3);
    ready(4);
    ASSERT_TRUE(log_.wait("complete"));
  }

  testing::ScriptedSystem system_;
  testing::ScriptedActor peer_{system_, "peer"};
  Log log_{system_};
  Faults faults_;
  RegistrarOptions options_;
  caf::actor registrar_;
  std::map<ProcessId, caf::actor> handles_;
  std::set<ProcessId> hidden_;
};

TEST_F(RegistrarTest, BringsUpARun) {
  start();
  EXPECT_TRUE(log_.wait("agent 1.1 on host 0"));
  EXPECT_TRUE(log_.wait("agent 2.1 on host 1"));
  EXPECT_EQ(log_.count("expect 1.1"), 1);
  ASSERT_OK_AND_ASSIGN(const auto for_agent, join(1));
  EXPECT_EQ(for_agent.job, "") << "an agent needs to know nothing";
  EXPECT_TRUE(log_.wait("1 spawns 3.1 as host 0"));
  EXPECT_EQ(log_.count("expect 3.1"), 1);
  ASSERT_OK(join(2));
  EXPECT_TRUE(log_.wait("2 spawns 4.1 as host 1"));

  ASSERT_OK_AND_ASSIGN(const auto welcome, join(3));
  EXPECT_EQ(welcome.job, "{job}");
  EXPECT_EQ(welcome.store_checksum, 99U);
  EXPECT_EQ(welcome.generation, 5U);
  ready(3);
  EXPECT_TRUE(log_.wait("3 learns 3.1@a:3"));
  EXPECT_EQ(log_.count("complete"), 0);
  ASSERT_OK(join(4));
  ready(4);

  EXPECT_TRUE(log_.wait("complete"));
  EXPECT_TRUE(log_.wait("3 learns 3.1@a:3 4.1@a:4"));
  EXPECT_TRUE(log_.wait("4 learns 3.1@a:3 4.1@a:4"));
  EXPECT_EQ(log_.count("complete"), 1);
}

TEST_F(RegistrarTest, NothingIsSettledBeforeAllThatAreReadyHaveTheTable) {
  start();
  for (std::uint32_t id = 1; id <= 4; ++id) {
    ASSERT_OK(join(id));
  }
  faults_.slow_to_learn = true;
  ready(3);
  ready(4);
  EXPECT_TRUE(log_.wait("4 learns 3.1@a:3 4.1@a:4"));

  EXPECT_EQ(log_.count("complete"), 0);
  EXPECT_EQ(log_.count("settled 1 2 3 4"), 0);
}

TEST_F(RegistrarTest, WhoMayNotJoinIsToldWhy) {
  start();
  EXPECT_TRUE(log_.wait("agent 1.1 on host 0"));

  EXPECT_ERROR(join(3), Errc::fenced, "host 0");
  EXPECT_ERROR(join(7), Errc::invalid_argument, "processes 1..4");
  EXPECT_ERROR(ask<net::Welcome>(net::Join{instance(1, 1), "a:1", "old"}),
               Errc::failed_precondition, "expected the program v, found old");
  EXPECT_OK(join(1));
}

TEST_F(RegistrarTest, AProcessThatEndsIsStartedAgain) {
  bring_all();

  exited(3, 1, "killed by signal 9 (Killed)");

  EXPECT_TRUE(log_.wait("1 spawns 3.2 as host 0"));
  EXPECT_EQ(log_.count("say: host 0 is lost: killed by signal 9 (Killed)"), 1);
  EXPECT_EQ(log_.count("drop 3.1"), 1);
  EXPECT_EQ(log_.count("expect 3.2"), 1);
  EXPECT_EQ(log_.count("settled 1 2 4"), 1);
  EXPECT_EQ(log_.count("1 kills 3.1"), 0) << "it has ended";
  EXPECT_ERROR(join(3, 1), Errc::fenced, "its incarnation 1 is over, now 2");
  ASSERT_OK(join(3, 2));
  ready(3, 2);
  EXPECT_TRUE(log_.wait("settled 1 2 3 4", 2));
  EXPECT_EQ(log_.count("complete"), 1);
}

TEST_F(RegistrarTest, AProcessThatIsSilentIsEndedAndStartedAgain) {
  bring_all();

  link_lost(4, 1);

  EXPECT_TRUE(log_.wait("2 spawns 4.2 as host 1"));
  EXPECT_EQ(log_.count("2 kills 4.1"), 1);
  EXPECT_EQ(log_.count("say: host 1 is lost: silent for 3.0 s"), 1);
  exited(4, 1, "killed by signal 9 (Killed)");  // the news of its end comes late
  EXPECT_EQ(log_.count("drop 4.2"), 0);
}

TEST_F(RegistrarTest, AnAgentThatIsLostIsStartedAgainWithItsProcesses) {
  bring_all();

  exited(1, 1);

  EXPECT_TRUE(log_.wait("agent 1.2 on host 0"));
  EXPECT_EQ(log_.count("drop 3.1"), 1);
  ASSERT_OK(join(1, 2));
  EXPECT_TRUE(log_.wait("1 spawns 3.2 as host 0"));
}

TEST_F(RegistrarTest, OneThatCannotBeStartedIsTriedAgainAndThenGivenUp) {
  faults_.cannot_spawn = true;
  start();
  ASSERT_OK(join(1));

  EXPECT_TRUE(log_.wait_part("give up: peer_lost: host 0: lost 6 times in a row"));
  EXPECT_TRUE(log_.wait_part("no such program"));
  EXPECT_EQ(log_.count("1 spawns 3.6 as host 0"), 1);
}

TEST_F(RegistrarTest, AStartThatWaitsIsForgottenIfItsAgentIsLostMeanwhile) {
  options_.roster.first_pause = 300ms;
  start();
  ASSERT_OK(join(1));
  EXPECT_TRUE(log_.wait("1 spawns 3.1 as host 0"));
  exited(3, 1);  // 3.2 is to start in 300 ms
  exited(1, 1);  // and 1.2, which starts 3.3
  EXPECT_TRUE(log_.wait("agent 1.2 on host 0"));
  ASSERT_OK(join(1, 2));
  EXPECT_TRUE(log_.wait("1 spawns 3.3 as host 0"));

  EXPECT_EQ(log_.count("1 spawns 3.2 as host 0"), 0);
  EXPECT_EQ(log_.count("expect 3.2"), 0);
}

TEST_F(RegistrarTest, ALossWithoutALinkToTheAgentWaitsForTheAgent) {
  bring_all();
  hide(1);
  exited(3, 1);
  link_lost(1, 1);
  EXPECT_TRUE(log_.wait("agent 1.2 on host 0"));
  hide(1, false);

  ASSERT_OK(join(1, 2));

  EXPECT_TRUE(log_.wait("1 spawns 3.3 as host 0"));
}

TEST_F(RegistrarTest, WhoCannotHaveItsActorsEndsTheRun) {
  start();
  ASSERT_OK(join(1));
  ASSERT_OK(join(3));

  EXPECT_OK(ask<net::Done>(
      net::Ready{instance(3, 1), Errc::failed_precondition, "expected the director's store"}));

  EXPECT_TRUE(log_.wait("give up: failed_precondition: host 0: expected the director's store"));
}

TEST_F(RegistrarTest, AfterTheJoinDeadlineThoseWhoAreMissingAreNamed) {
  options_.join_deadline = 100ms;
  start();
  ASSERT_OK(join(1));
  ASSERT_OK(join(3));
  ready(3);

  EXPECT_TRUE(log_.wait_part("give up: deadline_exceeded"));
  EXPECT_TRUE(log_.wait_part("after 0.1 s; missing: agent of host 1, host 1; try:"));
}

TEST_F(RegistrarTest, TheJoinDeadlineIsOfNoMeaningOnceAllWereThere) {
  options_.join_deadline = 200ms;
  bring_all();
  exited(3, 1);
  system_.run_for(300ms);

  EXPECT_EQ(log_.count("complete"), 1);
  EXPECT_FALSE(log_.count("give up: deadline_exceeded") > 0);
}

TEST_F(RegistrarTest, NoticesArePassedOn) {
  start();
  EXPECT_OK(ask<net::Done>(net::Notice{.text = "holder of part 1 is started again"}));
  EXPECT_EQ(log_.count("notice: holder of part 1 is started again"), 1);
}

TEST_F(RegistrarTest, TheEndOfRanksIsPassedOnOrNobodysBusiness) {
  const net::RanksEnded ended{instance(3, 1), Errc::ok, "done", {}, 7};
  bring_all();
  EXPECT_OK(ask<net::Done>(ended));
  caf::anon_send_exit(registrar_, caf::exit_reason::kill);
  options_.ranks_ended = [this](const auto& what) {
    log_.add(fmt::format("ranks of {} ended after {}", text(what.instance), what.steps));
  };
  bring_all();

  EXPECT_OK(ask<net::Done>(ended));
  EXPECT_OK(
      ask<net::Done>(net::RanksEnded{instance(3, 2), Errc::ok, "of another incarnation", {}, 9}));

  EXPECT_EQ(log_.count("ranks of 3.1 ended after 7"), 1);
  EXPECT_EQ(log_.count("ranks of 3.2 ended after 9"), 0);
}

TEST_F(RegistrarTest, RanksThatStartAgainLearnFromWhereAndHaveADeadline) {
  options_.roster.restart_together = true;
  options_.return_deadline = 300ms;
  options_.restart_ranks = [this](const std::string& why) {
    log_.add("restart: " + why);
    return true;
  };
  bring_all();

  exited(4, 1);

  EXPECT_TRUE(log_.wait("restart: host 1 is lost: exit code 1"));
  EXPECT_TRUE(log_.wait("1 spawns 3.2 as host 0"));
  ASSERT_OK_AND_ASSIGN(const auto welcome, join(3, 2));
  EXPECT_TRUE(welcome.resume);
  ready(3, 2);
  EXPECT_TRUE(log_.wait(
      "give up: peer_lost: host 1: lost, and not back within 300 ms; try: their output, a larger "
      "cluster.recovery_deadline, or --resume"));
  EXPECT_EQ(log_.count("restart: host 1 is lost: exit code 1"), 1);
}

TEST_F(RegistrarTest, EpochsOfRanksArePassedOn) {
  options_.rank_epoch = [this](const net::RankEpoch& epoch) {
    log_.add(fmt::format("epoch {} after {}", epoch.result.epoch, epoch.global_step));
  };
  start();

  net::RankEpoch epoch;
  epoch.result.epoch = 2;
  epoch.global_step = 9;
  EXPECT_OK(ask<net::Done>(epoch));

  EXPECT_EQ(log_.count("epoch 2 after 9"), 1);
}

TEST_F(RegistrarTest, ProcessesOfAResumedRunOrOfInferenceReadWhatTheyBeginWith) {
  start();
  EXPECT_ERROR(ask<net::StateReply>(net::ReadStart{ProcessId{3}, 0}), Errc::failed_precondition,
               "process 3: expected a run that is resumed, or inference");
  options_.start_state = [](const net::ReadStart& request) -> Result<net::StateReply> {
    auto state = std::make_shared<net::TrainingState>();
    state->global_step = raw(request.process) + request.piece;
    return net::StateReply{std::move(state)};
  };
  for (const bool infers : {false, true}) {
    caf::anon_send_exit(registrar_, caf::exit_reason::kill);
    options_.welcome.resume = !infers;
    options_.welcome.infers = infers;
    start();

    ASSERT_OK_AND_ASSIGN(const auto reply, ask<net::StateReply>(net::ReadStart{ProcessId{3}, 40}));

    EXPECT_EQ(reply.state->global_step, 43U);
  }
}

TEST_F(RegistrarTest, AStateIsKeptBeforeTheAnswer) {
  start();
  EXPECT_ERROR(ask<net::Done>(net::KeepState{}), Errc::failed_precondition, "a user program");
  caf::anon_send_exit(registrar_, caf::exit_reason::kill);
  options_.io = std::make_shared<InlineExecutor>();
  options_.keep_state = [this](const net::KeepState& request) -> Status {
    log_.add(fmt::format("keep piece {}", request.piece));
    return request.last ? Status(Error(Errc::failed_precondition, "the disk is full"))
                        : ok_status();
  };
  start();

  EXPECT_OK(ask<net::Done>(net::KeepState{}));
  EXPECT_ERROR(ask<net::Done>(net::KeepState{.piece = 1, .last = true}), Errc::failed_precondition,
               "the disk is full");

  EXPECT_EQ(log_.count("keep piece 1"), 1);
}

// ---- the end ----

TEST_F(RegistrarTest, TheEndIsToldToAllAndTheirTotalsAreSummed) {
  bring_all();

  ASSERT_OK_AND_ASSIGN(const auto totals,
                       ask<net::LinkTotals>(EndAll{{Errc::cancelled, "interrupted"}, 5s}));

  EXPECT_EQ(totals.requests, 1U + 2U + 3U + 4U);
  EXPECT_EQ(totals.bytes, 400U);
  EXPECT_EQ(totals.max_in_flight_bytes, 4U);
  EXPECT_EQ(log_.count("3 ends: cancelled interrupted"), 1);
}

TEST_F(RegistrarTest, WhoDoesNotAnswerTheEndIsNotWaitedForLongerThanTheDeadline) {
  bring_all();
  faults_.slow_to_end = true;

  ASSERT_OK_AND_ASSIGN(const auto totals, ask<net::LinkTotals>(EndAll{{}, 50ms}));

  EXPECT_EQ(totals.requests, 0U);
}

TEST_F(RegistrarTest, TheEndOfNobodyIsAnsweredAtOnce) {
  start();
  EXPECT_OK(ask<net::LinkTotals>(EndAll{{}, 1h}));
}

TEST_F(RegistrarTest, WhatEndsAfterTheEndIsNotStartedAgain) {
  bring_all();
  ASSERT_OK(ask<net::LinkTotals>(EndAll{}));

  exited(3, 1);
  exited(1, 1);
  link_lost(4, 1);
  system_.run_for(10s);

  EXPECT_EQ(log_.count("drop 3.1"), 0);
  EXPECT_EQ(log_.count("expect 3.2"), 0);
  EXPECT_EQ(log_.count("say: host 0 is lost: exit code 1"), 0);
}

}  // namespace
}  // namespace troupe
