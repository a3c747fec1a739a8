// The schema of a heterogeneous graph that is to be generated. A small one is generated and used.
#include "runtime/generate/heterogeneous_schema.hpp"

#include "runtime/generate/heterogeneous.hpp"

#include "fuzz/file_set.hpp"
#include "fuzz/targets.hpp"
#include "fuzz/use_import.hpp"

namespace troupe::fuzz {
namespace {

bool is_small(const HeterogeneousSchema& schema) {
  constexpr std::uint64_t most = 2000;  // of each number
  constexpr std::size_t most_types = 8;
  return schema.nodes.size() <= most_types && schema.edges.size() <= most_types &&
         schema.classes <= most &&
         std::ranges::all_of(schema.nodes,
                             [](const auto& nodes) {
                               return nodes.count <= most && nodes.features <= most / 10;
                             }) &&
         std::ranges::all_of(schema.edges, [](const auto& edges) { return edges.count <= most; });
}

void use(HeterogeneousOptions options, const ScratchFiles& scratch) {
  constexpr std::uint64_t few_nodes = 100;
  options.writer.memory_bytes = 16'000'000;
  options.piece = few_nodes;
  InlineExecutor executor;
  const auto made = generate_heterogeneous(options, executor, scratch.path() / "store");
  if (!made.ok()) {
    require(made.error().code() == Errc::invalid_argument, "a small schema is made or refused");
    require(!std::filesystem::exists(scratch.path() / "store"), "a refused graph leaves nothing");
    return;
  }
  const auto store =
      GraphStore::open(scratch.path() / "store", {StoreMemory::mapped, Verify::full});
  require(store.ok(), "what was generated opens");
  cut_and_use(*store, scratch.path() / "parts");
}

}  // namespace

void run_heterogeneous_schema(Input input) {
  static const ScratchFiles scratch;
  scratch.fill({{"schema.json", {input.begin(), input.end()}}});
  const auto file = scratch.path() / "schema.json";
  HeterogeneousOptions options;
  auto schema = read_heterogeneous_schema(file, options);
  if (!schema.ok()) {
    require(schema.error().what().find(file.string()) == 0, "an error begins with the file");
    return;
  }
  if (is_small(*schema)) {
    options.schema = *std::move(schema);
    use(std::move(options), scratch);
  }
}

}  // namespace troupe::fuzz

TROUPE_FUZZ_TARGET(troupe::fuzz::run_heterogeneous_schema)
