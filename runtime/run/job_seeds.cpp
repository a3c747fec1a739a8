#include "runtime/run/job_seeds.hpp"

#include "runtime/base/digest.hpp"
#include "runtime/base/files.hpp"
#include "runtime/data/table.hpp"
#include "runtime/job/link_rules.hpp"
#include "runtime/job/walk_positives.hpp"
#include "runtime/run/edges_as_links.hpp"
#include "runtime/run/original_rows.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace troupe {
namespace {

namespace fs = std::filesystem;

/// Ids of one role, a row each: a node, or the two ends of a link. In order of ids, equal ones as the
/// file has them.
struct OwnSeeds {
  std::string role;
  std::uint32_t type = 0;  ///< Of nodes or of edges
  std::size_t columns = 1;
  RowIds ids;
  std::vector<std::int64_t> times;  ///< [rows], or empty

  std::uint64_t rows() const { return ids.size() / columns; }
};

Result<std::vector<std::int64_t>> read_seed_times(const fs::path& file, std::uint64_t seeds) {
  TROUPE_ASSIGN_OR_RETURN(const auto table, open_table(file));
  std::vector<std::int64_t> times;
  InlineExecutor executor;
  TROUPE_RETURN_IF_ERROR(
      table.read_integers(executor, {}, [&times](std::span<const std::int64_t> some) {
        times.insert(times.end(), some.begin(), some.end());
        return ok_status();
      }));
  if (table.cols() > 1 || times.size() != seeds) {
    return Error(Errc::invalid_argument,
                 fmt::format("{}: expected {} times, one per seed, got {}", table.file(), seeds,
                             table.cols() > 1 ? table.shape() : std::to_string(times.size())));
  }
  return times;
}

/// Sorts rows by their ids; each time stays with its row.
void sort_rows(OwnSeeds& seeds) {
  const auto columns = seeds.columns;
  const auto row = [&](std::uint64_t at) {
    return std::pair(seeds.ids[at * columns], seeds.ids[at * columns + columns - 1]);
  };
  RowIds order(seeds.rows());
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  std::ranges::stable_sort(order, {}, row);
  RowIds ids;
  std::vector<std::int64_t> times;
  ids.reserve(seeds.ids.size());
  for (const auto at : order) {
    for (std::size_t column = 0; column < columns; ++column) {
      ids.push_back(seeds.ids[at * columns + column]);
    }
    if (!seeds.times.empty()) {
      times.push_back(seeds.times[at]);
    }
  }
  seeds.ids = std::move(ids);
  seeds.times = std::move(times);
}

/// Walks begin at nodes: each is a link to itself, which pairs take the place of in batches.
void link_to_themselves(OwnSeeds& seeds) {
  RowIds ids;
  ids.reserve(2 * seeds.ids.size());
  for (const auto id : seeds.ids) {
    ids.insert(ids.end(), {id, id});
  }
  seeds.ids = std::move(ids);
  seeds.columns = 2;
}

/// The place of a name among types.
template <class Type>
Result<std::uint32_t> named_type(const std::vector<Type>& types, const std::string& name) {
  const auto found = std::ranges::find(types, name, &Type::name);
  if (found == types.end()) {
    std::vector<std::string> names;
    std::ranges::transform(types, std::back_inserter(names), &Type::name);
    return Error(Errc::invalid_argument,
                 fmt::format("/dataset/seeds/type: expected one of {}, found \"{}\"",
                             fmt::join(names, ", "), name));
  }
  return static_cast<std::uint32_t>(found - types.begin());
}

/// The type of all own seeds: as stated, else that of the split's, those of training first, else the
/// only one.
template <class Type, class Role, class TypeOf>
Result<std::uint32_t> type_of_seeds(const Job& job, const std::vector<Type>& types,
                                    const std::map<std::string, Role>* roles, TypeOf type_of) {
  if (!job.dataset.seeds_type.empty()) {
    return named_type(types, job.dataset.seeds_type);
  }
  if (roles != nullptr && !roles->empty()) {
    const auto train = roles->find("train");
    return type_of(train == roles->end() ? roles->begin()->second : train->second);
  }
  if (types.size() == 1) {
    return std::uint32_t{0};
  }
  return Error(Errc::invalid_argument,
               fmt::format("/dataset/seeds/type: expected one of the data's {} types, as the split "
                           "\"{}\" has no seeds, found none",
                           types.size(), job.dataset.split));
}

Result<std::uint32_t> type_of_seeds(const Job& job, const GraphInfo& graph) {
  if (job.task.from_walks) {
    TROUPE_ASSIGN_OR_RETURN(const auto type, walked_type(job, graph));
    return std::uint32_t{raw(type)};
  }
  const auto* split = graph.find_split(job.dataset.split);
  if (job.task.links()) {
    return type_of_seeds(job, graph.edge_types, split == nullptr ? nullptr : &split->links,
                         [](const auto& role) { return std::uint32_t{raw(role.edge_type)}; });
  }
  return type_of_seeds(job, graph.node_types, split == nullptr ? nullptr : &split->roles,
                       [](const auto& role) { return std::uint32_t{raw(role.node_type)}; });
}

Result<std::vector<OwnSeeds>> read_own_seeds(const Job& job, const GraphInfo& graph) {
  std::vector<OwnSeeds> all;
  if (job.dataset.seeds.empty()) {
    return all;
  }
  TROUPE_ASSIGN_OR_RETURN(const auto type, type_of_seeds(job, graph));
  RowIds ends;
  if (job.task.links()) {
    const auto& edges = graph.edge_types[type];
    ends = {graph.node_types[raw(edges.source)].count,
            graph.node_types[raw(edges.destination)].count};
  } else {
    ends = {graph.node_types[type].count};
  }
  for (const auto& [role, files] : job.dataset.seeds) {
    const bool walks = job.task.from_walks && role == "train";
    OwnSeeds seeds{role, type, walks ? 1 : ends.size(), {}, {}};
    const auto walked =
        walks ? type_of_pairs(job, graph, static_cast<EdgeTypeId>(type)) : NodeTypeId{};
    auto ids = read_rows(files.ids, walks ? RowIds{graph.node_types[raw(walked)].count} : ends);
    if (!ids) {
      return std::move(ids).error().with(fmt::format("/dataset/seeds/{}", role));
    }
    seeds.ids = *std::move(ids);
    if (!files.times.empty()) {
      auto times = read_seed_times(files.times, seeds.rows());
      if (!times) {
        return std::move(times).error().with(fmt::format("/dataset/seeds/times/{}", role));
      }
      seeds.times = *std::move(times);
    }
    sort_rows(seeds);
    if (walks) {
      link_to_themselves(seeds);
    }
    all.push_back(std::move(seeds));
  }
  return all;
}

Result<SeedList> list_of_nodes(const PartitionedStore& store, OwnSeeds seeds) {
  SeedList list;
  list.node_type = static_cast<NodeTypeId>(seeds.type);
  TROUPE_ASSIGN_OR_RETURN(list.global, global_ids(store, list.node_type, seeds.ids));
  for (const auto id : seeds.ids) {
    list.original.push_back(static_cast<OriginalId>(id));
  }
  list.times = std::move(seeds.times);
  return list;
}

/// \param pairs_of  type of both ends; none: those that the edge type joins
Result<LinkList> list_of_links(const PartitionedStore& store, OwnSeeds seeds,
                               std::optional<NodeTypeId> pairs_of) {
  SplitInfo::LinkRole role{.edge_type = static_cast<EdgeTypeId>(seeds.type)};
  role.pairs_of = pairs_of;
  const auto type = end_types_of(store.info(), role);
  RowIds sources;
  RowIds destinations;
  for (std::uint64_t row = 0; row < seeds.rows(); ++row) {
    sources.push_back(seeds.ids[2 * row]);
    destinations.push_back(seeds.ids[2 * row + 1]);
  }
  TROUPE_ASSIGN_OR_RETURN(const auto from, global_ids(store, type.source, sources));
  TROUPE_ASSIGN_OR_RETURN(const auto to, global_ids(store, type.destination, destinations));
  RowIds ends;
  for (std::size_t row = 0; row < sources.size(); ++row) {
    ends.insert(ends.end(), {sources[row], destinations[row], raw(from[row]), raw(to[row])});
  }
  const auto rows = Segment::of(std::move(ends));
  const auto times = Segment::of(std::move(seeds.times));
  LinkList list(static_cast<EdgeTypeId>(seeds.type), rows.as<std::uint64_t>(), 4,
                times.as<std::int64_t>(), {}, {rows.owner, times.owner});
  return pairs_of ? list.as_pairs_of(*pairs_of) : std::move(list);
}

/// Of nodes that walks begin at.
std::optional<NodeTypeId> pairs_of_walks(const Job& job, const GraphInfo& graph,
                                         const OwnSeeds& seeds) {
  return job.task.from_walks && seeds.role == "train"
             ? std::optional(type_of_pairs(job, graph, static_cast<EdgeTypeId>(seeds.type)))
             : std::nullopt;
}

/// Links of the split that are along several edge types, type by type.
PartitionedStore in_groups_of_types(const Job& job, PartitionedStore store) {
  const auto& name = job.dataset.split;
  const auto* split = store.info().find_split(name);
  const auto roles = split == nullptr ? std::map<std::string, SplitInfo::LinkRole>() : split->links;
  for (const auto& [role, of_role] : roles) {
    if (of_role.edge_types.empty()) {
      continue;
    }
    auto counted = of_role;
    counted.has_labels = false;
    const auto make = [from = store, name, role = role,
                       types = of_role.edge_types]() -> Result<LinkList> {
      TROUPE_ASSIGN_OR_RETURN(const auto links, from.links(name, role));
      return links_in_groups(links, types);
    };
    store = store.with_links_made(name, role, std::move(counted), make);
  }
  return store;
}

/// Links to train on that are edges of these types, or pairs on walks whose first step is along them.
SplitInfo::LinkRole counted_edges(const Job& job, const GraphInfo& graph,
                                  const std::vector<EdgeTypeId>& edges) {
  if (!job.task.from_walks) {
    return role_of_edges(graph, edges);
  }
  SplitInfo::LinkRole links{.edge_type = edges.front()};
  links.pairs_of = type_of_pairs(job, graph, edges.front());
  links.count = graph.node_types[raw(*links.pairs_of)].count;
  return links;
}

constexpr std::array<const char*, 2> scored_roles{"val", "test"};

/// The split that the job names to score in place of its own has seeds or links to score.
bool has_scored(const SplitInfo& split) {
  return std::ranges::any_of(scored_roles, [&split](const char* role) {
    return split.roles.contains(role) || split.links.contains(role);
  });
}

bool names_another_split(const Job& job) {
  return job.eval.split && *job.eval.split != job.dataset.split;
}

bool scores_another_split(const Job& job, const GraphInfo& graph) {
  const auto* const split = names_another_split(job) ? graph.find_split(*job.eval.split) : nullptr;
  return split != nullptr && has_scored(*split);
}

Status check_scored_split(const Job& job, const GraphInfo& graph) {
  if (!names_another_split(job) || scores_another_split(job, graph)) {
    return ok_status();
  }
  std::vector<std::string> names;
  for (const auto& known : graph.splits) {
    names.push_back(fmt::format("\"{}\"", known.name));
  }
  const bool there = graph.find_split(*job.eval.split) != nullptr;
  return Error(Errc::invalid_argument,
               fmt::format("/eval/split: expected a split of the data with seeds to validate or "
                           "test, of {}, found \"{}\"{}",
                           names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")),
                           *job.eval.split, there ? ", which has neither" : ""));
}

}  // namespace

