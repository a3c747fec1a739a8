#pragma once
/// \file cache_policies.hpp
/// The policies that `features.cache.policy` can name, one row each (runtime/base/kinds.hpp): job
/// schema, job rules, the cluster's plan and docs/partitioning.md read this table.
#include "runtime/base/kinds.hpp"
#include "runtime/feature/row_cache.hpp"

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace troupe {

struct CachePolicy {
  std::string_view name;                       ///< Word in job files
  std::string_view help;                       ///< Rows that a rank keeps, one line
  std::vector<std::string_view> options = {};  ///< Keys of `features.cache` that it reads
  std::string_view order = {};                 ///< `partition.order` that it needs; empty: any
  std::optional<CacheOptions::Policy> policy;  ///< Nothing: not built yet
};

std::span<const CachePolicy> cache_policies();

}  // namespace troupe
