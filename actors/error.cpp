#include "actors/error.hpp"

#include <caf/deep_to_string.hpp>
#include <caf/exit_reason.hpp>
#include <caf/message.hpp>
#include <caf/sec.hpp>

#include <fmt/format.h>

namespace troupe {

caf::error to_caf(const Error& error) {
  return {static_cast<std::uint8_t>(error.code()), error_category, caf::make_message(error.what())};
}

Error from_caf(const caf::error& error) {
  if (error.category() == error_category) {
    const auto& context = error.context();
    return {static_cast<Errc>(error.code()),
            context.size() == 1 && context.match_element<std::string>(0)
                ? context.get_as<std::string>(0)
                : "no text"};
  }
  const auto text = fmt::format("{} (from the actor system)", caf::to_string(error));
  if (error == caf::sec::request_timeout) {
    return {Errc::deadline_exceeded, text};
  }
  if (error == caf::sec::request_receiver_down || error.category() == caf::atom("exit")) {
    return {Errc::peer_lost, text};
  }
  return {Errc::internal, text};
}

}  // namespace troupe
