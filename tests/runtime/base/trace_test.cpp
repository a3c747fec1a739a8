#include "runtime/base/trace.hpp"

#include "runtime/base/files.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/scratch_folder.hpp"

#include <nlohmann/json.hpp>

#include <map>
#include <thread>
#include <utility>

namespace troupe {
namespace {

using nlohmann::json;
using std::chrono::nanoseconds;

Tracer::TimePoint at(std::int64_t ns) {
  return Tracer::TimePoint(nanoseconds(1'000'000'000'000 + ns));
}

class Trace : public ::testing::Test {
 protected:
  json written(const Tracer& tracer) {
    const auto status = tracer.write(folder_.path() / "trace.json");
    EXPECT_EQ(testing::error_text(status), "ok");
    auto text = read_text_file(folder_.path() / "trace.json", 1U << 30);
    return text.ok() ? json::parse(*text) : json();
  }
  static std::vector<json> of_phase(const json& trace, const std::string& phase) {
    std::vector<json> events;
    for (const auto& event : trace["traceEvents"]) {
      if (event["ph"] == phase) {
        events.push_back(event);
      }
    }
    return events;
  }
  /// Names by (pid, tid).
  static std::map<std::pair<int, int>, std::string> threads(const json& trace) {
    std::map<std::pair<int, int>, std::string> names;
    for (const auto& event : of_phase(trace, "M")) {
      if (event["name"] == "thread_name") {
        names[{event["pid"], event["tid"]}] = event["args"]["name"];
      }
    }
    return names;
  }
  static std::string thread_of(const json& trace, const json& event) {
    return threads(trace)[{event["pid"], event["tid"]}];
  }
  /// Every event's thread has a name, times are not negative, slices of a thread nest.
  static void expect_valid(const json& trace);

  testing::ScratchFolder folder_;
};

void Trace::expect_valid(const json& trace) {
  const auto names = threads(trace);
  std::map<std::pair<int, int>, std::vector<double>> open;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "M") {
      continue;
    }
    const std::pair<int, int> thread(event["pid"], event["tid"]);
    EXPECT_TRUE(names.contains(thread)) << event;
    EXPECT_GT(thread.first, 0);
    EXPECT_GE(event["ts"].get<double>(), 0) << event;
    if (event["ph"] != "X") {
      continue;
    }
    EXPECT_GE(event["dur"].get<double>(), 0) << event;
    auto& ends = open[thread];
    const double end = event["ts"].get<double>() + event["dur"].get<double>();
    while (!ends.empty() && ends.back() <= event["ts"].get<double>() + 1e-6) {
      ends.pop_back();
    }
    EXPECT_TRUE(ends.empty() || end <= ends.back() + 1e-6) << event;
    ends.push_back(end);
  }
}

