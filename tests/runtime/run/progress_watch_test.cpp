#include "runtime/run/progress_watch.hpp"

#include "tests/support/expect.hpp"

namespace troupe {
namespace {

using namespace std::chrono_literals;
using Time = ProgressWatch::TimePoint;

const std::vector<std::string> two = {"trainer 0", "trainer 1"};

ProgressWatch watch_of_two() {
  ProgressWatch watch(10s);
  watch.begin("train an epoch", two, Time(0s));
  return watch;
}

std::string said(const ProgressWatch& watch, Time now) {
  const auto why = watch.overdue(now);
  return why ? why->what() : "";
}

TEST(ProgressWatch, NothingIsOverdueBeforeTheFirstCommand) {
  EXPECT_EQ(said(ProgressWatch(10s), Time(24h)), "");
}

TEST(ProgressWatch, SilenceAndSignsOfLifeWithoutWorkAreOverdue) {
  auto watch = watch_of_two();
  EXPECT_EQ(said(watch, Time(9s)), "");
  EXPECT_NE(said(watch, Time(10s)), "");
  watch.heard(0, {}, Time(9s));
  watch.heard(0, {}, Time(10s));

  const auto why = watch.overdue(Time(10s));
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code(), Errc::deadline_exceeded);
  EXPECT_EQ(
      why->what(),
      "trainer 0: asked to train an epoch, nothing done for 10000 ms; it has made 0 steps and "
      "counts 0 batches and blocks; try: a larger cluster.step_deadline");
}

TEST(ProgressWatch, TimeInWhichTheProcessWasStoppedDoesNotCount) {
  ProgressWatch watch(10s, 4s);
  watch.look(Time(0s));
  watch.begin("train an epoch", two, Time(1s));
  watch.look(Time(4s));

  watch.look(Time(60s));

  EXPECT_EQ(said(watch, Time(60s)), "");
  watch.look(Time(64s));
  watch.look(Time(66s));
  EXPECT_EQ(said(watch, Time(66s)), "");
  watch.look(Time(67s));
  EXPECT_NE(said(watch, Time(67s)), "") << "3 s before the stop, and 7 s after it";
}

TEST(ProgressWatch, ACommandThatBeginsAfterAStopHasItsWholeTime) {
  ProgressWatch watch(10s, 4s);
  watch.look(Time(0s));
  watch.begin("train an epoch", two, Time(60s));

  watch.look(Time(60s));

  EXPECT_EQ(said(watch, Time(69s)), "");
  EXPECT_NE(said(watch, Time(70s)), "") << "and no more";
}

TEST(ProgressWatch, AnswersStepsAndWorkOfAnybodyPutItOff) {
  auto watch = watch_of_two();
  watch.heard(0, {.global_step = 1}, Time(5s));  // the first sign may be of earlier work
  EXPECT_NE(said(watch, Time(10s)), "");
  watch.heard(0, {.global_step = 2}, Time(9s));
  EXPECT_EQ(said(watch, Time(18s)), "");
  watch.heard(0, {.global_step = 2, .work = 1}, Time(18s));
  EXPECT_EQ(said(watch, Time(27s)), "");
  watch.answered(1, Time(27s));
  EXPECT_EQ(said(watch, Time(36s)), "");
  EXPECT_NE(said(watch, Time(37s)), "");
}

TEST(ProgressWatch, NamesWhoHasNotAnsweredAndWaitsForNobody) {
  auto watch = watch_of_two();
  watch.heard(0, {.global_step = 3, .waits = true}, Time(1s));
  watch.heard(1, {.global_step = 4}, Time(1s));
  EXPECT_TRUE(said(watch, Time(11s)).starts_with("trainer 1: ")) << "trainer 0 waits for it";
  watch.answered(1, Time(2s));
  EXPECT_TRUE(said(watch, Time(12s)).starts_with("trainer 0: "));
}

TEST(ProgressWatch, NothingIsOverdueWhenAllHaveAnswered) {
  auto watch = watch_of_two();
  watch.answered(0, Time(1s));
  watch.answered(1, Time(1s));
  EXPECT_EQ(said(watch, Time(1h)), "");
}

TEST(ProgressWatch, ASignOfAMemberOutsideTheGroupIsIgnored) {
  auto watch = watch_of_two();
  watch.heard(7, {.global_step = 1}, Time(1s));
  watch.heard(7, {.global_step = 2}, Time(9s));
  EXPECT_NE(said(watch, Time(10s)), "");
}

}  // namespace
}  // namespace troupe
