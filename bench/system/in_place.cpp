#include "bench/system/in_place.hpp"

#include "actors/collector.hpp"
#include "actors/error.hpp"
#include "actors/holder.hpp"
#include "actors/local_messages.hpp"
#include "actors/sampler.hpp"

#include "bench/system/actor_system.hpp"

#include <caf/all.hpp>

#include <atomic>
#include <future>
#include <utility>
#include <vector>

namespace troupe::bench {
namespace {

/// Counts the time inside tasks.
class TimedExecutor final : public Executor {
 public:
  explicit TimedExecutor(Executor& inner) : inner_(inner) {}
  void post(Task task) override {
    inner_.post([this, task = std::move(task)] {
      const Stopwatch watch;
      task();
      ns_ += static_cast<std::uint64_t>(watch.seconds() * 1e9);
      ++tasks_;
    });
  }
  void parallel_for(std::size_t n, const std::function<void(std::size_t)>& body) override {
    inner_.parallel_for(n, body);
  }
  std::size_t concurrency() const override { return inner_.concurrency(); }
  /// Since the last call.
  double take_us() { return static_cast<double>(ns_.exchange(0)) * 1e-3; }
  std::uint64_t tasks() const { return tasks_; }

 private:
  Executor& inner_;
  std::atomic<std::uint64_t> ns_{0};
  std::atomic<std::uint64_t> tasks_{0};
};

struct Samples {
  std::vector<double> wall;
  std::vector<double> sampling;
  std::vector<double> gathering;
  std::vector<double> neither;
};

struct Plan {
  const BenchData* data;
  std::uint64_t batches;
  std::uint64_t warm_up;
  TimedExecutor* sampler_clock;
  TimedExecutor* collector_clock;
  std::promise<Result<Samples>>* end;
};

struct TakerState {
  std::uint64_t taken = 0;
  Samples samples;
  Stopwatch since_last;
};
using Taker = caf::stateful_actor<TakerState>;

void ask(Taker* self, const caf::actor& sampler, const Plan& plan);

void account(Taker* self, const Plan& plan) {
  auto& state = self->state;
  const double wall = state.since_last.us();
  state.since_last = {};
  const double sampling = plan.sampler_clock->take_us();
  const double gathering = plan.collector_clock->take_us();
  if (++state.taken > plan.warm_up) {
    state.samples.wall.push_back(wall);
    state.samples.sampling.push_back(sampling);
    state.samples.gathering.push_back(gathering);
    state.samples.neither.push_back(wall - sampling - gathering);
  }
}

void took(Taker* self, const caf::actor& sampler, const Plan& plan) {
  account(self, plan);
  if (self->state.taken < plan.batches) {
    ask(self, sampler, plan);
  } else {
    plan.end->set_value(std::move(self->state.samples));
    self->quit();
  }
}

void ask(Taker* self, const caf::actor& sampler, const Plan& plan) {
  const auto& data = *plan.data;
  const auto number = self->state.taken % data.full_batches();
  SampleBatch batch;
  batch.key = data.key(number);
  batch.take_seeds(data.order->seeds_of(0, number));
  batch.sample = data.sample;
  batch.collect = data.collect;
  self->request(sampler, caf::infinite, Ref<SampleBatch>(std::move(batch)))
      .then([=](const Ref<ReadyBatch>&) { self->send(self, caf::unit); },  // the batch goes first
            [=](const caf::error& error) {
              plan.end->set_value(from_caf(error));
              self->quit();
            });
}

caf::behavior taker(Taker* self, const caf::actor& sampler, const Plan& plan) {
  ask(self, sampler, plan);
  return {[=](caf::unit_t) { took(self, sampler, plan); }};
}

std::shared_ptr<HostContext> host_context(const BenchData& data,
                                          std::shared_ptr<Executor> executor) {
  auto host = std::make_shared<HostContext>();
  host->graph = data.graph;
  host->book = data.book;
  host->executor = std::move(executor);
  for (const auto& part : data.parts) {
    host->parts[part->id] = part;
  }
  return host;
}

}  // namespace

Result<InPlaceCost> run_in_place(const BenchData& data, std::uint32_t epochs) {
  ComputePool pool(1);
  const auto sampler_clock = std::make_shared<TimedExecutor>(pool);
  const auto collector_clock = std::make_shared<TimedExecutor>(pool);
  const auto epoch = data.full_batches();
  std::promise<Result<Samples>> end;
  ActorSystem actors;
  const auto collector =
      actors.keep(spawn_collector(actors.system(), host_context(data, collector_clock)));
  const auto sampler =
      actors.keep(spawn_sampler(actors.system(), host_context(data, sampler_clock), collector));
  const Plan plan{&data, epoch * (epochs + 1), epoch, sampler_clock.get(), collector_clock.get(),
                  &end};
  actors.system().spawn(taker, sampler, plan);
  TROUPE_ASSIGN_OR_RETURN(auto samples, end.get_future().get());
  InPlaceCost cost;
  cost.tasks_per_batch = static_cast<double>(sampler_clock->tasks() + collector_clock->tasks()) /
                         static_cast<double>(plan.batches);
  cost.wall = stats_of(std::move(samples.wall));
  cost.sampling = stats_of(std::move(samples.sampling));
  cost.gathering = stats_of(std::move(samples.gathering));
  cost.neither = stats_of(std::move(samples.neither));
  return cost;
}

}  // namespace troupe::bench
