// A whole store from the files of one input. Lists of files, their sizes and checksums are made
// right first, so that mutated arrays reach the checks of what they say. A store that opens is used.
#include "runtime/graph/store_layout.hpp"

#include "fuzz/file_set.hpp"
#include "fuzz/listed_files.hpp"
#include "fuzz/targets.hpp"
#include "fuzz/use_store.hpp"

namespace troupe::fuzz {
namespace {

bool in_a_part(const File& file) {
  return file.name.starts_with("part-");
}

/// Features, or those of a halo.
bool has_features(const File& file) {
  return file.name.ends_with("features.npy");
}

void use_whole(const std::filesystem::path& dir, StoreMemory memory) {
  const auto store = GraphStore::open(dir, {memory, Verify::full});
  if (!store.ok()) {
    require(!store.error().what().empty(), "an error has a sentence");
    return;
  }
  LoadedGraph graph{store->info(), {}, {store->graph()}};
  for (const auto& type : store->info().node_types) {
    graph.ranges.first_node.push_back({0, type.count});
  }
  for (const auto& split : store->info().splits) {
    for (const auto& [role, seeds] : split.roles) {
      const auto list = store->seeds(split.name, role);
      require(list.ok(), "seeds were read when the store was opened");
      use_graph(graph, *list);
    }
    for (const auto& role : split.links) {
      const auto list = store->links(split.name, role.first);
      require(list.ok(), "links were read when the store was opened");
      use_links(graph, *list);
    }
  }
}

void use_partitioned(const std::filesystem::path& dir, StoreMemory memory) {
  const auto store = PartitionedStore::open(dir, {memory, Verify::full});
  if (!store.ok() || store->partition().parts > 16) {
    return;
  }
  LoadedGraph graph{store->info(), store->partition().ranges, {}};
  for (std::uint32_t part = 0; part < store->partition().parts; ++part) {
    auto loaded = store->load_part(static_cast<PartId>(part));
    if (!loaded.ok()) {
      require(!loaded.error().what().empty(), "an error has a sentence");
      return;
    }
    for (std::size_t type = 0; type < store->info().edge_types.size(); ++type) {
      const auto ends = store->with_ends(**loaded, static_cast<EdgeTypeId>(type));
      require(ends.ok() || !ends.error().what().empty(), "an error has a sentence");
    }
    graph.parts.push_back(*std::move(loaded));
  }
  for (const auto& split : store->info().splits) {
    for (const auto& [role, seeds] : split.roles) {
      const auto list = store->seeds(split.name, role);
      if (list.ok()) {
        use_graph(graph, *list);
      }
    }
    for (const auto& role : split.links) {
      const auto list = store->links(split.name, role.first);
      if (list.ok()) {
        use_links(graph, *list);
      }
    }
  }
}

}  // namespace

void run_store(Input input) {
  static const ScratchFiles scratch;
  auto files = unpack_files(input);
  std::erase_if(files, [](const File& file) { return !store_layout::is_safe_path(file.name); });
  for (auto& file : files) {
    if (file.name == "graph.json") {
      list_files(file, files, [](const File& other) { return !in_a_part(other); });
    } else if (file.name == "partition.json") {
      const bool later =
          text_of(file.bytes).find(R"("features": "later")") != std::string_view::npos;
      list_files(file, files, [later](const File& other) {
        return in_a_part(other) && !(later && has_features(other));
      });
    } else if (file.name.ends_with(store_layout::features_file)) {
      const auto folder = file.name.substr(0, file.name.rfind('/') + 1);
      list_files(file, files, [&folder](const File& other) {
        return other.name.starts_with(folder) && has_features(other);
      });
    }
  }
  scratch.fill(files);
  const auto memory = input.size() % 2 == 0 ? StoreMemory::mapped : StoreMemory::copied;
  if (store_kind(scratch.path()) == StoreKind::partitioned) {
    use_partitioned(scratch.path(), memory);
  } else {
    use_whole(scratch.path(), memory);
  }
}

}  // namespace troupe::fuzz

TROUPE_FUZZ_TARGET(troupe::fuzz::run_store)
TROUPE_FUZZ_FILE_SET_MUTATOR()
