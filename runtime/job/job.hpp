#pragma once
/// \file job.hpp
/// A job: one run, as its job file says, with all defaults filled in (docs/job-file.md). Reading is
/// in job_file.hpp.
#include "runtime/feature/batch.hpp"
#include "runtime/feature/embedding/options.hpp"
#include "runtime/feature/row_collection.hpp"
#include "runtime/graph/graph_info.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/job/device_budget.hpp"
#include "runtime/job/host_list.hpp"
#include "runtime/job/process_list.hpp"
#include "runtime/nn/knowledge/knowledge_options.hpp"
#include "runtime/nn/link_losses.hpp"
#include "runtime/nn/network.hpp"
#include "runtime/nn/ops/precision.hpp"
#include "runtime/nn/optimizer.hpp"
#include "runtime/nn/schedule.hpp"
#include "runtime/partition/halo.hpp"
#include "runtime/partition/method_options.hpp"
#include "runtime/partition/relabel.hpp"
#include "runtime/sample/knowledge/replaced_end.hpp"
#include "runtime/sample/links/link_options.hpp"
#include "runtime/sample/mini_batch.hpp"
#include "runtime/sample/stretch.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace troupe {

/// Files of a role's own seeds; as DatasetJob::path.
struct SeedFiles {
  std::filesystem::path ids;
  std::filesystem::path times;  ///< Empty: seeds have none
};

struct DatasetJob {
  std::filesystem::path
      path;  ///< absolute, or relative to the working directory (resolved against the job file)
  std::string split;                       ///< "" is the default split
  std::optional<StoreMemory> memory;       ///< nothing: "auto" (store_memory.hpp)
  std::map<std::string, SeedFiles> seeds;  ///< By role: seeds in place of the split's
  std::string
      seeds_type;  ///< Of their nodes or links; "": that of the split's seeds, or the only one
};

struct PartitionJob {
  bool given = false;                ///< the job file has a `partition` section
  std::set<std::string> given_keys;  ///< Keys that the section has; others are at their defaults
  std::string method = "random";
  std::uint32_t parts = 1;
  std::uint64_t seed = 0;
  MethodOptions more;  ///< `split` is the data set's, `file` as `DatasetJob::path`; no `hotness`
  NodeOrder order = NodeOrder::degree;
  HaloOptions halo = {};
  bool replicated_topology = false;  ///< all processes that sample have all neighbour lists
};

struct NetworkJob {
  double latency_us = 0;      ///< one way
  double bandwidth_gbps = 0;  ///< gigabits per second; 0: unlimited
};

/// How hosts are reached with `launch` "ssh", where a host's own line does not say otherwise.
struct SshJob {
  std::string user;
  std::uint16_t port = 22;
  std::string key;                   ///< file with the private key; empty: as ssh finds it
  std::string dir;                   ///< working folder there; empty: the login's
  std::string program;               ///< `troupe` there; empty: the path of this program
  std::vector<std::string> env;      ///< NAME=VALUE each
  std::vector<std::string> options;  ///< further arguments of ssh
  bool copy = false;  ///< program, job file and store parts are copied where they are missing
};

/// What Slurm is asked for, under its own names.
struct SlurmJob {
  std::string account;
  std::string partition;
  std::string time;         ///< as Slurm writes it: "30", "1:00:00", "2-0"
  std::uint32_t nodes = 0;  ///< hosts, servers included; 0: not said
  std::uint32_t tasks_per_node = 1;
  std::uint32_t cpus_per_task = 0;  ///< 0: as Slurm decides
  std::string container_image;      ///< of the agents and what they start; needs the plugin pyxis
  std::string container_mounts;
  std::string program;  ///< `troupe` on the nodes; empty: the path of this program
  std::vector<std::string> extra_arguments;  ///< of sbatch
  std::vector<std::string> srun_arguments;   ///< of the srun that starts a node's agent
};

/// Batches in flight of a rank under "auto": from `first` to `most`, those beyond `first` in so many
/// bytes at most.
struct AutoBatches {
  static constexpr std::uint32_t first = 4;
  static constexpr std::uint32_t most = 32;
  static constexpr std::uint64_t extra_bytes = std::uint64_t{256} << 20;
};

