#include "runtime/job/unused_keys.hpp"

#include "runtime/base/json_text.hpp"
#include "runtime/feature/cache_policies.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/job/schema.hpp"
#include "runtime/job/task_rules.hpp"
#include "runtime/job/walk_rules.hpp"
#include "runtime/nn/optimizer.hpp"
#include "runtime/partition/methods.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace troupe {
namespace {

using Json = nlohmann::json;

/// What reads the keys whose pointers begin so.
struct KeyUse {
  std::string pointer;
  std::string reader;
  bool used = false;
};

bool on_devices(const ClusterJob& cluster) {
  const auto is_device = [](const DeviceChoice& device) {
    return device.automatic || device.kind != DeviceKind::cpu;
  };
  return is_device(cluster.device) || is_device(cluster.sampler_devices);
}

void add_options_of_methods(const Job& job, std::vector<KeyUse>& uses) {
  const auto* method = find_kind(partition_methods(), job.partition.method);
  const bool stored = store_kind(job.dataset.path) == StoreKind::partitioned &&
                      !job.partition.given_keys.contains("method");
  for (const auto& option : partition_options()) {
    uses.push_back({fmt::format("/partition/{}", option.name),
                    "partition.method " + readers_of(partition_methods(), option.name),
                    stored || method == nullptr || reads_option(*method, option.name)});
  }
}

void add_options_of_caches(const Job& job, std::vector<KeyUse>& uses) {
  const auto* policy = find_kind(cache_policies(), job.features.cache_policy);
  for (const char* key : {"presample_batches", "lookahead", "measure"}) {
    uses.push_back({fmt::format("/features/cache/{}", key),
                    "features.cache.policy " + readers_of(cache_policies(), key),
                    policy == nullptr || reads_option(*policy, key)});
  }
}

void add_keys_of_cluster(const Job& job, std::vector<KeyUse>& uses) {
  const auto& cluster = job.cluster;
  const bool processes = cluster.launch != "simulate";
  const auto add = [&](const char* pointer, const char* reader, bool used) {
    uses.push_back({pointer, reader, used});
  };
  add("/cluster/server_of_rank", "cluster.placement server_client", cluster.has_servers());
  add("/cluster/prefetch", "cluster.placement server_client", cluster.has_servers());
  add("/cluster/trainers_per_host", "cluster.placement other than explicit",
      cluster.placement != "explicit");
  add("/cluster/network", "cluster.launch simulate", !processes);
  add("/cluster/token_file", "cluster.launch manual", cluster.launch == "manual");
  add("/cluster/ssh", "cluster.launch ssh", cluster.launch == "ssh");
  add("/cluster/slurm", "cluster.launch slurm", cluster.launch == "slurm");
  for (const char* key : {"listen", "transport", "tls", "trusted_network", "join_deadline"}) {
    uses.push_back(
        {fmt::format("/cluster/{}", key), "cluster.launch other than simulate", processes});
  }
  add("/sample/device_lists", "cluster.device other than cpu", on_devices(cluster));
  add("/features/cache/device_budget", "cluster.device other than cpu", on_devices(cluster));
}

/// Keys of batches, of what is sampled for them and of what comes with them.
void add_keys_of_batches(const Job& job, std::vector<KeyUse>& uses) {
  const bool walks = job.task.walks();
  const bool triples = job.task.knowledge();
  const bool hops = !triples && job.model.layers > 0;
  const auto add = [&](const char* pointer, const char* reader, bool used) {
    uses.push_back({pointer, reader, used});
  };
  const char* const collected =
      triples ? "task.kind other than knowledge" : "features.collect true";
  const bool collects = job.features.collect && !triples;
  add("/features/normalize", collected, collects);
  add("/features/cache/policy", collected, collects);
  add("/sample/fanout", "task.kind other than walk", !walks);
  for (const char* key : {"choice", "replace", "shared"}) {
    uses.push_back({fmt::format("/sample/{}", key), walks ? "task.kind other than walk" : "hops",
                    walks ? std::string_view(key) == "choice" : hops});
  }
  add("/sample/frontier", walks ? "task.kind other than walk" : "several hops",
      !walks && hops && job.sample.hops() > 1);
  add("/sample/cache", "hops or walks", hops || job.task.from_walks);
}

/// Keys of what is learned, of the layers and of the decoder.
void add_keys_of_model(const Job& job, std::vector<KeyUse>& uses) {
  const auto& model = job.model;
  const auto& task = job.task;
  const bool layers = !task.knowledge() && model.layers > 0;
  const bool between = layers && model.layers > 1;
  const bool decodes = task.links() && !task.knowledge();
  const bool rows = (decodes && job.out_dim == 0) || model.linear_input || model.kind == "hgt";
  const bool compares = !layers && !task.knowledge() && task.decoder.kind == "dot";
  const auto add = [&](const char* pointer, const char* reader, bool used) {
    uses.push_back({pointer, reader, used});
  };
  for (const char* key : {"norm", "activation", "slope", "dropout"}) {
    uses.push_back({fmt::format("/model/{}", key), "model.layers above 1", between});
  }
  add("/model/hidden", layers ? "model.layers above 1" : "model.layers above 0",
      between || (layers && rows));
  add("/model/layers", "", true);
  add("/model", "model.layers above 0", layers);
  for (const char* key : {"optimizer", "schedule", "clip"}) {
    uses.push_back(
        {fmt::format("/train/{}", key), "layers, or task.decoder.kind distmult, mlp", !compares});
  }
  add("/task/decoder/hidden", "task.decoder.kind mlp", decodes && task.decoder.kind == "mlp");
  add("/task/decoder", "task.kind link, edge, unsupervised", decodes);
}

void add_keys_of_task(const Job& job, std::vector<KeyUse>& uses) {
  const auto& task = job.task;
  const bool draws = task.predicts_links() && task.negatives.drawn() > 0;
  const bool scores = task.predicts_links() && job.eval.negatives.drawn() > 0;
  const bool ranks_score = job.scores_batches() || task.knowledge();
  const auto add = [&](const char* pointer, const char* reader, bool used) {
    uses.push_back({pointer, reader, used});
  };
  add("/dataset/seeds/times", "sample.time.of split", job.sample.time.of_split);
  add("/task/reverse", "task.exclude batch", task.exclude);
  add("/task/negatives/tries", "task.negatives.strict", draws && task.negatives.strict);
  for (const char* key : {"per_positive", "by", "strict"}) {
    uses.push_back(
        {fmt::format("/task/negatives/{}", key), "task.negatives.kind binary, triplet", draws});
  }
  add("/eval/negatives/per_positive", "eval.negatives.kind binary, triplet", scores);
  add("/eval/negatives/strict", "eval.negatives.kind binary, triplet", scores);
  add("/train/patience", "eval.every above 0", job.eval.every > 0);
  add("/eval/max_batches", "eval.mode sampled, model.layers 0, task.kind knowledge", ranks_score);
  add("/eval/ends", "eval.ranks all, task.kind knowledge", job.eval.rank_all || task.knowledge());
}

/// A key has the first that is of it, or of a section that it is in.
std::vector<KeyUse> uses_of_keys(const Job& job) {
  std::vector<KeyUse> uses;
  add_options_of_methods(job, uses);
  add_options_of_caches(job, uses);
  add_keys_of_cluster(job, uses);
  add_keys_of_batches(job, uses);
  add_keys_of_model(job, uses);
  add_keys_of_task(job, uses);
  return uses;
}

const KeyUse* find_use(const std::vector<KeyUse>& uses, const std::string& pointer) {
  const auto found = std::ranges::find_if(uses, [&](const KeyUse& use) {
    return pointer == use.pointer || pointer.starts_with(use.pointer + "/");
  });
  return found == uses.end() ? nullptr : &*found;
}

/// The value is the one that the key has where it is left out.
bool is_default(const SchemaRow& row, const Job& job, const Json& value) {
  if (row.pointer == "/cluster/prefetch") {
    return job.cluster.prefetch == job.cluster.batches_in_flight;
  }
  if (row.pointer == "/task/decoder/kind") {
    return job.task.decoder.kind == default_decoder(job.task);
  }
  if (row.pointer == "/cluster/slurm/nodes") {
    return job.cluster.slurm.nodes == job.cluster.all_hosts();
  }
  if (row.pointer == "/cluster/slurm/tasks_per_node") {
    return job.cluster.slurm.tasks_per_node == job.cluster.trainers_per_host;
  }
  if (row.pointer == "/sample/fanout") {
    return value == fanout_of_walks(job.task.walk);
  }
  if (row.pointer == "/train/optimizer/eps") {
    return value == nn::default_eps(job.train.optimizer.kind);
  }
  return row.fallback.kind == Fallback::Kind::value && value == json_of_text(row.fallback.text);
}

}  // namespace

std::vector<UnusedKey> unused_keys(const Job& job) {
  const auto uses = uses_of_keys(job);
  const auto complete = json_of_text(job.json);
  std::vector<UnusedKey> unused;
  for (const SchemaRow& row : job_schema()) {
    const auto* use = find_use(uses, row.pointer);
    const Json::json_pointer place(row.pointer);
    if (use != nullptr && !use->used && complete.contains(place) &&
        !is_default(row, job, complete.at(place))) {
      unused.push_back({row.pointer, use->reader});
    }
  }
  return unused;
}

std::string to_string(const UnusedKey& key) {
  return fmt::format("not used: {}, which is for {}", key.pointer, key.reader);
}

}  // namespace troupe
