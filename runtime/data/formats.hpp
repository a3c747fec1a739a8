#pragma once
/// \file formats.hpp
/// The formats that `troupe import` reads, one row each, and their options (runtime/base/kinds.hpp).
/// Command line, docs/formats.md and the fuzz target read these tables. A new format is an importer
/// (a file pair) and a row; a new option is a field of FormatOptions and a row.
#include "runtime/base/executor.hpp"
#include "runtime/base/kinds.hpp"
#include "runtime/base/result.hpp"
#include "runtime/data/import_options.hpp"
#include "runtime/graph/graph_info.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Options of all formats with their defaults; each format reads some of them.
struct FormatOptions {
  std::vector<std::string> types = {};
  std::vector<std::uint32_t> columns = {0, 1};
  std::string ids = "number";
  std::optional<std::uint64_t> weight_column = {};
  std::optional<std::uint64_t> time_column = {};
  std::uint64_t first_id = 0;
  std::optional<std::uint64_t> nodes = {};
  bool header = false;
  std::string relations = "types";
  std::optional<std::string> features = {};
  std::optional<std::string> labels = {};
  std::optional<std::string> weights = {};
  std::optional<std::string> times = {};
  std::optional<std::string> counts = {};
  std::vector<std::string> named_columns = {};
  std::vector<std::string> edge_columns = {};
};

/// Options with a meaning for all formats, and those of single formats.
struct ImportRequest {
  std::vector<std::filesystem::path> sources;
  std::filesystem::path store;  ///< Folder to make
  ImportOptions import = {};
  FormatOptions more = {};
};

struct ImportFormat {
  std::string_view name;                       ///< Word on the command line
  std::string_view source;                     ///< SOURCE, one line
  std::string_view help;                       ///< Node and edge types of the store, one line
  std::vector<std::string_view> options = {};  ///< Rows of format_options() that it reads
  bool several = false;                        ///< Takes one source or more, else exactly one
  bool features = true;                        ///< May have features of nodes
  /// File that only folders of this format have; empty: there is none.
  std::string_view marker = {};
  /// Makes the store of a request that check_request() takes.
  Result<GraphInfo> (*make)(const ImportRequest& request, Executor& executor) = nullptr;
};

using FormatOption = OptionRow<FormatOptions>;

/// All rows in the order of the documentation.
std::span<const ImportFormat> import_formats();
std::span<const FormatOption> format_options();

/// Whether a format takes so many sources, and options of features and of formats where they are
/// given.
/// \errors invalid_argument: it does not
Status check_request(const ImportFormat& format, const ImportRequest& request);

}  // namespace troupe
