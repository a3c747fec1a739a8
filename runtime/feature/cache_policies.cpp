#include "runtime/feature/cache_policies.hpp"

namespace troupe {
namespace {

std::vector<CachePolicy> policy_rows() {
  using Policy = CacheOptions::Policy;
  const std::vector<std::string_view> room = {"budget", "ratio", "measure"};
  return {
      {.name = "none", .help = "none", .policy = Policy::none},
      {.name = "degree",
       .help = "those of the nodes of highest in-degree, by the profile of the store",
       .options = room,
       .order = "degree",
       .policy = Policy::order},
      {.name = "hotness",
       .help = "those most likely in batches, by the profile of the store",
       .options = room,
       .order = "hotness",
       .policy = Policy::order},
      {.name = "presample",
       .help = "those that its first batches read most often",
       .options = {"budget", "ratio", "measure", "presample_batches"},
       .policy = Policy::presample},
      {.name = "future",
       .help = "those that its next batches read first",
       .options = {"budget", "ratio", "measure", "lookahead"},
       .policy = Policy::future},
  };
}

}  // namespace

std::span<const CachePolicy> cache_policies() {
  static const auto rows = policy_rows();
  return rows;
}

}  // namespace troupe
