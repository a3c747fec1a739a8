#include "runtime/run/node_request.hpp"

#include "runtime/base/files.hpp"
#include "runtime/base/id_list.hpp"
#include "runtime/graph/directory.hpp"
#include "runtime/graph/npy.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <numeric>
#include <optional>
#include <utility>

namespace troupe {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<OriginalId>;
constexpr std::uint64_t largest_text = std::uint64_t{1} << 32;
constexpr std::size_t shown_bytes = 40;

Error bad_ids(const fs::path& file, const std::string& what) {
  return Error(Errc::invalid_argument, fmt::format("{}: {}", file.string(), what));
}

Result<Ids> ids_of_npy(const fs::path& file, std::uint64_t nodes) {
  TROUPE_ASSIGN_OR_RETURN(const auto array, map_npy(file));
  if ((array.type.kind != 'i' && array.type.kind != 'u') || array.shape.size() != 1) {
    return bad_ids(file, fmt::format("expected integers of shape [n], found {} of shape {}",
                                     to_string(array.type), shape_text(array.shape)));
  }
  return visit_elements(array, [&](auto values) -> Result<Ids> {
    Ids ids;
    ids.reserve(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] < 0 || static_cast<std::uint64_t>(values[i]) >= nodes) {
        return bad_ids(file, fmt::format("entry {}: expected a node id from 0 to {}, found {}", i,
                                         nodes - 1, values[i]));
      }
      ids.push_back(static_cast<OriginalId>(values[i]));
    }
    return ids;
  });
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t\r";
  const auto first = text.find_first_not_of(blank);
  return first == std::string_view::npos
             ? std::string_view()
             : text.substr(first, text.find_last_not_of(blank) - first + 1);
}

Result<Ids> ids_of_text(const fs::path& file, std::uint64_t nodes) {
  TROUPE_ASSIGN_OR_RETURN(const auto text, read_text_file(file, largest_text));
  Ids ids;
  std::string_view rest = text;
  for (std::uint64_t number = 1; !rest.empty(); ++number) {
    const auto end = std::min(rest.find('\n'), rest.size());
    const auto line = trimmed(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.empty()) {
      continue;
    }
    std::uint64_t id = 0;
    const auto [stop, error] = std::from_chars(line.data(), line.data() + line.size(), id);
    if (error != std::errc() || stop != line.data() + line.size() || id >= nodes) {
      return bad_ids(file, fmt::format("line {}: expected a node id from 0 to {}, found \"{}\"",
                                       number, nodes - 1, line.substr(0, shown_bytes)));
    }
    ids.push_back(static_cast<OriginalId>(id));
  }
  return ids;
}

Result<Ids> ids_of(const PartitionedStore& store, const NodeRequest& request,
                   const std::string& source) {
  const auto nodes = store.info().node_types[raw(request.node_type)].count;
  if (is_role(source)) {
    TROUPE_ASSIGN_OR_RETURN(auto seeds, store.seeds(request.split, source));
    if (seeds.node_type != request.node_type) {
      const auto& types = store.info().node_types;
      return Error(
          Errc::invalid_argument,
          fmt::format("--nodes: expected nodes of type \"{}\", found the role \"{}\" of type "
                      "\"{}\"\ntry: all, or a file of original ids",
                      types[raw(request.node_type)].name, source,
                      types[raw(seeds.node_type)].name));
    }
    return std::move(seeds.original);
  }
  if (source == "all") {
    Ids ids(nodes);
    std::ranges::generate(ids, [next = std::uint64_t{0}]() mutable { return OriginalId{next++}; });
    return ids;
  }
  TROUPE_RETURN_IF_ERROR(check_source(source));
  if (request.names != nullptr && fs::path(source).extension() == ".txt") {
    TROUPE_ASSIGN_OR_RETURN(const auto numbers, request.names->numbers_in(source));
    Ids ids(numbers.size());
    std::ranges::transform(numbers, ids.begin(), [](std::uint64_t id) { return OriginalId{id}; });
    return ids;
  }
  return read_node_ids(source, nodes);
}

/// Leaves each id where it came first; returns how many were left out.
std::uint64_t drop_repeats(Ids& ids, std::uint64_t nodes) {
  std::vector<bool> seen(nodes, false);
  return std::erase_if(ids, [&](OriginalId id) {
    const bool again = seen[raw(id)];
    seen[raw(id)] = true;
    return again;
  });
}

Error not_in_one_part(const PartitionedStore& store, std::size_t nodes, std::size_t found) {
  return {Errc::data_corruption, fmt::format("{}: expected each of {} nodes in one part, found {}",
                                             store.dir().string(), nodes, found)};
}

