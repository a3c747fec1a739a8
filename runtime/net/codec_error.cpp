#include "runtime/net/codec_support.hpp"
#include "runtime/net/endpoint.hpp"
#include "schema/error.capnp.h"

#include <string_view>

namespace troupe::net {
namespace {

constexpr std::size_t max_text_bytes = 4096;

/// At most max_text_bytes, not cut inside a UTF-8 character.
std::string bounded(std::string_view text) {
  std::size_t n = text.size();
  if (n > max_text_bytes) {
    n = max_text_bytes;
    while (n > 0 && (static_cast<unsigned char>(text[n]) & 0xC0) == 0x80) {
      --n;
    }
  }
  return std::string(text.substr(0, n));
}

}  // namespace

void encode_error(const Error& error, Frame& frame) {
  const std::string text = bounded(error.what());
  write_message<wire::ErrorReply>(frame, [&](wire::ErrorReply::Builder out) {
    out.setCode(static_cast<std::uint16_t>(error.code()));
    out.setText(text.c_str());
  });
  frame.segments.clear();
}

Error decode_error(const Frame& frame) {
  auto decoded = read_message<std::monostate, wire::ErrorReply>(
      frame, "ErrorReply", [](wire::ErrorReply::Reader in) -> Status {
        const auto code = in.getCode();
        const auto text = in.getText();
        const bool known = code > static_cast<std::uint16_t>(Errc::ok) &&
                           code <= static_cast<std::uint16_t>(Errc::unauthenticated);
        return Error(known ? static_cast<Errc>(code) : Errc::internal,
                     bounded(std::string_view(text.begin(), text.size())));
      });
  return std::move(decoded).error();
}

}  // namespace troupe::net
