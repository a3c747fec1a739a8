#include "runtime/feature/row_request.hpp"

#include "runtime/base/section_cutter.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <functional>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>

namespace troupe {
namespace {

constexpr std::string_view reply_name = "row reply";

Error refused(const Part& part, Errc code, const std::string& what) {
  return {code, fmt::format("reading rows of part {}: {}", raw(part.id), what)};
}

Status check_section(const Part& part, const RowSection& section, bool rows) {
  if (raw(section.node_type) >= part.nodes.size()) {
    return refused(
        part, Errc::invalid_argument,
        fmt::format("expected node type < {}, got {}", part.nodes.size(), raw(section.node_type)));
  }
  if (section.label_nodes > section.nodes.size()) {
    return refused(part, Errc::invalid_argument,
                   fmt::format("labels of {} nodes wanted, {} given", section.label_nodes,
                               section.nodes.size()));
  }
  const auto& nodes = part.nodes_of(section.node_type);
  const bool with_rows = rows && section.with_rows;
  if (with_rows && !nodes.features) {
    return refused(part, Errc::invalid_argument,
                   fmt::format("node type {} has no features", raw(section.node_type)));
  }
  if (with_rows && nodes.features->row_bytes() > std::numeric_limits<std::uint32_t>::max()) {
    return refused(
        part, Errc::unimplemented,
        fmt::format("rows of {} bytes, at most 2^32-1 work", nodes.features->row_bytes()));
  }
  for (const NodeId node : section.nodes) {
    if (!nodes.owns(node)) {
      return refused(part, Errc::invalid_argument,
                     fmt::format("node {} is not in [{}, {})", raw(node), raw(nodes.first),
                                 raw(nodes.first) + nodes.count));
    }
  }
  return ok_status();
}

/// \param rows  whether features are read where sections ask for them
Status check_request(const Part& part, const RowRequest& request, bool rows) {
  if (request.source.kind != RowSource::Kind::features) {
    return refused(part, Errc::failed_precondition,
                   fmt::format("expected features, got tensor {}: a part holds no tensors",
                               request.source.tensor));
  }
  const RowSection* before = nullptr;
  for (const auto& section : request.sections) {
    if (before != nullptr && section.node_type <= before->node_type) {
      return refused(part, Errc::invalid_argument,
                     fmt::format("expected node types in ascending order, got {} after {}",
                                 raw(section.node_type), raw(before->node_type)));
    }
    TROUPE_RETURN_IF_ERROR(check_section(part, section, rows));
    before = &section;
  }
  const auto table = std::ranges::adjacent_find(request.tables, std::ranges::greater_equal(),
                                                &TableSection::table);
  if (table != request.tables.end()) {
    return refused(part, Errc::invalid_argument,
                   fmt::format("expected tables in ascending order, none twice, got {} after {}",
                               to_string(std::next(table)->table), to_string(table->table)));
  }
  return ok_status();
}

/// \param place_of  place in the table of an item of `wanted`
template <class T, class PlaceOf>
void copy_rows(const FeatureTable& table, std::span<const T> wanted, PlaceOf place_of,
               std::span<std::byte> to) {
  const std::size_t row_bytes = table.row_bytes();
  std::byte* out = to.data();
  for (std::size_t i = 0; i < wanted.size() && row_bytes > 0; ++i) {
    if (i + rows_ahead < wanted.size()) {
      prefetch_row(table.row(place_of(wanted[i + rows_ahead])));
    }
    std::memcpy(out, table.row(place_of(wanted[i])).data(), row_bytes);
    out += row_bytes;
  }
}

/// Labels and targets of a section.
void read_labels(const PartNodes& nodes, const RowSection& section, RowReply& reply,
                 RowReply::Section& of) {
  const std::size_t columns = nodes.count == 0 ? 0 : nodes.targets.size() / nodes.count;
  for (std::size_t i = 0; i < section.label_nodes; ++i) {
    const std::uint64_t local = nodes.local(section.nodes[i]);
    if (!nodes.labels.empty()) {
      reply.labels.push_back(nodes.labels[local]);
      ++of.labels;
    }
    const auto targets = nodes.targets.subspan(local * columns, columns);
    reply.targets.insert(reply.targets.end(), targets.begin(), targets.end());
    of.targets += columns;
  }
}

/// Takes `count` rows.
Result<std::span<const std::byte>> cut_rows(SectionCutter<std::byte>& rows, std::uint64_t count,
                                            std::uint64_t row_bytes) {
  if (row_bytes != 0 && count > rows.left_aligned() / row_bytes) {
    return Error(Errc::data_corruption,
                 fmt::format("{}: expected {} rows of {} bytes or more, found {}", reply_name,
                             count, row_bytes, rows.left_aligned() / row_bytes));
  }
  return rows.take_aligned(count * row_bytes);
}

/// Calls `f` with each section, then `g` with each table.
template <class F, class G>
Status cut_reply(const RowReply& reply, F f, G g) {
  SectionCutter<std::byte> rows(reply.rows.bytes, reply_name, "bytes of rows");
  SectionCutter<OriginalId> ids(reply.original_ids, reply_name, "original ids");
  SectionCutter<std::int64_t> labels(reply.labels, reply_name, "labels");
  SectionCutter<float> targets(reply.targets, reply_name, "targets");
  const bool with_ids = ids.left() != 0;
  for (const auto& section : reply.sections) {
    RowSectionView view;
    view.row_bytes = section.row_bytes;
    TROUPE_ASSIGN_OR_RETURN(view.rows, cut_rows(rows, section.nodes, section.row_bytes));
    TROUPE_ASSIGN_OR_RETURN(view.original_ids, ids.take(with_ids ? section.nodes : 0));
    TROUPE_ASSIGN_OR_RETURN(view.labels, labels.take(section.labels));
    TROUPE_ASSIGN_OR_RETURN(view.targets, targets.take(section.targets));
    f(view);
  }
  for (const auto& table : reply.tables) {
    TROUPE_ASSIGN_OR_RETURN(const auto its_rows, cut_rows(rows, table.rows, table.row_bytes));
    g(TableRows{its_rows, table.row_bytes});
  }
  TROUPE_RETURN_IF_ERROR(rows.finish());
  TROUPE_RETURN_IF_ERROR(ids.finish());
  TROUPE_RETURN_IF_ERROR(labels.finish());
  return targets.finish();
}

constexpr auto skip_sections = [](const RowSectionView&) {};
constexpr auto skip_tables = [](const TableRows&) {};

}  // namespace

std::string to_string(const TableName& name) {
  return name.kind == TableName::Kind::edge_features
             ? fmt::format("features of edge type {}", name.type)
             : fmt::format("column {} of {} type {}", name.column,
                           name.kind == TableName::Kind::node_column ? "node" : "edge", name.type);
}

Result<std::vector<RowSectionView>> sections_of(const RowReply& reply) {
  std::vector<RowSectionView> views;
  views.reserve(reply.sections.size());
  TROUPE_RETURN_IF_ERROR(cut_reply(
      reply, [&](const RowSectionView& view) { views.push_back(view); }, skip_tables));
  return views;
}

Result<std::vector<TableRows>> tables_of(const RowReply& reply) {
  std::vector<TableRows> views;
  views.reserve(reply.tables.size());
  TROUPE_RETURN_IF_ERROR(
      cut_reply(reply, skip_sections, [&](const TableRows& view) { views.push_back(view); }));
  return views;
}

Status check_sections(const RowReply& reply) {
  return cut_reply(reply, skip_sections, skip_tables);
}

OpenRowReply::OpenRowReply(const RowRequest& request, std::span<const std::uint64_t> row_bytes,
                           std::span<const std::uint64_t> table_row_bytes) {
  std::uint64_t bytes = 0;
  const auto add = [&](std::uint64_t size) {
    places_.push_back({section_begin(bytes, size), size});
    bytes = places_.back().begin + size;
  };
  for (std::size_t i = 0; i < request.sections.size(); ++i) {
    const std::uint64_t nodes = request.sections[i].nodes.size();
    reply.sections.push_back(
        {.nodes = nodes, .row_bytes = static_cast<std::uint32_t>(row_bytes[i])});
    add(nodes * row_bytes[i]);
  }
  for (std::size_t i = 0; i < table_row_bytes.size(); ++i) {
    const std::uint64_t rows = request.tables[i].rows.size();
    reply.tables.push_back({rows, static_cast<std::uint32_t>(table_row_bytes[i])});
    add(rows * table_row_bytes[i]);
  }
  buffer_ = Buffer(bytes);
  std::uint64_t end = 0;
  for (const auto& place : places_) {
    std::ranges::fill(buffer_.bytes().subspan(end, place.begin - end), std::byte{});
    end = place.begin + place.bytes;
  }
}

std::span<std::byte> OpenRowReply::at(const Place& place) const {
  return buffer_.bytes().subspan(place.begin, place.bytes);
}

std::span<std::byte> OpenRowReply::rows(std::size_t section) const {
  return at(places_[section]);
}

std::span<std::byte> OpenRowReply::table(std::size_t table) const {
  return at(places_[reply.sections.size() + table]);
}

RowReply OpenRowReply::close() && {
  reply.rows = std::move(buffer_).freeze();
  return std::move(reply);
}

namespace {

/// Null: there is none.
const FeatureTable* table_of(const Part& part, const TableName& name) {
  const auto column_of = [&](const auto& types) -> const FeatureTable* {
    return name.type < types.size() && name.column < types[name.type].columns.size()
               ? &types[name.type].columns[name.column]
               : nullptr;
  };
  if (name.kind == TableName::Kind::node_column) {
    return column_of(part.nodes);
  }
  if (name.kind == TableName::Kind::edge_column) {
    return column_of(part.edges);
  }
  return name.type < part.edges.size() && part.edges[name.type].features
             ? &*part.edges[name.type].features
             : nullptr;
}

}  // namespace

Result<const FeatureTable*> find_table(const Part& part, const TableSection& section) {
  const auto* found = table_of(part, section.table);
  if (found == nullptr) {
    return refused(part, Errc::invalid_argument,
                   fmt::format("there is no table \"{}\"", to_string(section.table)));
  }
  if (found->row_bytes() > std::numeric_limits<std::uint32_t>::max()) {
    return refused(part, Errc::unimplemented,
                   fmt::format("rows of {} bytes, at most 2^32-1 work", found->row_bytes()));
  }
  const auto most = section.rows.empty() ? 0 : std::ranges::max(section.rows);
  if (!section.rows.empty() && most >= found->rows) {
    return refused(part, Errc::invalid_argument,
                   fmt::format("{}: expected rows below {}, got {}", to_string(section.table),
                               found->rows, most));
  }
  return found;
}

Result<RowReply> read_part_rows(const Part& part, const RowRequest& request) {
  TROUPE_RETURN_IF_ERROR(check_request(part, request, true));
  std::vector<std::uint64_t> row_bytes;
  for (const auto& section : request.sections) {
    const auto& nodes = part.nodes_of(section.node_type);
    row_bytes.push_back(section.with_rows ? nodes.features->row_bytes() : 0);
  }
  std::vector<const FeatureTable*> tables;
  std::vector<std::uint64_t> table_row_bytes;
  for (const auto& section : request.tables) {
    TROUPE_ASSIGN_OR_RETURN(tables.emplace_back(), find_table(part, section));
    table_row_bytes.push_back(tables.back()->row_bytes());
  }
  OpenRowReply open(request, row_bytes, table_row_bytes);
  auto& ids = open.reply.original_ids;
  ids.reserve(request.with_original_ids ? request.num_nodes() : 0);
  for (std::size_t i = 0; i < request.sections.size(); ++i) {
    const auto& section = request.sections[i];
    const auto& nodes = part.nodes_of(section.node_type);
    if (section.with_rows) {
      copy_rows(
          *nodes.features, std::span<const NodeId>(section.nodes),
          [&nodes](NodeId id) { return nodes.local(id); }, open.rows(i));
    }
    if (request.with_original_ids) {
      each_original_id(nodes, section.nodes,
                       [&](std::size_t, OriginalId id) { ids.push_back(id); });
    }
    read_labels(nodes, section, open.reply, open.reply.sections[i]);
  }
  for (std::size_t i = 0; i < tables.size(); ++i) {
    copy_rows(*tables[i], std::span<const std::uint64_t>(request.tables[i].rows), std::identity(),
              open.table(i));
  }
  return std::move(open).close();
}

Result<RowReply> read_part_labels(const Part& part, const RowRequest& request) {
  TROUPE_RETURN_IF_ERROR(check_request(part, request, false));
  RowReply reply;
  for (const auto& section : request.sections) {
    auto& of = reply.sections.emplace_back();
    read_labels(part.nodes_of(section.node_type), section, reply, of);
  }
  return reply;
}

}  // namespace troupe
