// A store in parts, by a method of our own: two of write_store's groups to each part. Troupe checks the assignment, numbers,
// measures and writes as for its own methods.
//   ./partition_store STORE PARTS_STORE
#include <cstdio>
#include <troupe/store.hpp>

namespace {

using namespace troupe;

Result<Assignment> by_group(const GraphStore& graph, std::uint32_t parts, Executor& /*executor*/) {
  Assignment assignment;
  for (const auto& type : graph.info().node_types) {
    auto& part_of = assignment.emplace_back(type.count);
    for (std::uint64_t node = 0; node < type.count; ++node) {
      part_of[node] = static_cast<PartId>(node % 4 * parts / 4);
    }
  }
  return assignment;
}

Status partition(const char* from, const char* to) {
  TROUPE_ASSIGN_OR_RETURN(const auto graph, GraphStore::open(from, {}));
  PartitionOptions options;
  options.method = "by_group";
  options.parts = 2;
  options.own = by_group;
  TROUPE_ASSIGN_OR_RETURN(const auto made, partition_store(graph, options, to));
  std::printf("%u parts by %s\n", made.parts, made.method.c_str());
  return ok_status();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "expected: partition_store STORE PARTS_STORE\n");
    return 2;
  }
  if (const auto made = partition(argv[1], argv[2]); !made) {
    std::fprintf(stderr, "%s\n", made.error().what().c_str());
    return 1;
  }
  return 0;
}
