#include "runtime/feature/table_collection.hpp"

#include "runtime/base/assert.hpp"

#include <fmt/format.h>
#include <string>
#include <utility>

namespace troupe {
namespace {

Error bad_tables(PartId part, const std::string& what) {
  return {Errc::data_corruption, fmt::format("rows from part {}: {}", raw(part), what)};
}

}  // namespace

TableCollection::TableCollection(const PartitionBook& book, const CollectOptions& options,
                                 Batch& batch)
    : options_(options), asked_(book.parts()) {
  const auto& sampled = *batch.sampled;
  for (std::size_t type = 0; type < sampled.edges.size(); ++type) {
    if (options.wants_edge_features(type)) {
      batch.edge_features.resize(sampled.edges.size());
      batch.edge_features[type] =
          Matrix(sampled.edges[type].sources.size(), options.edge_decoders[type].cols());
      add_edges(book, sampled, static_cast<EdgeTypeId>(type));
    }
  }
}

void TableCollection::add_edges(const PartitionBook& book, const SampledBatch& sampled,
                                EdgeTypeId type) {
  const auto& edges = sampled.edges[raw(type)];
  TROUPE_ASSERT(edges.entries.size() == edges.sources.size(), "entry numbers, edges of a type",
                edges.entries.size(), edges.sources.size(), raw(type));
  const auto& ids = sampled.nodes[raw(edges.destination_type)].ids;
  const TableName name{TableName::Kind::edge_features, raw(type)};
  for (std::uint32_t hop = 0; hop < sampled.hops; ++hop) {
    const auto first_node = sampled.first_row_node(edges.destination_type, hop);
    for (auto row = edges.row_begin[hop]; row < edges.row_begin[hop + 1]; ++row) {
      if (edges.offsets[row] == edges.offsets[row + 1]) {
        continue;
      }
      const auto node = ids[first_node + (row - edges.row_begin[hop])];
      auto& [sections, places] = asked_[raw(book.owner(edges.destination_type, node))];
      if (sections.empty() || sections.back().table != name) {
        sections.push_back({name, {}, options_.edge_decoders[raw(type)].row_bytes()});
        places.emplace_back();
      }
      for (auto at = edges.offsets[row]; at < edges.offsets[row + 1]; ++at) {
        sections.back().rows.push_back(edges.entries[at]);
        places.back().push_back(at);
      }
    }
  }
}

std::vector<TableSection> TableCollection::sections_for(PartId part) {
  return std::exchange(asked_[raw(part)].sections, {});
}

Status TableCollection::check_size(PartId part, const TableSection& section,
                                   std::uint64_t row_bytes) const {
  return row_bytes == section.row_bytes
             ? ok_status()
             : Status(bad_tables(
                   part, fmt::format("{}: expected rows of {} bytes, got {}",
                                     to_string(section.table), section.row_bytes, row_bytes)));
}

Status TableCollection::place(PartId part, std::span<const TableSection> sections,
                              const RowReply& reply, Batch& batch) const {
  auto tables = tables_of(reply);
  if (!tables) {
    return std::move(tables).error().with(fmt::format("rows from part {}", raw(part)));
  }
  if (tables->size() != sections.size()) {
    return bad_tables(part,
                      fmt::format("expected {} tables, got {}", sections.size(), tables->size()));
  }
  for (std::size_t s = 0; s < sections.size(); ++s) {
    const auto& section = sections[s];
    const auto& table = (*tables)[s];
    TROUPE_RETURN_IF_ERROR(check_size(part, section, table.row_bytes));
    if (table.rows.size() != section.rows.size() * section.row_bytes) {
      return bad_tables(part,
                        fmt::format("{}: expected {} rows, got {}", to_string(section.table),
                                    section.rows.size(), table.rows.size() / section.row_bytes));
    }
    const auto& decoder = options_.edge_decoders[section.table.type];
    const auto out = batch.edge_features[section.table.type].view();
    const auto& places = asked_[raw(part)].places[s];
    for (std::size_t i = 0; i < places.size(); ++i) {
      decoder.decode(table.rows.subspan(i * section.row_bytes, section.row_bytes),
                     out.row(places[i]));
    }
  }
  return ok_status();
}

Status TableCollection::place_from(const Part& part, std::span<const TableSection> sections,
                                   Batch& batch) const {
  for (std::size_t s = 0; s < sections.size(); ++s) {
    const auto& section = sections[s];
    TROUPE_ASSIGN_OR_RETURN(const auto table, find_table(part, section));
    TROUPE_RETURN_IF_ERROR(check_size(part.id, section, table.row_bytes));
    const auto& decoder = options_.edge_decoders[section.table.type];
    const auto out = batch.edge_features[section.table.type].view();
    const auto& places = asked_[raw(part.id)].places[s];
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (i + rows_ahead < places.size()) {
        prefetch_row(table.row(section.rows[i + rows_ahead]));
      }
      decoder.decode(table.row(section.rows[i]), out.row(places[i]));
    }
  }
  return ok_status();
}

}  // namespace troupe
