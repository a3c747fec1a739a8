#include "runtime/feature/table_collection.hpp"

#include "runtime/base/assert.hpp"

#include <algorithm>
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
      const auto& decoder = options.edge_decoders[type];
      batch.edge_features.resize(sampled.edges.size());
      batch.edge_features[type] = Matrix(sampled.edges[type].sources.size(), decoder.cols());
      add_edges(book, sampled,
                {{TableName::Kind::edge_features, static_cast<std::uint16_t>(type)},
                 0,
                 decoder.row_bytes()});
    }
  }
  for (const auto& column : options.columns) {
    if (options.wants_tables()) {
      make_column(column, batch);
      const Wanted wanted{column.table, columns_.size() - 1, column.info.row_bytes()};
      column.table.kind == TableName::Kind::node_column ? add_nodes(book, sampled, wanted)
                                                        : add_edges(book, sampled, wanted);
    }
  }
}

void TableCollection::make_column(const WantedColumn& wanted, Batch& batch) {
  const auto& sampled = *batch.sampled;
  auto& column = batch.columns.emplace_back();
  column.of_edges = wanted.table.kind == TableName::Kind::edge_column;
  column.type = wanted.table.type;
  column.info = wanted.info;
  column.rows = column.of_edges ? sampled.edges[column.type].sources.size()
                                : sampled.nodes[column.type].ids.size();
  columns_.emplace_back(column.rows * wanted.info.row_bytes());
  column.values = columns_.back().share();
}

/// \requires tables come in ascending order
void TableCollection::add(PartId part, const Wanted& wanted, std::uint64_t row,
                          std::uint32_t place) {
  auto& [sections, targets] = asked_[raw(part)];
  if (sections.empty() || sections.back().table != wanted.table) {
    sections.push_back({wanted.table, {}, wanted.row_bytes});
    targets.push_back({wanted.column, {}});
  }
  sections.back().rows.push_back(row);
  targets.back().places.push_back(place);
}

void TableCollection::add_edges(const PartitionBook& book, const SampledBatch& sampled,
                                const Wanted& wanted) {
  const auto& edges = sampled.edges[wanted.table.type];
  TROUPE_ASSERT(edges.entries.size() == edges.sources.size(), "entry numbers, edges of a type",
                edges.entries.size(), edges.sources.size(), wanted.table.type);
  const auto& ids = sampled.nodes[raw(edges.destination_type)].ids;
  sampled.each_row(edges, [&](std::uint32_t node, std::uint32_t first, std::uint32_t end) {
    const auto owner = book.owner(edges.destination_type, ids[node]);
    for (auto at = first; at < end; ++at) {
      add(owner, wanted, edges.entries[at], at);
    }
  });
}

void TableCollection::add_nodes(const PartitionBook& book, const SampledBatch& sampled,
                                const Wanted& wanted) {
  const auto type = static_cast<NodeTypeId>(wanted.table.type);
  const auto& ids = sampled.nodes[wanted.table.type].ids;
  for (std::uint32_t i = 0; i < ids.size(); ++i) {
    const auto owner = book.owner(type, ids[i]);
    add(owner, wanted, raw(ids[i]) - raw(book.range(type, owner).first), i);
  }
}

/// Puts the row of a section at `i` in its place.
void TableCollection::put(const TableSection& section, const Target& target, std::size_t i,
                          std::span<const std::byte> row, Batch& batch) const {
  const auto place = target.places[i];
  if (section.table.kind == TableName::Kind::edge_features) {
    const auto type = section.table.type;
    options_.edge_decoders[type].decode(row, batch.edge_features[type].view().row(place));
  } else {
    std::ranges::copy(row, columns_[target.column].data() + place * section.row_bytes);
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
    const auto& target = asked_[raw(part)].targets[s];
    for (std::size_t i = 0; i < section.rows.size(); ++i) {
      put(section, target, i, table.rows.subspan(i * section.row_bytes, section.row_bytes), batch);
    }
  }
  return ok_status();
}

Status TableCollection::place_from(const Part& part, std::span<const TableSection> sections,
                                   Batch& batch) const {
  for (std::size_t s = 0; s < sections.size(); ++s) {
    const auto& section = sections[s];
    TROUPE_ASSIGN_OR_RETURN(const auto* const found, find_table(part, section));
    const auto& table = *found;
    TROUPE_RETURN_IF_ERROR(check_size(part.id, section, table.row_bytes()));
    const auto& target = asked_[raw(part.id)].targets[s];
    for (std::size_t i = 0; i < section.rows.size(); ++i) {
      if (i + rows_ahead < section.rows.size()) {
        prefetch_row(table.row(section.rows[i + rows_ahead]));
      }
      put(section, target, i, table.row(section.rows[i]), batch);
    }
  }
  return ok_status();
}

}  // namespace troupe
