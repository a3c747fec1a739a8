#include "runtime/net/endpoint.hpp"
#include "runtime/net/saturate.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace troupe::net {
namespace {

constexpr std::array<const char*, traffic_classes> class_names{"control", "gradients", "samples",
                                                               "rows",    "learned",   "updates"};

Status at_most(const char* what, std::size_t traffic, std::uint64_t limit, std::uint64_t found) {
  if (found <= limit) {
    return ok_status();
  }
  return Error(Errc::internal, fmt::format("{} in class {}: expected at most {} bytes, found {}",
                                           what, class_names[traffic], limit, found));
}

}  // namespace

std::uint64_t EndpointStats::max_in_flight_bytes() const {
  return std::ranges::max_element(classes, {}, &ClassStats::max_in_flight_bytes)
      ->max_in_flight_bytes;
}

std::uint64_t EndpointStats::max_queued_bytes() const {
  return std::ranges::max_element(classes, {}, &ClassStats::max_queued_bytes)->max_queued_bytes;
}

std::uint64_t window_of(const EndpointOptions& options, TrafficClass traffic) {
  switch (traffic) {
    case TrafficClass::control:
      return std::max(options.window_bytes, options.control_window_bytes);
    case TrafficClass::gradients:
      return options.gradient_window_bytes > 0 ? options.gradient_window_bytes
                                               : options.window_bytes;
    case TrafficClass::learned:
    case TrafficClass::updates:
      return options.learned_window_bytes > 0 ? options.learned_window_bytes : options.window_bytes;
    case TrafficClass::samples:
    case TrafficClass::rows:
      break;
  }
  return options.window_bytes;
}

Status check_windows(const EndpointOptions& options, const EndpointStats& stats) {
  if (stats.oversized > 0) {
    return Error(Errc::internal, fmt::format("{} answers were larger than their requests announced",
                                             stats.oversized));
  }
  for (std::size_t i = 0; i < traffic_classes; ++i) {
    const auto& of = stats.classes[i];
    const auto traffic = static_cast<TrafficClass>(i);
    const auto window = window_of(options, traffic);
    const auto in_flight = traffic == TrafficClass::control
                               ? saturating_add(window, of.largest_alone_bytes)
                               : std::max(window, of.largest_alone_bytes);
    TROUPE_RETURN_IF_ERROR(at_most("bytes in flight", i, in_flight, of.max_in_flight_bytes));
    // Requests in flight whose answers are too large come back to a queue that may be full.
    const auto queued =
        saturating_add(std::max(options.queue_bytes, of.largest_queued_bytes), in_flight);
    TROUPE_RETURN_IF_ERROR(at_most("bytes queued", i, queued, of.max_queued_bytes));
  }
  return ok_status();
}

}  // namespace troupe::net
