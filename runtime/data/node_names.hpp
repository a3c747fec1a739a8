#pragma once
/// \file node_names.hpp
/// Names of the nodes of one type, as an import of text ids keeps them (docs/formats.md). Those of
/// triples, with their relations, are in triple_names.hpp.
#include "runtime/base/result.hpp"
#include "runtime/graph/graph_info.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace troupe {

/// Names by number.
struct NameLines {
  std::string text;
  std::vector<std::string_view> lines;  ///< views into `text`

  NameLines() = default;
  NameLines(const NameLines&) = delete;  // a short text lies in its string
  NameLines& operator=(const NameLines&) = delete;
};

using NumbersOfNames =
    std::unordered_map<std::string_view, std::uint64_t>;  ///< looked up, never walked
NumbersOfNames numbers_of(const NameLines& names);

/// Reads a file with a name a line.
/// \param count  number of them
/// \errors not_found; data_corruption: another number of them
Status read_name_lines(const std::filesystem::path& file, std::uint64_t count, NameLines& names);

/// All names are in memory.
/// Threads: any number at a time
class NodeNames {
 public:
  /// \param store  folder that the graph was imported to, or partitioned
  /// \returns none where nodes of the type have no names
  /// \errors those of read_name_lines()
  static Result<std::unique_ptr<const NodeNames>> read(const std::filesystem::path& store,
                                                       const NodeTypeInfo& type);

  /// \requires a number below theirs
  std::string_view of(std::uint64_t node) const { return names_.lines[node]; }

  /// Reads a text file with a name a line, perhaps compressed; empty lines are skipped.
  /// \errors not_found: no such file; invalid_argument: a name that the graph does not have, with its
  ///   line
  Result<std::vector<std::uint64_t>> numbers_in(const std::filesystem::path& file) const;
  /// All of them, by number.
  const NameLines& lines() const { return names_; }

 private:
  explicit NodeNames(std::string type) : type_(std::move(type)) {}
  std::string type_;
  NameLines names_;
};

}  // namespace troupe
