#pragma once
/// \file link_totals.hpp
/// Sums of what links have carried.
#include "runtime/net/endpoint.hpp"
#include "runtime/wire/membership.hpp"

namespace troupe::net {

void add(LinkTotals& sum, const LinkTotals& more);
void add(LinkTotals& sum, const EndpointStats& more);

}  // namespace troupe::net
