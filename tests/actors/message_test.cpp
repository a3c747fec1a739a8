#include "actors/message.hpp"

#include <caf/binary_serializer.hpp>
#include <caf/message.hpp>
#include <caf/message_handler.hpp>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace troupe {
namespace {

struct News {
  std::string text;
};
struct OtherNews {
  std::string text;
};

TEST(Message, IsKeptAsOnePointerAndFoundByItsType) {
  const Ref<News> news(News{"news"});

  const auto message = caf::make_message(news);

  ASSERT_EQ(message.size(), 1U);
  EXPECT_EQ(message.get_as<Ref<News>>(0).get(), news.get());
  EXPECT_TRUE(message.match_elements<Ref<News>>());
  EXPECT_FALSE(message.match_elements<Ref<OtherNews>>());
  std::string heard;
  caf::message_handler handler{[&](const Ref<OtherNews>&) { heard = "another type"; },
                               [&](const Ref<News>& what) { heard = what->text; }};
  auto sent = message;
  handler(sent);
  EXPECT_EQ(heard, "news");
}

TEST(Message, CopiesShareWhatItPointsTo) {
  const Ref<News> news(News{"news"});
  const auto message = caf::make_message(news);

  const auto value = message.content().copy(0);

  const auto& copied = *static_cast<const Ref<News>*>(value->get());
  EXPECT_NE(&copied, &message.get_as<Ref<News>>(0));
  EXPECT_EQ(copied.get(), news.get());
  EXPECT_TRUE(value->matches(caf::make_rtti_pair<Ref<News>>()));
  const auto again = value->copy();
  EXPECT_EQ(static_cast<const Ref<News>*>(again->get())->get(), news.get());
  // A second owner that wants to change it gets a tuple of its own.
  auto changed = message;
  EXPECT_EQ(static_cast<Ref<News>*>(changed.get_mutable(0))->get(), news.get());
  EXPECT_EQ(news.use_count(), 5) << "news, the message, its copy and two values";
}

TEST(Message, IsNeitherPrintedNorSerialized) {
  const auto message = caf::make_message(Ref<News>(News{"secret"}));
  std::vector<char> bytes;
  caf::binary_serializer sink(nullptr, bytes);

  EXPECT_EQ(caf::to_string(message), "((a message))");
  EXPECT_NE(message.content().save(0, sink), caf::none);
  EXPECT_TRUE(bytes.empty());
}

}  // namespace
}  // namespace troupe
