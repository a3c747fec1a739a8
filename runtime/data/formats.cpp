#include "runtime/data/formats.hpp"

#include "runtime/data/dgl_import.hpp"
#include "runtime/data/edgelist_import.hpp"
#include "runtime/data/graphbolt_import.hpp"
#include "runtime/data/npy_import.hpp"
#include "runtime/data/ogb_import.hpp"
#include "runtime/data/triples_import.hpp"

#include <fmt/format.h>

namespace troupe {
namespace {

Result<GraphInfo> make_edgelist(const ImportRequest& request, Executor& executor) {
  const auto& more = request.more;
  const EdgelistOptions options{.import = request.import,
                                .source_column = more.columns.front(),
                                .destination_column = more.columns.back(),
                                .first_id = more.first_id,
                                .header = more.header,
                                .text_ids = more.ids == "text",
                                .nodes = more.nodes};
  return import_edgelist(request.sources, request.store, options, executor);
}

std::vector<ImportFormat> format_rows() {
  return {
      {.name = "npy",
       .source = "a folder of .npy files, or a JSON file that names arrays",
       .help = "any node and edge types with features, labels and splits",
       .make =
           [](const ImportRequest& request, Executor& executor) {
             return import_npy(request.sources.front(), request.store, request.import, executor);
           }},
      {.name = "edgelist",
       .source = "text files with an edge a line, read one after the other as one list",
       .help = "one node type `node`, one edge type `edge`",
       .options = {"columns", "ids", "first_id", "nodes", "header"},
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
       .source = "a folder with raw/ and split/, as OGB's node-property data sets are downloaded",
       .help = "one node and edge type, or those of triplet-type-list.csv.gz",
       .make =
           [](const ImportRequest& request, Executor& executor) {
             return import_ogb(request.sources.front(), request.store, request.import, executor);
           }},
      {.name = "dgl",
       .source = "a folder with metadata.json, DGL's chunked format",
       .help = "any node and edge types",
       .options = {"features", "labels"},
       .marker = "metadata.json",
       .make =
           [](const ImportRequest& request, Executor& executor) {
             return import_dgl(request.sources.front(), request.store,
                               {request.import, request.more.features, request.more.labels},
                               executor);
           }},
      {.name = "graphbolt",
       .source = "a folder with metadata.yaml, as DGL's GraphBolt has it before preprocessing",
       .help = "any node and edge types",
       .options = {"features"},
       .marker = "metadata.yaml",
       .make =
           [](const ImportRequest& request, Executor& executor) {
             return import_graphbolt(request.sources.front(), request.store,
                                     {request.import, request.more.features}, executor);
           }},
  };
}

std::vector<FormatOption> format_option_rows() {
  constexpr std::uint64_t any = ~std::uint64_t{0};
  return {
      {"columns",
       "columns of source and destination, counted from 0",
       {.type = ValueType::integer_list, .high = 0xffff'ffff, .min_items = 2, .max_items = 2},
       &FormatOptions::columns},
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
  };
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
  return ok_status();
}

}  // namespace troupe
