#include "launcher/simulated_cluster.hpp"

#include "actors/collector.hpp"
#include "actors/director.hpp"
#include "actors/error.hpp"
#include "actors/evaluator.hpp"
#include "actors/gate.hpp"
#include "actors/holder.hpp"
#include "actors/local_messages.hpp"
#include "actors/sampler.hpp"
#include "actors/trainer.hpp"
#include "runtime/job/plan.hpp"
#include "runtime/net/codec.hpp"
#include "runtime/net/sim_network.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <future>
#include <thread>

namespace troupe {
namespace {

struct SystemConfig : caf::actor_system_config {
  SystemConfig() {
    set("scheduler.policy", caf::atom("sharing"));  // work stealing polls with sleeps
    set("scheduler.max-threads", std::size_t{2});   // thin handlers; the compute pool does the work
    set("scheduler.max-throughput", std::size_t{50});
    add_error_category(error_category,
                       [](std::uint8_t code, caf::atom_value, const caf::message& context) {
                         return fmt::format("troupe.{}{}", to_string(static_cast<Errc>(code)),
                                            caf::to_string(context));
                       });
  }
};

/// One simulated host.
struct Host {
  std::shared_ptr<HostContext> context = std::make_shared<HostContext>();
  std::map<std::uint32_t, std::shared_ptr<Gate>> gates;  ///< by the other host
  std::map<std::uint32_t, caf::actor> holders;           ///< by part, that lie here
  std::map<std::uint32_t, caf::actor> trainers;          ///< by rank, that run here
  caf::actor evaluator;
  caf::actor first_sampler;
};

std::size_t thread_count(const Job& job) {
  return job.cluster.threads > 0 ? job.cluster.threads
                                 : std::max(1U, std::thread::hardware_concurrency());
}

net::SimLinkOptions link_options(const Job& job) {
  net::SimLinkOptions options;
  options.latency =
      std::chrono::nanoseconds(static_cast<std::int64_t>(job.cluster.network.latency_us * 1000));
  options.bytes_per_second = job.cluster.network.bandwidth_gbps * 1e9 / 8;
  return options;
}

}  // namespace

struct SimulatedCluster::State {
  Job job;
  ClusterHooks hooks;
  GraphInfo graph;
  std::shared_ptr<const PartitionBook> book;
  std::map<std::string, std::shared_ptr<const SeedList>> seeds;
  std::map<std::string, std::shared_ptr<const SeedOrder>> orders;
  std::vector<RowDecoder> decoders;
  std::shared_ptr<const nn::Model> model;

  // In the order of their lives: the pool outlives the actors, the driver the gates.
  std::shared_ptr<ComputePool> pool;
  SystemConfig config;
  std::unique_ptr<caf::actor_system> system;
  std::unique_ptr<net::RealTimeDriver> driver;
  std::vector<Host> hosts;
  std::vector<caf::actor> actors;  ///< all that must be ended

  State(Job j, ClusterHooks h)
      : job(std::move(j)),
        hooks(std::move(h)),
        pool(std::make_shared<ComputePool>(thread_count(job))),
        system(std::make_unique<caf::actor_system>(config)),
        driver(std::make_unique<net::RealTimeDriver>()),
        hosts(job.cluster.hosts) {}
  ~State();

  Status load(const PartitionedStore& store);
  std::uint64_t gradient_bytes_per_link() const;
  void connect_hosts();
  Status start_holders(const PartitionedStore& store);
  Status start_ranks();
  void start_evaluators();
  void introduce_peers();

