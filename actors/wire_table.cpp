#include "actors/wire_table.hpp"

#include "actors/message.hpp"

#include <caf/all.hpp>

#include <array>
#include <tuple>
#include <typeindex>
#include <typeinfo>
#include <unordered_map>

namespace troupe {
namespace {

template <class T>
bool holds(const caf::type_erased_tuple& content) {
  return content.size() == 1 && content.match_element<Ref<T>>(0);
}

template <class T>
void encode(const caf::type_erased_tuple& content, net::Frame& frame) {
  frame = net::to_frame(*content.get_as<Ref<T>>(0));
}

template <class T>
Result<caf::message> decode(const net::Frame& frame) {
  TROUPE_ASSIGN_OR_RETURN(auto value, net::Wire<T>::decode(frame));
  return caf::make_message(Ref<T>(std::move(value)));
}

template <class Request, class Reply>
constexpr WireEntry entry_of(const net::MethodEntry<Request, Reply>& method) {
  return {
      .long_running = method.answer == net::Answer::at_length,
      .encode_request =
          [](const caf::type_erased_tuple& content, net::Frame& frame) {
            encode<Request>(content, frame);
            return net::Wire<Request>::reply_bytes(*content.get_as<Ref<Request>>(0));
          },
      .decode_request = &decode<Request>,
      .is_reply = &holds<Reply>,
      .encode_reply = &encode<Reply>,
      .decode_reply = &decode<Reply>,
  };
}

constexpr auto entries =
    std::apply([](const auto&... method) { return std::array{entry_of(method)...}; }, net::methods);

/// Place in `entries` of each method number; past the end where there is none.
constexpr auto places = [] {
  std::array<std::uint8_t, net::method_numbers.back() + 1> by_number{};
  by_number.fill(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    by_number[net::method_numbers[i]] = static_cast<std::uint8_t>(i);
  }
  return by_number;
}();
static_assert(entries.size() < 256, "a place is a byte");

/// Entries by the type of their request, as it lies in a message.
using EntriesByType = std::unordered_map<std::type_index, const WireEntry*>;

EntriesByType entries_by_type() {
  EntriesByType by_type;
  std::size_t place = 0;
  const auto add = [&]<class Request, class Reply>(const net::MethodEntry<Request, Reply>&) {
    by_type.emplace(typeid(Ref<Request>), &entries[place++]);
  };
  std::apply([&](const auto&... method) { (add(method), ...); }, net::methods);
  return by_type;
}

}  // namespace

const WireEntry* find_wire_entry(const caf::type_erased_tuple& content) {
  if (content.size() != 1 || content.type(0).second == nullptr) {
    return nullptr;  // several values, or one of CAF's own types
  }
  static const auto by_type = entries_by_type();
  const auto found = by_type.find(*content.type(0).second);
  return found == by_type.end() ? nullptr : found->second;
}

const WireEntry* find_wire_entry(std::uint32_t method) {
  const bool known = method < places.size() && places[method] < entries.size();
  return known ? &entries[places[method]] : nullptr;
}

}  // namespace troupe
