#include "runtime/net/endpoint_state.hpp"

#include "runtime/net/saturate.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace troupe::net {
namespace {

std::int64_t milliseconds(Clock::duration d) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
}

}  // namespace

Endpoint::State::State(std::shared_ptr<Link> l, std::shared_ptr<RequestHandler> h,
                       EndpointOptions o)
    : link(std::move(l)), handler(std::move(h)), options(std::move(o)) {
  TROUPE_ASSERT(!recovers() || options.timers != nullptr,
                "an endpoint that survives its link needs timers", options.name);
  TROUPE_ASSERT(options.first_request > 0, "request ids start at 1", options.name);
  next_request = options.first_request;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    lanes[i].window_bytes = window_of(options, static_cast<TrafficClass>(i));
  }
  lanes[static_cast<std::size_t>(TrafficClass::control)].large_beside = true;
}

std::uint64_t Endpoint::State::Entry::cost() const {
  return saturating_add(request_bytes, most_reply_bytes);
}

Clock::time_point Endpoint::State::now() const {
  return options.timers != nullptr ? options.timers->now() : link->now();
}

void Endpoint::State::after(Clock::duration delay, std::function<void()> f) {
  if (options.timers != nullptr) {
    options.timers->at(options.timers->now() + delay, std::move(f));
  } else {
    link->after(delay, std::move(f));
  }
}

void Endpoint::State::send(Frame&& frame) {
  stats.bytes_sent += frame.size_bytes();
  link->send(std::move(frame));
}

void Endpoint::State::transmit(Entry& entry, Frame&& frame) {
  auto& lane = lanes[entry.lane];
  entry.sent = true;
  entry.again = frame;  // segments are shared
  entry.place = lane.peak.begin();
  const bool beside = lane.large_beside && lane.is_large(entry.cost());
  lane.large_in_flight += beside ? 1U : 0U;
  lane.in_flight += beside ? 0U : 1U;
  lane.in_flight_bytes = saturating_add(lane.in_flight_bytes, beside ? 0 : entry.cost());
  lane.stats.max_charged_bytes = std::max(lane.stats.max_charged_bytes, lane.in_flight_bytes);
  stats.requests += std::exchange(entry.counted, true) ? 0U : 1U;
  send(std::move(frame));
}

void Endpoint::State::enqueue(std::uint64_t id, Frame&& frame) {
  auto& lane = lanes[entries.find(id)->lane];
  const auto bytes = frame.size_bytes();
  lane.queued_bytes += bytes;
  lane.stats.max_queued_bytes = std::max(lane.stats.max_queued_bytes, lane.queued_bytes);
  lane.stats.largest_queued_bytes = std::max(lane.stats.largest_queued_bytes, bytes);
  lane.queue.emplace(id, std::move(frame));
}

void Endpoint::State::resend() {
  for (const auto id : entries.ids()) {
    const auto& entry = *entries.find(id);
    if (entry.sent) {
      ++stats.resent;
      send(Frame(*entry.again));
    }
  }
  for (auto& lane : lanes) {
    send_queued(lane);
  }
}

bool Endpoint::State::window_has_room(const Lane& lane, std::uint64_t cost) const {
  if (lane.large_beside && lane.is_large(cost)) {
    return link && lane.large_in_flight == 0;
  }
  return link && fits(lane.in_flight_bytes, cost, lane.window_bytes, lane.in_flight == 0);
}

void Endpoint::State::send_queued(Lane& lane) {
  while (!lane.queue.empty()) {
    auto& entry = *entries.find(lane.queue.begin()->first);
    if (!window_has_room(lane, entry.cost())) {
      return;
    }
    auto next = lane.queue.extract(lane.queue.begin());
    lane.queued_bytes -= next.mapped().size_bytes();
    transmit(entry, std::move(next.mapped()));
  }
}

void Endpoint::State::land(const Entry& entry, std::uint64_t answer_bytes) {
  auto& lane = lanes[entry.lane];
  const auto bytes = entry.request_bytes + answer_bytes;
  lane.peak.end(entry.place, bytes);
  lane.stats.max_in_flight_bytes = lane.peak.peak();
  const bool large = lane.is_large(entry.cost());
  if (large) {
    lane.stats.largest_alone_bytes = std::max(lane.stats.largest_alone_bytes, bytes);
  }
  if (large && lane.large_beside) {
    --lane.large_in_flight;
  } else {
    --lane.in_flight;
    lane.in_flight_bytes -= entry.cost();
  }
}

Endpoint::State::Entry Endpoint::State::release(std::uint64_t id, std::uint64_t answer_bytes) {
  auto entry = entries.take(id);
  auto& lane = lanes[entry.lane];
  if (entry.sent) {
    land(entry, answer_bytes);
  } else if (const auto waiting = lane.queue.extract(id)) {
    lane.queued_bytes -= waiting.mapped().size_bytes();
  }
  return entry;
}

Endpoint::State::Answers Endpoint::State::take_expired(Clock::time_point now) {
  std::vector<std::pair<Clock::time_point, std::uint64_t>> due;
  entries.for_each([&](std::uint64_t id, const Entry& entry) {
    if (entry.deadline <= now) {
      due.emplace_back(entry.deadline, id);
    }
  });
  std::ranges::sort(due);
  Answers expired;
  for (const auto& [deadline, id] : due) {
    Entry entry = release(id);
    ++stats.expired;
    const auto state =
        interrupted_at
            ? fmt::format("{} down for {} ms", options.name, milliseconds(now - *interrupted_at))
            : fmt::format("{}, {}", options.name, entry.sent ? "sent" : "waiting for the window");
    expired.emplace_back(
        std::move(entry.answer),
        Error(Errc::deadline_exceeded,
              fmt::format("request {} (method {}): no answer within {} ms ({})", id, entry.method,
                          milliseconds(now - entry.submitted), state)));
  }
  for (auto& lane : lanes) {
    send_queued(lane);
  }
  return expired;
}

std::optional<Clock::time_point> Endpoint::State::first_deadline() const {
  std::optional<Clock::time_point> first;
  entries.for_each([&](std::uint64_t /*id*/, const Entry& entry) {
    first = std::min(first.value_or(entry.deadline), entry.deadline);
  });
  return first;
}

Error Endpoint::State::refusal(const Lane& lane, const Entry& entry, std::uint64_t bytes) const {
  return {Errc::overloaded,
          fmt::format("request of method {}: window ({} of {} bytes{}) and queue ({} of {} bytes) "
                      "of its class are full; it needs {} and {} bytes",
                      entry.method, lane.in_flight_bytes, lane.window_bytes,
                      link ? "" : ", closed while the link is down", lane.queued_bytes,
                      options.queue_bytes, entry.cost(), bytes)};
}

Error Endpoint::State::lost(Clock::time_point now) const {
  return {Errc::peer_lost,
          fmt::format("{}: down for {} ms and not connected again within {} ms: {}", options.name,
                      milliseconds(now - *interrupted_at), milliseconds(options.recovery_deadline),
                      cause->what())};
}

}  // namespace troupe::net
