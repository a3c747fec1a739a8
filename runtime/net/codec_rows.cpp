#include "runtime/net/codec.hpp"
#include "runtime/net/codec_support.hpp"
#include "schema/rows.capnp.h"

namespace troupe::net {
namespace {

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

Result<RowRequest> read_row_request(const Frame& frame, wire::RowRequest::Reader in) {
  const SegmentReader segments(frame, "RowRequest");
  TROUPE_RETURN_IF_ERROR(segments.at_most(1));
  RowRequest out;
  out.node_type = static_cast<NodeTypeId>(in.getNodeType());
  TROUPE_ASSIGN_OR_RETURN(out.source.kind, to_source_kind(in.getSource()));
  out.source.tensor = in.getTensor();
  out.with_rows = in.getWithRows();
  out.with_original_ids = in.getWithOriginalIds();
  out.flow = in.getFlow();
  TROUPE_ASSIGN_OR_RETURN(const IdList nodes, segments.ids(0, in.getNodeWidth()));
  out.nodes = unpack_ids(nodes);
  out.label_nodes = in.getLabelNodes();
  if (out.label_nodes > out.nodes.size()) {
    return corrupt_message("RowRequest",
                           fmt::format("label nodes: expected at most the {} nodes, found {}",
                                       out.nodes.size(), out.label_nodes));
  }
  return out;
}

Result<RowReply> read_row_reply(const Frame& frame, wire::RowReply::Reader in) {
  const SegmentReader segments(frame, "RowReply");
  RowReply out;
  out.row_bytes = in.getRowBytes();
  TROUPE_ASSIGN_OR_RETURN(out.original_ids, segments.vector<OriginalId>(1));
  TROUPE_ASSIGN_OR_RETURN(out.labels, segments.vector<std::int64_t>(2));
  TROUPE_ASSIGN_OR_RETURN(out.targets, segments.vector<float>(3));
  // Rows have any dtype: aligned as the widest of them.
  if (frame.segments.empty() || frame.segments[0].empty()) {
    return out;
  }
  out.rows = frame.segments[0];
  if (reinterpret_cast<std::uintptr_t>(out.rows.bytes.data()) % alignof(double) != 0) {
    out.rows = Segment::of(std::vector<std::byte>(out.rows.bytes.begin(), out.rows.bytes.end()));
  }
  const std::uint64_t size = out.rows.bytes.size();
  if (out.row_bytes == 0 || size % out.row_bytes != 0) {
    return corrupt_message(
        "RowReply",
        fmt::format("rows: expected whole rows of {} bytes, found {} bytes", out.row_bytes, size));
  }
  const std::uint64_t nodes = size / out.row_bytes;
  if (!out.original_ids.empty()) {
    TROUPE_RETURN_IF_ERROR(
        expect_equal("RowReply", "original ids, as many as rows", nodes, out.original_ids.size()));
  }
  if (out.labels.size() > nodes) {
    return corrupt_message("RowReply", fmt::format("labels: expected at most the {} rows, found {}",
                                                   nodes, out.labels.size()));
  }
  return out;
}

}  // namespace

void Wire<RowRequest>::encode(const RowRequest& message, Frame& frame) {
  IdList nodes = pack_ids(message.nodes);
  write_message<wire::RowRequest>(frame, [&](wire::RowRequest::Builder out) {
    out.setNodeType(raw(message.node_type));
    out.setSource(message.source.kind == RowSource::Kind::features ? wire::SourceKind::FEATURES
                                                                   : wire::SourceKind::TENSOR);
    out.setTensor(message.source.tensor);
    out.setWithRows(message.with_rows);
    out.setWithOriginalIds(message.with_original_ids);
    out.setLabelNodes(message.label_nodes);
    out.setNodeWidth(nodes.width_bytes);
    out.setFlow(message.flow);
  });
  frame.segments = {std::move(nodes.segment)};
}

Result<RowRequest> Wire<RowRequest>::decode(const Frame& frame) {
  return read_message<RowRequest, wire::RowRequest>(
      frame, "RowRequest", [&](auto in) { return read_row_request(frame, in); });
}

std::uint64_t Wire<RowRequest>::reply_bytes(const RowRequest& message) {
  const std::uint64_t node_bytes = (message.with_rows ? message.row_bytes : 0) +
                                   (message.with_original_ids ? sizeof(OriginalId) : 0);
  return saturating_add(saturating_add(saturating_mul(message.nodes.size(), node_bytes),
                                       saturating_mul(message.label_nodes, message.label_bytes)),
                        reply_overhead_bytes);
}

void Wire<RowReply>::encode(const RowReply& message, Frame& frame) {
  write_message<wire::RowReply>(
      frame, [&](wire::RowReply::Builder out) { out.setRowBytes(message.row_bytes); });
  frame.segments = {message.rows, copy_segment(message.original_ids), copy_segment(message.labels),
                    copy_segment(message.targets)};
}

Result<RowReply> Wire<RowReply>::decode(const Frame& frame) {
  return read_message<RowReply, wire::RowReply>(frame, "RowReply",
                                                [&](auto in) { return read_row_reply(frame, in); });
}

void Wire<WriteRows>::encode(const WriteRows& message, Frame& frame) {
  IdList nodes = pack_ids(message.nodes);
  write_message<wire::WriteRows>(frame, [&](wire::WriteRows::Builder out) {
    out.setWriter(raw(message.writer));
    out.setOperation(message.operation);
    out.setNodeType(raw(message.node_type));
    out.setTensor(message.tensor);
    out.setCols(message.cols);
    out.setAdd(message.add);
    out.setNodeWidth(nodes.width_bytes);
  });
  frame.segments = {std::move(nodes.segment), message.rows};
}

Result<WriteRows> Wire<WriteRows>::decode(const Frame& frame) {
  const auto read = [&](wire::WriteRows::Reader in) -> Result<WriteRows> {
    const SegmentReader segments(frame, "WriteRows");
    TROUPE_RETURN_IF_ERROR(segments.at_most(2));
    WriteRows out;
    out.writer = static_cast<Rank>(in.getWriter());
    out.operation = in.getOperation();
    out.node_type = static_cast<NodeTypeId>(in.getNodeType());
    out.tensor = in.getTensor();
    out.cols = in.getCols();
    out.add = in.getAdd();
    if (out.cols == 0 || out.cols > max_tensor_cols) {
      return corrupt_message(
          "WriteRows", fmt::format("columns: expected 1..{}, found {}", max_tensor_cols, out.cols));
    }
    TROUPE_ASSIGN_OR_RETURN(const IdList nodes, segments.ids(0, in.getNodeWidth()));
    out.nodes = unpack_ids(nodes);
    TROUPE_ASSIGN_OR_RETURN(out.rows, segments.elements(1, sizeof(float)));
    TROUPE_RETURN_IF_ERROR(expect_equal("WriteRows", "bytes of rows",
                                        out.nodes.size() * out.cols * sizeof(float),
                                        out.rows.bytes.size()));
    return out;
  };
  return read_message<WriteRows, wire::WriteRows>(frame, "WriteRows", read);
}

std::uint64_t Wire<WriteRows>::reply_bytes(const WriteRows&) {
  return reply_overhead_bytes;
}

}  // namespace troupe::net
