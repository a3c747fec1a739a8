#include "runtime/wire/link_totals.hpp"

namespace troupe::net {

void add(LinkTotals& sum, const LinkTotals& more) {
  sum_counters(sum, more);
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
