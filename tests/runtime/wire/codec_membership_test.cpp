// Limits of messages about processes of the run; that they come back as they were is in codec_test.cpp.
#include "runtime/wire/codec.hpp"
#include "schema/membership.capnp.h"
#include "tests/runtime/wire/examples.hpp"
#include "tests/support/expect.hpp"

#include <capnp/serialize.h>

#include <cstring>

namespace troupe::net {
namespace {

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
  EXPECT_ERROR(with<Members>([](auto& m) { m.entries[1].instance.process = ProcessId{1}; }),
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
  EXPECT_TRUE(same_contents(to_frame(back), to_frame(sent)));
  EXPECT_EQ(back.entries.back().instance, sent.entries.back().instance);
}

}  // namespace
}  // namespace troupe::net
