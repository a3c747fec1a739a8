// Processes that were started and never show up.
#include "actors/registrar.hpp"
#include "runtime/wire/messages.hpp"
#include "tests/actors/scripted_system.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

std::string instance_text(const net::ProcessInstance& instance) {
  return fmt::format("{}.{}", raw(instance.process), instance.incarnation);
}

/// Agent 1 of the only host and its process 2, on a virtual clock.
class RegistrarStart : public ::testing::Test {
 protected:
  RegistrarStart() {
    Job job;
    job.cluster.launch = "local";
    RegistrarOptions options;
    options.roster.layout = make_layout(job);
    options.generation = [] { return 0U; };
    options.member = [](ProcessId) { return caf::actor(); };
    options.agent = [this](ProcessId) { return agent_; };
    options.start_agent = [this](HostId, const net::ProcessInstance& instance) {
      add("agent", instance);
    };
    options.expect = [](const net::ProcessInstance&) {};
    options.drop = [](const net::ProcessInstance&, const std::string&) {};
    options.changed = [](const Roster&) {};
    options.say = [this](const std::string& line) { did_.push_back(line); };
    options.start_deadline = 300ms;
    options.agent_start_deadline = 500ms;
    agent_ =
        system_.add("agent", (*system_).spawn([this](caf::event_based_actor*) -> caf::behavior {
          return {[this](const Ref<net::SpawnProcess>& spawn) {
                    add("spawn", spawn->instance);
                    return Ref<net::Done>(net::Done{});
                  },
                  [this](const Ref<net::KillProcess>& kill) { add("kill", kill->instance); }};
        }));
    registrar_ = system_.add("registrar", spawn_registrar(*system_, std::move(options)));
  }
  void add(const std::string& what, const net::ProcessInstance& instance) {
    did_.push_back(what + " " + instance_text(instance));
  }
  void join(std::uint32_t process) {
    caf::anon_send(registrar_,
                   Ref<net::Join>(net::Join{{static_cast<ProcessId>(process), 1}, "a", ""}));
    system_.run();
  }
  /// What was done meanwhile.
  Lines pass(std::chrono::milliseconds time) {
    did_.clear();
    system_.run_for(time);
    return did_;
  }

  testing::ScriptedSystem system_;
  Lines did_;
  caf::actor agent_;
  caf::actor registrar_;
};

TEST_F(RegistrarStart, AProcessThatIsNotHeardOfIsEndedAndStartedAgainWithMoreTime) {
  join(1);

  EXPECT_EQ(pass(299ms), Lines{});
  EXPECT_EQ(pass(1ms),
            (Lines{"host 0 is lost: started, and not heard of within 300 ms", "kill 2.1"}));
  EXPECT_EQ(pass(190ms), Lines{"spawn 2.2"});
  EXPECT_EQ(pass(400ms), Lines{});
  EXPECT_EQ(pass(200ms).front(), "host 0 is lost: started, and not heard of within 600 ms");
}

TEST_F(RegistrarStart, AProcessThatHasJoinedMayTakeItsTime) {
  join(1);
  join(2);

  EXPECT_EQ(pass(2s), Lines{});
}

TEST_F(RegistrarStart, AnAgentThatIsNotHeardOfIsStartedAgain) {
  EXPECT_EQ(pass(700ms), (Lines{"agent of host 0 is lost: started, and not heard of within 500 ms",
                                "agent 1.2"}));
}

}  // namespace
}  // namespace troupe
