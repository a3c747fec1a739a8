#include "runtime/job/partition_conflicts.hpp"

#include "runtime/partition/assign.hpp"

namespace troupe {

std::vector<PartitionConflict> partition_conflicts(const PartitionJob& job,
                                                   const PartitionInfo& store) {
  std::vector<PartitionConflict> conflicts;
  const auto compare = [&](const std::string& key, const std::string& wanted,
                           const std::string& found) {
    if (job.given_keys.contains(key) && wanted != found) {
      conflicts.push_back({key, wanted, found});
    }
  };
  const auto text = [](bool value) { return std::string(value ? "true" : "false"); };
  compare("method", job.method, store.method);
  compare("parts", std::to_string(job.parts), std::to_string(store.parts));
  compare("order", std::string(to_string(job.order)), store.order);
  compare("halo", std::to_string(job.halo.hops), std::to_string(store.halo_hops));
  compare("halo_features", text(job.halo.features), text(store.halo_features));
  AssignOptions wanted;
  wanted.method = store.method;
  wanted.parts = store.parts;
  wanted.seed = job.seed;
  wanted.more = job.more;
  for (const auto& option : options_of(wanted)) {
    for (const auto& found : store.options) {  // none in stores of older programs
      if (found.first == option.first) {
        compare(option.first, option.second, found.second);
      }
    }
  }
  return conflicts;
}

}  // namespace troupe
