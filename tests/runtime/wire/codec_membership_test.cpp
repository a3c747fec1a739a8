// Messages about who belongs to the run: they come back as they were; altered and oversized ones are refused.
#include "runtime/wire/codec.hpp"
#include "schema/membership.capnp.h"
#include "tests/runtime/net/net_test_support.hpp"
#include "tests/support/expect.hpp"

#include <capnp/serialize.h>

#include <cstring>
#include <tuple>

namespace troupe::net {
namespace {

// One example per message, no field at its default, and its fields to compare. The bindings do not
// compile when a field is added: then the schema and the codec need it too.

constexpr ProcessLife some_life{ProcessId{7}, 1U << 31};

Join example(Join*) {
  return {some_life, "[::1]:4000", "1.2.3-rc1", "agent of host 1"};
}
auto fields(const Join& m) {
  const auto& [life, address, version, name] = m;
  return std::tuple(life, address, version, name);
}
Welcome example(Welcome*) {
  return {R"({"dataset": {"path": "d"}})", "/jobs", "/jobs/store", ~0ULL - 1, 12, true, true, 9};
}
auto fields(const Welcome& m) {
  const auto& [job, folder, store, checksum, generation, resume, own, incarnation] = m;
  return std::tuple(job, folder, store, checksum, generation, resume, own, incarnation);
}
Ready example(Ready*) {
  return {some_life, Errc::not_found, "part 3 is not there"};
}
auto fields(const Ready& m) {
  const auto& [life, code, why] = m;
  return std::tuple(life, code, why);
}
Members example(Members*) {
  return {1ULL << 40, 5, {{{ProcessId{1}, 2}, "a:1"}, {{ProcessId{4}, 1}, "b:2"}}};
}
auto fields(const Members& m) {
  const auto& [number, generation, entries] = m;
  std::vector<std::pair<ProcessLife, std::string>> listed;
  for (const auto& [life, address] : entries) {
    listed.emplace_back(life, address);
  }
  return std::tuple(number, generation, listed);
}
SpawnProcess example(SpawnProcess*) {
  return {some_life, "sampler 1 of rank 0"};
}
auto fields(const SpawnProcess& m) {
  const auto& [life, name] = m;
  return std::tuple(life, name);
}
KillProcess example(KillProcess*) {
  return {some_life};
}
auto fields(const KillProcess& m) {
  const auto& [life] = m;
  return std::tuple(life);
}
ProcessExited example(ProcessExited*) {
  return {some_life, "killed by signal 9 (Killed)"};
}
auto fields(const ProcessExited& m) {
  const auto& [life, how] = m;
  return std::tuple(life, how);
}
EndProcess example(EndProcess*) {
  return {Errc::cancelled, "interrupted"};
}
auto fields(const EndProcess& m) {
  const auto& [code, why] = m;
  return std::tuple(code, why);
}
LinkTotals example(LinkTotals*) {
  return {1, 2, 1ULL << 60, 4, 5, 6};
}
auto fields(const LinkTotals& m) {
  const auto& [requests, resent, bytes, interruptions, in_flight, queued] = m;
  return std::tuple(requests, resent, bytes, interruptions, in_flight, queued);
}
Notice example(Notice*) {
  return {"host 1 is lost", Rank{3}, 4,    5,     6,
          1ULL << 40,       0.5,     0.01, 12.25, {ProcessId{2}, 1, 3, 1ULL << 40, 1ULL << 41}};
}
auto fields(const Notice& m) {
  const auto& [text, rank, epoch, step, steps, global_step, loss, lr, seconds, inference] = m;
  const auto& [process, layer, layers, done, total] = inference;
  return std::tuple(text, rank, epoch, step, steps, global_step, loss, lr, seconds, process, layer,
                    layers, done, total);
}

RanksEnded example(RanksEnded*) {
  return {some_life, Errc::cancelled, "interrupted", {1ULL << 63, 2}, 1ULL << 40};
}
auto fields(const RanksEnded& m) {
  const auto& [life, code, why, batches, steps] = m;
  return std::tuple(life, code, why, batches, steps);
}
PeerUnreachable example(PeerUnreachable*) {
  return {some_life, {ProcessId{9}, 2}, "silent for 1500 ms"};
}
auto fields(const PeerUnreachable& m) {
  const auto& [life, peer, why] = m;
  return std::tuple(life, peer, why);
}
StopRanks example(StopRanks*) {
  return {};
}
auto fields(const StopRanks&) {
  return std::tuple();
}

template <class T>
class MembershipCodec : public ::testing::Test {};
using AllMessages =
    ::testing::Types<Join, Welcome, Ready, Members, SpawnProcess, KillProcess, ProcessExited,
                     EndProcess, LinkTotals, Notice, PeerUnreachable, RanksEnded, StopRanks>;
TYPED_TEST_SUITE(MembershipCodec, AllMessages);

TYPED_TEST(MembershipCodec, ComesBackAsItWas) {
  for (const auto& sent : {example(static_cast<TypeParam*>(nullptr)), TypeParam{}}) {
    const Frame frame = to_frame(sent);
    ASSERT_OK_AND_ASSIGN(const TypeParam back, Wire<TypeParam>::decode(frame));
    EXPECT_EQ(fields(back), fields(sent));
    EXPECT_TRUE(same_contents(to_frame(back), frame));
    EXPECT_TRUE(frame.segments.empty());
  }
}

TYPED_TEST(MembershipCodec, SurvivesAWireThatCutsFramesIntoPieces) {
  const auto sent = example(static_cast<TypeParam*>(nullptr));
  ASSERT_OK_AND_ASSIGN(const Frame arrived, through_pieces(to_frame(sent)));
  ASSERT_OK_AND_ASSIGN(const TypeParam back, Wire<TypeParam>::decode(arrived));
  EXPECT_EQ(fields(back), fields(sent));
}

TYPED_TEST(MembershipCodec, RefusesASegmentThatNobodyAskedFor) {
  Frame frame = to_frame(example(static_cast<TypeParam*>(nullptr)));
  frame.segments.push_back(pattern_segment(8, 1));
  EXPECT_ERROR(Wire<TypeParam>::decode(frame), Errc::data_corruption, "segment");
}

/// No flipped bit makes it crash; what still decodes encodes to something that decodes to the same.
TYPED_TEST(MembershipCodec, FlippedBitsAndMissingWordsDoNoHarm) {
  const Frame whole = to_frame(example(static_cast<TypeParam*>(nullptr)));
  const auto check = [](const Frame& frame) {
    if (const auto back = Wire<TypeParam>::decode(frame)) {
      ASSERT_OK_AND_ASSIGN(const TypeParam again, Wire<TypeParam>::decode(to_frame(*back)));
      EXPECT_TRUE(same_contents(to_frame(again), to_frame(*back)));
    }
  };
  for (std::size_t bit = 0; bit < whole.meta.size() * 64; ++bit) {
    Frame frame = whole;
    frame.meta[bit / 64] ^= std::uint64_t{1} << bit % 64;
    check(frame);
  }
  for (std::size_t words = 0; words < whole.meta.size(); ++words) {
    Frame frame = whole;
    frame.meta.resize(words);
    check(frame);
  }
}

// ---- limits ----

template <class T, class Change>
Result<T> with(Change change) {
  T sent = example(static_cast<T*>(nullptr));
  change(sent);
  return Wire<T>::decode(to_frame(sent));
}

TEST(MembershipLimits, NamesAndAddressesAreShort) {
  const std::string longest(256, 'x');
  const std::string longer(257, 'x');
  const auto corrupt = Errc::data_corruption;
  EXPECT_OK(with<Join>([&](auto& m) { m.address = m.version = longest; }));
  EXPECT_ERROR(with<Join>([&](auto& m) { m.address = longer; }), corrupt, "Join");
  EXPECT_ERROR(with<Join>([&](auto& m) { m.version = longer; }), corrupt, "at most 256");
  EXPECT_OK(with<SpawnProcess>([&](auto& m) { m.name = longest; }));
  EXPECT_ERROR(with<SpawnProcess>([&](auto& m) { m.name = longer; }), corrupt, "SpawnProcess");
  EXPECT_OK(with<Members>([&](auto& m) { m.entries[1].address = longest; }));
  EXPECT_ERROR(with<Members>([&](auto& m) { m.entries[1].address = longer; }), corrupt, "Members");
}

TEST(MembershipLimits, AJobIsAtMostAMebibyte) {
  EXPECT_OK(with<Welcome>([](auto& m) { m.job.assign(1 << 20, ' '); }));
  EXPECT_ERROR(with<Welcome>([](auto& m) { m.job.assign((1 << 20) + 1, ' '); }),
               Errc::data_corruption, "Welcome");
  EXPECT_ERROR(with<Welcome>([](auto& m) { m.folder.assign(4097, 'f'); }), Errc::data_corruption,
               "at most 4096");
  EXPECT_ERROR(with<Welcome>([](auto& m) { m.store.assign(4097, 's'); }), Errc::data_corruption,
               "at most 4096");
}

TEST(MembershipLimits, SentencesAreCutByTheSenderAndRefusedByTheReceiver) {
  const std::string longer(5000, 's');
  ASSERT_OK_AND_ASSIGN(const auto ready, with<Ready>([&](auto& m) { m.why = longer; }));
  EXPECT_EQ(ready.why, longer.substr(0, 4096));
  ASSERT_OK_AND_ASSIGN(const auto exited, with<ProcessExited>([&](auto& m) { m.how = longer; }));
  EXPECT_EQ(exited.how.size(), 4096U);
  ASSERT_OK_AND_ASSIGN(const auto end, with<EndProcess>([&](auto& m) { m.why = longer; }));
  EXPECT_EQ(end.why.size(), 4096U);
  ASSERT_OK_AND_ASSIGN(const auto ended, with<RanksEnded>([&](auto& m) { m.why = longer; }));
  EXPECT_EQ(ended.why.size(), 4096U);
  ASSERT_OK_AND_ASSIGN(const auto notice, with<Notice>([&](auto& m) { m.text = longer; }));
  EXPECT_EQ(notice.text.size(), 4096U);
}

// ---- messages that only others make ----

template <class T, class Root, class Change>
Result<T> with_message(Change change) {
  Frame frame = to_frame(example(static_cast<T*>(nullptr)));
  capnp::MallocMessageBuilder builder;
  capnp::initMessageBuilderFromFlatArrayCopy(
      kj::ArrayPtr<const capnp::word>(reinterpret_cast<const capnp::word*>(frame.meta.data()),
                                      frame.meta.size()),
      builder);
  change(builder.getRoot<Root>());
  const auto flat = capnp::messageToFlatArray(builder);
  frame.meta.resize(flat.size());
  std::memcpy(frame.meta.data(), flat.begin(), flat.size() * sizeof(capnp::word));
  return Wire<T>::decode(frame);
}

TEST(MembershipLimits, LongSentencesOfOthersAreRefused) {
  const std::string longer(4097, 's');
  const auto corrupt = Errc::data_corruption;
  EXPECT_ERROR((with_message<Ready, wire::Ready>([&](auto m) { m.setWhy(longer.c_str()); })),
               corrupt, "Ready");
  EXPECT_ERROR(
      (with_message<ProcessExited, wire::ProcessExited>([&](auto m) { m.setHow(longer.c_str()); })),
      corrupt, "ProcessExited");
  EXPECT_ERROR(
      (with_message<EndProcess, wire::EndProcess>([&](auto m) { m.setWhy(longer.c_str()); })),
      corrupt, "EndProcess");
  EXPECT_ERROR((with_message<Notice, wire::Notice>([&](auto m) { m.setText(longer.c_str()); })),
               corrupt, "Notice");
}

TEST(MembershipLimits, ACodeThatIsNotKnownIsInternal) {
  for (const std::uint16_t code : {std::uint16_t{200}, std::uint16_t{65535}}) {
    ASSERT_OK_AND_ASSIGN(
        const auto ready,
        (with_message<Ready, wire::Ready>([&](auto message) { message.setCode(code); })));
    EXPECT_EQ(ready.code, Errc::internal);
    ASSERT_OK_AND_ASSIGN(
        const auto end,
        (with_message<EndProcess, wire::EndProcess>([&](auto message) { message.setCode(code); })));
    EXPECT_EQ(end.code, Errc::internal);
  }
}

TEST(MembershipLimits, InferenceIsAtOneOfItsLayersAndDoesNoMoreThanThereIs) {
  const auto corrupt = Errc::data_corruption;
  EXPECT_ERROR(with<Notice>([](auto& m) { m.inference.layer = 3; }), corrupt, "a layer below 3");
  EXPECT_ERROR(with<Notice>([](auto& m) { m.inference.done = m.inference.total + 1; }), corrupt,
               "work of at most");
  ASSERT_OK_AND_ASSIGN(const auto step, with<Notice>([](auto& m) { m.inference = {}; }));
  EXPECT_EQ(step.inference.layers, 0U);
}

TEST(MembershipLimits, TheTableAscendsAndHasAnEnd) {
  EXPECT_ERROR(with<Members>([](auto& m) { std::swap(m.entries[0], m.entries[1]); }),
               Errc::data_corruption, "expected ascending processes, found 1 after 4");
  EXPECT_ERROR(with<Members>([](auto& m) { m.entries[1].life.process = ProcessId{1}; }),
               Errc::data_corruption, "found 1 after 1");
  EXPECT_ERROR((with_message<Members, wire::Members>([](auto m) { m.initEntries(65537); })),
               Errc::data_corruption, "expected at most 65536, found 65537");
}

TEST(MembershipLimits, ATableOfAThousandProcessesTravels) {
  Members sent{9, 0, {}};
  for (std::uint32_t i = 1; i <= 1000; ++i) {
    sent.entries.push_back({{static_cast<ProcessId>(i), i}, "127.0.0.1:" + std::to_string(i)});
  }
  ASSERT_OK_AND_ASSIGN(const auto back, Wire<Members>::decode(to_frame(sent)));
  EXPECT_EQ(fields(back), fields(sent));
}

TEST(MembershipLimits, AnswersAreChargedAtLeastTheirUsualSize) {
  EXPECT_GE(Wire<Join>::reply_bytes({}),
            to_frame(example(static_cast<Welcome*>(nullptr))).size_bytes());
  EXPECT_GE(Wire<EndProcess>::reply_bytes({}),
            to_frame(example(static_cast<LinkTotals*>(nullptr))).size_bytes());
  const auto done = to_frame(Done{}).size_bytes();
  EXPECT_GE(Wire<Ready>::reply_bytes({}), done);
  EXPECT_GE(Wire<Members>::reply_bytes({}), done);
  EXPECT_GE(Wire<SpawnProcess>::reply_bytes({}), done);
  EXPECT_GE(Wire<KillProcess>::reply_bytes({}), done);
  EXPECT_GE(Wire<ProcessExited>::reply_bytes({}), done);
  EXPECT_GE(Wire<Notice>::reply_bytes({}), done);
}

}  // namespace
}  // namespace troupe::net
