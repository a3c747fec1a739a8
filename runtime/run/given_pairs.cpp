#include "runtime/run/given_pairs.hpp"

#include "runtime/base/executor.hpp"
#include "runtime/run/original_rows.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace troupe {
namespace {

namespace fs = std::filesystem;

struct Candidates {
  RowIds ids;  ///< [links, each]
  std::uint64_t each = 0;
};

/// Rows of a file of own seeds in the order in which the run has them.
Result<std::vector<std::uint64_t>> order_of_rows(const fs::path& file, const RowIds& ends) {
  TROUPE_ASSIGN_OR_RETURN(const auto ids, read_rows(file, ends));
  std::vector<std::uint64_t> order(ids.size() / 2);
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  std::ranges::stable_sort(
      order, {}, [&ids](std::uint64_t row) { return std::pair(ids[2 * row], ids[2 * row + 1]); });
  return order;
}

Result<Candidates> read_candidates(const fs::path& file, std::uint64_t destinations,
                                   std::uint64_t links) {
  TROUPE_ASSIGN_OR_RETURN(const auto table, open_table(file));
  const auto each = table.cols();
  if (each == 0 || !table.integers()) {
    return Error(Errc::invalid_argument,
                 fmt::format("{}: expected integers, [links, candidates], got {}", table.file(),
                             table.shape()));
  }
  Candidates read{{}, each};
  InlineExecutor executor;
  const RowIds ends(each, destinations);
  TROUPE_RETURN_IF_ERROR(
      table.read_integers(executor, ends, [&read](std::span<const std::int64_t> some) {
        std::ranges::transform(some, std::back_inserter(read.ids),
                               [](std::int64_t id) { return static_cast<std::uint64_t>(id); });
        return ok_status();
      }));
  if (read.ids.size() != links * each) {
    return Error(Errc::invalid_argument, fmt::format("{}: expected candidates of {} links, got {}",
                                                     table.file(), links, table.shape()));
  }
  return read;
}

/// Pairs by original ids.
struct Pairs {
  RowIds sources;
  RowIds destinations;

  void add(std::uint64_t source, std::uint64_t destination) {
    sources.push_back(source);
    destinations.push_back(destination);
  }
};

/// Adds original and global ends, a row of four for each pair.
Status add_pairs(const PartitionedStore& store, EdgeTypeId edge_type, const Pairs& pairs,
                 RowIds& ends) {
  const auto& type = store.info().edge_types[raw(edge_type)];
  TROUPE_ASSIGN_OR_RETURN(const auto from, global_ids(store, type.source, pairs.sources));
  TROUPE_ASSIGN_OR_RETURN(const auto to, global_ids(store, type.destination, pairs.destinations));
  ends.reserve(ends.size() + 4 * from.size());
  for (std::size_t row = 0; row < from.size(); ++row) {
    ends.insert(ends.end(),
                {pairs.sources[row], pairs.destinations[row], raw(from[row]), raw(to[row])});
  }
  return ok_status();
}

/// File of a role, of the links of one edge type.
template <class Files>
fs::path file_of(const Files& files, const std::string& role, std::size_t type) {
  const auto found = files.find(role);
  return found == files.end() || type >= found->second.size() ? fs::path() : found->second[type];
}

/// Files of the links of one edge type.
struct FilesOfType {
  fs::path negatives;
  fs::path candidates;
  fs::path links;  ///< Whose rows those of candidates follow; empty: those of the store
};

/// Original ends of all pairs of one edge type that are scored.
/// \param pairs  are added to
Result<GivenPairs> pairs_of_type(const PartitionedStore& store, const FilesOfType& files,
                                 const LinkList& links, const LinkGroup& group, Pairs& pairs) {
  const auto& type = store.info().edge_types[raw(group.edge_type)];
  const RowIds ends{store.info().node_types[raw(type.source)].count,
                    store.info().node_types[raw(type.destination)].count};
  Candidates ranked;
  if (!files.candidates.empty()) {
    TROUPE_ASSIGN_OR_RETURN(ranked, read_candidates(files.candidates, ends[1], group.count));
  }
  std::vector<std::uint64_t> order(group.count);
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  if (!files.links.empty()) {
    TROUPE_ASSIGN_OR_RETURN(order, order_of_rows(files.links, ends));
  }
  for (std::uint64_t i = 0; i < group.count; ++i) {
    const auto link = links.at(group.first + i);
    pairs.add(raw(link.original_source), raw(link.original_destination));
    for (std::uint64_t k = 0; k < ranked.each; ++k) {
      pairs.add(raw(link.original_source), ranked.ids[order[i] * ranked.each + k]);
    }
  }
  GivenPairs given{.links = group.count, .candidates = ranked.each};
  if (!files.negatives.empty()) {
    TROUPE_ASSIGN_OR_RETURN(const auto false_links, read_rows(files.negatives, ends));
    given.negatives = false_links.size() / 2;
    for (std::uint64_t i = 0; i < given.negatives; ++i) {
      pairs.add(false_links[2 * i], false_links[2 * i + 1]);
    }
  }
  return given;
}

}  // namespace

Result<std::optional<RolePairs>> given_pairs(const Job& job, const PartitionedStore& store,
                                             const std::string& role, const LinkList& links) {
  if (!job.eval.negative_files.contains(role) && !job.eval.candidate_files.contains(role)) {
    return std::optional<RolePairs>();
  }
  auto groups = links.groups_or_all();
  RolePairs all;
  RowIds ends;
  for (std::size_t t = 0; t < groups.size(); ++t) {
    FilesOfType files{.negatives = file_of(job.eval.negative_files, role, t),
                      .candidates = file_of(job.eval.candidate_files, role, t),
                      .links = {}};
    if (const auto own = job.dataset.seeds.find(role); own != job.dataset.seeds.end()) {
      files.links = own->second.ids;
    }
    Pairs pairs;
    TROUPE_ASSIGN_OR_RETURN(const auto given, pairs_of_type(store, files, links, groups[t], pairs));
    const auto first = ends.size() / 4;
    TROUPE_RETURN_IF_ERROR(add_pairs(store, groups[t].edge_type, pairs, ends));
    groups[t] = {groups[t].edge_type, first, given.rows()};
    all.given.push_back(given);
  }
  const auto rows = Segment::of(std::move(ends));
  all.list = LinkList(links.edge_type(), rows.as<std::uint64_t>(), 4, {}, {}, {rows.owner});
  if (!links.groups().empty()) {
    all.list = all.list.in_groups(std::move(groups));
  }
  return std::optional(std::move(all));
}

}  // namespace troupe