Status check_seed_keys(const Job& job, const GraphInfo& graph) {
  TROUPE_RETURN_IF_ERROR(check_scored_split(job, graph));
  TROUPE_RETURN_IF_ERROR(edges_to_learn(job, graph));
  if (!job.dataset.seeds.empty()) {
    TROUPE_RETURN_IF_ERROR(type_of_seeds(job, graph));
  }
  return ok_status();
}

Status count_own_seeds(const Job& job, GraphInfo& graph) {
  if (scores_another_split(job, graph)) {
    for (const char* role : scored_roles) {
      take_role(graph, job.dataset.split, role, *job.eval.split);
    }
  }
  TROUPE_ASSIGN_OR_RETURN(const auto edges, edges_to_learn(job, graph));
  if (!edges.empty()) {
    split_to_change(graph, job.dataset.split).links["train"] = counted_edges(job, graph, edges);
  }
  TROUPE_ASSIGN_OR_RETURN(const auto all, read_own_seeds(job, graph));
  for (const auto& seeds : all) {
    auto& split = split_to_change(graph, job.dataset.split);
    const bool times = !seeds.times.empty();
    if (job.task.links()) {
      auto& links = split.links[seeds.role];
      links = {static_cast<EdgeTypeId>(seeds.type), seeds.rows(), times, false};
      links.pairs_of = pairs_of_walks(job, graph, seeds);
    } else {
      split.roles[seeds.role] = {static_cast<NodeTypeId>(seeds.type), seeds.rows(), times};
    }
  }
  return ok_status();
}

