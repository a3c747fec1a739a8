#include "runtime/data/edgelist_import.hpp"

#include "runtime/data/edge_text.hpp"
#include "runtime/data/name_dictionary.hpp"
#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <initializer_list>
#include <new>
#include <string>
#include <vector>

namespace troupe {
namespace {

namespace fs = std::filesystem;
using edge_text::Format;
using text_lines::parse_file;

class EdgelistImport {
 public:
  EdgelistImport(const EdgelistOptions& options, Executor& executor, StoreWriter& writer)
      : options_(options), executor_(executor), writer_(writer) {
    format_.source_column = options.source_column;
    format_.destination_column = options.destination_column;
    format_.first_id = options.first_id;
    format_.weight_column = options.weight_column;
    format_.time_column = options.time_column;
    format_.columns = options.columns;
    format_.end_id = options.nodes.value_or(std::uint64_t{1} << 32) + options.first_id;
  }

  Result<GraphInfo> run(std::span<const fs::path> files) {
    TROUPE_ASSIGN_OR_RETURN(
        const auto node,
        writer_.add_node_type(
            {"node", options_.text_ids ? std::optional<std::uint64_t>() : options_.nodes, {}, {}}));
    NewEdgeType type{"edge",
                     node,
                     node,
                     options_.import.edges,
                     options_.weight_column.has_value(),
                     options_.time_column.has_value()};
    for (const auto& column : options_.columns) {
      type.columns.push_back({column.name, column.dtype});
    }
    TROUPE_ASSIGN_OR_RETURN(edge_, writer_.add_edge_type(type));
    for (const auto& file : files) {
      TROUPE_RETURN_IF_ERROR(read(file));
    }
    if (options_.text_ids) {
      TROUPE_RETURN_IF_ERROR(writer_.add_file("nodes-node/names.txt", dictionary_.pieces()));
      report_comments();
    }
    return writer_.finish();
  }

 private:
  template <class Out>
  text_lines::Parser<Out> parser(void (*parse)(std::string_view, const Format&, Out&)) {
    // Without a header all lines go to `parse`, which counts comments among names.
    std::function<bool(std::string_view)> is_header;
    if (options_.header || !options_.text_ids) {
      is_header = [this](std::string_view line) {
        return options_.header || edge_text::is_header(line, format_);
      };
    }
    return {std::move(is_header),
            [this, parse](std::string_view text, Out& out) { parse(text, format_, out); },
            [this](Out& out) { return take(out); }, hint()};
  }

  Status read(const fs::path& file) {
    return options_.text_ids ? parse_file(file, executor_, parser(edge_text::parse_names))
                             : parse_file(file, executor_, parser(edge_text::parse_numbers));
  }

  /// Reports how many lines were skipped as comments: names may begin as comments do.
  void report_comments() const {
    if (options_.import.left_out && comments_ > 0) {
      options_.import.left_out(
          fmt::format("{} that begin{} with #, % or //",
                      comments_ == 1 ? "1 line" : fmt::format("{} lines", comments_),
                      comments_ == 1 ? "s" : ""));
    }
  }

  Status take(const edge_text::Numbers& numbers) {
    return deliver(
        {numbers.sources, numbers.destinations, numbers.values.weights, numbers.values.times},
        numbers.values);
  }

  Status take(const edge_text::Names& names) {
    sources_.clear();
    destinations_.clear();
    comments_ += names.comments;
    for (std::size_t edge = 0; edge < names.sources.size(); ++edge) {
      sources_.push_back(dictionary_.number_of(names.sources[edge]));
      destinations_.push_back(dictionary_.number_of(names.destinations[edge]));
    }
    return deliver({sources_, destinations_, names.values.weights, names.values.times},
                   names.values);
  }

  std::string hint() const {
    const bool named = !options_.columns.empty();
    const bool values = options_.weight_column || options_.time_column || named;
    const auto columns =
        fmt::format("--columns{}{}", values ? ", --weight-column, --time-column" : "",
                    named ? ", --edge-columns" : "");
    if (options_.text_ids) {
      return fmt::format(
          "\ntry: {}underscores in place of spaces and separators inside names",
          values ? "--header if the first line has names, " + columns + ", or " : "");
    }
    return "\ntry: --ids text for ids that are no numbers, " + columns + ", --first-id or --nodes";
  }

  Status deliver(const EdgePiece& piece, const edge_text::Values& values) {
    edges_ += piece.sources.size();
    if (options_.import.writer.progress) {
      options_.import.writer.progress({"reading edges", edges_, 0, "edges"});
    }
    TROUPE_RETURN_IF_ERROR(writer_.add_edges(edge_, piece));
    for (std::size_t i = 0; i < values.columns.size(); ++i) {
      TROUPE_RETURN_IF_ERROR(writer_.add_edge_column(edge_, i, values.columns[i]));
    }
    return ok_status();
  }

  const EdgelistOptions& options_;
  Executor& executor_;
  StoreWriter& writer_;
  Format format_;
  EdgeTypeId edge_{};
  std::uint64_t edges_ = 0;
  std::uint64_t comments_ = 0;
  std::vector<std::uint64_t> sources_;
  std::vector<std::uint64_t> destinations_;
  NameDictionary dictionary_;
};

using Column = std::optional<std::uint32_t>;

Status check_own_column(const char* option, Column column, std::initializer_list<Column> others) {
  if (column && std::ranges::find(others, column) != others.end()) {
    return Error(Errc::invalid_argument,
                 fmt::format("{}: expected a column that nothing else is read from, got {}", option,
                             *column));
  }
  return ok_status();
}

Status check_options(const EdgelistOptions& options) {
  if (options.source_column == options.destination_column) {
    return Error(Errc::invalid_argument,
                 fmt::format("columns: expected two columns, got {} twice", options.source_column));
  }
  TROUPE_RETURN_IF_ERROR(check_own_column("weight_column", options.weight_column,
                                          {options.source_column, options.destination_column}));
  TROUPE_RETURN_IF_ERROR(
      check_own_column("time_column", options.time_column,
                       {options.source_column, options.destination_column, options.weight_column}));
  if (options.text_ids && (options.nodes || options.first_id != 0)) {
    return Error(Errc::invalid_argument,
                 "ids as text: expected neither a number of nodes nor a first id, got one");
  }
  const auto most = store_layout::largest_count;
  if (options.nodes.value_or(0) > most || options.first_id > most) {
    return Error(
        Errc::invalid_argument,
        fmt::format("expected a number of nodes and a first id of at most {}, got {} and {}", most,
                    options.nodes.value_or(0), options.first_id));
  }
  return ok_status();
}

}  // namespace

Result<GraphInfo> import_edgelist(std::span<const fs::path> files, const fs::path& out,
                                  const EdgelistOptions& options, Executor& executor) {
  TROUPE_RETURN_IF_ERROR(check_options(options));
  try {
    TROUPE_ASSIGN_OR_RETURN(auto writer, StoreWriter::create(out, options.import.writer, executor));
    return EdgelistImport(options, executor, writer).run(files);
  } catch (const std::bad_alloc&) {
    return Error(Errc::out_of_memory, fmt::format("{}: no memory to import", out.string()));
  }
}

}  // namespace troupe
