// A folder of NumPy files. What is imported opens as a store, cuts into parts, and gives batches.
#include "runtime/data/npy_import.hpp"
#include "runtime/graph/store_layout.hpp"
#include "runtime/partition/partitioner.hpp"

#include "fuzz/file_set.hpp"
#include "fuzz/targets.hpp"
#include "fuzz/use_store.hpp"

namespace troupe::fuzz {
namespace {

void cut_and_use(const GraphStore& store, const std::filesystem::path& out) {
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
    graph.parts.push_back(*std::move(loaded));
  }
  for (const auto& split : parts->info().splits) {
    for (const auto& [role, seeds] : split.roles) {
      const auto list = parts->seeds(split.name, role);
      require(list.ok(), "seeds load");
      use_graph(graph, *list);
    }
  }
}

}  // namespace

void run_import(Input input) {
  static const ScratchFiles source;
  static const ScratchFiles target;
  auto files = unpack_files(input);
  std::erase_if(files, [](const File& file) { return !store_layout::is_valid_name(file.name); });
  source.fill(files);
  target.fill({});
  const auto store_dir = target.path() / "store";
  const auto info = import_npy(source.path(), store_dir);
  if (!info.ok()) {
    require(info.error().what().find(source.path().string()) == 0,
            "an error begins with the folder");
    require(!std::filesystem::exists(store_dir), "a failed import leaves nothing behind");
    return;
  }
  const auto store = GraphStore::open(store_dir, {});
  require(store.ok(), "what was imported opens");
  cut_and_use(*store, target.path() / "parts");
}

}  // namespace troupe::fuzz

TROUPE_FUZZ_TARGET(troupe::fuzz::run_import)
TROUPE_FUZZ_FILE_SET_MUTATOR()
