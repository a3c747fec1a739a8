#pragma once
/// \file codec.hpp
/// Messages to frames and back, with schema/*.capnp as the specification. Encoding never fails;
/// decoding checks everything: sizes against each other, ranges of enums, limits of Cap'n Proto.
/// Ids are range-checked by who uses them.
#include "runtime/net/frame.hpp"
#include "runtime/wire/methods.hpp"

#include <array>

namespace troupe::net {

/// Codec of one message: by its list of fields, or written by hand.
struct MessageCodec {
  void (*encode)(const void* message, Frame& frame);
  Status (*decode)(const Frame& frame, void* message);
};
/// By place in Messages.
extern const std::array<MessageCodec, Messages::size> message_codecs;

/// How a message T of the table of methods travels.
template <class T>
struct Wire {
  static constexpr bool is_request =
      std::is_same_v<T, typename std::remove_cvref_t<decltype(method_of<T>)>::Request>;
  static constexpr std::uint32_t method = method_of<T>.number;
  static constexpr TrafficClass traffic =
      is_request ? method_of<T>.traffic.request : method_of<T>.traffic.reply;

  /// Fills message and segments of the frame; lists over 64 Ki elements and all bulk data are
  /// segments.
  static void encode(const T& message, Frame& frame) {
    message_codecs[Messages::place_of<T>()].encode(&message, frame);
  }
  /// \errors data_corruption: what was expected, what was found
  static Result<T> decode(const Frame& frame) {
    T message{};
    TROUPE_RETURN_IF_ERROR(message_codecs[Messages::place_of<T>()].decode(frame, &message));
    return message;
  }
  /// The largest answer that a request takes, as a frame; charged to the window.
  static std::uint64_t reply_bytes(const T& message) requires is_request {
    return method_of<T>.charge(message);
  }
};

/// The frame of a message, with method and class in its header; the rest of the header is for the
/// endpoint and its user.
template <class T>
Frame to_frame(const T& message) {
  Frame frame;
  frame.head.method = Wire<T>::method;
  frame.head.traffic = Wire<T>::traffic;
  Wire<T>::encode(message, frame);
  return frame;
}

/// What one GradientChunk of so many bytes charges to a link's window at most: the frame and the
/// largest answer, in a run of so many ranks.
std::uint64_t gradient_exchange_bytes(std::uint64_t values_bytes, std::uint64_t world);
/// GradientChunk::sum_bytes of a share of a slice of so many bytes.
std::uint64_t gradient_sum_bytes(std::uint64_t values_bytes, Rank owner, std::uint64_t world);

}  // namespace troupe::net
