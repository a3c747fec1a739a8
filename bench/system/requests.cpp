#include "bench/system/requests.hpp"

#include "actors/error.hpp"
#include "actors/gate.hpp"
#include "actors/holder.hpp"
#include "runtime/feature/row_request.hpp"
#include "runtime/net/sim_network.hpp"
#include "runtime/sample/one_hop.hpp"

#include "bench/system/actor_system.hpp"

#include <caf/all.hpp>

#include <future>
#include <utility>

namespace troupe::bench {
namespace {

constexpr std::uint64_t in_flight = 64;
constexpr int repeats = 7;
constexpr Address holder_address{Role::holder, 0};

/// Keeps `in_flight` requests under way until `left` are answered.
template <class Request, class Reply>
struct Asker {
  struct State {
    std::uint64_t to_send = 0;
    std::uint64_t to_come = 0;
  };
  using Self = caf::stateful_actor<State>;
  using End = std::promise<Status>;

  static void send(Self* self, const caf::actor& holder, const Ref<Request>& request, End* end) {
    if (self->state.to_send == 0) {
      return;
    }
    --self->state.to_send;
    self->request(holder, caf::infinite, request)
        .then(
            [=](const Ref<Reply>&) {
              if (--self->state.to_come == 0) {
                end->set_value(ok_status());
                return self->quit();
              }
              send(self, holder, request, end);
            },
            [=](const caf::error& error) {
              end->set_value(from_caf(error));
              self->quit();
            });
  }

  static caf::behavior run(Self* self, const caf::actor& holder, const Ref<Request>& request,
                           std::uint64_t count, End* end) {
    self->state = {count, count};
    for (std::uint64_t i = 0; i < std::min(count, in_flight); ++i) {
      send(self, holder, request, end);
    }
    return {[](caf::unit_t) {}};
  }
};

template <class Reply, class Request>
Result<Stats> rate(caf::actor_system& system, const caf::actor& holder, const Ref<Request>& request,
                   std::uint64_t count) {
  std::vector<double> rates;
  for (int repeat = 0; repeat <= repeats; ++repeat) {
    std::promise<Status> end;
    const Stopwatch watch;
    system.spawn(Asker<Request, Reply>::run, holder, request, count, &end);
    TROUPE_RETURN_IF_ERROR(end.get_future().get());
    if (repeat > 0) {  // the first warms up
      rates.push_back(static_cast<double>(count) / watch.seconds());
    }
  }
  return stats_of(std::move(rates));
}

/// Nodes of the part, far apart.
std::vector<NodeId> some_nodes(const Part& part, std::uint64_t count) {
  const auto& nodes = part.nodes[0];
  std::vector<NodeId> ids;
  for (std::uint64_t i = 0; i < count; ++i) {
    ids.push_back(advance(nodes.first, i * nodes.count / count));
  }
  return ids;
}

Status measure(caf::actor_system& system, const caf::actor& holder, const Part& part, bool linked,
               std::vector<RequestRate>& rates) {
  for (const std::uint64_t nodes : {1U, 1024U}) {
    const std::uint64_t count = nodes == 1 ? 40'000 : 1'000;
    HopRequest hop;
    hop.frontiers.push_back({NodeTypeId{}, some_nodes(part, nodes)});
    hop.sections.push_back({.fanout = 10, .key = stream_key(1, {.domain = Domain::neighbours})});
    TROUPE_ASSIGN_OR_RETURN(
        const auto samples,
        (rate<HopReply>(system, holder, Ref<HopRequest>(std::move(hop)), count)));
    rates.push_back({"sample", nodes, linked, samples});
    RowRequest read;
    read.sections.push_back(
        {.nodes = some_nodes(part, nodes),
         .row_bytes = part.nodes[0].features ? part.nodes[0].features->row_bytes() : 0});
    TROUPE_ASSIGN_OR_RETURN(
        const auto rows, (rate<RowReply>(system, holder, Ref<RowRequest>(std::move(read)), count)));
    rates.push_back({"rows", nodes, linked, rows});
  }
  return ok_status();
}

}  // namespace

Result<std::vector<RequestRate>> measure_requests(const BenchData& data, std::uint32_t threads) {
  const auto pool = std::make_shared<ComputePool>(threads);
  const auto& part = data.parts.front();
  std::vector<RequestRate> rates;
  net::RealTimeDriver driver;
  ActorSystem actors;
  auto& system = actors.system();
  const auto holder = actors.keep(spawn_holder(system, part, pool));
  TROUPE_RETURN_IF_ERROR(measure(system, holder, *part, false, rates));
  auto [left, right] = net::make_sim_link(driver, {});
  const auto near = Gate::make(system, std::move(left), {});
  const auto far = Gate::make(system, std::move(right), {});
  far->export_actor(holder_address, holder);
  auto linked = measure(system, near->proxy(holder_address), *part, true, rates);
  near->close(Error(Errc::cancelled, "measured"));
  near->wait_closed(std::chrono::seconds(10));
  far->wait_closed(std::chrono::seconds(10));
  TROUPE_RETURN_IF_ERROR(linked);
  return rates;
}

}  // namespace troupe::bench
