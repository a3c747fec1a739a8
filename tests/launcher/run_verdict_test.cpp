// Who is told, and how often, when a run cannot go on; why a process ends.
#include "launcher/processes/run_verdict.hpp"

#include "launcher/processes/ending.hpp"
#include "launcher/processes/instance_table.hpp"
#include "tests/support/expect.hpp"

#include <thread>

namespace troupe {
namespace {

const std::function<bool()> never = [] { return false; };

TEST(Ending, HasTheReasonDecidedFirstWhoeverBeginsIt) {
  Ending told;
  told.decide(ok_status());
  std::thread link([&] { told.set(Error(Errc::cancelled, "the run is over")); });
  EXPECT_OK(told.wait());
  link.join();

  Ending lost;
  lost.set(Error(Errc::peer_lost, "the director is lost"));
  lost.decide(ok_status());
  lost.begin();
  EXPECT_ERROR(lost.wait(), Errc::peer_lost, "the director is lost");
  EXPECT_TRUE(lost.lost());
  EXPECT_FALSE(lost.by_director());

  Ending sent;
  sent.decide_by_director(Error(Errc::cancelled, "interrupted"));
  EXPECT_FALSE(sent.lost());
  sent.set(Error(Errc::peer_lost, "the director is lost"));
  EXPECT_ERROR(sent.wait(), Errc::cancelled, "interrupted");
  EXPECT_TRUE(sent.by_director());
  EXPECT_TRUE(sent.lost());
}

TEST(RunVerdict, IsAwaitedUntilAllAreThereOrOneCannotCome) {
  RunVerdict good;
  std::thread late([&] { good.complete(); });
  EXPECT_OK(good.wait_complete(never));
  late.join();

  RunVerdict bad;
  bad.fail(Error(Errc::failed_precondition, "host 1: another version"));
  bad.fail(Error(Errc::peer_lost, "later"));
  EXPECT_ERROR(bad.wait_complete(never), Errc::failed_precondition, "another version");

  RunVerdict stopped;
  EXPECT_ERROR(stopped.wait_complete([] { return true; }), Errc::cancelled, "interrupted");
}

TEST(RunVerdict, OfAFailedRunIsToldOnce) {
  RunVerdict verdict;
  verdict.complete();
  int told = 0;
  EXPECT_TRUE(verdict.begin([&](const Error&) { ++told; }));
  verdict.fail(Error(Errc::peer_lost, "host 1"));
  verdict.fail(Error(Errc::peer_lost, "host 2"));
  EXPECT_EQ(told, 1);
  EXPECT_FALSE(verdict.finish(ok_status())) << "who began knows already";
  EXPECT_ERROR(verdict.outcome(), Errc::peer_lost, "host 1");
}

TEST(RunVerdict, OfARunThatFailedBeforeItBeganIsToldAtOnce) {
  RunVerdict verdict;
  verdict.complete();
  verdict.fail(Error(Errc::peer_lost, "host 1"));
  std::string told;
  EXPECT_FALSE(verdict.begin([&](const Error& why) { told = why.what(); }));
  EXPECT_EQ(told, "host 1");
  EXPECT_FALSE(verdict.finish(ok_status()));
}

TEST(RunVerdict, OfARunThatHasEndedIsToldToNobody) {
  RunVerdict verdict;
  verdict.complete();
  int told = 0;
  EXPECT_TRUE(verdict.begin([&](const Error&) { ++told; }));
  EXPECT_TRUE(verdict.finish(ok_status()));
  verdict.fail(Error(Errc::peer_lost, "host 1"));
  EXPECT_FALSE(verdict.finish(Error(Errc::cancelled, "interrupted")));
  EXPECT_OK(verdict.outcome());
  EXPECT_FALSE(verdict.begin([&](const Error&) { ++told; }));
  EXPECT_EQ(told, 0);
}

TEST(RunVerdict, OutcomeIsHowTheRunFinishedOrWhatItCouldNotBegin) {
  RunVerdict interrupted;
  interrupted.complete();
  EXPECT_TRUE(interrupted.finish(Error(Errc::cancelled, "interrupted")));
  EXPECT_ERROR(interrupted.outcome(), Errc::cancelled, "interrupted");

  RunVerdict incomplete;
  incomplete.fail(Error(Errc::deadline_exceeded, "missing: host 1"));
  EXPECT_TRUE(incomplete.finish(Error(Errc::cancelled, "interrupted")));
  EXPECT_ERROR(incomplete.outcome(), Errc::deadline_exceeded, "missing: host 1");
}

TEST(InstanceTable, AdmitsTheIncarnationThatIsExpected) {
  InstanceTable instances;
  const ProcessId one{1};
  EXPECT_ERROR(instances.admit({one, 1}), Errc::fenced, "process 1: its incarnation 1 is over");
  instances.expect({one, 2});
  EXPECT_OK(instances.admit({one, 2}));
  EXPECT_ERROR(instances.admit({one, 1}), Errc::fenced, "");
  EXPECT_ERROR(instances.admit({one, 3}), Errc::fenced, "");
  instances.forget({one, 1});
  EXPECT_OK(instances.admit({one, 2}));
  instances.forget({one, 2});
  EXPECT_ERROR(instances.admit({one, 2}), Errc::fenced, "");
}

TEST(InstanceTable, TakesAGivenIncarnationWhileThereIsNoOther) {
  InstanceTable instances;
  const ProcessId one{1};
  instances.give({one, 4});
  instances.give({one, 5});
  EXPECT_ERROR(instances.admit({one, 6}), Errc::fenced, "");
  EXPECT_OK(instances.admit({one, 4}));
  EXPECT_ERROR(instances.admit({one, 5}), Errc::fenced, "");
  EXPECT_OK(instances.admit({one, 4})) << "a live one is kept";
  instances.forget({one, 4});
  EXPECT_OK(instances.admit({one, 5}));
}

}  // namespace
}  // namespace troupe
