#include "runtime/job/job_rules.hpp"

#include "runtime/base/nearest.hpp"
#include "runtime/base/saturating.hpp"
#include "runtime/feature/cache_policies.hpp"
#include "runtime/job/columns.hpp"
#include "runtime/job/embedding_rules.hpp"
#include "runtime/job/fanout.hpp"
#include "runtime/job/graph_types.hpp"
#include "runtime/job/knowledge_rules.hpp"
#include "runtime/job/layerless_rules.hpp"
#include "runtime/job/layout.hpp"
#include "runtime/job/link_encryption.hpp"
#include "runtime/job/link_rules.hpp"
#include "runtime/job/model_rules.hpp"
#include "runtime/job/precision_rules.hpp"
#include "runtime/job/reduce_rules.hpp"
#include "runtime/job/sample_rules.hpp"
#include "runtime/job/seed_rules.hpp"
#include "runtime/job/subgraph_rules.hpp"
#include "runtime/job/task_rules.hpp"
#include "runtime/job/walk_rules.hpp"
#include "runtime/net/ucx.hpp"
#include "runtime/nn/catalog.hpp"
#include "runtime/nn/number_losses.hpp"
#include "runtime/partition/methods.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>

namespace troupe {
namespace {

const char* const no_hint = "";

std::string quoted(const std::string& text) {
  return '"' + text + '"';
}

/// The node type that training seeds have, if there are any.
std::optional<NodeTypeId> seed_type(const GraphInfo& graph, const SplitInfo& split) {
  const auto train = split.roles.find("train");
  if (train == split.roles.end() || raw(train->second.node_type) >= graph.node_types.size()) {
    return std::nullopt;
  }
  return train->second.node_type;
}

std::string label_text(const NodeTypeInfo& type) {
  if (!type.labels.has_value()) {
    return "no labels";
  }
  const char* const names[] = {"classes", "multi-label targets", "numbers of each node"};
  return fmt::format("{} {}", type.labels->classes,
                     names[static_cast<std::size_t>(type.labels->kind)]);
}

void check_column_stats(const Job& job, const NodeTypeInfo& type, ProblemList& problems) {
  if (job.features.normalize == Normalize::column && !type.column_stats.has_value()) {
    problems.add(
        {"/features/normalize", "\"none\" or \"row\"",
         fmt::format("\"column\", and a store without column statistics of \"{}\"", type.name),
         "import the data again"});
  }
}

void check_features(const Job& job, const NodeTypeInfo& type, bool heterogeneous,
                    ProblemList& problems) {
  if (!type.features.has_value() || type.features->cols == 0) {
    if (embedding_cols(job, type) == 0) {
      problems.add({"/dataset/path", fmt::format("features of \"{}\" nodes", type.name), "none",
                    heterogeneous ? "import it with \"features\": \"one-hot\", or learn rows "
                                    "(\"embedding\")"
                                  : "learned rows (\"embedding\") can take their place"});
    }
  } else {
    check_column_stats(job, type, problems);
  }
}

/// Types without features have no columns to normalize.
void check_normalized_columns(const Job& job, const GraphInfo& graph, ProblemList& problems) {
  for (const auto& type : graph.node_types) {
    if (type.features.has_value() && type.features->cols > 0) {
      check_column_stats(job, type, problems);
    }
  }
}

bool has_labels(const NodeTypeInfo& type) {
  return type.labels.has_value() && type.labels->classes > 0;
}

/// A weight for each class or label of nodes.
void check_weights_of_labels(const Job& job, const NodeTypeInfo& type, ProblemList& problems) {
  const auto& weights = job.train.class_weights;
  if (!weights.given() || problems.has("/train/class_weights") || problems.has("/train/loss")) {
    return;
  }
  const auto& labels = *type.labels;
  const bool columns = labels.has_columns();
  const auto found =
      weights.balanced ? quoted("balanced") : fmt::format("a list of {}", weights.values.size());
  if (job.train.loss == "bce_logits" && !columns) {
    problems.add({"/train/class_weights",
                  fmt::format("none with loss \"bce_logits\" for {}", label_text(type)), found,
                  "pos_weight says what class 1 counts beside class 0"});
  } else if (!weights.balanced && weights.values.size() != labels.classes) {
    problems.add({"/train/class_weights",
                  fmt::format("{} weights, one for each {} of \"{}\" nodes", labels.classes,
                              columns ? "label" : "class", type.name),
                  found, no_hint});
  }
}

void check_labels(const Job& job, const NodeTypeInfo& type, ProblemList& problems) {
  const std::string labels = label_text(type);
  if (!has_labels(type)) {
    problems.add({"/dataset/path", fmt::format("labels of \"{}\" nodes", type.name), "none",
                  "import the data with labels; `troupe predict` needs none"});
    return;
  }
  if (type.labels->has_columns()) {
    const bool numbers = type.labels->kind == LabelInfo::Kind::numbers;
    const bool fits =
        numbers ? nn::predicts_numbers(job.train.loss) : job.train.loss == "bce_logits";
    if (!fits) {
      const auto losses =
          numbers ? fmt::format("\"{}\"", fmt::join(names_of(nn::number_loss_kinds()), "\", \""))
                  : "\"bce_logits\"";
      problems.add({"/train/loss", fmt::format("{} for {}", losses, labels), quoted(job.train.loss),
                    no_hint});
    }
    return;
  }
  if (nn::predicts_numbers(job.train.loss)) {
    problems.add({"/train/loss", fmt::format("\"cross_entropy\" for {}", labels),
                  quoted(job.train.loss), "import labels as numbers"});
    return;
  }
  const bool binary = type.labels->classes == 2;
  if (job.train.loss == "bce_logits" && !binary) {
    problems.add({"/train/loss", fmt::format("\"cross_entropy\" for {}", labels),
                  quoted(job.train.loss), "it is for 2 classes"});
  }
  if ((job.eval.metric == "auc" || job.eval.metric == "ap") && !binary) {
    problems.add({"/eval/metric", fmt::format("\"accuracy\" or \"f1\" for {}", labels),
                  quoted(job.eval.metric), "it is for 2 classes"});
  }
}

void check_size(const Job& job, const GraphInfo& graph, ProblemList& problems) {
  std::uint64_t largest = 0;
  for (const NodeTypeInfo& type : graph.node_types) {
    largest = std::max(largest, type.count);
  }
  if (job.partition.parts > largest) {
    problems.add({"/partition/parts", fmt::format("at most {}, the number of nodes", largest),
                  std::to_string(job.partition.parts), no_hint});
  }
}

/// The model gives rows for nodes of one type.
void check_roles(const GraphInfo& graph, const SplitInfo& split, NodeTypeId seeds,
                 ProblemList& problems) {
  for (const auto& [role, of_role] : split.roles) {
    if (of_role.node_type != seeds && of_role.count > 0) {
      problems.add({"/dataset/split",
                    fmt::format("{} seeds of \"{}\" nodes, as those of training are", role,
                                graph.node_types[raw(seeds)].name),
                    fmt::format("seeds of node type {}", raw(of_role.node_type)), no_hint});
    }
  }
}

/// What to do about data without any split.
const char* way_to_split(const Job& job) {
  if (job.task.knowledge()) {
    return "import triples with --from triples --relations one, which makes it; `troupe predict` "
           "needs it too, for the number of relations";
  }
  return job.task.links()
             ? "import the data with links, or with --edge-split; `troupe predict` needs none"
             : "import the data with ids of seeds; `troupe predict` needs none";
}

JobProblem missing_split(const Job& job, const GraphInfo& graph) {
  std::vector<std::string> names;
  std::string list;
  for (const SplitInfo& split : graph.splits) {
    names.push_back(split.name);
    list += (list.empty() ? "" : " | ") + quoted(split.name);
  }
  const Nearest best = nearest(job.dataset.split, names);
  if (names.empty()) {
    return {"/dataset/split", "data with a split", "none", way_to_split(job)};
  }
  return {"/dataset/split", list, quoted(job.dataset.split),
          best.close ? fmt::format("did you mean \"{}\"?", best.word) : ""};
}

/// Keys that a schedule does not use are at their defaults.
void check_schedule(const nn::ScheduleOptions& schedule, ProblemList& problems) {
  const nn::ScheduleOptions unset;
  const bool step = schedule.kind == "step";
  const auto refuse = [&](const char* key, const auto& expected, const auto& found) {
    problems.add({fmt::format("/train/schedule/{}", key),
                  fmt::format("{} with kind \"{}\"", expected, schedule.kind),
                  fmt::format("{}", found), no_hint});
  };
  if (step && schedule.step_epochs == 0) {
    refuse("step_epochs", "1 or more", 0);
  }
  if (!step && schedule.step_epochs != 0) {
    refuse("step_epochs", 0, schedule.step_epochs);
  }
  if (!step && schedule.factor != unset.factor) {
    refuse("factor", unset.factor, schedule.factor);
  }
  if ((step || schedule.kind == "constant") && schedule.end_lr != 0) {
    refuse("end_lr", 0, schedule.end_lr);
  }
}

void check_hosts(const Job& job, ProblemList& problems) {
  const auto& cluster = job.cluster;
  if (cluster.transport == "ucx" && link_encryption(cluster) != LinkEncryption::none) {
    problems.add({"/cluster/transport", "\"auto\" or \"tcp\" where links are encrypted", "\"ucx\"",
                  fmt::format("UCX does not encrypt; where nobody reads along, set {}",
                              cluster.tls == true ? "cluster.tls to false"
                                                  : "cluster.trusted_network to true")});
  }
  if (cluster.transport == "ucx" && cluster.launch != "simulate" && !net::ucx_built()) {
    problems.add({"/cluster/transport", "\"auto\" or \"tcp\": this build has no UCX", "\"ucx\"",
                  "install libucx-dev and build again, or use \"tcp\""});
  }
  if (cluster.launch == "manual" && cluster.listen.empty() && !problems.has("/cluster/listen")) {
    problems.add({"/cluster/listen", "HOST:PORT with launch \"manual\"", "nothing",
                  "where the other hosts reach this one"});
  }
  const auto other = std::ranges::find_if(cluster.named, [&](const HostSpec& host) {
    return host.device && host.device->kind != cluster.device.kind;
  });
  if (other != cluster.named.end()) {
    const bool undecided = cluster.device.kind == DeviceKind::undecided;
    problems.add(
        {"/cluster/hosts",
         undecided ? "no device= on a host's line with cluster.device \"auto\""
                   : fmt::format("device={} on all hosts, as cluster.device says",
                                 to_string(cluster.device.kind)),
         fmt::format("device={} on {}", to_string(*other->device), other->address),
         undecided
             ? fmt::format("cluster.device \"{}\", or a line without device=",
                           to_string(other->device->kind))
             : "a run has devices of one kind, because they give different bits; cluster.device "
               "is that of lines without device="});
  }
  const bool samples_elsewhere =
      cluster.placement == "worker" || cluster.placement == "server_client" ||
      std::ranges::any_of(cluster.processes,
                          [](const ProcessSpec& process) { return !process.samples_for.empty(); });
  if (cluster.sampler_devices.kind != DeviceKind::cpu && !samples_elsewhere) {
    problems.add(
        {"/cluster/sampler_devices",
         fmt::format("\"cpu\" with placement {}", quoted(cluster.placement)),
         quoted(to_string(cluster.sampler_devices)),
         "no process samples for ranks elsewhere; cluster.device is of ranks and their own "
         "samplers"});
  }
  if (cluster.launch == "ssh" && cluster.named.empty()) {
    problems.add({"/cluster/hosts", "the hosts' addresses with launch \"ssh\"",
                  std::to_string(cluster.hosts), "or cluster.host_file"});
  }
  const auto copies = job.checkpoint.copies;
  if (copies > 1 && cluster.launch != "ssh") {
    problems.add({"/checkpoint/copies", fmt::format("1 with launch {}", quoted(cluster.launch)),
                  std::to_string(copies), "copies go to hosts that are reached by ssh"});
  } else if (copies > cluster.named.size() + 1) {
    problems.add(
        {"/checkpoint/copies",
         fmt::format("at most {}, this host and those of cluster.hosts", cluster.named.size() + 1),
         std::to_string(copies), ""});
  }
}

void check_cache(const Job& job, ProblemList& problems) {
  const auto& features = job.features;
  const auto* policy = find_kind(cache_policies(), features.cache_policy);
  const bool none = policy == nullptr || policy->policy == CacheOptions::Policy::none;
  const int given = (features.cache_bytes > 0 ? 1 : 0) + (features.cache_ratio > 0 ? 1 : 0);
  if (given != (none ? 0 : 1)) {
    problems.add({"/features/cache/budget",
                  none ? "none with policy \"none\""
                       : "bytes for the cache, such as \"64MB\", or a \"ratio\" such as 0.1",
                  fmt::format("{} bytes, ratio {}", features.cache_bytes, features.cache_ratio),
                  no_hint});
  }
  const auto order = policy == nullptr ? std::string_view() : policy->order;
  if (!order.empty() && job.partition.parts > 1 && to_string(job.partition.order) != order) {
    problems.add({"/partition/order", fmt::format("\"{}\", as the cache's policy", order),
                  fmt::format("\"{}\"", to_string(job.partition.order)),
                  "or policy \"presample\", which takes any order"});
  }
}

/// Whoever trains a rank hints at its batches to samplers of its own process.
void check_lookahead(const Job& job, ProblemList& problems) {
  const auto* policy = find_kind(cache_policies(), job.features.cache_policy);
  if (policy == nullptr || policy->policy != CacheOptions::Policy::future) {
    return;
  }
  const auto& placement = job.cluster.placement;
  const bool elsewhere = placement == "worker" || placement == "server_client" ||
                         std::ranges::any_of(job.cluster.processes, [](const ProcessSpec& process) {
                           return !process.samples_for.empty();
                         });
  if (elsewhere) {
    problems.add({"/features/cache/policy",
                  "another policy than \"future\" where samplers are in other processes than "
                  "their ranks",
                  fmt::format("placement \"{}\"", placement),
                  "placement \"collocated\", or policy \"hotness\""});
  }
}

void check_listed_processes(const Job& job, ProblemList& problems) {
  const auto& cluster = job.cluster;
  const bool listed = cluster.placement == "explicit";
  const char* const where = "/cluster/processes";
  if (listed == cluster.processes.empty()) {
    problems.add({where,
                  listed ? "a line for each process with placement \"explicit\""
                         : fmt::format("none with placement \"{}\"", cluster.placement),
                  fmt::format("{} of them", cluster.processes.size()), no_hint});
    return;
  }
  if (!listed) {
    return;
  }
  if (const auto good = check_processes(cluster.processes, cluster.hosts, job.partition.parts);
      !good) {
    problems.add({where, "processes that make a run", good.error().what(), no_hint});
  }
}

void check_slurm(const ClusterJob& cluster, ProblemList& problems) {
  const auto& slurm = cluster.slurm;
  if (cluster.launch == "slurm" && !cluster.named.empty()) {
    problems.add({"/cluster/hosts", "a number with launch \"slurm\"", "a list",
                  "the allocation names the hosts"});
  } else if (cluster.launch == "slurm" && slurm.nodes != cluster.all_hosts()) {
    problems.add({"/cluster/slurm/nodes",
                  fmt::format("{}, the number of hosts and servers", cluster.all_hosts()),
                  std::to_string(slurm.nodes), "one of the two will do"});
  }
  if (!slurm.container_mounts.empty() && slurm.container_image.empty()) {
    problems.add({"/cluster/slurm/container_mounts", "a container_image with it", "none", no_hint});
  }
}

void check_servers(const ClusterJob& cluster, ProblemList& problems) {
  const auto& list = cluster.server_ranks;
  if (!list.empty() && list.size() != cluster.world()) {
    problems.add({"/cluster/server_of_rank",
                  fmt::format("{} entries, one per rank", cluster.world()),
                  fmt::format("{} entries", list.size()), no_hint});
  } else if (!list.empty() && *std::ranges::max_element(list) >= cluster.servers) {
    problems.add({"/cluster/server_of_rank",
                  fmt::format("servers 0..{} (/cluster/servers)", cluster.servers - 1),
                  std::to_string(*std::ranges::max_element(list)), no_hint});
  }
  if (cluster.has_servers() && cluster.servers + cluster.hosts > 1024) {
    problems.add({"/cluster/servers", "hosts and servers together 1..1024",
                  std::to_string(cluster.servers + cluster.hosts), no_hint});
  }
}

/// Where ranks sample without parts no seed is nearer than another.
void check_seed_order(const Job& job, ProblemList& problems) {
  if (job.sample.seed_order != "local") {
    return;
  }
  const auto parts = parts_of_ranks(make_layout(job));
  const auto without = std::ranges::find_if(parts, [](const auto& near) { return near.empty(); });
  if (without != parts.end()) {
    problems.add({"/sample/seed_order",
                  fmt::format("\"global\" where ranks sample without a part, as rank {} does",
                              without - parts.begin()),
                  "\"local\"", "as many parts as hosts, or servers, at least"});
  }
}

/// Where short batches are left out, there is a full one.
void check_last_batch(const Job& job, const GraphInfo& graph, ProblemList& problems) {
  const auto* split = graph.find_split(job.dataset.split);
  if (!job.sample.drop_last || split == nullptr) {
    return;
  }
  const auto* links = training_links(job, graph);
  const auto train = split->roles.find("train");
  const auto nodes = train == split->roles.end() ? 0 : train->second.count;
  const auto seeds = links != nullptr ? links->count : nodes;
  // Of links of several types ranks have shares type by type, which ClusterPlan counts.
  const bool by_type = links != nullptr && links->edge_types.size() > 1;
  const std::uint64_t world = job.cluster.world();
  const bool shared = job.sample.seed_order == "local" && !by_type && world > 1;
  if (divide_up(seeds, shared ? world : 1) < job.sample.batch_size && seeds > 0) {
    problems.add({"/sample/drop_last",
                  fmt::format("false where {} seeds{} fill no batch of {}", seeds,
                              shared ? fmt::format(", shared by {} ranks,", world) : std::string(),
                              job.sample.batch_size),
                  "true", "or a smaller batch_size"});
  }
}

void check_train_keys(const Job& job, ProblemList& problems) {
  const auto good = [&](const char* pointer) { return !problems.has(pointer); };
  const nn::OptimizerOptions& optimizer = job.train.optimizer;
  if (good("/train/optimizer/kind") && good("/train/optimizer/momentum") &&
      optimizer.kind != "sgd" && optimizer.momentum != 0) {
    problems.add({"/train/optimizer/momentum", fmt::format("0 with kind \"{}\"", optimizer.kind),
                  fmt::format("{}", optimizer.momentum), "momentum is for \"sgd\""});
  }
  if (good("/train/loss") && good("/train/pos_weight") && job.train.loss != "bce_logits" &&
      job.train.pos_weight != 1) {
    problems.add({"/train/pos_weight", fmt::format("1 with loss \"{}\"", job.train.loss),
                  fmt::format("{}", job.train.pos_weight), "pos_weight is for \"bce_logits\""});
  }
  if (good("/train/optimizer/kind") && good("/train/optimizer/nesterov") && optimizer.nesterov &&
      !(optimizer.kind == "sgd" && optimizer.momentum > 0)) {
    problems.add({"/train/optimizer/nesterov", "false, or kind \"sgd\" with a momentum above 0",
                  "true", no_hint});
  }
  if (good("/train/schedule/kind") && good("/train/schedule/step_epochs") &&
      good("/train/schedule/factor") && good("/train/schedule/end_lr")) {
    check_schedule(job.train.schedule, problems);
  }
}

}  // namespace

void check_between_keys(const Job& job, ProblemList& problems) {
  const auto good = [&](const char* pointer) { return !problems.has(pointer); };
  check_sampling(job, problems);
  check_seed_files(job, problems);
  if (good("/task/kind")) {
    check_task(job.task, problems);
    check_walk_keys(job, problems);
    check_task_keys(job, problems);
  }
  if (good("/features/cache/policy") && good("/features/cache/budget") &&
      good("/features/cache/ratio")) {
    check_cache(job, problems);
  }
  if (good("/features/cache/policy") && good("/cluster/placement") && good("/cluster/processes")) {
    check_lookahead(job, problems);
  }
  if (good("/cluster/hosts")) {
    check_hosts(job, problems);
  }
  if (const auto* method = find_kind(partition_methods(), job.partition.method);
      method != nullptr && reads_option(*method, "file") && job.partition.more.file.empty() &&
      good("/partition/method") && good("/partition/file")) {
    problems.add({"/partition/file",
                  fmt::format("the .npy file that method \"{}\" reads", method->name), "none",
                  no_hint});
  }
  if (good("/cluster/hosts") && good("/cluster/placement") && good("/cluster/processes") &&
      good("/partition/parts")) {
    check_listed_processes(job, problems);
  }
  if (good("/cluster/hosts") && good("/cluster/servers") && good("/cluster/slurm/nodes")) {
    check_slurm(job.cluster, problems);
  }
  if (good("/cluster/hosts") && good("/cluster/servers") && good("/cluster/server_of_rank")) {
    check_servers(job.cluster, problems);
  }
  if (good("/sample/fanout")) {
    check_hops(job, good("/model/layers"), problems);
  }
  check_train_keys(job, problems);
  check_model_keys(job, problems);
  if (auto problem = precision_problem(job); problem && good("/cluster/device")) {
    problems.add(*std::move(problem));
  }
  if (auto problem = reduce_problem(job);
      problem && good("/cluster/device") && good("/train/reduce")) {
    problems.add(*std::move(problem));
  }
  if (good("/model/layers")) {
    check_layerless_keys(job, problems);
  }
  check_embedding_keys(job, problems);
}

void fit_to_graph(Job& job, const GraphInfo& graph) {
  if (training_links(job, graph) != nullptr) {
    return fit_links_to_graph(job, graph);
  }
  const SplitInfo* split = graph.find_split(job.dataset.split);
  const auto seeds = split == nullptr ? std::nullopt : seed_type(graph, *split);
  if (!seeds) {
    return;
  }
  const NodeTypeInfo& type = graph.node_types[raw(*seeds)];
  job.model.types = model_types(job, graph, *seeds);
  job.model.in_dim =
      (type.features.has_value() ? type.features->cols : 0) + embedding_cols(job, type);
  job.model.out_dim = type.labels.has_value() ? type.labels->classes : 0;
  if (job.train.loss == "bce_logits" && type.labels.has_value() &&
      type.labels->kind == LabelInfo::Kind::classes) {
    job.model.out_dim = 1;
  }
}

namespace {

/// What the model needs of the nodes that it reads, and of those with outputs.
void check_rows(const Job& job, const GraphInfo& graph, NodeTypeId seeds, JobTrainer trainer,
                ProblemList& problems) {
  if (job.model.layers > 0) {
    check_model_types(job, graph, seeds, problems);
  }
  const auto read = types_read(job, graph, seeds);
  for (const NodeTypeId of_type : read) {
    check_features(job, graph.node_types[raw(of_type)], has_types(graph), problems);
  }
  check_embedding_use(job, graph, read, problems);
  const auto& type = graph.node_types[raw(seeds)];
  if (!job.task.links() && (trainer != JobTrainer::none || has_labels(type))) {
    check_labels(job, type, problems);
    if (trainer != JobTrainer::none && has_labels(type)) {
      check_weights_of_labels(job, type, problems);
    }
  }
}

/// What the built-in trainer needs of the data, or a trained model that predicts.
void check_training(const Job& job, const GraphInfo& graph, JobTrainer trainer,
                    ProblemList& problems) {
  const auto* split = graph.find_split(job.dataset.split);
  if (job.task.walks()) {
    problems.add(
        {"/task/kind",
         "\"node\", \"link\", \"edge\", \"unsupervised\" or \"knowledge\" where Troupe trains",
         quoted(job.task.kind),
         "walks are not trained on by the built-in models yet; `troupe run JOB -- PROGRAM` "
         "and `troupe batches` give their batches"});
    return;
  }
  if (split == nullptr) {
    problems.add(missing_split(job, graph));
    return;
  }
  if (!job.features.collect) {
    problems.add(
        {"/features/collect", "true where the built-in trainer trains", "false",
         "batches without features are for `troupe run JOB -- PROGRAM` and `troupe batches`"});
  }
  const auto* links = training_links(job, graph);
  const auto seeds = links != nullptr ? std::optional(end_types_of(graph, *links).source)
                                      : seed_type(graph, *split);
  if (job.task.links()) {
    check_links_to_train(job, graph, trainer, problems);
    if (links == nullptr || (links->count == 0 && trainer != JobTrainer::none)) {
      return;
    }
  } else if (!seeds || (split->roles.at("train").count == 0 && trainer != JobTrainer::none)) {
    problems.add({"/dataset/split", "a split with training seeds",
                  quoted(job.dataset.split) + " without them", no_hint});
    return;
  }
  if (links == nullptr && trainer != JobTrainer::none) {
    check_roles(graph, *split, *seeds, problems);
  }
  if (job.sample.time.given() && job.eval.mode == "exact") {
    problems.add({"/eval/mode", "\"sampled\" with sample.time", "\"exact\"",
                  "exact inference reads edges of all times"});
  }
  if (!job.task.knowledge()) {  // which has no layers
    check_rows(job, graph, *seeds, trainer, problems);
  }
}

}  // namespace

std::vector<JobProblem> check_against_graph(const Job& job, const GraphInfo& graph,
                                            JobTrainer trainer) {
  ProblemList problems;
  check_size(job, graph, problems);
  check_walks(job, graph, problems);
  if (!job.task.walks()) {
    check_fanout(job, graph, problems);
  }
  if (!problems.has("/sample/fanout")) {
    check_weights(job, graph, problems);
    check_edge_data(job, graph, problems);
    check_columns(job, graph, problems);
    check_times(job, graph, problems);
    check_subgraph(job, graph, problems);
  }
  check_embedding_types(job, graph, problems);
  if (trainer != JobTrainer::none) {
    check_seed_order(job, problems);
    check_times_of_split(job, graph, problems);
    check_last_batch(job, graph, problems);
  }
  if (trainer == JobTrainer::own) {  // needs whatever its program uses, which only that knows
    if (graph.find_split(job.dataset.split) == nullptr && !graph.splits.empty()) {
      problems.add(missing_split(job, graph));
    } else {
      check_links(job, graph, trainer, problems);
    }
    check_normalized_columns(job, graph, problems);
    if (job.task.knowledge()) {
      check_triples(job, graph, problems);
    }
    return std::move(problems).take();
  }
  check_training(job, graph, trainer, problems);
  return std::move(problems).take();
}

}  // namespace troupe
