#include "runtime/job/unused_keys.hpp"

#include "runtime/base/json_text.hpp"
#include "runtime/feature/cache_policies.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/job/schema.hpp"
#include "runtime/job/task_rules.hpp"
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

std::vector<KeyUse> uses_of_keys(const Job& job) {
  const auto& cluster = job.cluster;
  const auto& task = job.task;
  const bool decodes = task.links() && !task.knowledge();
  const bool draws_links = task.predicts_links() && task.negatives.drawn() > 0;
  const bool scores_links = task.predicts_links() && job.eval.negatives.drawn() > 0;
  std::vector<KeyUse> uses;
  add_options_of_methods(job, uses);
  add_options_of_caches(job, uses);
  const std::vector<KeyUse> others = {
      {"/cluster/server_of_rank", "cluster.placement server_client", cluster.has_servers()},
      {"/cluster/prefetch", "cluster.placement server_client", cluster.has_servers()},
      {"/cluster/network", "cluster.launch simulate", cluster.launch == "simulate"},
      {"/cluster/token_file", "cluster.launch manual", cluster.launch == "manual"},
      {"/dataset/seeds/times", "sample.time.of split, task.kind link, edge, unsupervised",
       job.sample.time.of_split || task.links()},
      {"/features/normalize", "features.collect true", job.features.collect},
      {"/features/cache/policy", "features.collect true", job.features.collect},
      {"/sample/replace", "task.kind other than walk", !task.walks()},
      {"/sample/frontier", "task.kind other than walk", !task.walks()},
      {"/sample/device_lists", "cluster.device other than cpu", on_devices(cluster)},
      {"/features/cache/device_budget", "cluster.device other than cpu", on_devices(cluster)},
      {"/task/decoder/hidden", "task.decoder.kind mlp", decodes && task.decoder.kind == "mlp"},
      {"/task/decoder", "task.kind link, edge, unsupervised", decodes},
      {"/task/negatives/tries", "task.negatives.strict", draws_links && task.negatives.strict},
      {"/task/negatives/per_positive", "task.negatives.kind binary, triplet", draws_links},
      {"/task/negatives/by", "task.negatives.kind binary, triplet", draws_links},
      {"/task/negatives/strict", "task.negatives.kind binary, triplet", draws_links},
      {"/eval/negatives/per_positive", "eval.negatives.kind binary, triplet", scores_links},
      {"/eval/negatives/strict", "eval.negatives.kind binary, triplet", scores_links},
      {"/train/patience", "eval.every above 0", job.eval.every > 0},
      {"/eval/max_batches", "eval.mode sampled", job.scores_batches()},
      {"/eval/ends", "eval.ranks all, task.kind knowledge", job.eval.rank_all || task.knowledge()},
  };
  uses.insert(uses.end(), others.begin(), others.end());
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
