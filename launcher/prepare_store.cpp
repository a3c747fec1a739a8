#include "launcher/prepare_store.hpp"

#include "launcher/threads_or_all.hpp"
#include "runtime/base/digest.hpp"
#include "runtime/base/executor.hpp"
#include "runtime/base/files.hpp"
#include "runtime/base/staged_directory.hpp"
#include "runtime/data/npy_import.hpp"
#include "runtime/data/triple_names.hpp"
#include "runtime/graph/store_layout.hpp"
#include "runtime/job/columns.hpp"
#include "runtime/job/fanout.hpp"
#include "runtime/job/partition_conflicts.hpp"
#include "runtime/job/walk_positives.hpp"
#include "runtime/partition/methods.hpp"
#include "runtime/partition/partitioner.hpp"
#include "runtime/run/edges_as_links.hpp"
#include "runtime/run/job_seeds.hpp"
#include "runtime/run/job_store.hpp"
#include "runtime/run/output_folder.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

namespace troupe {
namespace {

namespace fs = std::filesystem;

/// Beginnings of the names of a run's own stores.
constexpr const char* graph_prefix = "graph-";
constexpr const char* parts_prefix = "parts-";

/// A digest of names and contents of the files that an import reads.
Result<std::string> folder_hash(const fs::path& dir) {
  auto files = files_of_npy(dir);
  if (!files) {
    return std::move(files).error().with(
        "dataset.path: expected a store or a folder that `troupe import` reads");
  }
  DigestBuilder digest;
  for (const auto& file : *files) {
    const auto name = file.lexically_relative(dir).string();
    digest.add_array(std::span<const char>(name));
    TROUPE_RETURN_IF_ERROR(for_each_block(file, [&](std::span<const std::byte> block) {
      digest.add_bytes(block);
      return ok_status();
    }));
  }
  return to_string(digest.digest()).substr(0, 16);
}

fs::path store_folder(const Job& job) {
  return shared_folder(job.output, job.default_output) / "store";
}

/// Whether a store that could not be made is there all the same: another run of the job, into a
/// folder that shares it, has made it meanwhile.
template <class T>
Status made_or_found(const Result<T>& made, const fs::path& path, StoreKind kind) {
  return made || store_kind(path) == kind ? ok_status() : Status(made.error());
}

/// A store of the run's own that cannot be used: it is not replaced, as another run may read it.
Error damaged(const fs::path& path, const Error& why) {
  if (why.code() != Errc::data_corruption && why.code() != Errc::not_found) {
    return why;
  }
  const auto& what = why.what();
  return Error(why.code(), fmt::format("{}\ntry: remove {}; the run makes it again",
                                       what.substr(0, what.find("\ntry: ")), path.string()));
}

/// \errors data_corruption: `path` is no store of this kind, but there
Status check_free(const fs::path& path, StoreKind kind) {
  std::error_code ignored;
  if (fs::exists(path, ignored) && store_kind(path) != kind) {
    return damaged(path,
                   Error(Errc::data_corruption,
                         fmt::format("{}: expected a whole store or nothing, found a folder "
                                     "without its {}",
                                     path.string(),
                                     kind == StoreKind::graph ? store_layout::graph_file
                                                              : store_layout::partition_file)));
  }
  return ok_status();
}

/// The folder of the graph store: the job's own, or the one that an import leaves in the output.
Result<fs::path> place_of_graph(const Job& job) {
  if (store_kind(job.dataset.path) == StoreKind::graph) {
    return job.dataset.path;
  }
  TROUPE_ASSIGN_OR_RETURN(const auto hash, folder_hash(job.dataset.path));
  return store_folder(job) / (graph_prefix + hash);
}

/// The same, imported if need be.
Result<fs::path> graph_store_path(const Job& job, const Say& say) {
  TROUPE_ASSIGN_OR_RETURN(const auto path, place_of_graph(job));
  TROUPE_RETURN_IF_ERROR(check_free(path, StoreKind::graph));
  if (store_kind(path) == StoreKind::none) {
    say(fmt::format("importing {} into {}", job.dataset.path.string(), path.string()));
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    if (error) {
      return Error(Errc::failed_precondition,
                   fmt::format("output: cannot create {}: {}", path.parent_path().string(),
                               error.message()));
    }
    ComputePool pool(threads_or_all(0));
    ImportOptions options;
    options.writer.note = [&say](const std::string& what) { say("note: " + what); };
    const auto made = import_npy(job.dataset.path, path, options, pool);
    TROUPE_RETURN_IF_ERROR(made_or_found(made, path, StoreKind::graph));
  }
  return path;
}

CompleteFor complete_for(const Job& job) {
  return job.sample.edge_dir == EdgeDir::in ? CompleteFor::in : CompleteFor::out;
}

bool serves(CompleteFor complete, EdgeDir dir) {
  return complete == CompleteFor::both ||
         complete == (dir == EdgeDir::in ? CompleteFor::in : CompleteFor::out);
}

/// How the job samples, as far as it matters for who is in its batches.
HotnessOptions hotness_options(const Job& job, const GraphInfo& graph) {
  HotnessOptions options{.fanout = fanout_by_hop(job.sample, graph),
                         .batch_size = job.sample.batch_size,
                         .dir = job.sample.edge_dir,
                         .replace = job.sample.replace,
                         .all_nodes = job.sample.frontier == Frontier::all,
                         .links = job.task.links()};
  if (auto edges = edges_to_learn(job, graph); edges && !edges->empty()) {
    if (job.task.from_walks) {
      options.nodes = type_of_pairs(job, graph, edges->front());
    } else {
      options.edges = *std::move(edges);
    }
  }
  return options;
}

/// Says so where the store's hotness is that of another way of sampling.
void warn_of_other_hotness(const Job& job, const PartitionedStore& store, const Say& say) {
  const auto& found = store.partition();
  const auto* method = find_kind(partition_methods(), found.method);
  const bool by_hotness = method != nullptr && reads_option(*method, "fanout");
  if (!by_hotness && found.order != to_string(NodeOrder::hotness)) {
    return;
  }
  MethodOptions more;
  more.split = job.dataset.split;
  more.hotness = hotness_options(job, store.info());
  std::vector<std::pair<std::string, std::string>> wanted;
  add_hotness_options(more, wanted);
  for (const auto& option : wanted) {
    const auto other =
        std::ranges::find(found.options, option.first, &std::pair<std::string, std::string>::first);
    if (other != found.options.end() && other->second != option.second) {
      say(fmt::format(
          "{}: its hotness is that of {} {}, the job has {}; it runs, but what is hot may "
          "be elsewhere",
          job.dataset.path.string(), option.first, other->second, option.second));
    }
  }
}

/// A store that was partitioned beforehand is used as it is; the job must not ask for another.
Result<PartitionedStore> open_as_it_is(const Job& job, const Say& say) {
  TROUPE_ASSIGN_OR_RETURN(auto store, PartitionedStore::open(job.dataset.path, {}));
  const auto& found = store.partition();
  if (const auto conflicts = partition_conflicts(job.partition, found); !conflicts.empty()) {
    std::string differences;
    for (const auto& [key, wanted, stored] : conflicts) {
      differences +=
          fmt::format("\n  /partition/{}: the job has {}, the store {}", key, wanted, stored);
    }
    return Error(Errc::failed_precondition,
                 fmt::format("/partition: the store {} is partitioned already, and differs from "
                             "the job:{}\ntry: leave these keys out, or name the store that is not "
                             "partitioned in dataset.path",
                             job.dataset.path.string(), differences));
  }
  if (!serves(found.complete_for, job.sample.edge_dir)) {
    return Error(Errc::failed_precondition,
                 fmt::format("/sample/edge_dir: the store {} is complete for \"{}\", the job needs "
                             "\"{}\"; try: partition it again",
                             job.dataset.path.string(), to_string(found.complete_for),
                             to_string(job.sample.edge_dir)));
  }
  if (reads_rows_of_edges(job) && job.sample.edge_dir == EdgeDir::out &&
      found.complete_for == CompleteFor::both) {
    return Error(
        Errc::failed_precondition,
        fmt::format("/sample/edge_data: the store {} is complete for \"both\", where "
                    "features and columns of edges lie beside the lists of in-edges alone; the job "
                    "follows edges \"out\"\ntry: partition it with --complete-for out",
                    job.dataset.path.string()));
  }
  warn_of_other_hotness(job, store, say);
  return store;
}

PartitionOptions partition_options(const Job& job, const GraphInfo& graph) {
  PartitionOptions options{.method = job.partition.method,
                           .parts = job.partition.parts,
                           .seed = job.partition.seed,
                           .complete_for = complete_for(job),
                           .more = job.partition.more,
                           .halo = job.partition.halo,
                           .order = job.partition.order};
  options.more.hotness = hotness_options(job, graph);
  return options;
}

Result<fs::path> place_of_parts(const Job& job, const fs::path& graph,
                                const PartitionOptions& options) {
  TROUPE_ASSIGN_OR_RETURN(const auto hash, partition_hash(graph, options));
  return store_folder(job) / (parts_prefix + hash.substr(0, 16));
}

/// Removes what killed runs have left of stores, also of data and options that no run asks for again.
void remove_unfinished_stores(const Job& job) {
  for (const auto* begin : {graph_prefix, parts_prefix}) {
    remove_left_behind(store_folder(job), begin);
  }
}

/// Imported and partitioned if need be.
Result<PartitionedStore> partitioned_store(const Job& job, const Say& say) {
  if (store_kind(job.dataset.path) == StoreKind::partitioned) {
    return open_as_it_is(job, say);
  }
  remove_unfinished_stores(job);
  TROUPE_ASSIGN_OR_RETURN(const auto graph_path, graph_store_path(job, say));
  const auto of_graph = [&](const Error& why) {
    return graph_path == job.dataset.path ? why : damaged(graph_path, why);
  };
  const auto known = read_graph_info(graph_path);
  if (!known) {
    return of_graph(known.error());
  }
  const auto options = partition_options(job, *known);
  TROUPE_ASSIGN_OR_RETURN(const auto path, place_of_parts(job, graph_path, options));
  TROUPE_RETURN_IF_ERROR(check_free(path, StoreKind::partitioned));
  if (store_kind(path) == StoreKind::none) {
    say(fmt::format("partitioning {} into {} parts ({}) in {}", graph_path.string(), options.parts,
                    options.method, path.string()));
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    const auto graph = GraphStore::open(graph_path, {});
    if (!graph) {
      return of_graph(graph.error());
    }
    ComputePool pool(threads_or_all(0));
    const auto made = partition_store(*graph, options, path, pool);
    TROUPE_RETURN_IF_ERROR(made_or_found(made, path, StoreKind::partitioned));
  }
  auto store = PartitionedStore::open(path, {});
  if (!store) {
    return damaged(path, store.error());
  }
  return store;
}

Result<std::string> store_digest(const Job& job) {
  if (store_kind(job.dataset.path) != StoreKind::partitioned) {
    TROUPE_ASSIGN_OR_RETURN(const auto path, graph_store_path(job, [](const std::string&) {}));
    return graph_checksum(path);
  }
  DigestBuilder digest;
  for (const auto name : {store_layout::graph_file, store_layout::partition_file}) {
    TROUPE_ASSIGN_OR_RETURN(const auto text,
                            read_text_file(job.dataset.path / name, store_layout::largest_json));
    digest.add_array(std::span<const char>(text));
  }
  return to_string(digest.digest());
}

}  // namespace

Result<PartitionedStore> prepare_store(const Job& job, const Say& say) {
  TROUPE_ASSIGN_OR_RETURN(auto store, partitioned_store(job, say));
  return store_of_job(job, std::move(store));
}

Result<std::string> dataset_digest(const Job& job) {
  TROUPE_ASSIGN_OR_RETURN(auto store, store_digest(job));
  TROUPE_ASSIGN_OR_RETURN(const auto seeds, own_seeds_digest(job));
  if (seeds.empty()) {
    return store;
  }
  DigestBuilder both;
  both.add_array(std::span<const char>(store));
  both.add_array(std::span<const char>(seeds));
  return to_string(both.digest());
}

Result<std::string> numbered_nodes(const Job& job, const PartitionedStore& store) {
  auto names = names_files(store.info());
  fs::path graph;
  if (names.empty() && store_kind(job.dataset.path) != StoreKind::partitioned) {
    // What an older program has partitioned has no names.
    TROUPE_ASSIGN_OR_RETURN(graph, graph_store_path(job, [](const std::string&) {}));
    TROUPE_ASSIGN_OR_RETURN(const auto info, read_graph_info(graph));
    names = names_files(info);
  }
  if (!names.empty()) {
    DigestBuilder digest;
    for (const auto& file : names) {
      digest.add_array(std::span<const char>(file.path));
      digest.add_array(std::span<const char>(file.checksum));
    }
    return fmt::format("names {}", to_string(digest.digest()));
  }
  if (graph.empty()) {
    return std::string();
  }
  TROUPE_ASSIGN_OR_RETURN(const auto checksum, graph_checksum(graph));
  return fmt::format("store {}", checksum);
}

Result<BorrowedJob> borrow_data(const Job& job, const fs::path& scratch) {
  BorrowedJob borrowed{job};
  if (store_kind(job.dataset.path) == StoreKind::partitioned) {
    return borrowed;
  }
  TROUPE_ASSIGN_OR_RETURN(const auto graph, place_of_graph(job));
  borrowed.partitioned = false;
  if (store_kind(graph) != StoreKind::none) {
    borrowed.job.dataset.path = graph;
    TROUPE_ASSIGN_OR_RETURN(const auto known, read_graph_info(graph));
    TROUPE_ASSIGN_OR_RETURN(const auto parts,
                            place_of_parts(job, graph, partition_options(job, known)));
    borrowed.partitioned = store_kind(parts) != StoreKind::none;
  }
  if (!borrowed.partitioned) {
    borrowed.job.output = scratch;
  }
  return borrowed;
}

Result<GraphInfo> prepare_graph_info(const Job& job, const Say& say) {
  if (store_kind(job.dataset.path) == StoreKind::partitioned) {
    TROUPE_ASSIGN_OR_RETURN(const auto store, open_as_it_is(job, say));
    return store.info();
  }
  TROUPE_ASSIGN_OR_RETURN(const auto path, graph_store_path(job, say));
  return read_graph_info(path);
}

}  // namespace troupe
