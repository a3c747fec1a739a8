#include "launcher/commands.hpp"
#include "launcher/end_at_signal.hpp"
#include "launcher/print_error.hpp"
#include "launcher/print_graph.hpp"
#include "launcher/print_partition.hpp"
#include "launcher/store_plots.hpp"
#include "runtime/graph/store_files.hpp"
#include "runtime/graph/store_layout.hpp"
#include "runtime/partition/partition_book.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <string>
#include <vector>

namespace troupe {
namespace {

/// The node type that is asked for.
Result<std::size_t> find_type(const GraphInfo& info, const std::string& name) {
  std::string known;
  for (std::size_t t = 0; t < info.node_types.size(); ++t) {
    if (info.node_types[t].name == name || (name.empty() && info.node_types.size() == 1)) {
      return t;
    }
    known += (known.empty() ? "" : ", ") + info.node_types[t].name;
  }
  return Error(Errc::not_found, fmt::format("--type: expected one of {}, got \"{}\"", known, name));
}

/// The node that is asked for: an id of a type, global or of the data.
struct AskedNode {
  std::size_t type = 0;
  std::uint64_t id = 0;
  bool global = false;
};

Result<AskedNode> find_node(const GraphInfo& info, const InspectArguments& arguments) {
  AskedNode node;
  TROUPE_ASSIGN_OR_RETURN(node.type, find_type(info, arguments.type));
  node.global = arguments.global.has_value();
  node.id = node.global ? *arguments.global : *arguments.node;
  const auto& type = info.node_types[node.type];
  if (node.id >= type.count) {
    return Error(Errc::not_found,
                 fmt::format("node {}: expected an id below {}, the number of nodes of {}", node.id,
                             type.count, type.name));
  }
  return node;
}

/// A line for each edge type that leads to neighbours.
void print_degrees(const Part& part, const GraphInfo& info, std::size_t type, std::uint64_t row) {
  for (std::size_t e = 0; e < info.edge_types.size(); ++e) {
    const auto& edges = info.edge_types[e];
    const bool in = part.edges[e].in.present() && raw(edges.destination) == type;
    const bool out = part.edges[e].out.present() && raw(edges.source) == type;
    if (const auto degree = in ? part.edges[e].in.degree(row) : 0; degree > 0) {
      fmt::print("  {}: {} in-neighbours\n", edges.name, degree);
    }
    if (const auto degree = out ? part.edges[e].out.degree(row) : 0; degree > 0) {
      fmt::print("  {}: {} out-neighbours\n", edges.name, degree);
    }
  }
  if (!part.nodes[type].labels.empty()) {
    fmt::print("  label {}\n", part.nodes[type].labels[row]);
  }
}

void print_place(const Part& part, const GraphInfo& info, std::size_t type, std::uint64_t row) {
  const auto& nodes = part.nodes[type];
  fmt::print("{} {}: global id {}, in part {} at {}\n", info.node_types[type].name,
             nodes.original_ids[row], raw(nodes.first) + row, raw(part.id), row);
  print_degrees(part, info, type, row);
}

/// By original id all parts may have to be searched.
Status print_node(const PartitionedStore& store, const AskedNode& node) {
  const auto& info = store.info();
  if (node.global) {
    const auto type = static_cast<NodeTypeId>(node.type);
    const NodeId id{node.id};
    const auto owner = PartitionBook(store.partition().ranges).owner(type, id);
    TROUPE_ASSIGN_OR_RETURN(const auto part, store.load_without_features(owner));
    print_place(*part, info, node.type, part->nodes[node.type].local(id));
    return ok_status();
  }
  for (std::uint32_t p = 0; p < store.partition().parts; ++p) {
    TROUPE_ASSIGN_OR_RETURN(const auto part, store.load_without_features(static_cast<PartId>(p)));
    const auto& originals = part->nodes[node.type].original_ids;
    const auto found = std::ranges::find(originals, node.id);
    if (found != originals.end()) {
      print_place(*part, info, node.type, static_cast<std::uint64_t>(found - originals.begin()));
      return ok_status();
    }
  }
  return Error(Errc::data_corruption, fmt::format("node {}: no part has it", node.id));
}

Status print_node(const GraphStore& store, const AskedNode& node) {
  fmt::print("{} {}: not partitioned\n", store.info().node_types[node.type].name, node.id);
  print_degrees(*store.graph(), store.info(), node.type, node.id);
  return ok_status();
}

/// A node and plots.
template <class Store>
Status show_more_if_asked(const Store& store, const InspectArguments& arguments) {
  if (!arguments.plots.empty()) {
    TROUPE_RETURN_IF_ERROR(write_plots(store, arguments.plots));
    fmt::print("plots in {}\n", arguments.plots.string());
  }
  if (!arguments.node && !arguments.global) {
    return ok_status();
  }
  TROUPE_ASSIGN_OR_RETURN(const auto node, find_node(store.info(), arguments));
  return print_node(store, node);
}

/// Which parts have their features, where these come later. \returns by part
Result<std::vector<bool>> print_features(const PartitionedStore& store) {
  const auto parts = store.partition().parts;
  if (!store.partition().features_later || store.feature_files(PartId{0}).empty()) {
    return std::vector<bool>(parts, true);
  }
  std::vector<bool> has(parts);
  std::string with;
  std::string without;
  for (std::uint32_t p = 0; p < parts; ++p) {
    TROUPE_ASSIGN_OR_RETURN(const auto added, store.added_files(static_cast<PartId>(p)));
    has[p] = !added.empty();
    (has[p] ? with : without) += fmt::format(" {}", p);
  }
  fmt::print("parts with their features:{}; without:{}\n", with.empty() ? " none" : with,
             without.empty() ? " none" : without);
  return has;
}

/// Reads the seeds and links of all splits, which opening does not.
Status verify_splits(const PartitionedStore& store) {
  for (const auto& split : store.info().splits) {
    for (const auto& role : split.roles) {
      TROUPE_RETURN_IF_ERROR(store.seeds(split.name, role.first));
    }
    for (const auto& role : split.links) {
      TROUPE_RETURN_IF_ERROR(store.links(split.name, role.first));
    }
  }
  return ok_status();
}

/// Compares the files of the graph that were not loaded, such as names, with their checksums.
template <class Store>
Status verify_others(const Store& store, const StoreOptions& options) {
  return StoreFiles(store.dir(), options, store.info().files, store_layout::graph_file)
      .verify_others(*options.loaded);
}

Status inspect_partitioned(const InspectArguments& arguments, const StoreOptions& options) {
  TROUPE_ASSIGN_OR_RETURN(const auto store, PartitionedStore::open(arguments.store, options));
  print_graph(store.info());
  print_partition(store.partition(), store.info());
  TROUPE_ASSIGN_OR_RETURN(const auto has_features, print_features(store));
  for (std::uint32_t p = 0; arguments.verify && p < store.partition().parts; ++p) {
    const auto part = static_cast<PartId>(p);
    TROUPE_RETURN_IF_ERROR(has_features[p] ? store.load_part(part)
                                           : store.load_without_features(part));
  }
  if (arguments.verify) {
    TROUPE_RETURN_IF_ERROR(verify_splits(store));
    TROUPE_RETURN_IF_ERROR(verify_others(store, options));
    const StoreFiles of_parts(store.dir(), options, store.partition().files,
                              store_layout::partition_file);
    TROUPE_RETURN_IF_ERROR(of_parts.verify_others(*options.loaded));
  }
  return show_more_if_asked(store, arguments);
}

Status inspect_graph(const InspectArguments& arguments, const StoreOptions& options) {
  TROUPE_ASSIGN_OR_RETURN(const auto store, GraphStore::open(arguments.store, options));
  print_graph(store.info());
  if (arguments.verify) {
    TROUPE_RETURN_IF_ERROR(verify_others(store, options));
  }
  return show_more_if_asked(store, arguments);
}

}  // namespace

ExitCode inspect_command(const InspectArguments& arguments) {
  const EndAtSignal end_at_signal;
  if (arguments.node && arguments.global) {
    return print_error(Error(Errc::invalid_argument, "expected --node or --global, got both"),
                       ExitCode::usage);
  }
  if (!arguments.type.empty() && !arguments.node && !arguments.global) {
    return print_error(Error(Errc::invalid_argument,
                             "--type: expected --node or --global, whose node type it is, found "
                             "neither"));
  }
  std::error_code ignored;
  if (std::filesystem::is_regular_file(arguments.store, ignored)) {
    return print_error(Error(
        Errc::not_found,
        fmt::format("{}: expected the folder of a store, found a file", arguments.store.string())));
  }
  std::set<std::string> loaded;
  const StoreOptions options{.verify = arguments.verify ? Verify::full : Verify::sizes,
                             .loaded = &loaded};
  const bool partitioned = store_kind(arguments.store) == StoreKind::partitioned;
  const auto done =
      partitioned ? inspect_partitioned(arguments, options) : inspect_graph(arguments, options);
  if (!done) {
    return data_error(done.error());
  }
  if (arguments.verify) {
    fmt::print("all files are as written\n");
  }
  return ExitCode::done;
}

}  // namespace troupe
