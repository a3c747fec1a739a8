#include "runtime/wire/link_totals.hpp"

#include <algorithm>

namespace troupe::net {

void add(LinkTotals& sum, const LinkTotals& more) {
  sum.requests += more.requests;
  sum.resent += more.resent;
  sum.bytes += more.bytes;
  sum.interruptions += more.interruptions;
  sum.max_in_flight_bytes = std::max(sum.max_in_flight_bytes, more.max_in_flight_bytes);
  sum.max_queued_bytes = std::max(sum.max_queued_bytes, more.max_queued_bytes);
}

void add(LinkTotals& sum, const EndpointStats& more) {
  add(sum, LinkTotals{.requests = more.requests,
                      .resent = more.resent,
                      .bytes = more.bytes_sent,
                      .interruptions = more.interruptions,
                      .max_in_flight_bytes = more.max_in_flight_bytes(),
                      .max_queued_bytes = more.max_queued_bytes()});
}

}  // namespace troupe::net