Result<PartitionedStore> with_own_seeds(const Job& job, PartitionedStore store) {
  if (scores_another_split(job, store.info())) {
    for (const char* role : scored_roles) {
      TROUPE_ASSIGN_OR_RETURN(store, store.with_role_of(job.dataset.split, role, *job.eval.split));
    }
  }
  TROUPE_ASSIGN_OR_RETURN(const auto edges, edges_to_learn(job, store.info()));
  if (job.task.predicts_links()) {
    store = in_groups_of_types(job, std::move(store));
  }
  if (!edges.empty()) {
    auto counted = counted_edges(job, store.info(), edges);
    const auto make = [from = store, edges, pairs_of = counted.pairs_of] {
      return pairs_of ? nodes_as_links(from, *pairs_of, edges.front())
                      : edges_as_links(from, edges);
    };
    store = store.with_links_made(job.dataset.split, "train", std::move(counted), make);
  }
  TROUPE_ASSIGN_OR_RETURN(auto all, read_own_seeds(job, store.info()));
  for (auto& seeds : all) {
    const auto role = seeds.role;
    if (job.task.links()) {
      const auto pairs_of = pairs_of_walks(job, store.info(), seeds);
      TROUPE_ASSIGN_OR_RETURN(auto list, list_of_links(store, std::move(seeds), pairs_of));
      store = store.with_links(job.dataset.split, role, std::move(list));
    } else {
      TROUPE_ASSIGN_OR_RETURN(auto list, list_of_nodes(store, std::move(seeds)));
      store = store.with_seeds(job.dataset.split, role, std::move(list));
    }
  }
  return store;
}

