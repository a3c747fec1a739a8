#include "runtime/base/cut_text.hpp"
#include "runtime/net/endpoint.hpp"
#include "runtime/net/error_codes.hpp"
#include "runtime/net/frame_message.hpp"
#include "schema/error.capnp.h"

#include <string_view>
#include <variant>

namespace troupe::net {
namespace {

std::string bounded(std::string_view text) {
  return std::string(cut_text(text, max_text_bytes));
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
        return Error(failure_from_wire(code), bounded(std::string_view(text.begin(), text.size())));
      });
  return std::move(decoded).error();
}

}  // namespace troupe::net
