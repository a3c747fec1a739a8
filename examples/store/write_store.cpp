// A graph store from data that a program has: people in four groups, friends mostly inside their group, with eight noisy
// features; the group is the label. Pieces of any size may be given, so that a graph need not fit into memory.
//   ./write_store STORE
#include <array>
#include <cstdio>
#include <random>
#include <troupe/store.hpp>

namespace {

using namespace troupe;

constexpr std::uint64_t people = 4000;
constexpr std::uint64_t groups = 4;
constexpr std::uint64_t columns = 8;
constexpr std::uint64_t friends_of_each = 6;

std::uint64_t group_of(std::uint64_t person) {
  return person % groups;
}

Status add_friends(StoreWriter& store, EdgeTypeId type, std::mt19937& random) {
  for (std::uint64_t person = 0; person < people; ++person) {
    std::array<std::uint64_t, friends_of_each> from{};
    std::array<std::uint64_t, friends_of_each> to{};
    for (std::size_t i = 0; i < friends_of_each; ++i) {
      const std::uint64_t other = random() % people;
      const bool inside = random() % 10 < 9;
      from[i] = person;
      to[i] = inside ? other - group_of(other) + group_of(person) : other;
    }
    TROUPE_RETURN_IF_ERROR(store.add_edges(type, from, to));
  }
  return ok_status();
}

Status add_people(StoreWriter& store, NodeTypeId type, std::mt19937& random) {
  for (std::uint64_t person = 0; person < people; ++person) {
    const auto group = group_of(person);
    std::array<float, columns> row{};
    for (std::size_t c = 0; c < columns; ++c) {
      const auto noise = static_cast<float>(random() % 2000) / 1000.0F - 1;
      row[c] = noise + (c == group ? 0.5F : 0.0F);
    }
    const auto label = static_cast<std::int64_t>(group);
    TROUPE_RETURN_IF_ERROR(store.add_features(type, std::as_bytes(std::span(row))));
    TROUPE_RETURN_IF_ERROR(store.add_labels(type, std::span(&label, 1)));
  }
  return ok_status();
}

/// Every tenth person for training, two of ten to score.
Status add_split(StoreWriter& store, NodeTypeId type) {
  const auto every_tenth = [](std::uint64_t first) {
    std::vector<std::uint64_t> ids;
    for (std::uint64_t person = 0; person < people; ++person) {
      if (person / groups % 10 == first) {
        ids.push_back(person);
      }
    }
    return ids;
  };
  TROUPE_RETURN_IF_ERROR(store.set_seeds("public", "train", type, every_tenth(0)));
  TROUPE_RETURN_IF_ERROR(store.set_seeds("public", "val", type, every_tenth(1)));
  return store.set_seeds("public", "test", type, every_tenth(2));
}

Status write(const char* folder) {
  InlineExecutor executor;
  TROUPE_ASSIGN_OR_RETURN(auto store, StoreWriter::create(folder, {}, executor));
  TROUPE_ASSIGN_OR_RETURN(
      const auto person,
      store.add_node_type(
          {.name = "person",
           .count = people,
           .features = FeatureInfo{.dtype = DType::f32, .cols = columns},
           .labels = LabelInfo{.kind = LabelInfo::Kind::classes, .classes = groups}}));
  TROUPE_ASSIGN_OR_RETURN(const auto knows,
                          store.add_edge_type({.name = "knows",
                                               .source = person,
                                               .destination = person,
                                               .transforms = {.symmetrize = true, .dedup = true}}));
  std::mt19937 random(7);
  TROUPE_RETURN_IF_ERROR(add_friends(store, knows, random));
  TROUPE_RETURN_IF_ERROR(add_people(store, person, random));
  TROUPE_RETURN_IF_ERROR(add_split(store, person));
  TROUPE_ASSIGN_OR_RETURN(const auto graph, store.finish());
  std::printf("%llu people, %llu edges\n",
              static_cast<unsigned long long>(graph.node_types[0].count),
              static_cast<unsigned long long>(graph.edge_types[0].count));
  return ok_status();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "expected: write_store STORE\n");
    return 2;
  }
  if (const auto written = write(argv[1]); !written) {
    std::fprintf(stderr, "%s\n", written.error().what().c_str());
    return 1;
  }
  return 0;
}
