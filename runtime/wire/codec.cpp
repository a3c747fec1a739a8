#include "runtime/wire/codec.hpp"

#include "runtime/wire/codec_by_hand.hpp"
#include "runtime/wire/membership_fields.hpp"
#include "runtime/wire/message_fields.hpp"
#include "runtime/wire/read_fields.hpp"
#include "runtime/wire/write_fields.hpp"

namespace troupe::net {
namespace {

template <class T>
void encode_erased(const void* message, Frame& frame) {
  if constexpr (HasFieldList<T>) {
    encode_fields(*static_cast<const T*>(message), frame);
  } else {
    encode_by_hand(*static_cast<const T*>(message), frame);
  }
}

template <class T>
Status decode_erased(const Frame& frame, void* message) {
  auto& out = *static_cast<T*>(message);
  if constexpr (HasFieldList<T>) {
    return decode_fields(frame, out);
  } else {
    TROUPE_ASSIGN_OR_RETURN(out, decode_by_hand(frame, ReadAs<T>{}));
    return ok_status();
  }
}

template <class... T>
constexpr std::array<MessageCodec, sizeof...(T)> codecs_of(MessageList<T...>) {
  return {MessageCodec{&encode_erased<T>, &decode_erased<T>}...};
}

}  // namespace

constinit const std::array<MessageCodec, Messages::size> message_codecs = codecs_of(Messages{});

}  // namespace troupe::net
