#pragma once
/// \file handshake_errors.hpp
/// Why a handshake fails, in the words that both of its ends use.
#include "runtime/net/handshake_wire.hpp"

namespace troupe::net::handshake {

Error wrong_token();
Error not_a_handshake();
Error other_transport();
Error no_common_version(VersionRange accepting, VersionRange dialling);
Error other_job(std::string_view accepting, std::string_view dialling);
/// The accepting end is not who the dialling end expected.
Error not_expected(ProcessId process, std::uint32_t incarnation, const PeerIdentity& found);
/// What the accepting end said; a code that this build does not know is `internal`.
Error told(const Denied& denied);

}  // namespace troupe::net::handshake
