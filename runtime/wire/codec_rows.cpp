#include "runtime/wire/codec_by_hand.hpp"
#include "runtime/wire/codec_support.hpp"
#include "schema/rows.capnp.h"

#include <algorithm>
#include <iterator>

namespace troupe::net {
namespace {

// Of a section of a reply: its head, and zeros before its rows.
constexpr std::uint64_t row_section_overhead_bytes = 48;

Result<RowSource::Kind> to_source_kind(wire::SourceKind kind) {
  switch (kind) {
    case wire::SourceKind::FEATURES:
      return RowSource::Kind::features;
    case wire::SourceKind::TENSOR:
      return RowSource::Kind::tensor;
  }
  return corrupt_message("RowRequest",
                         fmt::format("source: expected features (0) or tensor (1), found {}",
                                     static_cast<unsigned>(kind)));
}

Status read_tables(const SegmentReader& segments, wire::RowRequest::Reader in, RowRequest& out) {
  TROUPE_ASSIGN_OR_RETURN(const IdList places, segments.ids(1, in.getTableWidth()));
  IdUnpacker rows(places, "RowRequest");
  const auto table_list = in.getTables();
  TROUPE_RETURN_IF_ERROR(check_entries("RowRequest", "tables", table_list.size()));
  out.tables.reserve(table_list.size());
  for (const auto table : table_list) {
    auto& section = out.tables.emplace_back();
    const auto kind = static_cast<unsigned>(table.getKind());
    if (kind > static_cast<unsigned>(wire::TableKind::EDGE_COLUMN)) {
      return corrupt_message("RowRequest",
                             fmt::format("table: expected a kind from 0 to 2, found {}", kind));
    }
    section.table = {static_cast<TableName::Kind>(kind), table.getType(), table.getColumn()};
    TROUPE_ASSIGN_OR_RETURN(const auto its_rows, rows.take(table.getRows()));
    section.rows.reserve(its_rows.size());
    std::ranges::transform(its_rows, std::back_inserter(section.rows),
                           [](NodeId place) { return raw(place); });
  }
  return rows.finish();
}

Result<RowRequest> read_row_request(const Frame& frame, wire::RowRequest::Reader in) {
  const SegmentReader segments(frame, "RowRequest");
  TROUPE_RETURN_IF_ERROR(segments.at_most(2));
  RowRequest out;
  TROUPE_ASSIGN_OR_RETURN(out.source.kind, to_source_kind(in.getSource()));
  out.source.tensor = in.getTensor();
  out.with_original_ids = in.getWithOriginalIds();
  out.flow = in.getFlow();
  TROUPE_ASSIGN_OR_RETURN(const IdList ids, segments.ids(0, in.getNodeWidth()));
  IdUnpacker nodes(ids, "RowRequest");
  const auto section_list = in.getSections();
  TROUPE_RETURN_IF_ERROR(check_entries("RowRequest", "sections", section_list.size()));
  out.sections.reserve(section_list.size());
  for (const auto section : section_list) {
    auto& of_type = out.sections.emplace_back();
    of_type.node_type = static_cast<NodeTypeId>(section.getNodeType());
    of_type.with_rows = section.getWithRows();
    TROUPE_ASSIGN_OR_RETURN(of_type.nodes, nodes.take(section.getNodes()));
    of_type.label_nodes = section.getLabelNodes();
    if (of_type.label_nodes > of_type.nodes.size()) {
      return corrupt_message("RowRequest",
                             fmt::format("label nodes: expected at most the {} nodes, found {}",
                                         of_type.nodes.size(), of_type.label_nodes));
    }
  }
  TROUPE_RETURN_IF_ERROR(nodes.finish());
  TROUPE_RETURN_IF_ERROR(read_tables(segments, in, out));
  return out;
}

Result<RowReply> read_row_reply(const Frame& frame, wire::RowReply::Reader in) {
  const SegmentReader segments(frame, "RowReply");
  RowReply out;
  const auto section_list = in.getSections();
  TROUPE_RETURN_IF_ERROR(check_entries("RowReply", "sections", section_list.size()));
  out.sections.reserve(section_list.size());
  for (const auto section : section_list) {
    out.sections.push_back({.nodes = section.getNodes(),
                            .row_bytes = section.getRowBytes(),
                            .labels = section.getLabels(),
                            .targets = section.getTargets()});
    if (section.getLabels() > section.getNodes()) {
      return corrupt_message("RowReply", fmt::format("labels: expected at most {}, found {}",
                                                     section.getNodes(), section.getLabels()));
    }
  }
  const auto table_list = in.getTables();
  TROUPE_RETURN_IF_ERROR(check_entries("RowReply", "tables", table_list.size()));
  for (const auto table : table_list) {
    out.tables.push_back({table.getRows(), table.getRowBytes()});
  }
  // Rows have any dtype: aligned as the widest of them.
  out.rows = segments.aligned(0);
  TROUPE_ASSIGN_OR_RETURN(out.original_ids, segments.pooled<OriginalId>(1));
  TROUPE_ASSIGN_OR_RETURN(out.labels, segments.pooled<std::int64_t>(2));
  TROUPE_ASSIGN_OR_RETURN(out.targets, segments.pooled<float>(3));
  TROUPE_RETURN_IF_ERROR(check_sections(out));
  return out;
}

}  // namespace

void encode_by_hand(const RowRequest& message, Frame& frame) {
  IdList nodes = pack_lists(
      message.sections, [](const RowSection& section) -> const auto& { return section.nodes; });
  std::vector<NodeId> all_places;
  for (const auto& table : message.tables) {
    std::ranges::transform(table.rows, std::back_inserter(all_places),
                           [](std::uint64_t place) { return static_cast<NodeId>(place); });
  }
  IdList places;
  if (!all_places.empty()) {
    places = pack_ids(all_places);
  }
  write_message<wire::RowRequest>(frame, [&](wire::RowRequest::Builder out) {
    out.setSource(message.source.kind == RowSource::Kind::features ? wire::SourceKind::FEATURES
                                                                   : wire::SourceKind::TENSOR);
    out.setTensor(message.source.tensor);
    out.setWithOriginalIds(message.with_original_ids);
    out.setNodeWidth(nodes.width_bytes);
    out.setFlow(message.flow);
    auto sections = out.initSections(static_cast<unsigned>(message.sections.size()));
    for (unsigned i = 0; i < sections.size(); ++i) {
      const auto& section = message.sections[i];
      sections[i].setNodeType(raw(section.node_type));
      sections[i].setNodes(section.nodes.size());
      sections[i].setWithRows(section.with_rows);
      sections[i].setLabelNodes(section.label_nodes);
    }
    out.setTableWidth(places.width_bytes);
    auto tables = out.initTables(static_cast<unsigned>(message.tables.size()));
    for (unsigned i = 0; i < tables.size(); ++i) {
      tables[i].setKind(static_cast<wire::TableKind>(message.tables[i].table.kind));
      tables[i].setType(message.tables[i].table.type);
      tables[i].setColumn(message.tables[i].table.column);
      tables[i].setRows(message.tables[i].rows.size());
    }
  });
  frame.segments = {std::move(nodes.segment)};
  if (!all_places.empty()) {
    frame.segments.push_back(std::move(places.segment));
  }
}

Result<RowRequest> decode_by_hand(const Frame& frame, ReadAs<RowRequest>) {
  return read_message<RowRequest, wire::RowRequest>(
      frame, "RowRequest", [&](auto in) { return read_row_request(frame, in); });
}

std::uint64_t reply_bytes(const RowRequest& message) {
  std::uint64_t bytes = small_reply_bytes;
  for (const auto& section : message.sections) {
    const std::uint64_t node_bytes = (section.with_rows ? section.row_bytes : 0) +
                                     (message.with_original_ids ? sizeof(OriginalId) : 0);
    bytes = saturating_add(bytes, saturating_mul(section.nodes.size(), node_bytes));
    bytes = saturating_add(bytes, saturating_mul(section.label_nodes, section.label_bytes));
    bytes = saturating_add(bytes, row_section_overhead_bytes);
  }
  for (const auto& table : message.tables) {
    bytes = saturating_add(bytes, saturating_mul(table.rows.size(), table.row_bytes));
    bytes = saturating_add(bytes, row_section_overhead_bytes);
  }
  return bytes;
}

void encode_by_hand(const RowReply& message, Frame& frame) {
  write_message<wire::RowReply>(frame, [&](wire::RowReply::Builder out) {
    auto sections = out.initSections(static_cast<unsigned>(message.sections.size()));
    for (unsigned i = 0; i < sections.size(); ++i) {
      sections[i].setNodes(message.sections[i].nodes);
      sections[i].setRowBytes(message.sections[i].row_bytes);
      sections[i].setLabels(message.sections[i].labels);
      sections[i].setTargets(message.sections[i].targets);
    }
    auto tables = out.initTables(static_cast<unsigned>(message.tables.size()));
    for (unsigned i = 0; i < tables.size(); ++i) {
      tables[i].setRows(message.tables[i].rows);
      tables[i].setRowBytes(message.tables[i].row_bytes);
    }
  });
  frame.segments = {message.rows, copy_segment(message.original_ids), copy_segment(message.labels),
                    copy_segment(message.targets)};
}

Result<RowReply> decode_by_hand(const Frame& frame, ReadAs<RowReply>) {
  return read_message<RowReply, wire::RowReply>(frame, "RowReply",
                                                [&](auto in) { return read_row_reply(frame, in); });
}

}  // namespace troupe::net
