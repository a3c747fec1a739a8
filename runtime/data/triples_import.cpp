#include "runtime/data/triples_import.hpp"

#include "runtime/base/files.hpp"
#include "runtime/base/scratch_file.hpp"
#include "runtime/data/name_dictionary.hpp"
#include "runtime/data/named_rows.hpp"
#include "runtime/data/text_lines.hpp"
#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <new>
#include <string>
#include <vector>

namespace troupe {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> triple_roles{"train", "valid", "test"};
constexpr std::size_t block_triples = std::size_t{1} << 18;
constexpr std::uint64_t most_edge_types = std::uint64_t{1} << 16;

/// Head, relation, tail.
using Triple = std::array<std::uint64_t, 3>;

struct NamedTriples {
  std::vector<std::array<std::string_view, 3>> triples;  ///< views into the text
  std::uint64_t lines = 0;
  std::vector<text_lines::BadLine> bad;
};

std::string read_triple(std::string_view line, std::array<std::string_view, 3>& triple) {
  const auto fields = cut_names(line, triple);
  const bool whole =
      fields == 3 && std::ranges::none_of(triple, [](auto field) { return field.empty(); });
  return whole ? std::string()
               : fmt::format("expected head, relation and tail, got {} fields", fields);
}

void parse(std::string_view text, NamedTriples& out) {
  out.triples.clear();
  const auto take = [&](std::string_view line) {
    return read_triple(line, out.triples.emplace_back());
  };
  text_lines::for_each_data_line(text, out, take, text_lines::is_empty);
}

/// Numbered triples, in a scratch file.
struct Kept {
  ScratchFile file;
  std::uint64_t count() const { return file.size() / sizeof(Triple); }

  Status for_each_block(const std::function<Status(std::span<const Triple>)>& take) const {
    std::vector<Triple> block;
    for (std::uint64_t done = 0; done < count(); done += block.size()) {
      block.resize(std::min<std::uint64_t>(block_triples, count() - done));
      TROUPE_RETURN_IF_ERROR(
          file.read(done * sizeof(Triple), std::as_writable_bytes(std::span(block))));
      TROUPE_RETURN_IF_ERROR(take(block));
    }
    return ok_status();
  }
};

class TriplesImport {
 public:
  TriplesImport(const TriplesOptions& options, fs::path folder, Executor& executor,
                StoreWriter& writer)
      : options_(options), folder_(std::move(folder)), executor_(executor), writer_(writer) {}

  Result<GraphInfo> run(std::span<const fs::path> files) {
    for (const auto& file : files) {
      TROUPE_ASSIGN_OR_RETURN(auto scratch, ScratchFile::create(folder_));
      kept_.push_back({std::move(scratch)});
      TROUPE_RETURN_IF_ERROR(read(file));
    }
    TROUPE_RETURN_IF_ERROR(add_types());
    TROUPE_RETURN_IF_ERROR(kept_.front().for_each_block([this](std::span<const Triple> triples) {
      report("adding edges", done_ += triples.size(), kept_.front().count());
      return options_.one_type ? add_to_one_type(triples) : add_to_types(triples);
    }));
    for (std::size_t i = 1; i < kept_.size(); ++i) {
      TROUPE_RETURN_IF_ERROR(keep(i));
    }
    // An edge split has links of its own, of one relation.
    const bool with_links = !types_.empty() && !options_.import.writer.edge_split;
    for (std::size_t i = 0; (options_.one_type || with_links) && i < kept_.size(); ++i) {
      TROUPE_RETURN_IF_ERROR(add_links(i));
    }
    TROUPE_RETURN_IF_ERROR(writer_.add_file("nodes-entity/names.txt", entities_.pieces()));
    TROUPE_RETURN_IF_ERROR(writer_.add_file("relations.txt", relations_.pieces()));
    return writer_.finish();
  }

 private:
  Status read(const fs::path& file) {
    return text_lines::parse_file<NamedTriples>(
        file, executor_,
        {nullptr, parse, [this](const NamedTriples& named) { return take(named); }, ""});
  }

  Status take(const NamedTriples& named) {
    triples_.clear();
    for (const auto& [head, relation, tail] : named.triples) {
      const auto from = entities_.number_of(head);
      const auto by = relations_.number_of(relation);
      triples_.push_back({from, by, entities_.number_of(tail)});
    }
    report("reading triples", read_ += triples_.size(), 0);
    return kept_.back().file.append(std::as_bytes(std::span(triples_)));
  }

  Status add_types() {
    const auto relations = relations_.size();
    const auto& edges = options_.import.edges;
    if (options_.one_type && relations > store_layout::most_relations) {
      return Error(Errc::invalid_argument,
                   fmt::format("expected at most {} relations, which float32 holds exactly, got {}",
                               store_layout::most_relations, relations));
    }
    if (!options_.one_type && relations * (edges.reverse_edges ? 2 : 1) > most_edge_types) {
      return Error(Errc::invalid_argument,
                   fmt::format("expected relations that give at most {} edge types, got {} "
                               "relations\ntry: --relations one",
                               most_edge_types, relations));
    }
    TROUPE_ASSIGN_OR_RETURN(const auto entity,
                            writer_.add_node_type({"entity", entities_.size(), {}, {}}));
    if (options_.one_type) {
      NewEdgeType type{"triple", entity, entity, edges};
      type.features = FeatureInfo{DType::f32, 1, 1.0F};
      TROUPE_ASSIGN_OR_RETURN(types_.emplace_back(), writer_.add_edge_type(type));
      return ok_status();
    }
    for (std::uint64_t i = 0; i < relations; ++i) {
      const NewEdgeType type{fmt::format("r{}", i), entity, entity, edges};
      TROUPE_ASSIGN_OR_RETURN(types_.emplace_back(), writer_.add_edge_type(type));
    }
    return ok_status();
  }

