#pragma once
/// \file named_rows.hpp
/// Rows of names in a text file, read as numbers.
#include "runtime/base/result.hpp"
#include "runtime/data/node_names.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Cuts at tabs if there is one, else at spaces, several of which are as one. Spaces around a name are
/// no part of it.
/// \param fields  gets the first ones \returns how many there are
std::size_t cut_names(std::string_view line, std::span<std::string_view> fields);

/// Adds the numbers of a line's names. \returns what is wrong with the line; empty: nothing
using NumberLine = std::function<std::string(std::string_view line, std::vector<std::uint64_t>&)>;
/// Reads a text file (plain, .gz or .zst), whose empty lines are skipped.
/// \errors not_found: no such file; invalid_argument: a line that is wrong, with its number
Result<std::vector<std::uint64_t>> numbers_of_lines(const std::filesystem::path& file,
                                                    const NumberLine& number);

/// What the names in a column of a file are of.
struct NameColumn {
  const NameLines* names = nullptr;  ///< null: the column has numbers
  std::string what;                  ///< "an entity of the graph", for errors
  std::uint64_t count = 0;           ///< of numbers: one past the largest
};

/// Reads a row a line, cut as cut_names() does.
/// \returns row after row \cost a table of the names of each column
/// \errors as numbers_of_lines(), of another number of names, or a name or number that there is not;
///   invalid_argument: no rows
Result<std::vector<std::uint64_t>> read_named_rows(const std::filesystem::path& file,
                                                   std::span<const NameColumn> columns);

}  // namespace troupe