TEST_F(Trace, ShowsHostsActorsAndSlicesInMicrosecondsFromTheFirst) {
  Tracer tracer;
  const auto sampler = tracer.track(1, "sampler 0");
  const auto trainer = tracer.track(0, "trainer 0");
  EXPECT_EQ(tracer.track(1, "sampler 0"), sampler);
  EXPECT_NE(tracer.track(0, "sampler 0"), sampler);
  tracer.slice(trainer, "train", at(2'500), at(1'002'501));
  tracer.slice(sampler, "sample", at(1'000), at(2'001));

  const auto trace = written(tracer);
  expect_valid(trace);
  const auto slices = of_phase(trace, "X");
  ASSERT_EQ(slices.size(), 2U);
  EXPECT_EQ(slices[0]["name"], "sample");
  EXPECT_EQ(slices[0]["ts"].get<double>(), 0);
  EXPECT_EQ(slices[0]["dur"].get<double>(), 1.001);
  EXPECT_EQ(thread_of(trace, slices[0]), "sampler 0");
  EXPECT_EQ(slices[1]["ts"].get<double>(), 1.5);
  EXPECT_EQ(slices[1]["dur"].get<double>(), 1000.001);
  EXPECT_EQ(thread_of(trace, slices[1]), "trainer 0");
  EXPECT_EQ(trace["otherData"]["dropped_events"], 0);

  std::map<int, std::string> hosts;
  for (const auto& event : of_phase(trace, "M")) {
    if (event["name"] == "process_name") {
      hosts[event["pid"]] = event["args"]["name"];
    }
  }
  EXPECT_EQ(hosts, (std::map<int, std::string>{{1, "host 0"}, {2, "host 1"}}));
  EXPECT_EQ(slices[0]["pid"], 2);
}

TEST_F(Trace, FlowsOfABatchStartOnceAndEndOnceInOrderOfTime) {
  Tracer tracer;
  const auto a = tracer.track(0, "a");
  const auto b = tracer.track(1, "b");
  const std::uint64_t batch = ~std::uint64_t{0};  // numbers past 2^53 too
  tracer.slice(b, "third", at(30), at(40), batch);
  tracer.slice(a, "first", at(10), at(10), batch);
  tracer.slice(b, "second", at(20), at(25), batch);
  tracer.slice(a, "alone", at(50), at(60), 7);
  tracer.slice(a, "x", at(70), at(71), 8);
  tracer.slice(b, "y", at(70), at(71), 8);

  const auto trace = written(tracer);
  expect_valid(trace);
  std::map<int, std::string> phases;
  json slice;
  for (const auto& event : trace["traceEvents"]) {
    const std::string phase = event["ph"];
    if (phase == "X") {
      slice = event;
    } else if (phase == "s" || phase == "t" || phase == "f") {
      phases[event["id"]] += phase;
      for (const char* key : {"ts", "pid", "tid"}) {  // of the slice it is written behind
        EXPECT_EQ(event[key], slice[key]);
      }
      EXPECT_GT(slice["dur"].get<double>(), 0);
      EXPECT_EQ(event["bp"], "e");
    }
  }
  EXPECT_EQ(phases, (std::map<int, std::string>{{1, "stf"}, {3, "sf"}}));
  EXPECT_EQ(of_phase(trace, "X")[0]["args"]["flow"], "18446744073709551615");
}

TEST_F(Trace, SlicesThatCrossGetFurtherLinesAndNestedOnesDoNot) {
  Tracer tracer;
  const auto sampler = tracer.track(0, "sampler");
  tracer.slice(sampler, "outer", at(0), at(100));
  tracer.slice(sampler, "inner", at(0), at(50));
  tracer.slice(sampler, "innermost", at(10), at(20));
  tracer.slice(sampler, "crossing", at(40), at(120));
  tracer.slice(sampler, "after", at(100), at(110));

  const auto trace = written(tracer);
  expect_valid(trace);
  std::map<std::string, std::string> lines;
  for (const auto& slice : of_phase(trace, "X")) {
    lines[slice["name"]] = thread_of(trace, slice);
  }
  EXPECT_EQ(lines, (std::map<std::string, std::string>{{"outer", "sampler"},
                                                       {"inner", "sampler"},
                                                       {"innermost", "sampler"},
                                                       {"crossing", "sampler (2)"},
                                                       {"after", "sampler"}}));
}

TEST_F(Trace, SlicesOfDifferentBatchesDoNotNest) {
  Tracer tracer;
  const auto sampler = tracer.track(0, "sampler");
  tracer.slice(sampler, "batch 1", at(0), at(100), 1);
  tracer.slice(sampler, "hop of 1", at(10), at(90), 1);
  tracer.slice(sampler, "batch 2", at(20), at(80), 2);
  tracer.slice(sampler, "hop of 2", at(30), at(40), 2);
  tracer.slice(sampler, "of none", at(50), at(60));

  const auto trace = written(tracer);
  expect_valid(trace);
  std::map<std::string, std::string> lines;
  for (const auto& slice : of_phase(trace, "X")) {
    lines[slice["name"]] = thread_of(trace, slice);
  }
  EXPECT_EQ(lines, (std::map<std::string, std::string>{{"batch 1", "sampler"},
                                                       {"hop of 1", "sampler"},
                                                       {"batch 2", "sampler (2)"},
                                                       {"hop of 2", "sampler (2)"},
                                                       {"of none", "sampler"}}));
}

TEST_F(Trace, ATrackOfNoTraceRecordsNothingAndOneOfATraceFromThenToNow) {
  const TraceTrack none;
  const TraceTrack off(nullptr, 3, "trainer");
  for (const auto& track : {none, off}) {
    EXPECT_FALSE(track.on());
    EXPECT_EQ(track.now(), TraceTrack::TimePoint());
    track.slice("train", track.now(), 1);
    track.mark("lost");
  }
  const auto tracer = std::make_shared<Tracer>();
  const TraceTrack track(tracer, 3, "trainer");
  const auto began = track.now();
  track.slice("train", began, 1);
  track.mark("lost");

  const auto trace = written(*tracer);
  expect_valid(trace);
  ASSERT_EQ(of_phase(trace, "X").size(), 1U);
  EXPECT_EQ(thread_of(trace, of_phase(trace, "X")[0]), "trainer");
  EXPECT_EQ(of_phase(trace, "i").size(), 1U);
}

TEST_F(Trace, MarksKeepAnyTextAndMayComeFirst) {
  Tracer tracer;
  const auto director = tracer.track(0, "director \"0\"\\");
  tracer.slice(director, "step", at(10), at(5));  // ended before it began: no length
  const std::string text =
      std::string("a\"b\\c\n\x01", 7) + '\0' + "\xC3\xBC \xFF\xC0\xAF \xE2\x82";
  tracer.mark(director, text, at(0));

  const auto trace = written(tracer);
  expect_valid(trace);
  const auto marks = of_phase(trace, "i");
  ASSERT_EQ(marks.size(), 1U);
  EXPECT_EQ(marks[0]["name"].get<std::string>(),
            std::string("a\"b\\c\n\x01", 7) + '\0' + "\xC3\xBC ??? ??");
  EXPECT_EQ(marks[0]["ts"].get<double>(), 0);
  EXPECT_EQ(thread_of(trace, marks[0]), "director \"0\"\\");
  EXPECT_EQ(of_phase(trace, "X")[0]["dur"].get<double>(), 0);
}

TEST_F(Trace, NothingRecordedIsAnEmptyTrace) {
  const auto trace = written(Tracer());
  EXPECT_TRUE(trace["traceEvents"].is_array());
  EXPECT_TRUE(trace["traceEvents"].empty());
}

TEST_F(Trace, WhatIsPastTheBoundIsCounted) {
  Tracer tracer(3);
  const auto a = tracer.track(0, "a");
  tracer.mark(a, "one", at(1));
  for (int i = 0; i < 9; ++i) {
    tracer.slice(a, "s", at(i), at(i + 1), 1);
  }
  tracer.mark(a, "last", at(2));

  const auto trace = written(tracer);
  expect_valid(trace);
  EXPECT_EQ(of_phase(trace, "X").size() + of_phase(trace, "i").size(), 3U);
  EXPECT_EQ(of_phase(trace, "s").size(), 1U);
  EXPECT_EQ(of_phase(trace, "f").size(), 1U);
  EXPECT_EQ(trace["otherData"]["dropped_events"], 8);
}

TEST_F(Trace, ThreadsRecordAtOnceAndTheTextDoesNotDependOnThem) {
  const auto record = [](Tracer& tracer, int thread) {
    const auto track = tracer.track(static_cast<std::uint32_t>(thread % 2), "shared");
    for (int i = 0; i < 1000; ++i) {
      tracer.slice(track, "s", at(10 * i + thread), at(10 * i + thread + 1),
                   static_cast<std::uint64_t>(i) + 1);
    }
    tracer.mark(track, "end", at(thread));
  };
  const auto named = [](Tracer& tracer) {
    tracer.track(0, "shared");
    tracer.track(1, "shared");
  };
  Tracer alone;
  named(alone);
  Tracer together;
  named(together);
  for (int thread = 0; thread < 4; ++thread) {
    record(alone, thread);
  }
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&, thread] { record(together, thread); });
    }
    written(together);  // while they record
  }

  const auto trace = written(together);
  expect_valid(trace);
  EXPECT_EQ(trace, written(alone));
  EXPECT_EQ(of_phase(trace, "X").size(), 4000U);
  EXPECT_EQ(of_phase(trace, "s").size(), 1000U);
  EXPECT_EQ(of_phase(trace, "f").size(), 1000U);
}

TEST_F(Trace, TheBoundHoldsWithManyThreads) {
  Tracer tracer(1000);
  const auto track = tracer.track(0, "a");
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&] {
        for (int i = 0; i < 1000; ++i) {
          tracer.slice(track, "s", at(i), at(i + 1));
        }
      });
    }
  }
  const auto trace = written(tracer);
  EXPECT_EQ(of_phase(trace, "X").size(), 1000U);
  EXPECT_EQ(trace["otherData"]["dropped_events"], 3000);
}

TEST_F(Trace, AFolderThatIsMissingIsNamed) {
  EXPECT_ERROR(Tracer().write(folder_.path() / "none" / "trace.json"), Errc::not_found, "none");
}

}  // namespace
}  // namespace troupe
