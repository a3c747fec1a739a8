#include "runtime/feature/row_request.hpp"

#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <utility>

namespace troupe {
namespace {

Status check_request(const Part& part, const RowRequest& request) {
  const auto refuse = [&](Errc code, const std::string& what) {
    return Error(code, fmt::format("reading rows of part {}: {}", raw(part.id), what));
  };
  if (request.source.kind != RowSource::Kind::features) {
    return refuse(Errc::failed_precondition,
                  fmt::format("expected features, got tensor {}: a part holds no tensors",
                              request.source.tensor));
  }
  if (raw(request.node_type) >= part.nodes.size()) {
    return refuse(Errc::invalid_argument, fmt::format("expected node type < {}, got {}",
                                                      part.nodes.size(), raw(request.node_type)));
  }
  if (request.label_nodes > request.nodes.size()) {
    return refuse(Errc::invalid_argument, fmt::format("labels of {} nodes wanted, {} given",
                                                      request.label_nodes, request.nodes.size()));
  }
  const auto& nodes = part.nodes_of(request.node_type);
  if (request.with_rows && !nodes.features) {
    return refuse(Errc::invalid_argument,
                  fmt::format("node type {} has no features", raw(request.node_type)));
  }
  for (const NodeId node : request.nodes) {
    if (!nodes.owns(node)) {
      return refuse(Errc::invalid_argument,
                    fmt::format("node {} is not in [{}, {})", raw(node), raw(nodes.first),
                                raw(nodes.first) + nodes.count));
    }
  }
  return ok_status();
}

Segment copy_rows(const PartNodes& nodes, std::span<const NodeId> wanted) {
  const std::size_t row_bytes = nodes.features->row_bytes();
  Buffer rows(wanted.size() * row_bytes);
  std::byte* out = rows.data();
  for (std::size_t i = 0; i < wanted.size() && row_bytes > 0; ++i) {
    if (i + rows_ahead < wanted.size()) {
      __builtin_prefetch(nodes.features->row(nodes.local(wanted[i + rows_ahead])).data());
    }
    std::memcpy(out, nodes.features->row(nodes.local(wanted[i])).data(), row_bytes);
    out += row_bytes;
  }
  return std::move(rows).freeze();
}

}  // namespace

Result<RowReply> read_part_rows(const Part& part, const RowRequest& request) {
  TROUPE_RETURN_IF_ERROR(check_request(part, request));
  const auto& nodes = part.nodes_of(request.node_type);
  RowReply reply;
  if (request.with_rows) {
    const std::size_t row_bytes = nodes.features->row_bytes();
    if (row_bytes > std::numeric_limits<std::uint32_t>::max()) {
      return Error(Errc::unimplemented,
                   fmt::format("reading rows of part {}: rows of {} bytes, at most 2^32-1 work",
                               raw(part.id), row_bytes));
    }
    reply.row_bytes = static_cast<std::uint32_t>(row_bytes);
    reply.rows = copy_rows(nodes, request.nodes);
  }
  if (request.with_original_ids) {
    reply.original_ids.reserve(request.nodes.size());
    for (const NodeId node : request.nodes) {
      reply.original_ids.push_back(static_cast<OriginalId>(nodes.original_ids[nodes.local(node)]));
    }
  }
  const std::size_t columns = nodes.count == 0 ? 0 : nodes.targets.size() / nodes.count;
  for (std::size_t i = 0; i < request.label_nodes; ++i) {
    const std::uint64_t local = nodes.local(request.nodes[i]);
    if (!nodes.labels.empty()) {
      reply.labels.push_back(nodes.labels[local]);
    }
    const auto targets = nodes.targets.subspan(local * columns, columns);
    reply.targets.insert(reply.targets.end(), targets.begin(), targets.end());
  }
  return reply;
}

}  // namespace troupe
