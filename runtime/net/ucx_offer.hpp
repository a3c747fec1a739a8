#pragma once
/// \file ucx_offer.hpp
/// The frame in which an end of a link sends the address of its UCX worker, over TCP. For the sources of
/// links only.
#include "runtime/net/frame.hpp"
#include "runtime/net/handshake.hpp"
#include "runtime/net/ucx_port.hpp"

#include <optional>

namespace troupe::net {

/// In place of a method: "UCX2". A frame of an offer is the first one of each end.
inline constexpr std::uint32_t offer_method = 0x32584355;

/// Seals the offer of one end of a link with a MAC. UCX does not check addresses, so that a forged one
/// must not reach it.
struct OfferSeal {
  SessionKey key{};      ///< of the link's handshake
  bool dialled = false;  ///< by the end that makes the offer: nobody takes its own for the peer's
  OfferSeal of_peer() const { return {key, !dialled}; }
};

/// \param offer  null: this end has no UCX
/// \errors internal: the library failed
Result<Frame> to_frame(const UcxOffer* offer, const OfferSeal& seal);

/// Nothing: the peer has no UCX.
/// \errors data_corruption: no offer, or not sealed with this
Result<std::optional<UcxOffer>> read_offer(const Frame& frame, const OfferSeal& seal);

}  // namespace troupe::net
