#include "launcher/cluster_plan.hpp"

#include "actors/session_rank.hpp"
#include "launcher/decide_device.hpp"
#include "launcher/seconds.hpp"
#include "launcher/threads_or_all.hpp"
#include "runtime/base/free_memory.hpp"
#include "runtime/feature/cache_policies.hpp"
#include "runtime/job/collect_options.hpp"
#include "runtime/job/embedding_rules.hpp"
#include "runtime/job/knowledge_rules.hpp"
#include "runtime/job/link_owners.hpp"
#include "runtime/job/link_rules.hpp"
#include "runtime/job/sample_options.hpp"
#include "runtime/job/task_rules.hpp"
#include "runtime/nn/catalog.hpp"
#include "runtime/nn/knowledge/entity_ranker.hpp"
#include "runtime/run/class_counts.hpp"
#include "runtime/run/given_pairs.hpp"
#include "runtime/run/node_request.hpp"
#include "runtime/run/task/link_queries.hpp"
#include "runtime/wire/codec.hpp"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

namespace troupe {
namespace {

/// Longer lists of neighbors come in pieces, of which some fit the window at once.
std::uint64_t most_edges_per_reply(const Job& job) {
  return job.cluster.window_bytes / 4 / (8 + job.sample.edge_data.bytes());
}

Result<std::shared_ptr<const CacheOptions>> cache_options(const Job& job, const GraphInfo& graph,
                                                          const PartitionInfo& partition) {
  const auto* policy = find_kind(cache_policies(), job.features.cache_policy);
  if (policy == nullptr || !policy->policy || *policy->policy == CacheOptions::Policy::none ||
      partition.parts == 1) {
    return std::shared_ptr<const CacheOptions>();
  }
  auto options = std::make_shared<CacheOptions>();
  options->budget_bytes = job.features.cache_ratio > 0
                              ? cache_bytes_of(graph, job.features.cache_ratio)
                              : job.features.cache_bytes;
  options->presample_batches = job.features.presample_batches;
  options->measure = job.features.cache_measure;
  options->policy = *policy->policy;
  options->lookahead = job.features.cache_lookahead;
  if (options->policy == CacheOptions::Policy::future) {
    options->heat = partition.heat;
  }
  if (!policy->order.empty()) {
    options->heat = partition.heat;
    if (partition.order != policy->order || !partition.heat.known()) {
      return Error(
          Errc::failed_precondition,
          fmt::format("/features/cache/policy: \"{}\" needs a store whose nodes are in that "
                      "order, this one's are in order of \"{}\", {} parts\ntry: partition it "
                      "with that order, or \"presample\"",
                      policy->name, partition.order, partition.parts));
    }
  }
  return std::shared_ptr<const CacheOptions>(std::move(options));
}

Result<std::shared_ptr<const ListCacheOptions>> lists_cache_options(
    const Job& job, const PartitionInfo& partition) {
  const auto budget = job.sample.cache_bytes;
  if (budget == 0 || partition.parts == 1) {
    return std::shared_ptr<const ListCacheOptions>();
  }
  if (!partition.heat.known()) {
    return Error(
        Errc::failed_precondition,
        fmt::format("/sample/cache/budget: expected a store whose nodes are in order of "
                    "\"degree\" or \"hotness\", this one's are in order of \"{}\", {} parts",
                    partition.order, partition.parts));
  }
  return std::make_shared<const ListCacheOptions>(ListCacheOptions{budget, partition.heat});
}

/// What one step's gradient shares take on one link, in one direction: each rank of one process sends
/// each rank of the other its slice, and gets one back.
std::uint64_t gradient_bytes_per_link(const ClusterPlan& plan) {
  std::uint64_t ranks = 0;
  for (const auto& process : plan.layout.processes) {
    ranks = std::max<std::uint64_t>(ranks, process.ranks.size());
  }
  const std::uint64_t slice = (plan.network ? plan.network->num_parameters() : session_piece) /
                              plan.world() * sizeof(float);
  return ranks * ranks * net::gradient_exchange_bytes(slice + sizeof(float), plan.world());
}

/// Ranks on the machine of one, itself included.
std::uint64_t ranks_beside(const Layout& layout, const ClusterJob& cluster, Rank rank) {
  const bool one_machine = cluster.launch == "simulate" || cluster.launch == "local";
  const auto host = layout.at(layout.process_of(rank)).host;
  std::uint64_t ranks = 0;
  for (const auto& process : layout.processes) {
    ranks += one_machine || process.host == host ? process.ranks.size() : 0;
  }
  return std::max<std::uint64_t>(1, ranks);
}

std::vector<PartId> owners_of(const SeedList& seeds, const PartitionBook& book) {
  std::vector<PartId> owners;
  owners.reserve(seeds.global.size());
  for (const auto seed : seeds.global) {
    owners.push_back(book.owner(seeds.node_type, seed));
  }
  return owners;
}

/// Links to train on, dealt to the ranks that they lie near.
SeedShares shares_of(const LinkList& links, const ClusterPlan& plan) {
  const auto& sample = plan.job.sample;
  const auto owners = owners_of_links(links, *plan.graph, *plan.book, sample.edge_dir);
  const auto near = parts_of_ranks(plan.layout);
  return links.groups().empty()
             ? local_split(owners, near)
             : local_split_of_groups(links.groups(), owners, near, batch_sizes(sample));
}

/// Of the seeds or links of a role; of those to rank among all nodes a batch is what a product takes: what the job says of them is said of those to train on.
template <class List>
std::shared_ptr<const SeedOrder> order_of(std::shared_ptr<const List> list, const Job& job,
                                          bool trains, SeedShares shares) {
  const bool drops = trains && job.sample.drop_last;
  const bool ranks = (job.task.knowledge() || job.eval.rank_all) && !trains;
  const auto size = ranks ? nn::queries_at_once : job.sample.batch_size;
  auto order = std::make_shared<SeedOrder>(std::move(list), size, job.seed,
                                           trains && job.sample.shuffle, std::move(shares),
                                           drops ? ShortBatch::dropped : ShortBatch::kept);
  if (!job.sample.time.of_split) {
    order->leave_out_times();
  }
  return order;
}

/// How the links of a role are scored; where files say against which others, these are in its order.
Status add_scoring(ClusterPlan& plan, const PartitionedStore& store, const std::string& role,
                   const LinkList& links) {
  const auto& job = plan.job;
  auto& scoring = plan.scoring[role];
  scoring.rows = links.size();
  scoring.all = job.eval.rank_all;
  scoring.ends = job.eval.ends;
  if (job.task.knowledge()) {
    scoring.kind = LinkScoring::Kind::counts;
    return ok_status();
  }
  if (!job.task.predicts_links()) {
    const bool classes = job.train.loss == "cross_entropy";
    scoring.kind = classes ? LinkScoring::Kind::classes : LinkScoring::Kind::numbers;
    scoring.labels = links.labels();
    scoring.owner = plan.links.at(role);
    return ok_status();
  }
  for (const auto& group : links.groups()) {
    scoring.groups.push_back(
        {plan.graph->edge_types[raw(group.edge_type)].name, group.first, group.count});
  }
  TROUPE_ASSIGN_OR_RETURN(auto pairs, given_pairs(job, store, role, links));
  if (pairs) {
    scoring.rows = pairs->list.size();
    if (scoring.groups.empty()) {
      scoring.given = pairs->given.front();
    }
    for (std::size_t g = 0; g < scoring.groups.size(); ++g) {
      const auto& rows = pairs->list.groups()[g];
      auto& group = scoring.groups[g];
      group.first = rows.first;
      group.count = rows.count;
      group.given = pairs->given[g];
    }
    plan.orders[role] =
        order_of(std::make_shared<const LinkList>(std::move(pairs->list)), job, false, {});
  }
  return ok_status();
}

/// Links to score are told from others than those trained on, and nothing is left out of their batches.
std::shared_ptr<const SampleOptions> evaluation_of_links(const SampleOptions& trained,
                                                         const Job& job) {
  auto sample = trained;
  sample.links->negatives = job.eval.negatives;
  if (sample.links->shared) {
    sample.links->shared->chunks.negatives = 0;
  }
  sample.links->exclude = false;
  sample.walks.reset();
  sample.links->pairs_of.reset();
  sample.links->pair_types.clear();
  return std::make_shared<const SampleOptions>(std::move(sample));
}

/// What triples, or links, are true, of all roles.
std::shared_ptr<const RankingPlan> ranking_plan(const ClusterPlan& plan) {
  auto ranking = std::make_shared<RankingPlan>();
  const bool triples = plan.job.task.knowledge();
  ranking->of_triples = triples;
  ranking->ends = plan.job.eval.ends;
  ranking->score = triples ? plan.job.task.completes.score : link_product;
  ranking->relations = plan.job.model.decoder.relations;
  for (const auto& [role, links] : plan.links) {
    for (std::uint64_t i = 0; i < links->size(); ++i) {
      const auto link = links->at(i);
      const auto relation = triples ? static_cast<std::uint32_t>(links->labels()[i])
                                    : ranking->relation_of(links->edge_type_at(i));
      ranking->known.add(raw(link.source), relation, raw(link.destination));
    }
  }
  ranking->known.finish();
  return ranking;
}

/// Orders of the links of each role.
Status add_links(ClusterPlan& plan, const PartitionedStore& store, const ClusterHooks& hooks) {
  const auto& job = plan.job;
  for (const std::string role : {"train", "val", "test"}) {
    auto list = store.links(job.dataset.split, role);
    if (!list && list.error().code() == Errc::not_found && role != "train") {
      continue;
    }
    if (!list) {
      return std::move(list).error();
    }
    const auto shared = std::make_shared<const LinkList>(*std::move(list));
    const bool trains = role == "train";
    SeedShares shares;
    if (trains && job.sample.seed_order == "local") {
      shares = shares_of(*shared, plan);
    }
    plan.links[role] = shared;
    plan.orders[role] = order_of(shared, job, trains, std::move(shares));
    if (!trains && !hooks.take_only) {
      TROUPE_RETURN_IF_ERROR(add_scoring(plan, store, role, *shared));
    }
  }
  return ok_status();
}

/// Lists and orders of the seeds of each role.
Status add_seeds(ClusterPlan& plan, const PartitionedStore& store, const ClusterHooks& hooks) {
  const auto& job = plan.job;
  for (const std::string role : {"train", "val", "test"}) {
    auto list = store.seeds(job.dataset.split, role);
    const bool absent = !list && list.error().code() == Errc::not_found;
    if (!list && (!absent || (role == "train" && !hooks.take_only))) {
      return std::move(list).error();
    }
    if (absent && role == "train") {  // a user program that has no use for epochs
      list = SeedList();
    }
    if (list) {
      auto shared = std::make_shared<const SeedList>(*std::move(list));
      plan.seeds[role] = shared;
      const bool trains = role == "train";
      SeedShares shares;
      if (trains && job.sample.seed_order == "local") {
        shares = local_split(owners_of(*shared, *plan.book), parts_of_ranks(plan.layout));
      }
      plan.orders[role] = order_of(std::move(shared), job, trains, std::move(shares));
    }
  }
  return ok_status();
}

/// Seeds that no batch has are not learned: where short batches are left out, some rank has a full one, and each edge type
/// of links has one.
Status check_full_batches(const ClusterPlan& plan) {
  const auto& job = plan.job;
  const auto train = plan.orders.find("train");
  if (!job.sample.drop_last || train == plan.orders.end() || train->second->num_seeds() == 0) {
    return ok_status();
  }
  const auto& order = *train->second;
  const auto refused = [&](const std::string& seeds) {
    return Error(
        Errc::invalid_argument,
        fmt::format("/sample/drop_last: expected false where {} fill no batch of {}, found "
                    "true; or a smaller batch_size",
                    seeds, job.sample.batch_size));
  };
  if (order.num_batches() == 0) {
    const bool local = job.sample.seed_order == "local";
    return refused(fmt::format(
        "{} seeds{}", order.num_seeds(),
        local ? fmt::format(", shared by {} ranks as they lie,", plan.world()) : std::string()));
  }
  if (const auto links = order.links_without_batches()) {
    return refused(fmt::format("the {} links of \"{}\"", links->count,
                               plan.graph->edge_types[raw(links->edge_type)].name));
  }
  return ok_status();
}

/// Those that the job lists, or that balance the training seeds.
Status add_class_weights(ClusterPlan& plan, const PartitionedStore& store) {
  const auto& job = plan.job;
  if (!job.train.class_weights.given()) {
    return ok_status();
  }
  std::vector<std::uint64_t> counts;
  if (job.train.class_weights.balanced) {
    TROUPE_ASSIGN_OR_RETURN(
        counts, job.task.links() ? count_classes(*plan.links.at("train"), job.task.classes)
                                 : count_classes(store, *plan.book, *plan.seeds.at("train")));
  }
  TROUPE_ASSIGN_OR_RETURN(plan.class_weights,
                          class_weights(job, counts, plan.orders.at("train")->num_seeds()));
  return ok_status();
}

/// The nodes whose rows a run without labels gives at its end.
Status add_embedded(ClusterPlan& plan, const PartitionedStore& store) {
  const auto& job = plan.job;
  const auto type = end_types_of(*plan.graph, *training_links(job, *plan.graph)).source;
  TROUPE_ASSIGN_OR_RETURN(
      auto nodes,
      find_nodes(store, {.sources = {"all"}, .split = job.dataset.split, .node_type = type}));
  auto list = std::make_shared<const SeedList>(std::move(nodes.nodes));
  plan.seeds[embedded_role] = list;
  if (job.model.layers == 0) {  // ranks read the rows as those of batches to score
    plan.orders[embedded_role] = order_of(std::move(list), job, false, {});
  }
  return ok_status();
}

/// What a user program has of the devices of its ranks.
Status add_devices_of_program(ClusterPlan& plan, const PartitionedStore& store,
                              const ClusterHooks& hooks) {
  if (hooks.device_batches) {
    TROUPE_ASSIGN_OR_RETURN(plan.devices,
                            device_plan(plan.job, plan.layout, *plan.sample, *plan.collect));
    plan_program_memory(plan.devices, plan.job, *plan.graph, store.partition().heat);
  } else {
    plan.devices.why_not = "the program takes batches there (RanksOptions::device_batches)";
  }
  const bool computes = plan.job.cluster.device.kind != DeviceKind::cpu;
  plan.gradients = gradient_plan(plan.job, plan.layout, computes);
  plan.gradients.options.order = SumOrder::by_rank;  // train.reduce is of built-in models
  return ok_status();
}

/// The built-in model and what it needs to learn, or to infer.
Status add_model(ClusterPlan& plan, const PartitionedStore& store, const ClusterHooks& hooks) {
  const auto& job = plan.job;
  TROUPE_ASSIGN_OR_RETURN(plan.network, nn::make_network(job.model));
  TROUPE_ASSIGN_OR_RETURN(plan.devices, device_plan(job, plan.layout, *plan.sample, *plan.collect));
  plan_memory(plan.devices, job, *plan.graph, store.partition().heat);
  plan.gradients = gradient_plan(job, plan.layout, plan.devices.learns);
  if (hooks.inference) {
    return ok_status();
  }
  TROUPE_RETURN_IF_ERROR(add_class_weights(plan, store));
  if (job.task.knowledge() || job.eval.rank_all) {
    plan.ranking = ranking_plan(plan);
  }
  return ok_status();
}

}  // namespace

std::size_t compute_threads(const ClusterJob& cluster) {
  return threads_or_all(cluster.threads);
}

std::size_t compute_threads(const ClusterJob& cluster, HostId host) {
  const auto threads = cluster.threads_on(raw(host));
  return threads > 0 ? threads : compute_threads(cluster);
}

std::string ClusterPlan::device_text() const {
  const auto of_ranks = troupe::device_text(job, devices) + gradient_text(gradients);
  const auto of_samplers = sampler_text(job, sampler_devices);
  return of_ranks + (of_ranks.empty() || of_samplers.empty() ? "" : "; ") + of_samplers;
}

Result<std::shared_ptr<const ClusterPlan>> ClusterPlan::make(const Job& job,
                                                             const PartitionedStore& store,
                                                             const ClusterHooks& hooks) {
  auto plan = std::make_shared<ClusterPlan>();
  plan->job = job;
  decide_device(plan->job);  // of a job that no command read
  if (!hooks.take_only && !hooks.inference) {
    const auto precision = check_precision(plan->job);
    TROUPE_RETURN_IF_ERROR(hooks.bf16_without_unit ? ok_status() : precision);
    TROUPE_RETURN_IF_ERROR(check_reduce(plan->job));
  }
  if (hooks.inference) {
    plan->job.task.negatives = {};  // nothing is drawn
  }
  plan->layout = make_layout(job);
  plan->device_network = std::make_shared<gpu::EmulatedNetwork>();
  plan->graph = std::make_shared<const GraphInfo>(store.info());
  plan->book = std::make_shared<const PartitionBook>(store.partition().ranges);
  if (!hooks.inference) {  // which has nodes of its own
    TROUPE_RETURN_IF_ERROR(job.task.links() ? add_links(*plan, store, hooks)
                                            : add_seeds(*plan, store, hooks));
    TROUPE_RETURN_IF_ERROR(check_full_batches(*plan));
  }
  auto sample = sample_options(job, *plan->graph);
  sample.max_edges_per_reply = most_edges_per_reply(job);
  TROUPE_RETURN_IF_ERROR(take_edge_ends(sample, plan->job, store));
  TROUPE_RETURN_IF_ERROR(add_own_candidates(sample, job, *plan->graph, plan->layout, *plan->book));
  if (job.task.links() && !hooks.take_only) {
    plan->eval_sample = evaluation_of_links(sample, job);
  }
  plan->sample = std::make_shared<const SampleOptions>(std::move(sample));
  const auto reader = hooks.take_only ? BatchReader::user : BatchReader::trainer;
  TROUPE_ASSIGN_OR_RETURN(auto collect, collect_options(job, *plan->graph, reader));
  plan->collect = std::make_shared<const CollectOptions>(std::move(collect));
  TROUPE_ASSIGN_OR_RETURN(plan->cache, cache_options(job, *plan->graph, store.partition()));
  TROUPE_ASSIGN_OR_RETURN(plan->lists_cache, lists_cache_options(job, store.partition()));
  if (!hooks.take_only || hooks.own_program) {
    plan->embedding = embedding_plan(job, *plan->graph);
  }
  if (!hooks.take_only) {
    TROUPE_RETURN_IF_ERROR(add_model(*plan, store, hooks));
  }
  if (hooks.own_program) {
    TROUPE_RETURN_IF_ERROR(add_devices_of_program(*plan, store, hooks));
  }
  if (!hooks.inference) {
    TROUPE_ASSIGN_OR_RETURN(plan->sampler_devices,
                            sampler_plan(plan->job, plan->layout, *plan->sample, *plan->collect));
    plan_sampler_memory(plan->sampler_devices, plan->job, *plan->graph, store.partition().heat);
  }
  if (job.task.embeds() && job.eval.predictions && !hooks.take_only && !hooks.inference) {
    TROUPE_RETURN_IF_ERROR(add_embedded(*plan, store));
  }
  plan->inference = hooks.inference;
  for (std::size_t list = 0; plan->inference && list < plan->inference->nodes.size(); ++list) {
    plan->seeds[inference_role(list)] = plan->inference->nodes[list];
  }
  return std::shared_ptr<const ClusterPlan>(std::move(plan));
}

LearnerOptions learner_options(const Job& job) {
  LearnerOptions options;
  options.model = job.model;
  options.optimizer = job.train.optimizer;
  options.loss = job.train.loss;
  options.job_seed = job.seed;
  options.schedule = job.train.schedule;
  options.epochs = job.train.epochs;
  options.pos_weight = job.train.pos_weight;
  options.delta = job.train.delta;
  options.clip = job.train.clip;
  options.task = job.task.kind;
  options.link_loss = job.train.link_loss;
  options.knowledge = job.task.completes;
  options.rank_all = job.eval.rank_all && job.scores_batches();
  return options;
}

TrainerOptions ClusterPlan::trainer_options(Rank rank) const {
  TrainerOptions options;
  options.rank = rank;
  options.world = world();
  const auto ranks = ranks_beside(layout, job.cluster, rank);
  options.ahead = batches_ahead(job.cluster, free_memory_bytes() / ranks);
  options.channel_budget = job.cluster.channel_budget;
  options.lookahead = lookahead();
  options.orders = orders;
  options.sample = sample;
  options.eval_sample = eval_sample;
  options.score_cols = take_only() ? 0 : score_cols(job);
  options.rows_role = embedded_role;
  options.ranking = job.scores_batches() || job.task.knowledge() ? ranking : nullptr;
  options.collect = collect;
  options.learner = learner_options(job);
  options.learner.class_weights = class_weights;
  options.max_eval_batches = job.eval.max_batches;
  options.fenced_for = seconds_as<std::chrono::milliseconds>(job.cluster.recovery_deadline_s);
  return options;
}

EvaluatorOptions ClusterPlan::evaluator_options(ProcessId process) const {
  std::shared_ptr<const std::vector<RowDecoder>> edge_decoders;
  if (job.model.edge_features) {
    edge_decoders = {collect, &collect->edge_decoders};
  }
  EvaluatorOptions options{.inference = {.network = network,
                                         .dir = job.sample.edge_dir,
                                         .decoders = collect->decoders,
                                         .edge_decoders = edge_decoders,
                                         .seeds = seeds,
                                         .tables = embedding,
                                         .embeddings = inference && inference->embeddings}};
  if (eval_sample && !inference && !job.task.knowledge()) {
    const auto evaluators = layout.evaluators();
    const auto own = std::ranges::find(evaluators, process);
    options.links = {.orders = orders,
                     .sample = eval_sample,
                     .task = task_options(learner_options(job)),
                     .cols = score_cols(job) - (job.eval.rank_all ? rank_cols : 0),
                     .ranking = ranking,
                     .book = book,
                     .host = static_cast<std::uint32_t>(own - evaluators.begin()),
                     .hosts = static_cast<std::uint32_t>(evaluators.size())};
  }
  return options;
}

GateOptions ClusterPlan::gate_options() const {
  GateOptions options;
  const auto window = job.cluster.window_bytes;
  auto& endpoint = options.endpoint;
  endpoint.window_bytes = window;
  endpoint.gradient_window_bytes = std::max(window, gradient_bytes_per_link(*this));
  endpoint.queue_bytes = 4 * window;
  // Above what the peer's windows let through, one item larger than its window per class included.
  endpoint.serving_bytes = std::max(std::uint64_t{4} << 30, 8 * window);
  endpoint.deadline = seconds_as<std::chrono::nanoseconds>(job.cluster.request_deadline_s);
  endpoint.recovery_deadline =
      seconds_as<std::chrono::nanoseconds>(job.cluster.recovery_deadline_s);
  return options;
}

Result<Checkpoint> ClusterPlan::initial_state() const {
  Checkpoint state;
  state.job = job.json;
  if (network) {
    TROUPE_ASSIGN_OR_RETURN(const auto learner, Learner::create(learner_options(job)));
    auto optimizer = learner->optimizer_state();
    state.training.parameters = *learner->snapshot();
    state.training.optimizer = {optimizer.steps, std::move(optimizer.arrays)};
  }
  return state;
}

}  // namespace troupe
