#include "runtime/data/edgelist_import.hpp"

#include "runtime/data/edge_text.hpp"
#include "runtime/data/name_dictionary.hpp"
#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <initializer_list>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe {
namespace {

namespace fs = std::filesystem;
using edge_text::Format;
using text_lines::parse_file;

edge_text::End end_of_list(const EdgelistNodes& nodes, std::uint32_t column) {
  const auto count = nodes.count.value_or(std::uint64_t{1} << 32);
  return {column, nodes.text_ids, nodes.first_id, count + nodes.first_id};
}

Format format_of_list(const Edgelists& lists, const Edgelist& list) {
  return {.source = end_of_list(lists.nodes[list.source], list.source_column),
          .destination = end_of_list(lists.nodes[list.destination], list.destination_column),
          .weight_column = list.weight_column,
          .time_column = list.time_column,
          .columns = list.columns};
}

/// An option as it is written: on the command line, or in a document.
std::string option_word(const Edgelists& lists, std::string_view option) {
  if (!lists.document.empty()) {
    return fmt::format("\"{}\"", option);
  }
  std::string flag = fmt::format("--{}", option);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

/// What may help where a line does not fit.
std::string hint_for(const Edgelists& lists, const Edgelist& list) {
  const auto word = [&](std::string_view option) { return option_word(lists, option); };
  auto columns = word("columns");
  if (list.weight_column || list.time_column || !list.columns.empty()) {
    columns += ", " + word("weight_column") + ", " + word("time_column");
  }
  if (!list.columns.empty()) {
    columns += ", " + word("edge_columns");
  }
  const auto& source = lists.nodes[list.source];
  const auto& destination = lists.nodes[list.destination];
  const auto header = word("header") + " if the first line has names, ";
  if (source.text_ids && destination.text_ids) {
    const bool values = columns != word("columns");
    return fmt::format("\ntry: {}underscores in place of spaces and separators inside names",
                       values ? header + columns + ", or " : "");
  }
  const bool count = !lists.document.empty();
  const bool one_type = list.source == list.destination;
  return fmt::format("\ntry: {}{} for ids that are no numbers or lie far apart, {}, {} or {}",
                     source.text_ids || destination.text_ids ? header : "",
                     count ? R"("ids": "text")" : "--ids text", columns, word("first_id"),
                     word(count      ? "count"
                          : one_type ? "nodes"
                                     : "counts"));
}

/// The first line of a list whose ends are names.
struct FirstLine {
  std::string source;
  std::string destination;
  std::uint64_t source_number = 0;
  std::uint64_t destination_number = 0;
  std::uint64_t edges = 0;  ///< Of the list so far
  bool again = false;       ///< Whether one of its names is in another line
};

class EdgelistImport {
 public:
  EdgelistImport(const Edgelists& lists, const ImportOptions& options, Executor& executor,
                 StoreWriter& writer)
      : lists_(lists),
        options_(options),
        executor_(executor),
        writer_(writer),
        dictionaries_(lists.nodes.size()) {}

  Result<GraphInfo> run() {
    std::vector<NodeTypeId> nodes;
    for (const auto& type : lists_.nodes) {
      TROUPE_ASSIGN_OR_RETURN(nodes.emplace_back(),
                              writer_.add_node_type({type.name, type.count, {}, {}}));
    }
    std::vector<EdgeTypeId> edges;
    for (const auto& list : lists_.edges) {
      NewEdgeType type{list.name,
                       nodes[list.source],
                       nodes[list.destination],
                       list.transforms,
                       list.weight_column.has_value(),
                       list.time_column.has_value()};
      for (const auto& column : list.columns) {
        type.columns.push_back({column.name, column.dtype});
      }
      TROUPE_ASSIGN_OR_RETURN(edges.emplace_back(), writer_.add_edge_type(type));
    }
    for (std::size_t i = 0; i < lists_.edges.size(); ++i) {
      TROUPE_RETURN_IF_ERROR(read(lists_.edges[i], edges[i]));
    }
    for (std::size_t i = 0; i < lists_.nodes.size(); ++i) {
      if (lists_.nodes[i].text_ids) {
        TROUPE_RETURN_IF_ERROR(writer_.add_file(
            fmt::format("nodes-{}/names.txt", lists_.nodes[i].name), dictionaries_[i].pieces()));
      }
    }
    report_comments();
    auto info = writer_.finish();
    if (info) {
      note_headers();
    }
    return info;
  }

 private:
  Status read(const Edgelist& list, EdgeTypeId type) {
    const auto format = format_of_list(lists_, list);
    text_lines::Parser<edge_text::Edges> parser;
    // Without a header all lines go to `parse`, which counts comments among names.
    if (list.header) {
      parser.is_header = [](std::string_view) { return true; };
    } else if (!format.names()) {
      parser.is_header = [&](std::string_view line) { return edge_text::is_header(line, format); };
    }
    parser.parse = [&](std::string_view text, edge_text::Edges& out) {
      edge_text::parse(text, format, out);
    };
    parser.take = [&](edge_text::Edges& out) { return take(list, type, out); };
    parser.hint = hint_for(lists_, list);
    first_.reset();
    for (const auto& file : list.files) {
      TROUPE_RETURN_IF_ERROR(parse_file(file, executor_, parser));
    }
    if (first_ && first_->edges > 1 && !first_->again) {
      headers_.push_back(fmt::format("\"{}\" and \"{}\"", first_->source, first_->destination));
    }
    return ok_status();
  }

  /// Reports how many lines were skipped as comments: names may begin as comments do.
  void report_comments() const {
    if (options_.left_out && comments_ > 0) {
      options_.left_out(fmt::format("{} that begin{} with #, % or //",
                                    comments_ == 1 ? "1 line" : fmt::format("{} lines", comments_),
                                    comments_ == 1 ? "s" : ""));
    }
  }

  /// Looks for the names of a list's first line in its others: those of a header are in none.
  void look_for_header(const Edgelist& list, const edge_text::Edges& some) {
    const auto& sources = some.sources;
    const auto& destinations = some.destinations;
    if (list.header || sources.names.empty() || destinations.names.empty()) {
      return;
    }
    const bool begins = !first_;
    if (begins) {
      first_ = FirstLine{std::string(sources.names[0]),
                         std::string(destinations.names[0]),
                         sources.numbers[0],
                         destinations.numbers[0],
                         0,
                         false};
    }
    first_->edges += sources.numbers.size();
    const bool one_type = list.source == list.destination;
    const auto is_first = [&](std::uint64_t number, bool source) {
      return number == (source ? first_->source_number : first_->destination_number) ||
             (one_type && number == (source ? first_->destination_number : first_->source_number));
    };
    for (std::size_t i = begins ? 1 : 0; !first_->again && i < sources.numbers.size(); ++i) {
      first_->again =
          is_first(sources.numbers[i], true) || is_first(destinations.numbers[i], false);
    }
  }

  void note_headers() const {
    for (const auto& names : headers_) {
      if (options_.writer.note) {
        options_.writer.note(
            fmt::format("{}, the names of the first line, are in no other one\ntry: {} if they are "
                        "names of columns",
                        names, option_word(lists_, "header")));
      }
    }
  }

  Status take(const Edgelist& list, EdgeTypeId type, edge_text::Edges& some) {
    comments_ += some.comments;
    number_names(list, some);
    look_for_header(list, some);
    edges_ += some.sources.numbers.size();
    if (options_.writer.progress) {
      options_.writer.progress({"reading edges", edges_, 0, "edges"});
    }
    const auto& values = some.values;
    TROUPE_RETURN_IF_ERROR(writer_.add_edges(
        type, {some.sources.numbers, some.destinations.numbers, values.weights, values.times}));
    for (std::size_t i = 0; i < values.columns.size(); ++i) {
      TROUPE_RETURN_IF_ERROR(writer_.add_edge_column(type, i, values.columns[i]));
    }
    return ok_status();
  }

  /// Numbers the ids that are text, edge by edge, source before destination.
  void number_names(const Edgelist& list, edge_text::Edges& some) {
    auto& sources = some.sources;
    auto& destinations = some.destinations;
    const auto count = std::max(sources.names.size(), destinations.names.size());
    for (std::size_t edge = 0; edge < count; ++edge) {
      if (!sources.names.empty()) {
        sources.numbers.push_back(dictionaries_[list.source].number_of(sources.names[edge]));
      }
      if (!destinations.names.empty()) {
        destinations.numbers.push_back(
            dictionaries_[list.destination].number_of(destinations.names[edge]));
      }
    }
  }

  const Edgelists& lists_;
  const ImportOptions& options_;
  Executor& executor_;
  StoreWriter& writer_;
  std::uint64_t edges_ = 0;
  std::uint64_t comments_ = 0;
  std::vector<NameDictionary> dictionaries_;  ///< by node type
  std::optional<FirstLine> first_;            ///< Of the list that is being read
  std::vector<std::string> headers_;          ///< Names in first lines that may be headers
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

Status check_columns_of_list(const Edgelist& list) {
  if (list.source_column == list.destination_column) {
    return Error(Errc::invalid_argument,
                 fmt::format("columns: expected two columns, got {} twice", list.source_column));
  }
  TROUPE_RETURN_IF_ERROR(check_own_column("weight_column", list.weight_column,
                                          {list.source_column, list.destination_column}));
  return check_own_column("time_column", list.time_column,
                          {list.source_column, list.destination_column, list.weight_column});
}

Status check_ids(const EdgelistNodes& nodes) {
  if (nodes.text_ids && (nodes.count || nodes.first_id != 0)) {
    return Error(Errc::invalid_argument,
                 "ids as text: expected neither a number of nodes nor a first id, got one");
  }
  const auto most = store_layout::largest_count;
  if (nodes.count.value_or(0) > most || nodes.first_id > most) {
    return Error(
        Errc::invalid_argument,
        fmt::format("expected a number of nodes and a first id of at most {}, got {} and {}", most,
                    nodes.count.value_or(0), nodes.first_id));
  }
  return ok_status();
}

/// Where a document says something.
Status in_document(const Edgelists& lists, std::string_view where, const std::string& name,
                   Status status) {
  if (status || lists.document.empty()) {
    return status;
  }
  return Error(status.error())
      .with(fmt::format("{}: /{}/{}", lists.document.string(), where, name));
}

Status check_lists(const Edgelists& lists) {
  for (const auto& nodes : lists.nodes) {
    TROUPE_RETURN_IF_ERROR(in_document(lists, "node_types", nodes.name, check_ids(nodes)));
  }
  for (const auto& list : lists.edges) {
    TROUPE_RETURN_IF_ERROR(
        in_document(lists, "edge_types", list.name, check_columns_of_list(list)));
  }
  return ok_status();
}

/// Numbers of nodes that options state by type.
Status give_counts(const EdgelistOptions& options, Edgelists& lists) {
  if (options.nodes && (lists.nodes.size() > 1 || !options.counts.empty())) {
    return Error(
        Errc::invalid_argument,
        lists.nodes.size() > 1
            ? fmt::format("--nodes: expected one node type, got {0} and {1}\ntry: --counts "
                          "{0}=N,{1}=N",
                          lists.nodes[0].name, lists.nodes[1].name)
            : "--nodes: expected it without --counts, got both");
  }
  for (const auto& [name, count] : options.counts) {
    const auto nodes = std::ranges::find(lists.nodes, name, &EdgelistNodes::name);
    if (nodes == lists.nodes.end()) {
      return Error(
          Errc::invalid_argument,
          fmt::format("--counts: expected {}, got \"{}\"",
                      lists.nodes.size() > 1 ? fmt::format("a node type, {} or {}",
                                                           lists.nodes[0].name, lists.nodes[1].name)
                                             : fmt::format("the node type {}", lists.nodes[0].name),
                      name));
    }
    nodes->count = count;
  }
  return ok_status();
}

Result<Edgelists> lists_of_options(std::span<const fs::path> files,
                                   const EdgelistOptions& options) {
  auto types = options.types;
  if (types.empty()) {
    types = {"node", "edge", "node"};
  }
  if (types.size() != 3) {
    return Error(Errc::invalid_argument,
                 fmt::format("--types: expected three names, SOURCE,EDGE,DESTINATION, got {}\ntry: "
                             "--types user,rates,item",
                             types.size()));
  }
  Edgelists lists;
  const EdgelistNodes nodes{types[0], options.text_ids, options.first_id, options.nodes};
  lists.nodes.push_back(nodes);
  if (types[2] != types[0]) {
    lists.nodes.push_back(nodes);
    lists.nodes.back().name = types[2];
  }
  lists.edges.push_back({.name = types[1],
                         .destination = lists.nodes.size() - 1,
                         .files = {files.begin(), files.end()},
                         .source_column = options.source_column,
                         .destination_column = options.destination_column,
                         .weight_column = options.weight_column,
                         .time_column = options.time_column,
                         .header = options.header,
                         .columns = options.columns,
                         .transforms = options.import.edges});
  TROUPE_RETURN_IF_ERROR(give_counts(options, lists));
  return lists;
}

}  // namespace

Result<GraphInfo> import_edgelists(const Edgelists& lists, const fs::path& out,
                                   const ImportOptions& options, Executor& executor) {
  TROUPE_RETURN_IF_ERROR(check_lists(lists));
  try {
    TROUPE_ASSIGN_OR_RETURN(auto writer, StoreWriter::create(out, options.writer, executor));
    auto info = EdgelistImport(lists, options, executor, writer).run();
    if (!info && !lists.document.empty()) {
      return std::move(info).error().with(lists.document.string());
    }
    return info;
  } catch (const std::bad_alloc&) {
    return Error(Errc::out_of_memory, fmt::format("{}: no memory to import", out.string()));
  }
}

Result<GraphInfo> import_edgelist(std::span<const fs::path> files, const fs::path& out,
                                  const EdgelistOptions& options, Executor& executor) {
  TROUPE_ASSIGN_OR_RETURN(const auto lists, lists_of_options(files, options));
  return import_edgelists(lists, out, options.import, executor);
}

}  // namespace troupe