struct ClusterJob {
  std::string launch = "simulate";
  std::string listen;       ///< of the director's process, HOST:PORT; empty: as `launch` needs it
  std::string token_file;   ///< of `launch` "manual"; empty: `token` beside `store/`
  std::uint32_t hosts = 1;  ///< with ranks; of servers there may be more
  std::vector<HostSpec> named;  ///< all hosts, servers last; empty: they have no names
  bool hosts_given = false;     ///< by the job file, as `hosts` or `slurm.nodes`
  SshJob ssh;
  SlurmJob slurm;
  std::string placement = "collocated";
  std::vector<ProcessSpec> processes;  ///< with placement "explicit" only
  std::uint32_t trainers_per_host = 1;
  std::uint32_t samplers_per_trainer = 1;
  std::uint32_t batches_in_flight = 0;  ///< 0: "auto"
  std::uint32_t threads =
      0;  ///< compute threads per process (one process in `simulate`); 0: one per core
  DeviceChoice device;  ///< of each process with ranks
  /// Of each process that samples for ranks elsewhere; `auto` is what its host has, cpu or cuda.
  DeviceChoice sampler_devices;
  NetworkJob network;
  std::uint64_t channel_budget = 0;  ///< bytes of batches on the way to a rank; 0: not bounded
  std::string transport = "auto";
  std::optional<bool> tls;       ///< none ("auto"): as link_encryption() decides
  bool trusted_network = false;  ///< "auto" leaves links between machines plain
  std::uint64_t window_bytes = std::uint64_t{64} << 20;  ///< per link end and class
  double request_deadline_s = 60;
  double heartbeat_s = 1;
  double lost_after_s = 3;
  double recovery_deadline_s = 60;  ///< requests wait for a lost holder or link to come back
  double join_deadline_s = 60;      ///< until all processes are there at the start
  double step_deadline_s = 600;     ///< a command without a step, batch or block done
  std::uint32_t replicas = 1;       ///< hosts, or servers, that hold each part

  // With placement "server_client" only.
  std::uint32_t servers = 1;                ///< processes with parts, each on a host of its own
  std::vector<std::uint32_t> server_ranks;  ///< server of each rank; empty: by number or address
  bool nearest_server = false;              ///< one at the address of the rank's host, if any
  std::uint32_t prefetch = 0;  ///< batches that a rank has asked its server for; 0: "auto"

  std::uint32_t ranks_on(std::uint32_t host) const {
    return host < named.size() && named[host].slots > 0 ? named[host].slots : trainers_per_host;
  }
  std::uint32_t threads_on(std::uint32_t host) const {
    return host < named.size() && named[host].threads > 0 ? named[host].threads : threads;
  }
  const DeviceChoice& device_on(std::uint32_t host) const {
    return host < named.size() && named[host].device ? *named[host].device : device;
  }
  std::uint32_t world() const {
    std::uint32_t sum = 0;
    for (const auto& process : processes) {
      sum += static_cast<std::uint32_t>(process.ranks.size());
    }
    if (!processes.empty()) {
      return sum;
    }
    for (std::uint32_t h = 0; h < hosts; ++h) {
      sum += ranks_on(h);
    }
    return sum;
  }
  bool has_servers() const { return placement == "server_client"; }
  /// Trainers' hosts, then the servers'.
  std::uint32_t all_hosts() const { return hosts + (has_servers() ? servers : 0); }
  /// Batches that a rank requests ahead of training; 0: "auto".
  std::uint32_t batches_ahead() const { return has_servers() ? prefetch : batches_in_flight; }
};

/// Times that limit which edges are sampled.
struct SampleTimeJob {
  std::optional<std::int64_t> at = {};  ///< Of all seeds
  bool of_split = false;                ///< Seeds have the times that the split says
  TimeRule rule = {};

  bool given() const { return at || of_split; }  ///< Else times are not read
  /// Pointer of the key that was given.
  const char* key() const { return at ? "/sample/time/at" : "/sample/time/of"; }
};

/// Where batches are made.
enum class SampleOn : std::uint8_t { automatic, host, device };