/// From the parts' slices of the directory.
Result<std::vector<NodeId>> locate_by_directory(const PartitionedStore& store, NodeTypeId type,
                                                const Ids& ids) {
  const auto count = store.info().node_types[raw(type)].count;
  const DirectorySlices slices{count, store.partition().parts};
  std::vector<std::optional<NpyArray>> opened(slices.parts);
  std::vector<NodeId> global;
  global.reserve(ids.size());
  for (const auto id : ids) {
    const auto part = slices.part_of(id);
    auto& slice = opened[raw(part)];
    if (!slice) {
      TROUPE_ASSIGN_OR_RETURN(slice, store.load_directory(part, type));
    }
    const IdSpan found(slice->data.bytes, slice->type.bytes);
    global.push_back(found[raw(id) - slices.first(raw(part))]);
    if (raw(global.back()) >= count) {
      return not_in_one_part(store, ids.size(), global.size() - 1);
    }
  }
  return global;
}

/// From the parts' lists of original ids.
Result<std::vector<NodeId>> locate_by_lists(const PartitionedStore& store, NodeTypeId type,
                                            const Ids& ids) {
  std::vector<std::size_t> order(ids.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return raw(ids[i]); });
  const auto id_at = [&](std::size_t i) { return raw(ids[i]); };
  std::vector<NodeId> global(ids.size());
  std::size_t found = 0;
  for (std::uint32_t p = 0; p < store.partition().parts; ++p) {
    TROUPE_ASSIGN_OR_RETURN(const auto part, store.load_lists(static_cast<PartId>(p)));
    const auto& nodes = part->nodes_of(type);
    for (std::uint64_t local = 0; local < nodes.count; ++local) {
      const auto place = std::ranges::lower_bound(order, nodes.original_ids[local], {}, id_at);
      if (place != order.end() && id_at(*place) == nodes.original_ids[local]) {
        global[*place] = advance(nodes.first, local);
        ++found;
      }
    }
  }
  if (found != ids.size()) {
    return not_in_one_part(store, ids.size(), found);
  }
  return global;
}

}  // namespace

bool is_role(const std::string& source) {
  return source == "train" || source == "val" || source == "test";
}

Status check_source(const std::string& source) {
  const auto extension = fs::path(source).extension();
  if (is_role(source) || source == "all" || extension == ".npy" || extension == ".txt") {
    return ok_status();
  }
  return Error(Errc::invalid_argument,
               fmt::format("--nodes: expected train, val, test, all, or a file that ends in .npy "
                           "or .txt, found \"{}\"",
                           source));
}

Result<Ids> read_node_ids(const fs::path& file, std::uint64_t nodes) {
  return file.extension() == ".npy" ? ids_of_npy(file, nodes) : ids_of_text(file, nodes);
}

Result<std::vector<NodeId>> locate_nodes(const PartitionedStore& store, NodeTypeId type,
                                         const std::vector<OriginalId>& ids) {
  // Only ids are read here; whoever loads the parts for more compares checksums.
  TROUPE_ASSIGN_OR_RETURN(const auto quick,
                          PartitionedStore::open(store.dir(), {.verify = Verify::sizes}));
  return store.partition().directory ? locate_by_directory(quick, type, ids)
                                     : locate_by_lists(quick, type, ids);
}

Result<FoundNodes> find_nodes(const PartitionedStore& store, const NodeRequest& request) {
  FoundNodes found;
  found.nodes.node_type = request.node_type;
  for (const auto& source : request.sources) {
    TROUPE_ASSIGN_OR_RETURN(const auto ids, ids_of(store, request, source));
    found.nodes.original.insert(found.nodes.original.end(), ids.begin(), ids.end());
  }
  if (found.nodes.original.empty()) {
    return Error(Errc::invalid_argument,
                 fmt::format("--nodes: expected at least one, found none in {}",
                             fmt::join(request.sources, ", ")));
  }
  if (request.sources.size() == 1 && is_role(request.sources.front())) {
    TROUPE_ASSIGN_OR_RETURN(found.nodes, store.seeds(request.split, request.sources.front()));
    return found;
  }
  const auto nodes = store.info().node_types[raw(request.node_type)].count;
  found.repeats = drop_repeats(found.nodes.original, nodes);
  TROUPE_ASSIGN_OR_RETURN(found.nodes.global,
                          locate_nodes(store, request.node_type, found.nodes.original));
  return found;
}

}  // namespace troupe
