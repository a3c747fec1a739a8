#include "runtime/data/formats.hpp"

#include "runtime/data/dgl_import.hpp"
#include "runtime/data/edgelist_document.hpp"
#include "runtime/data/edgelist_import.hpp"
#include "runtime/data/graphbolt_import.hpp"
#include "runtime/data/npy_import.hpp"
#include "runtime/data/ogb_import.hpp"
#include "runtime/data/triples_import.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <type_traits>
#include <variant>

namespace troupe {
namespace {

/// Whether an option has another value than its default.
bool is_stated(const FormatOption& option, const FormatOptions& options) {
  return std::visit(
      [&](auto field) {
        if constexpr (std::is_same_v<decltype(field), std::monostate>) {
          return false;
        } else {
          return options.*field != FormatOptions().*field;
        }
      },
      option.field);
}

std::string flag_of(std::string_view option) {
  auto flag = fmt::format("--{}", option);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

/// Lists that a JSON document names, which also says how to read each.
Result<GraphInfo> make_edgelists(const ImportRequest& request, Executor& executor) {
  const auto& document = request.sources.front();
  for (const auto& option : format_options()) {
    if (is_stated(option, request.more)) {
      return Error(Errc::invalid_argument,
                   fmt::format("{}: expected none beside {}, which says how each list is read",
                               flag_of(option.name), document.string()));
    }
  }
  TROUPE_ASSIGN_OR_RETURN(const auto lists, read_edgelists(document, request.import.edges));
  return import_edgelists(lists, request.store, request.import, executor);
}

Result<GraphInfo> make_edgelist(const ImportRequest& request, Executor& executor) {
  if (request.sources.size() == 1 && request.sources.front().extension() == ".json") {
    return make_edgelists(request, executor);
  }
  const auto& more = request.more;
  const auto column = [](std::optional<std::uint64_t> number) {
    return number ? std::optional(static_cast<std::uint32_t>(*number)) : std::nullopt;
  };
  EdgelistOptions options{.import = request.import,
                          .source_column = more.columns.front(),
                          .destination_column = more.columns.back(),
                          .first_id = more.first_id,
                          .weight_column = column(more.weight_column),
                          .time_column = column(more.time_column),
                          .header = more.header,
                          .text_ids = more.ids == "text",
                          .nodes = more.nodes,
                          .types = more.types};
  if (more.counts) {
    TROUPE_ASSIGN_OR_RETURN(options.counts, parse_node_counts(*more.counts));
  }
  TROUPE_ASSIGN_OR_RETURN(options.columns, parse_line_columns(more.edge_columns));
  return import_edgelist(request.sources, request.store, options, executor);
}

EdgeColumnNames columns_of(const FormatOptions& more) {
  return {more.weights, more.times};
}

Result<GraphInfo> make_ogb(const ImportRequest& request, Executor& executor) {
  OgbOptions options{.import = request.import, .columns = columns_of(request.more)};
  if (request.more.counts) {
    TROUPE_ASSIGN_OR_RETURN(options.counts, parse_node_counts(*request.more.counts));
  }
  TROUPE_ASSIGN_OR_RETURN(options.named, parse_named_columns(request.more.named_columns));
  return import_ogb(request.sources.front(), request.store, options, executor);
}

Result<GraphInfo> make_dgl(const ImportRequest& request, Executor& executor) {
  const auto& more = request.more;
  DglOptions options{request.import, more.features, more.labels, columns_of(more)};
  TROUPE_ASSIGN_OR_RETURN(options.named, parse_named_columns(more.named_columns));
  return import_dgl(request.sources.front(), request.store, options, executor);
}

Result<GraphInfo> make_graphbolt(const ImportRequest& request, Executor& executor) {
  const auto& more = request.more;
  GraphboltOptions options{request.import, more.features, columns_of(more)};
  TROUPE_ASSIGN_OR_RETURN(options.named, parse_named_columns(more.named_columns));
  return import_graphbolt(request.sources.front(), request.store, options, executor);
}

std::vector<ImportFormat> format_rows() {
  return {
      {.name = "npy",
       .source = "a folder of .npy files, or a JSON file that names arrays, also as arrays.json of "
                 "its folder",
       .help = "any node and edge types with features, labels and splits",
       .make =
           [](const ImportRequest& request, Executor& executor) {
             return import_npy(request.sources.front(), request.store, request.import, executor);
           }},
      {.name = "edgelist",
       .source = "text files with an edge a line, read one after the other as one list, or a JSON "
                 "file that names lists",
       .help = "one node type `node`, one edge type `edge`, or those that are named",
       .options = {"types", "columns", "weight_column", "time_column", "edge_columns", "ids",
                   "first_id", "nodes", "counts", "header"},
       .several = true,
       .features = false,
       .make = make_edgelist},
      {.name = "triples",
       .source = "a folder with train.txt, valid.txt, test.txt, or one to three such files",
       .help = "one node type `entity`, an edge type `r0`, `r1`, ... per relation",
       .options = {"relations"},
       .several = true,
       .features = false,
       .marker = "train.txt",
       .make =
           [](const ImportRequest& request, Executor& executor) {
             return import_triples(request.sources, request.store,
                                   {request.import, request.more.relations == "one"}, executor);
           }},
      {.name = "ogb",
       .source = "a folder with raw/ and split/ (text or .npz), or MAG240M's, as OGB has them",
       .help = "one node and edge type, or those that the data list",
       .options = {"weights", "times", "named_columns", "counts"},
       .make = make_ogb},
      {.name = "dgl",
       .source = "a folder with metadata.json, DGL's chunked format",
       .help = "any node and edge types",
       .options = {"features", "labels", "weights", "times", "named_columns"},
       .marker = "metadata.json",
       .make = make_dgl},
      {.name = "graphbolt",
       .source = "a folder with metadata.yaml, as DGL's GraphBolt has it before preprocessing",
       .help = "any node and edge types",
       .options = {"features", "weights", "times", "named_columns"},
       .marker = "metadata.yaml",
       .make = make_graphbolt},
  };
}

std::vector<FormatOption> format_option_rows() {
  constexpr std::uint64_t any = ~std::uint64_t{0};
  return {
      {"types",
       "node type of sources, edge type, node type of destinations, as user,rates,item",
       {.type = ValueType::text_list, .min_items = 3, .max_items = 3},
       &FormatOptions::types},
      {"columns",
       "columns of source and destination, counted from 0",
       {.type = ValueType::integer_list, .high = 0xffff'ffff, .min_items = 2, .max_items = 2},
       &FormatOptions::columns},
      {"weight_column", "column of edges' weights, counted from 0", integer_rule(0, 0xffff'ffff),
       &FormatOptions::weight_column},
      {"time_column", "column of edges' times, counted from 0", integer_rule(0, 0xffff'ffff),
       &FormatOptions::time_column},
      {"ids", "numbers, or any text", choice_rule({"number", "text"}), &FormatOptions::ids},
      {"first_id", "id that becomes node 0", integer_rule(0, any), &FormatOptions::first_id},
      {"nodes", "number of nodes; else the largest id + 1", integer_rule(0, any),
       &FormatOptions::nodes},
      {"header", "skip the first line of every file", boolean_rule(), &FormatOptions::header},
      {"relations", "an edge type per relation, or one with the relation as its feature",
       choice_rule({"types", "one"}), &FormatOptions::relations},
      {"features", "array with the features; else feat, if it is there", text_rule(0),
       &FormatOptions::features},
      {"labels", "array with the labels; else label, if it is there", text_rule(0),
       &FormatOptions::labels},
      {"weights", "array of edges with their weights", text_rule(0), &FormatOptions::weights},
      {"times", "array of edges with their times", text_rule(0), &FormatOptions::times},
      {"named_columns",
       "arrays of nodes and edges to keep as named columns, as year,price:f64",
       {.type = ValueType::text_list},
       &FormatOptions::named_columns},
      {"edge_columns",
       "columns to keep as named columns of edges, counted from 0, as rating=2,year=3:i32",
       {.type = ValueType::text_list},
       &FormatOptions::edge_columns},
      {"counts", "numbers of nodes by type, as author=7,paper=9; else the largest id + 1",
       text_rule(1), &FormatOptions::counts},
  };
}

Status check_options(const ImportFormat& format, const FormatOptions& options) {
  for (const auto& option : format_options()) {
    if (is_stated(option, options) && !reads_option(format, option.name)) {
      return Error(
          Errc::invalid_argument,
          fmt::format("{}: expected a format that reads it ({}), got {}", flag_of(option.name),
                      readers_of(import_formats(), option.name), format.name));
    }
  }
  return ok_status();
}

}  // namespace

std::span<const ImportFormat> import_formats() {
  static const auto rows = format_rows();
  return rows;
}

std::span<const FormatOption> format_options() {
  static const auto rows = format_option_rows();
  return rows;
}

Status check_request(const ImportFormat& format, const ImportRequest& request) {
  if (request.sources.empty() || (!format.several && request.sources.size() != 1)) {
    return Error(
        Errc::invalid_argument,
        fmt::format("--from {}: expected one source{} and the store to make, got {} paths",
                    format.name, format.several ? " or more" : "", request.sources.size() + 1));
  }
  const auto& features = request.import.features;
  if (!format.features && (features.dtype || features.normalize != Normalize::none)) {
    return Error(Errc::invalid_argument,
                 fmt::format("--feature-dtype, --normalize: expected a format with features of "
                             "nodes, got {}",
                             format.name));
  }
  return check_options(format, request.more);
}

}  // namespace troupe