  /// Triples in columns.
  struct TripleColumns {
    explicit TripleColumns(std::span<const Triple> triples) {
      for (const auto& triple : triples) {
        heads.push_back(triple[0]);
        relations.push_back(static_cast<float>(triple[1]));
        tails.push_back(triple[2]);
      }
    }
    std::vector<std::uint64_t> heads;
    std::vector<std::uint64_t> tails;
    std::vector<float> relations;
  };

  Status add_to_one_type(std::span<const Triple> triples) {
    const TripleColumns columns(triples);
    TROUPE_RETURN_IF_ERROR(writer_.add_edges(types_.front(), columns.heads, columns.tails));
    return writer_.add_edge_features(types_.front(), std::as_bytes(std::span(columns.relations)));
  }

  /// The triples of a file are links of its role, whose labels are the relations.
  Status add_links(std::size_t i) {
    const std::string role(stream_store::link_role_names[i]);
    NewLinks links{.type = types_.front(), .labels = true, .relations = relations_.size()};
    if (!options_.one_type) {
      links.types = types_;
    }
    TROUPE_RETURN_IF_ERROR(writer_.open_links("", role, links));
    return kept_[i].for_each_block([&](std::span<const Triple> triples) {
      const TripleColumns columns(triples);
      return writer_.add_links("", role, {columns.heads, columns.tails, {}, columns.relations});
    });
  }

  Status add_to_types(std::span<const Triple> triples) {
    std::vector<Triple> sorted(triples.begin(), triples.end());
    std::ranges::stable_sort(sorted, {}, [](const Triple& triple) { return triple[1]; });
    std::vector<std::uint64_t> heads;
    std::vector<std::uint64_t> tails;
    for (std::size_t at = 0; at < sorted.size();) {
      const auto relation = sorted[at][1];
      heads.clear();
      tails.clear();
      for (; at < sorted.size() && sorted[at][1] == relation; ++at) {
        heads.push_back(sorted[at][0]);
        tails.push_back(sorted[at][2]);
      }
      TROUPE_RETURN_IF_ERROR(writer_.add_edges(types_[relation], heads, tails));
    }
    return ok_status();
  }

  /// Writes the triples of a file that is not trained on.
  Status keep(std::size_t i) {
    return writer_.add_array(fmt::format("triples/{}.npy", triple_roles[i]), DType::u64,
                             {kept_[i].count(), 3}, [&](const TakeBytes& write) {
                               return kept_[i].for_each_block([&](std::span<const Triple> triples) {
                                 return write(std::as_bytes(triples));
                               });
                             });
  }

  void report(std::string_view stage, std::uint64_t done, std::uint64_t total) const {
    if (options_.import.writer.progress) {
      options_.import.writer.progress({stage, done, total, "triples"});
    }
  }

  const TriplesOptions& options_;
  fs::path folder_;  ///< for scratch files
  Executor& executor_;
  StoreWriter& writer_;
  NameDictionary entities_;
  NameDictionary relations_;
  std::vector<Kept> kept_;  ///< by role
  std::vector<EdgeTypeId> types_;
  std::vector<Triple> triples_;
  std::uint64_t read_ = 0;
  std::uint64_t done_ = 0;
};

Status refuse_archives(const fs::path& path) {
  const auto name = path.filename().string();
  for (const auto* end : {".tar", ".tar.gz", ".tgz", ".tar.zst", ".zip"}) {
    if (name.ends_with(end)) {
      return Error(Errc::unimplemented,
                   fmt::format("{}: expected text files or a folder of them, found an archive\n"
                               "try: unpack it and name the folder",
                               path.string()));
    }
  }
  return ok_status();
}

/// The file of a role in a folder; empty: there is none.
fs::path find_role(const fs::path& folder, std::string_view role) {
  for (const auto* end : {".txt", ".txt.gz", ".txt.zst"}) {
    auto path = folder / (std::string(role) + end);
    if (has_name(path)) {
      return path;
    }
  }
  return {};
}

Result<std::vector<fs::path>> files_of(std::span<const fs::path> sources) {
  std::vector<fs::path> files(sources.begin(), sources.end());
  for (const auto& file : files) {
    TROUPE_RETURN_IF_ERROR(refuse_archives(file));
  }
  std::error_code ignored;
  if (files.size() != 1 || !fs::is_directory(files.front(), ignored)) {
    return files.size() <= triple_roles.size()
               ? Result<std::vector<fs::path>>(std::move(files))
               : Error(
                     Errc::invalid_argument,
                     fmt::format("expected files for train, valid and test, got {}", files.size()));
  }
  const auto folder = files.front();
  files.clear();
  for (const auto role : triple_roles) {
    auto file = find_role(folder, role);
    const bool needed = role == "train" || (role == "valid" && !find_role(folder, "test").empty());
    if (!file.empty()) {
      files.push_back(std::move(file));
    } else if (needed) {
      return Error(Errc::not_found,
                   fmt::format("{}: expected {}.txt, perhaps as .gz or .zst, found none",
                               folder.string(), role));
    }
  }
  return files;
}

}  // namespace

Result<GraphInfo> import_triples(std::span<const fs::path> sources, const fs::path& out,
                                 const TriplesOptions& options, Executor& executor) {
  TROUPE_ASSIGN_OR_RETURN(const auto files, files_of(sources));
  try {
    TROUPE_ASSIGN_OR_RETURN(auto writer, StoreWriter::create(out, options.import.writer, executor));
    return TriplesImport(options, parent_directory(out), executor, writer).run(files);
  } catch (const std::bad_alloc&) {
    return Error(Errc::out_of_memory, fmt::format("{}: no memory to import", out.string()));
  }
}

}  // namespace troupe
