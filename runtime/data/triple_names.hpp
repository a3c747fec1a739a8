#pragma once
/// \file triple_names.hpp
/// Names of the entities and relations of a knowledge graph, as its import keeps them (docs/formats.md).
#include "runtime/base/result.hpp"
#include "runtime/data/node_names.hpp"
#include "runtime/graph/graph_info.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace troupe {

/// Kind of the names in a column of a file.
enum class NamedThing : std::uint8_t { entity, relation };

/// Files among those of a store in which an import keeps names, in the order of the store's list.
std::vector<FileInfo> names_files(const GraphInfo& graph);

/// All names are in memory.
/// Threads: any number at a time
class TripleNames {
 public:
  TripleNames(const TripleNames&) = delete;
  TripleNames& operator=(const TripleNames&) = delete;
  /// \param store  folder that the graph was imported to
  /// \param type  of the entities \param relations  number of them
  /// \errors not_found: it has no names; data_corruption: another number of them
  static Result<std::unique_ptr<const TripleNames>> read(const std::filesystem::path& store,
                                                         const NodeTypeInfo& type,
                                                         std::uint64_t relations);

  /// \requires a number below theirs
  std::string_view entity(std::uint64_t number) const { return entities_.lines[number]; }
  std::string_view relation(std::uint64_t number) const { return relations_.lines[number]; }

  /// Reads a text file with a row of names a line.
  /// \param columns  kinds of the names in a line
  /// \errors those of read_named_rows()
  Result<std::vector<std::uint64_t>> numbers_in(const std::filesystem::path& file,
                                                std::span<const NamedThing> columns) const;

 private:
  static Status read_list(const std::filesystem::path& file, std::uint64_t count, NameLines& names);

  TripleNames() = default;
  NameLines entities_;
  NameLines relations_;
};

}  // namespace troupe
