#pragma once
/// \file use_import.hpp
/// What every import promises, and what becomes of a store that it made: it opens, cuts into parts,
/// and gives batches.
#include "runtime/partition/partitioner.hpp"

#include "fuzz/target.hpp"
#include "fuzz/use_store.hpp"

#include <filesystem>
#include <string>
#include <utility>

namespace troupe::fuzz {

inline void cut_and_use(const GraphStore& store, const std::filesystem::path& out) {
  const auto cut = partition_store(store, {"random", 2, 1, CompleteFor::both}, out);
  if (!cut.ok()) {
    require(cut.error().code() == Errc::invalid_argument, "a graph of two nodes can be cut");
    return;
  }
  const auto parts = PartitionedStore::open(out, {});
  require(parts.ok(), "what was cut opens");
  LoadedGraph graph{parts->info(), parts->partition().ranges, {}};
  for (std::uint32_t part = 0; part < 2; ++part) {
    auto loaded = parts->load_part(static_cast<PartId>(part));
    require(loaded.ok(), "every part loads");
    for (std::size_t type = 0; type < parts->info().edge_types.size(); ++type) {
      const auto ends = parts->with_ends(**loaded, static_cast<EdgeTypeId>(type));
      require(ends.ok(), "the ends of edges of every part load");
    }
    graph.parts.push_back(*std::move(loaded));
  }
  for (const auto& split : parts->info().splits) {
    for (const auto& [role, seeds] : split.roles) {
      const auto list = parts->seeds(split.name, role);
      require(list.ok(), "seeds load");
      use_graph(graph, *list);
    }
    for (const auto& role : split.links) {
      const auto list = parts->links(split.name, role.first);
      require(list.ok(), "links load");
      use_links(graph, *list);
    }
  }
}

/// \param work  the folder that `store_dir` is in, empty before the import
inline void check_import(const Result<GraphInfo>& info, const std::string& source,
                         const std::filesystem::path& work,
                         const std::filesystem::path& store_dir) {
  if (!info.ok()) {
    require(info.error().what().find(source) == 0, "an error begins with the folder");
    require(std::filesystem::is_empty(work), "a failed import leaves nothing behind");
    return;
  }
  const auto store = GraphStore::open(store_dir, {});
  require(store.ok(), "what was imported opens");
  cut_and_use(*store, work / "parts");
}

}  // namespace troupe::fuzz
