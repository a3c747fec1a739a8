#pragma once
/// \file split_loader.hpp
/// Loads and checks the seeds and links of splits. For the sources of this folder only.
#include "runtime/base/result.hpp"
#include "runtime/graph/graph_info.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/graph/store_files.hpp"

#include <string_view>
#include <utility>

namespace troupe {

/// Loads the seeds of one role: [n] original ids, or [n, 2] (original, global) of a partitioned
/// store; times where the role has them.
Result<SeedList> load_seeds(const StoreFiles& files, const GraphInfo& info, bool partitioned,
                            std::pair<std::string_view, std::string_view> split_and_role);

/// Loads the links of one role: [n, 2] original ids, or [n, 4] (original, global) of a partitioned
/// store; times and labels where the role has them.
Result<LinkList> load_links(const StoreFiles& files, const GraphInfo& info, bool partitioned,
                            std::pair<std::string_view, std::string_view> split_and_role);

}  // namespace troupe