struct SampleJob {
  std::vector<std::int32_t> fanout;  ///< per hop; -1 = all neighbours; empty: all types are named
  std::map<std::string, std::vector<std::int32_t>> fanout_of;  ///< of edge types by name, instead
  std::uint64_t batch_size = 1024;                             ///< seeds per rank and step
  std::string choice = "uniform";                              ///< Name in choice_kinds()
  bool replace = false;
  bool shared = false;  ///< With choices that read it: all hops use the words of the first
  EdgeDir edge_dir = EdgeDir::in;
  Frontier frontier = Frontier::fresh;
  std::string seed_order = "global";
  bool shuffle = true;
  bool drop_last = false;
  bool disjoint = false;
  Subgraph subgraph = Subgraph::directional;
  SampleTimeJob time = {};
  EdgeData edge_data{};           ///< What batches carry of their edges
  std::uint64_t cache_bytes = 0;  ///< of other hosts' neighbour lists, per rank
  SampleOn on = SampleOn::automatic;
  bool pinned_lists = false;  ///< Devices read them in pinned memory of the host

  /// Batches are disjoint.
  bool in_trees() const { return disjoint || time.given(); }
  std::size_t hops() const {
    return fanout.empty() && !fanout_of.empty() ? fanout_of.begin()->second.size() : fanout.size();
  }
};

/// Random walks from seeds.
struct WalkJob {
  std::uint32_t length = 10;
  std::uint32_t per_seed = 1;
  double restart = 0;
  double p = 1;
  double q = 1;
  std::vector<std::string> along;  ///< Edge types; empty: the only one
  std::uint32_t window = 0;
  bool all_pairs =
      false;  ///< Pairs on walks are of nodes of any types, not of that of the seeds alone
};

/// What seeds are, and what is learned of them.
struct TaskJob {
  std::string kind = "node";  ///< "node", "link", "edge", "unsupervised", "walk", "knowledge"
  WalkJob walk = {};
  // Of links and edges:
  nn::DecoderOptions decoder = {};  ///< its number of outputs is filled in when the run starts
  std::uint64_t classes = 0;        ///< of edges; 0: not said
  std::string edges;                ///< of "unsupervised": edge type; empty: the only one
  std::vector<std::string> more_edges = {};  ///< other edge types that are learned too
  bool from_walks = false;  ///< of "unsupervised": links are pairs of nodes on walks
  NegativeOptions negatives = {};
  bool exclude = true;
  nn::KnowledgeOptions completes = {};  ///< Of triples
  bool own_candidates = false;          ///< Candidates are of the rank's own parts
  std::string reverse;  ///< Edge type; empty: the links' own where it joins nodes of one type
  /// The same for each edge type of links of several, in their order; empty: not said.
  std::vector<std::string> reverses = {};

  /// Seeds are links: edges of the split.
  bool links() const { return predicts_links() || kind == "edge" || knowledge(); }
  /// True links are told from drawn ones; else `links()` have labels.
  bool predicts_links() const { return kind == "link" || kind == "unsupervised"; }
  /// Links are edges of the graph, and rows of all nodes are what the run is for.
  bool embeds() const { return kind == "unsupervised"; }
  /// Links are triples, whose ends are told from other entities.
  bool knowledge() const { return kind == "knowledge"; }
  bool walks() const { return kind == "walk"; }
};

struct FeaturesJob {
  bool collect = true;                    ///< false: batches come without features and labels
  std::vector<std::string> columns = {};  ///< Named ones that batches have (columns.hpp)
  Normalize normalize = Normalize::none;
  std::string cache_policy = "none";  ///< A row of cache_policies()
  std::uint64_t cache_bytes = 0;      ///< per rank
  double cache_ratio = 0;             ///< per rank, of all rows of the graph; or 0 with cache_bytes
  std::uint64_t presample_batches = 100;
  std::uint32_t cache_lookahead = 32;  ///< batches that `future` knows beyond those requested
  bool cache_measure = false;
  DeviceBudget device_budget = {};  ///< of each device that makes batches
};

/// What the losses of classes count beside each other.
struct ClassWeightsJob {
  bool balanced = false;            ///< By the training seeds of each class
  std::vector<double> values = {};  ///< By class, or by label of multi-label targets

