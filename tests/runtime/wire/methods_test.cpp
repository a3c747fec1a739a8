// The table of methods, and what is made of it.
#include "tests/runtime/wire/examples.hpp"
#include "tests/support/document_rows.hpp"
#include "tests/support/expect.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace troupe::net {
namespace {

std::string text_of(TrafficClass traffic) {
  switch (traffic) {
    case TrafficClass::control:
      return "control";
    case TrafficClass::gradients:
      return "gradients";
    case TrafficClass::samples:
      return "samples";
    case TrafficClass::rows:
      return "rows";
    case TrafficClass::learned:
      return "learned";
    case TrafficClass::updates:
      return "updates";
  }
  return "";
}

/// "control.capnp" of a message; a link to it where it is named first.
template <class T>
std::string schema_link(std::set<std::string>& named) {
  const auto schema = capnp::Schema::from<typename Fields<T>::Root>();
  const std::string name = schema.getProto().getDisplayName().cStr();  // "schema/x.capnp:Join"
  const auto begin = name.find("schema/") + 7;
  const auto file = name.substr(begin, name.find(':') - begin);
  return named.insert(file).second ? fmt::format("[{}](../schema/{})", file, file) : file;
}

/// Done is the answer of many, in the class of commands; the table names another one of a reply.
template <class Request, class Reply>
std::string row_of(const MethodEntry<Request, Reply>& method, std::set<std::string>& named) {
  const auto request_class = text_of(method.traffic.request);
  const auto reply_class = text_of(method.traffic.reply);
  const bool same = std::is_same_v<Reply, Done> || request_class == reply_class;
  return fmt::format("| {} `{}` | {} → {} | {}{} | {} |", method.number, method.name,
                     type_name<Request>(), type_name<Reply>(), request_class,
                     same ? "" : "; the reply " + reply_class, schema_link<Request>(named));
}

TEST(Methods, AreListedInTheProtocol) {
  std::vector<std::string> expected;
  std::set<std::string> named;
  std::apply([&](const auto&... method) { (expected.push_back(row_of(method, named)), ...); },
             methods);
  expected.push_back(
      "| any | failure: ErrorReply | control | [error.capnp](../schema/error.capnp) |");

  const auto rows =
      testing::document_rows("protocol.md", "| method | request → reply | class | schema |");
  EXPECT_EQ(rows.size(), expected.size());
  for (std::size_t i = 0; i < std::min(rows.size(), expected.size()); ++i) {
    EXPECT_EQ(rows[i], expected[i]);
  }
}

TEST(Methods, NameTheirMessages) {
  EXPECT_EQ(type_name<HopRequest>(), "HopRequest");
  EXPECT_EQ(type_name<Join>(), "Join");
}

/// The class of a message does not depend on the method that it belongs to.
template <class Message>
void expect_class(TrafficClass of_method) {
  EXPECT_EQ(Wire<Message>::traffic, of_method) << type_name<Message>();
}

TEST(Methods, CarryAMessageInOneClass) {
  const auto check = []<class Request, class Reply>(const MethodEntry<Request, Reply>& method) {
    expect_class<Request>(method.traffic.request);
    expect_class<Reply>(method.traffic.reply);
  };
  std::apply([&](const auto&... method) { (check(method), ...); }, methods);
}

TEST(Methods, ChargeAtLeastTheUsualAnswer) {
  const auto check = []<class Request, class Reply>(const MethodEntry<Request, Reply>& method) {
    if constexpr (HasFieldList<Reply>) {
      EXPECT_GE(method.charge(example(static_cast<Request*>(nullptr))),
                to_frame(example(static_cast<Reply*>(nullptr))).size_bytes())
          << method.name;
    }
  };
  std::apply([&](const auto&... method) { (check(method), ...); }, methods);
}

}  // namespace
}  // namespace troupe::net
