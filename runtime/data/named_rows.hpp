#pragma once
/// \file named_rows.hpp
/// Rows of names in a text file, read as numbers.
#include "runtime/base/result.hpp"
#include "runtime/data/node_names.hpp"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Cuts at tabs if there is one, else at spaces, several of which are as one. Spaces around a name are
/// no part of it.
/// \param fields  gets the first ones \returns how many there are
std::size_t cut_names(std::string_view line, std::span<std::string_view> fields);

/// What the names in a column of a file are of.
struct NameColumn {
  const NameLines* names = nullptr;  ///< null: the column has numbers
  std::string what;                  ///< "an entity of the graph", for errors
  std::uint64_t count = 0;           ///< of numbers: one past the largest
};

/// Reads a row a line, cut as cut_names() does; the file is plain, .gz or .zst.
/// \returns row after row \cost a table of the names of each column
/// \errors not_found: no such file; invalid_argument: no rows, another number of names, a name or number that there
///   is not, with its line
Result<std::vector<std::uint64_t>> read_named_rows(const std::filesystem::path& file,
                                                   std::span<const NameColumn> columns);

}  // namespace troupe