  bool given() const { return balanced || !values.empty(); }
};

struct TrainJob {
  std::uint32_t epochs = 1;
  std::uint32_t patience =
      0;  ///< Evaluations in a row without a better score that end training; 0: none do
  std::string loss = "cross_entropy";
  double pos_weight = 1;  ///< of positive targets, with "bce_logits"
  ClassWeightsJob class_weights = {};
  double delta = 1;                    ///< with "huber"
  nn::LinkLossOptions link_loss = {};  ///< of links
  nn::OptimizerOptions optimizer;
  double clip = 0;                                   ///< longest mean gradient; 0: not clipped
  nn::Precision precision = nn::Precision::float32;  ///< Of products on CUDA devices
  std::string reduce = "exact";  ///< or "fast": gradients of devices are added in any order
  std::uint32_t staleness = 0;   ///< Steps that learned rows may be behind when they are read
  nn::ScheduleOptions schedule;
};

struct EvalJob {
  std::uint32_t every =
      1;  ///< evaluates after epochs 1, 1+n, … and the last; 0: only after the last
  std::string mode = "exact";       ///< or "sampled"
  std::string metric = "accuracy";  ///< name of a score (runtime/run/run_record.hpp)
  std::optional<std::string>
      split;  ///< whose val and test seeds are scored; none: `DatasetJob::split`
  // Of links:
  NegativeOptions negatives = {};  ///< drawn for each link
  /// By role, as DatasetJob::path: one file, or one for each edge type of the links.
  std::map<std::string, std::vector<std::filesystem::path>> negative_files;
  std::map<std::string, std::vector<std::filesystem::path>> candidate_files;  ///< The same
  bool rank_all = false;               ///< links are ranked among all nodes of their ends' types
  RankedEnds ends = RankedEnds::both;  ///< of links or triples that are ranked among all nodes
  std::uint64_t max_batches = 0;       ///< of all ranks, per sampled evaluation; 0: all
  bool predictions = true;             ///< the outputs of the test seeds are written at the end

  /// \param epoch from 0
  bool due(std::uint32_t epoch, std::uint32_t epochs) const {
    return epoch + 1 == epochs || (every > 0 && epoch % every == 0);
  }
};

/// When training states are written; any number of the three.
struct CheckpointJob {
  std::uint32_t epochs = 0;  ///< 0: not by epochs
  std::uint64_t steps = 0;
  double seconds = 0;
  std::uint32_t keep = 2;    ///< newest checkpoints that stay
  std::uint32_t copies = 1;  ///< hosts that keep them, with that of the director
  /// One written on a CPU may be continued on a GPU, and the other way round: with other bits.
  bool other_device = false;
};

struct Job {
  DatasetJob dataset;
  PartitionJob partition;
  ClusterJob cluster;
  TaskJob task;
  SampleJob sample;
  FeaturesJob features;
  std::map<std::string, EmbeddingOptions> embedding;  ///< By node type, without its number
  nn::ModelOptions model;  ///< in_dim and out_dim are filled in from the graph when the run starts
  std::uint64_t out_dim = 0;  ///< `model.out_dim`: of links and edges; 0: not said
  TrainJob train;
  EvalJob eval;
  CheckpointJob checkpoint;
  DigestMode digest = DigestMode::full;
  std::uint64_t log_every = 0;  ///< steps between progress lines; 0: a line per epoch only
  bool trace = false;
  /// Whether ranks score batches while training; else evaluators do after exact inference.
  bool scores_batches() const { return eval.mode == "sampled" || model.layers == 0; }
  /// Whether exact inference can give what the model gives in batches.
  bool infers_exactly() const { return model.layers > 0 && !sample.time.given(); }
  std::uint64_t seed = 0;
  std::filesystem::path output;
  std::filesystem::path default_output;  ///< `runs/NAME`, also where `output` is given
  bool output_given = false;             ///< By the job file or `--set`
  std::string json;  ///< the whole job with defaults filled in, as `check` prints it
  /// Digest of what the job file says, 32 hexadecimal digits: equal for copies with other comments, layout,
  /// `output` or hidden values, and whatever `--set` changes.
  std::string file_digest;
};

}  // namespace troupe
