#include "runtime/job/schema_fields.hpp"
#include "runtime/job/schema_rows.hpp"
#include "runtime/net/tcp_address.hpp"

#include <algorithm>
#include <iterator>

namespace troupe {
namespace {

using namespace schema_fields;

template <auto parse>
Status check_line(const std::string& line) {
  TROUPE_ASSIGN_OR_RETURN([[maybe_unused]] const auto read, parse(line));
  return ok_status();
}

/// Batches in flight; 0: "auto".
std::uint32_t batches_of(const Json& value) {
  return value.is_string() ? 0 : value.get<std::uint32_t>();
}

void add_dataset(std::vector<SchemaRow>& rows) {
  rows.push_back({"/dataset/path",
                  text_rule(1),
                  required(),
                  "a store, or a folder that `import --from npy` reads; relative to the job file",
                  {},
                  [](const Json& v, Job& job) { job.dataset.path = v.get<std::string>(); }});
  rows.push_back({"/dataset/split",
                  text_rule(0),
                  value("\"\""),
                  "which of the data's splits; \"\" is the default one",
                  {},
                  put<&Job::dataset, &DatasetJob::split>});
  rows.push_back({"/dataset/memory",
                  choice_rule({"auto", "mapped", "copied"}),
                  value("\"auto\""),
                  "share the files between processes through the page cache, or copy them into "
                  "huge pages of each "
                  "process; auto: copied where that takes at most half of the host's free memory",
                  {},
                  [](const Json& v, Job& job) {
                    if (v == "auto") {
                      job.dataset.memory.reset();
                    } else {
                      job.dataset.memory =
                          v == "copied" ? StoreMemory::copied : StoreMemory::mapped;
                    }
                  }});
}

/// Rows after the method and its options.
void add_partition(std::vector<SchemaRow>& rows) {
  rows.push_back(
      {"/partition/halo",
       integer_rule(0, 8),
       value("0"),
       "hops around a part whose neighbour lists it stores too, and samples from",
       {},
       [](const Json& v, Job& job) { job.partition.halo.hops = v.get<std::uint32_t>(); }});
  rows.push_back({"/partition/halo_features",
                  boolean_rule(),
                  value("false"),
                  "a part stores the feature rows of all nodes that its lists name, too",
                  {},
                  [](const Json& v, Job& job) { job.partition.halo.features = v.get<bool>(); }});
  rows.push_back({"/partition/seed",
                  integer_rule(0, ~std::uint64_t{0}),
                  value("0"),
                  readers_of(partition_methods(), "seed", "`") +
                      ": random seed; `seed` does not touch it, so runs share a store",
                  {},
                  put<&Job::partition, &PartitionJob::seed>});
  rows.push_back({"/partition/order",
                  choice_rule({"degree", "hotness", "original"}),
                  derived("that of a partitioned `dataset.path`; else `\"degree\"`"),
                  "how nodes are numbered inside a part; `hotness` is that of `sample`",
                  {},
                  [](const Json& v, Job& job) {
                    job.partition.order = parse_node_order(v.get<std::string>()).value();
                  }});
  rows.push_back({"/partition/topology",
                  choice_rule({"sharded", "replicated"}),
                  value("\"sharded\""),
                  "neighbour lists on the owner's host only, or on every host that samples",
                  {},
                  [](const Json& v, Job& job) {
                    job.partition.replicated_topology = v.get<std::string>() == "replicated";
                  }});
}

// NOLINTNEXTLINE(readability-function-size): a table
void add_cluster(std::vector<SchemaRow>& rows) {
  rows.push_back({"/cluster/launch",
                  choice_rule({"simulate", "local", "ssh", "slurm", "manual"}),
                  value("\"simulate\""),
                  "how hosts come to be; `simulate`: all of them in this process",
                  {},
                  put<&Job::cluster, &ClusterJob::launch>});
  rows.push_back(
      {"/cluster/hosts",
       {.type = ValueType::hosts, .low = 1, .high = 1024, .min_items = 1, .max_items = 1024},
       value("1"),
       "number of hosts, or a line for each (docs/deployment.md); with `slurm` a number, else as "
       "many as the allocation has nodes",
       {},
       [](const Json& v, Job& job) {
         job.cluster.named.clear();
         for (const auto& line : v.is_array() ? v : Json::array()) {
           job.cluster.named.push_back(*parse_host(line.get<std::string>()));
         }
         job.cluster.hosts =
             v.is_array() ? static_cast<std::uint32_t>(v.size()) : v.get<std::uint32_t>();
       },
       &check_line<&parse_host>});
  rows.push_back({"/cluster/host_file",
                  text_rule(1),
                  absent(),
                  "file with a line for each host, instead of `cluster.hosts`",
                  {},
                  nullptr});
  rows.push_back({"/cluster/placement",
                  choice_rule({"collocated", "worker", "server_client", "explicit"}),
                  value("\"collocated\""),
                  "where samplers run: in the trainer's process, in processes of their own beside "
                  "it, on servers, or as `cluster.processes` says",
                  {},
                  put<&Job::cluster, &ClusterJob::placement>});
  rows.push_back({"/cluster/processes",
                  {.type = ValueType::text_list, .max_items = 65536},
                  value("[]"),
                  "with `explicit`: a line for each process, what it holds (docs/deployment.md)",
                  {},
                  [](const Json& v, Job& job) {
                    job.cluster.processes.clear();
                    for (const auto& line : v) {
                      job.cluster.processes.push_back(*parse_process(line.get<std::string>()));
                    }
                  },
                  &check_line<&parse_process>});
  rows.push_back(
      {"/cluster/servers",
       integer_rule(1, 1024),
       derived("`cluster.hosts`"),
       "with `server_client`: processes that hold the parts and sample, each on a host of "
       "its own; part p lies on server p mod servers",
       {},
       put<&Job::cluster, &ClusterJob::servers>});
  rows.push_back({"/cluster/server_of_rank",
                  {.type = ValueType::choice_or_integers,
                   .low = 0,
                   .high = 1023,
                   .words = {"modulo", "nearest"},
                   .min_items = 1,
                   .max_items = 65536},
                  value("\"modulo\""),
                  "with `server_client`: which server samples for a rank: rank mod servers, one at "
                  "the address of the rank's host, or as listed by rank",
                  {},
                  [](const Json& v, Job& job) {
                    job.cluster.nearest_server = v.is_string() && v == "nearest";
                    job.cluster.server_ranks.clear();
                    if (v.is_array()) {
                      job.cluster.server_ranks = v.get<std::vector<std::uint32_t>>();
                    }
                  }});
  rows.push_back({"/cluster/trainers_per_host",
                  integer_rule(1, 64),
                  value("1"),
                  "ranks per host; W = hosts x trainers_per_host",
                  {},
                  put<&Job::cluster, &ClusterJob::trainers_per_host>});
  rows.push_back({"/cluster/samplers_per_trainer",
                  integer_rule(1, 256),
                  value("1"),
                  "sampler actors per rank",
                  {},
                  put<&Job::cluster, &ClusterJob::samplers_per_trainer>});
  rows.push_back({"/cluster/batches_in_flight",
                  choice_or_integer_rule({"auto"}, integer_rule(1, 1024)),
                  value("\"auto\""),
                  "batches a rank has asked for and not trained on yet; auto: 4, and more while it "
                  "waits for data",
                  {},
                  [](const Json& v, Job& job) { job.cluster.batches_in_flight = batches_of(v); }});
  rows.push_back({"/cluster/prefetch",
                  choice_or_integer_rule({"auto"}, integer_rule(1, 1024)),
                  derived("`cluster.batches_in_flight`"),
                  "with `server_client`: batches that a rank has asked its server for and not "
                  "trained on yet",
                  {},
                  [](const Json& v, Job& job) { job.cluster.prefetch = batches_of(v); }});
  rows.push_back({"/cluster/threads",
                  integer_rule(0, 1024),
                  value("0"),
                  "compute threads per process; 0: one per core; the results do not depend on it",
                  {},
                  put<&Job::cluster, &ClusterJob::threads>});
  rows.push_back(
      {"/cluster/device",
       text_rule(1),
       value("\"cpu\""),
       "what ranks compute on: `cpu`; `cuda`, all GPUs of a host, or `cuda:0,2`; `auto`: `cuda` "
       "where the run starts on a host with GPUs and their libraries, else `cpu`; "
       "`emulated:N`, N devices that the CPU plays, with `,SIZE` of so much memory each "
       "(docs/gpu.md)",
       {},
       [](const Json& v, Job& job) { job.cluster.device = *parse_device(v.get<std::string>()); },
       &check_line<&parse_device>});
  rows.push_back(
      {"/cluster/sampler_devices",
       text_rule(1),
       value("\"cpu\""),
       "where processes that sample for ranks elsewhere make their batches: as `device`, with any "
       "of them the same bits; `auto`: the GPUs of each one's host, else its CPU (docs/gpu.md)",
       {},
       [](const Json& v, Job& job) {
         job.cluster.sampler_devices = *parse_device(v.get<std::string>());
       },
       &check_line<&parse_device>});
}

void add_ssh(std::vector<SchemaRow>& rows) {
  rows.push_back({"/cluster/ssh/user",
                  text_rule(1),
                  absent(),
                  "who logs in; else as ssh decides",
                  {},
                  [](const Json& v, Job& job) { job.cluster.ssh.user = v; }});
  rows.push_back({"/cluster/ssh/port",
                  integer_rule(0, 65535),
                  value("0"),
                  "of the hosts' ssh servers; 0: as ssh decides",
                  {},
                  [](const Json& v, Job& job) { job.cluster.ssh.port = v.get<std::uint16_t>(); }});
  rows.push_back({"/cluster/ssh/key",
                  text_rule(1),
                  absent(),
                  "file with the private key; else as ssh decides",
                  {},
                  [](const Json& v, Job& job) { job.cluster.ssh.key = v; }});
  rows.push_back({"/cluster/ssh/dir",
                  text_rule(1),
                  absent(),
                  "working folder on the hosts; else the one after login",
                  {},
                  [](const Json& v, Job& job) { job.cluster.ssh.dir = v; }});
  rows.push_back({"/cluster/ssh/program",
                  text_rule(1),
                  absent(),
                  "the program `troupe` on the hosts; else where it is here",
                  {},
                  [](const Json& v, Job& job) { job.cluster.ssh.program = v; }});
  rows.push_back(
      {"/cluster/ssh/env",
       {.type = ValueType::text_list, .max_items = 256},
       value("[]"),
       "environment of the processes, NAME=VALUE each",
       {},
       [](const Json& v, Job& job) { job.cluster.ssh.env = v.get<std::vector<std::string>>(); },
       &check_environment});
  rows.push_back({"/cluster/ssh/options",
                  {.type = ValueType::text_list, .max_items = 256},
                  value("[]"),
                  "further arguments of ssh",
                  {},
                  [](const Json& v, Job& job) {
                    job.cluster.ssh.options = v.get<std::vector<std::string>>();
                  }});
  rows.push_back(
      {"/cluster/ssh/copy",
       boolean_rule(),
       value("false"),
       "bring the program, the job file and of the store what a host reads to where they are "
       "missing or different",
       {},
       [](const Json& v, Job& job) { job.cluster.ssh.copy = v.get<bool>(); }});
}

// NOLINTNEXTLINE(readability-function-size): a table
void add_links(std::vector<SchemaRow>& rows) {
  rows.push_back(
      {"/cluster/listen",
       text_rule(1),
       absent(),
       "where the directing process listens, HOST:PORT, port 0 being any free one; not 0.0.0.0 or "
       "[::], which others cannot connect to; else on loopback with `local`, on the way to the "
       "hosts with `ssh` and `slurm`",
       {},
       put<&Job::cluster, &ClusterJob::listen>,
       &check_line<&net::parse_listen_address>});
  rows.push_back({"/cluster/token_file",
                  text_rule(1),
                  absent(),
                  "with `manual`: file with the job's token, made if it does not exist; else "
                  "`token` beside `store/` (docs/outputs.md)",
                  {},
                  put<&Job::cluster, &ClusterJob::token_file>});
  rows.push_back(
      {"/cluster/network/latency_us",
       number_rule({.low = 0, .high = 1e7}),
       value("0"),
       "of simulated links, one way",
       {},
       [](const Json& v, Job& job) { job.cluster.network.latency_us = v.get<double>(); }});
  rows.push_back(
      {"/cluster/network/bandwidth_gbps",
       number_rule({.low = 0, .high = 1e6}),
       value("0"),
       "of simulated links, in gigabits per second; 0: unlimited",
       {},
       [](const Json& v, Job& job) { job.cluster.network.bandwidth_gbps = v.get<double>(); }});
  rows.push_back(
      {"/cluster/window",
       bytes_rule(65536, std::uint64_t{1} << 40),
       value("\"64MiB\""),
       "bytes of requests and their answers in flight, per end of a link and class of traffic",
       {},
       [](const Json& v, Job& job) { job.cluster.window_bytes = parse_bytes(v).value_or(0); }});
  rows.push_back({"/cluster/request_deadline",
                  number_rule({.low = 0.001, .high = 86400}),
                  value("60"),
                  "seconds until a request without an answer fails",
                  {},
                  put<&Job::cluster, &ClusterJob::request_deadline_s>});
  rows.push_back({"/cluster/transport",
                  choice_rule({"auto", "tcp", "ucx"}),
                  value("\"auto\""),
                  "what carries messages between processes: UCX, TCP, or UCX where it reaches "
                  "(docs/deployment.md); with `simulate` none of them",
                  {},
                  put<&Job::cluster, &ClusterJob::transport>});
  rows.push_back(
      {"/cluster/tls",
       choice_or_boolean_rule({"auto"}),
       value("\"auto\""),
       "encrypt the links between processes (TLS 1.3); `auto`: those that leave a machine "
       "(docs/deployment.md)",
       {},
       [](const Json& v, Job& job) {
         job.cluster.tls = v.is_boolean() ? std::optional<bool>(v.get<bool>()) : std::nullopt;
       }});
  rows.push_back(
      {"/cluster/trusted_network",
       boolean_rule(),
       value("false"),
       "nobody reads along between the machines: with `tls` \"auto\" their links are not "
       "encrypted and may use RDMA",
       {},
       put<&Job::cluster, &ClusterJob::trusted_network>});
  rows.push_back(
      {"/cluster/channel_budget",
       bytes_rule(65536, std::uint64_t{1} << 40),
       absent(),
       "bytes of batches on the way to a rank or waiting for it; a larger one passes alone; else "
       "`cluster.batches_in_flight` alone bounds them",
       {},
       [](const Json& v, Job& job) { job.cluster.channel_budget = parse_bytes(v).value_or(0); }});
  rows.push_back({"/cluster/heartbeat",
                  number_rule({.low = 0.01, .high = 3600}),
                  value("1"),
                  "seconds between signs of life",
                  {},
                  put<&Job::cluster, &ClusterJob::heartbeat_s>});
  rows.push_back({"/cluster/lost_after",
                  number_rule({.low = 0.03, .high = 86400}),
                  value("3"),
                  "seconds of silence until a peer counts as lost",
                  {},
                  put<&Job::cluster, &ClusterJob::lost_after_s>});
  rows.push_back({"/cluster/recovery_deadline",
                  number_rule({.low = 0, .high = 86400}),
                  value("60"),
                  "seconds that requests wait for a lost holder or link to come back",
                  {},
                  put<&Job::cluster, &ClusterJob::recovery_deadline_s>});
  rows.push_back({"/cluster/join_deadline",
                  number_rule({.low = 0.1, .high = 86400}),
                  value("60"),
                  "seconds until all processes are there at the start",
                  {},
                  put<&Job::cluster, &ClusterJob::join_deadline_s>});
  rows.push_back({"/cluster/step_deadline",
                  number_rule({.low = 1, .high = 1e7}),
                  value("600"),
                  "seconds that a run may take without a step, batch or block of an actor that was "
                  "asked for one",
                  {},
                  put<&Job::cluster, &ClusterJob::step_deadline_s>});
  rows.push_back(
      {"/cluster/replicas",
       integer_rule(1, 1024),
       value("1"),
       "hosts, or servers, that hold each part: number p mod hosts and the next ones; all of them "
       "if there are fewer",
       {},
       put<&Job::cluster, &ClusterJob::replicas>});
}

}  // namespace

std::vector<SchemaRow> place_rows() {
  std::vector<SchemaRow> rows;
  add_dataset(rows);
  std::ranges::move(seed_file_rows(), std::back_inserter(rows));
  std::ranges::move(method_rows(partition_methods(), partition_options()),
                    std::back_inserter(rows));
  add_partition(rows);
  add_cluster(rows);
  add_ssh(rows);
  std::ranges::move(slurm_rows(), std::back_inserter(rows));
  add_links(rows);
  return rows;
}

}  // namespace troupe