  caf::actor holder_for(std::uint32_t host, PartId part);
  caf::actor trainer_for(std::uint32_t host, Rank rank);
  caf::actor evaluator_for(std::uint32_t host, std::uint32_t of);
  std::shared_ptr<const SampleOptions> sample_options() const;
  std::shared_ptr<const CollectOptions> collect_options() const;
};

SimulatedCluster::State::~State() {
  const Error why(Errc::cancelled, "the cluster is shut down");
  for (auto& host : hosts) {
    for (auto& [other, gate] : host.gates) {
      gate->close(why);
    }
  }
  for (const auto& actor : actors) {
    caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  }
  for (auto& host : hosts) {
    for (auto& [other, gate] : host.gates) {
      gate->wait_closed(std::chrono::seconds(10));
    }
  }
  actors.clear();
  hosts.clear();
  system->await_all_actors_done();
  pool->stop();
  driver.reset();
  system.reset();
}

Status SimulatedCluster::State::load(const PartitionedStore& store) {
  graph = store.info();
  book = std::make_shared<const PartitionBook>(store.partition().ranges);
  for (const std::string role : {"train", "val", "test"}) {
    auto list = store.seeds(job.dataset.split, role);
    if (!list && (role == "train" || list.error().code() != Errc::not_found)) {
      return std::move(list).error();
    }
    if (list) {
      auto shared = std::make_shared<const SeedList>(*std::move(list));
      seeds[role] = shared;
      orders[role] = std::make_shared<const SeedOrder>(shared, job.sample.batch_size, job.seed,
                                                       role == "train");
    }
  }
  for (const auto& type : graph.node_types) {
    TROUPE_ASSIGN_OR_RETURN(auto decoder, RowDecoder::create(type, job.features.normalize));
    decoders.push_back(std::move(decoder));
  }
  if (!hooks.take_only) {
    TROUPE_ASSIGN_OR_RETURN(model, nn::make_model(job.model));
  }
  return ok_status();
}

/// What one step's gradient shares take on one link, in one direction: each rank of one host sends
/// each rank of the other its slice, and gets one back.
std::uint64_t SimulatedCluster::State::gradient_bytes_per_link() const {
  const std::uint64_t ranks = job.cluster.trainers_per_host;
  const std::uint64_t slice =
      (model ? model->num_parameters() : 0) / job.cluster.world() * sizeof(float);
  return ranks * ranks * net::gradient_exchange_bytes(slice + sizeof(float));
}

void SimulatedCluster::State::connect_hosts() {
  GateOptions options;
  options.endpoint.window_bytes = job.cluster.window_bytes;
  options.endpoint.gradient_window_bytes =
      std::max(job.cluster.window_bytes, gradient_bytes_per_link());
  options.endpoint.queue_bytes = 4 * job.cluster.window_bytes;
  // Above what the peer's windows let through, one item larger than its window per class included.
  options.endpoint.serving_bytes = std::max(std::uint64_t{4} << 30, 8 * job.cluster.window_bytes);
  options.endpoint.deadline =
      std::chrono::nanoseconds(static_cast<std::int64_t>(job.cluster.request_deadline_s * 1e9));
  for (std::uint32_t a = 0; a < hosts.size(); ++a) {
    for (std::uint32_t b = a + 1; b < hosts.size(); ++b) {
      auto [left, right] = net::make_sim_link(*driver, link_options(job));
      hosts[a].gates[b] = Gate::make(*system, std::move(left), options);
      hosts[b].gates[a] = Gate::make(*system, std::move(right), options);
    }
  }
}

Status SimulatedCluster::State::start_holders(const PartitionedStore& store) {
  for (std::uint32_t p = 0; p < book->parts(); ++p) {
    const auto id = static_cast<PartId>(p);
    TROUPE_ASSIGN_OR_RETURN(auto part, store.load_part(id));
    auto& host = hosts[raw(host_of_part(job, id))];
    auto actor = spawn_holder(*system, part, pool);
    actors.push_back(actor);
    if (hooks.wrap_holder) {
      actor = hooks.wrap_holder(*system, id, actor);
      actors.push_back(actor);
    }
    host.holders[p] = actor;
    host.context->parts[id] = std::move(part);
    for (auto& [other, gate] : host.gates) {
      gate->export_actor({Role::holder, p}, actor);
    }
  }
  for (std::uint32_t h = 0; h < hosts.size(); ++h) {
    auto& context = *hosts[h].context;
    context.host = static_cast<HostId>(h);
    context.graph = std::make_shared<const GraphInfo>(graph);
    context.book = book;
    context.executor = pool;
    context.on_hop = hooks.on_hop;
    context.request_deadline =
        std::chrono::milliseconds(static_cast<std::int64_t>(job.cluster.request_deadline_s * 1e3));
    for (std::uint32_t p = 0; p < book->parts(); ++p) {
      context.holders.push_back(holder_for(h, static_cast<PartId>(p)));
    }
  }
  return ok_status();
}

caf::actor SimulatedCluster::State::holder_for(std::uint32_t host, PartId part) {
  const auto home = raw(host_of_part(job, part));
  return home == host ? hosts[host].holders.at(raw(part))
                      : hosts[host].gates.at(home)->proxy({Role::holder, raw(part)});
}

caf::actor SimulatedCluster::State::trainer_for(std::uint32_t host, Rank rank) {
  const auto home = raw(host_of_rank(job, rank));
  return home == host ? hosts[host].trainers.at(raw(rank))
                      : hosts[host].gates.at(home)->proxy({Role::trainer, raw(rank)});
}

caf::actor SimulatedCluster::State::evaluator_for(std::uint32_t host, std::uint32_t of) {
  return of == host ? hosts[host].evaluator
                    : hosts[host].gates.at(of)->proxy({Role::evaluator, of});
}

std::shared_ptr<const SampleOptions> SimulatedCluster::State::sample_options() const {
  SampleOptions options;
  for (const auto fanout : job.sample.fanout) {
    options.fanout.push_back(std::vector<std::int32_t>(graph.edge_types.size(), fanout));
  }
  options.replace = job.sample.replace;
  options.with_edge_ids = job.sample.edge_ids;
  options.dir = job.sample.edge_dir;
  options.frontier = job.sample.frontier;
  options.job_seed = job.seed;
  return std::make_shared<const SampleOptions>(std::move(options));
}

std::shared_ptr<const CollectOptions> SimulatedCluster::State::collect_options() const {
  CollectOptions options;
  options.decoders = decoders;
  options.digest = job.digest;
  return std::make_shared<const CollectOptions>(std::move(options));
}

Status SimulatedCluster::State::start_ranks() {
  const auto sample = sample_options();
  const auto collect = collect_options();
  for (std::uint32_t r = 0; r < job.cluster.world(); ++r) {
    auto& host = hosts[raw(host_of_rank(job, static_cast<Rank>(r)))];
    auto collector = spawn_collector(*system, host.context);
    actors.push_back(collector);
    std::vector<caf::actor> samplers;
    for (std::uint32_t s = 0; s < job.cluster.samplers_per_trainer; ++s) {
      samplers.push_back(spawn_sampler(*system, host.context, collector));
      actors.push_back(samplers.back());
    }
    if (!host.first_sampler) {
      host.first_sampler = samplers.front();
    }
    TrainerOptions options;
    options.rank = static_cast<Rank>(r);
    options.world = job.cluster.world();
    options.batches_in_flight = job.cluster.batches_in_flight;
    options.orders = orders;
    options.sample = sample;
    options.collect = collect;
    options.learner = {job.model, job.train.optimizer, job.train.loss, job.seed};
    options.take_only = hooks.take_only;
    options.on_step = hooks.on_step;
    TROUPE_ASSIGN_OR_RETURN(auto trainer, spawn_trainer(*system, std::move(options),
                                                        std::move(samplers), collector, pool));
    actors.push_back(trainer);
    host.trainers[r] = trainer;
    for (auto& [other, gate] : host.gates) {
      gate->export_actor({Role::trainer, r}, trainer);
    }
  }
  return ok_status();
}

void SimulatedCluster::State::start_evaluators() {
  if (hooks.take_only) {
    return;
  }
  for (std::uint32_t h = 0; h < hosts.size(); ++h) {
    auto& host = hosts[h];
    EvaluatorOptions options;
    options.model = model;
    options.dir = job.sample.edge_dir;
    options.decoders = decoders;
    options.seeds = seeds;
    host.evaluator = spawn_evaluator(*system, host.context, std::move(options), host.first_sampler,
                                     host.trainers.begin()->second);
    actors.push_back(host.evaluator);
    for (auto& [other, gate] : host.gates) {
      gate->export_actor({Role::evaluator, h}, host.evaluator);
    }
  }
}

void SimulatedCluster::State::introduce_peers() {
  for (std::uint32_t h = 0; h < hosts.size(); ++h) {
    TrainerPeers peers;
    for (std::uint32_t r = 0; r < job.cluster.world(); ++r) {
      peers.trainers.push_back(trainer_for(h, static_cast<Rank>(r)));
    }
    for (const auto& [rank, trainer] : hosts[h].trainers) {
      caf::anon_send(trainer, Ref<TrainerPeers>(peers));
    }
  }
}

SimulatedCluster::SimulatedCluster(std::unique_ptr<State> state) : state_(std::move(state)) {}
SimulatedCluster::~SimulatedCluster() = default;

Result<std::unique_ptr<SimulatedCluster>> SimulatedCluster::create(const Job& job,
                                                                   const PartitionedStore& store,
                                                                   ClusterHooks hooks) {
  auto state = std::make_unique<State>(job, std::move(hooks));
  TROUPE_RETURN_IF_ERROR(state->load(store));
  state->connect_hosts();
  TROUPE_RETURN_IF_ERROR(state->start_holders(store));
  TROUPE_RETURN_IF_ERROR(state->start_ranks());
  state->start_evaluators();
  state->introduce_peers();
  return std::unique_ptr<SimulatedCluster>(new SimulatedCluster(std::move(state)));
}

void SimulatedCluster::start(Conductor::Progress progress,
                             std::function<void(Result<RunRecord>)> on_end) {
  auto& state = *state_;
  const auto& job = state.job;
  DirectorOptions options;
  for (std::uint32_t r = 0; r < job.cluster.world(); ++r) {
    options.trainers.push_back(state.trainer_for(0, static_cast<Rank>(r)));
  }
  for (std::uint32_t h = 0; h < state.hosts.size() && !state.hooks.take_only; ++h) {
    options.evaluators.push_back(state.evaluator_for(0, h));
  }
  options.conductor = {.epochs = job.train.epochs,
                       .world = job.cluster.world(),
                       .layers = job.model.layers,
                       .eval_every = job.eval.every,
                       .eval_exact = job.eval.mode == "exact",
                       .metric = job.eval.metric,
                       .digest = job.digest != DigestMode::off,
                       .train_only = state.hooks.take_only,
                       .seeds = state.seeds};
  options.progress = std::move(progress);
  options.on_end = std::move(on_end);
  state.actors.push_back(spawn_director(*state.system, std::move(options)));
}

Result<RunRecord> SimulatedCluster::run(Conductor::Progress progress) {
  std::promise<Result<RunRecord>> ended;
  auto result = ended.get_future();
  start(std::move(progress),
        [&ended](Result<RunRecord> record) { ended.set_value(std::move(record)); });
  return result.get();
}

std::uint64_t SimulatedCluster::steps_per_epoch() const {
  return state_->orders.at("train")->num_steps(state_->job.cluster.world());
}

std::size_t SimulatedCluster::threads() const {
  return state_->pool->concurrency();
}

Traffic SimulatedCluster::traffic() const {
  Traffic traffic;
  for (const auto& host : state_->hosts) {
    for (const auto& [other, gate] : host.gates) {
      const auto stats = gate->stats();
      traffic.requests += stats.requests;
      traffic.bytes += stats.bytes_sent;
      traffic.max_in_flight_bytes =
          std::max(traffic.max_in_flight_bytes, stats.max_in_flight_bytes);
      traffic.max_queued_bytes = std::max(traffic.max_queued_bytes, stats.max_queued_bytes);
    }
  }
  return traffic;
}

}  // namespace troupe
