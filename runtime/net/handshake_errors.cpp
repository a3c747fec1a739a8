#include "runtime/net/handshake_errors.hpp"

#include "runtime/net/error_codes.hpp"

#include <fmt/format.h>

namespace troupe::net::handshake {

Error wrong_token() {
  return {Errc::unauthenticated,
          "handshake: the two ends hold different tokens, one has none, or bytes were changed on "
          "the way\ntry: start both ends with the same token file, and check the address"};
}

Error not_a_handshake() {
  return {Errc::data_corruption,
          "handshake: expected Troupe's, got other bytes\n"
          "try: check address and port, and that both ends use TLS or neither does"};
}

Error other_transport() {
  return {Errc::invalid_argument,
          "handshake: the two ends use different transports\n"
          "try: give both the same cluster section in the job file"};
}

Error no_common_version(VersionRange accepting, VersionRange dialling) {
  return {Errc::unimplemented,
          fmt::format("handshake: the accepting end speaks versions {} to {} of the protocol, the "
                      "dialling end {} to {}\ntry: run the same build at both ends",
                      accepting.oldest, accepting.newest, dialling.oldest, dialling.newest)};
}

Error other_job(std::string_view accepting, std::string_view dialling) {
  return {Errc::unauthenticated,
          fmt::format("handshake: the accepting end belongs to job '{}', the dialling end to job "
                      "'{}'\ntry: check the address, and give both ends the same job file",
                      accepting, dialling)};
}

Error not_expected(ProcessId process, std::uint32_t incarnation, const PeerIdentity& found) {
  return {Errc::fenced,
          fmt::format("handshake: the dialling end expected process {}, incarnation {}, and found "
                      "process {}, incarnation {}, at this address",
                      raw(process), incarnation, raw(found.process), found.incarnation)};
}

Error told(const Denied& denied) {
  return {failure_from_wire(denied.code), denied.sentence};
}

}  // namespace troupe::net::handshake