Result<std::string> own_seeds_digest(const Job& job) {
  const auto& eval = job.eval;
  if (job.dataset.seeds.empty() && eval.negative_files.empty() && eval.candidate_files.empty()) {
    return std::string();
  }
  DigestBuilder digest;
  digest.add_array(std::span<const char>(job.dataset.seeds_type));
  const auto add_file = [&digest](const fs::path& file) -> Status {
    DigestBuilder bytes;
    if (!file.empty()) {
      TROUPE_RETURN_IF_ERROR(for_each_block(file, [&](std::span<const std::byte> block) {
        bytes.add_bytes(block);
        return ok_status();
      }));
    }
    const auto text = to_string(bytes.digest());
    digest.add_array(std::span<const char>(text));
    return ok_status();
  };
  for (const auto& [role, files] : job.dataset.seeds) {
    digest.add_array(std::span<const char>(role));
    TROUPE_RETURN_IF_ERROR(add_file(files.ids));
    TROUPE_RETURN_IF_ERROR(add_file(files.times));
  }
  for (const auto* files : {&eval.negative_files, &eval.candidate_files}) {
    for (const auto& [role, of_role] : *files) {
      digest.add_array(std::span<const char>(role));
      for (const auto& file : of_role) {
        TROUPE_RETURN_IF_ERROR(add_file(file));
      }
    }
  }
  return to_string(digest.digest());
}

}  // namespace troupe
