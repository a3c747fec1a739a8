#include "runtime/feature/tensor_rows.hpp"

#include <cstring>
#include <fmt/format.h>

namespace troupe {
namespace {

Status check_type(const Part& part, std::uint32_t tensor, NodeTypeId type) {
  if (raw(type) >= part.nodes.size()) {
    return Error(Errc::invalid_argument,
                 fmt::format("tensor {} of part {}: expected node type < {}, got {}", tensor,
                             raw(part.id), part.nodes.size(), raw(type)));
  }
  return ok_status();
}

}  // namespace

Status TensorTable::store(const Part& part, const StoreTensor& message) {
  TROUPE_RETURN_IF_ERROR(check_type(part, message.tensor, message.node_type));
  const auto owned = part.nodes_of(message.node_type).count;
  if (message.rows == nullptr || message.rows->rows() != owned) {
    return Error(Errc::invalid_argument,
                 fmt::format("tensor {} of part {}: expected {} rows, found {}", message.tensor,
                             raw(part.id), owned, message.rows ? message.rows->rows() : 0));
  }
  tensors_[{message.tensor, message.node_type}] = message.rows;
  return ok_status();
}

Result<std::shared_ptr<const Matrix>> TensorTable::find(std::uint32_t tensor,
                                                        NodeTypeId type) const {
  const auto found = tensors_.find({tensor, type});
  if (found == tensors_.end()) {
    return Error(Errc::not_found,
                 fmt::format("tensor {} of node type {}: not stored here", tensor, raw(type)));
  }
  return found->second;
}

Result<RowReply> read_tensor_rows(const Part& part, const Matrix& tensor,
                                  const RowRequest& request) {
  TROUPE_RETURN_IF_ERROR(check_type(part, request.source.tensor, request.node_type));
  const auto& nodes = part.nodes_of(request.node_type);
  const std::size_t row_bytes = tensor.cols() * sizeof(float);
  Buffer rows(request.nodes.size() * row_bytes);
  std::byte* out = rows.data();
  for (const NodeId node : request.nodes) {
    if (!nodes.owns(node)) {
      return Error(Errc::invalid_argument,
                   fmt::format("rows of tensor {}: part {} owns nodes [{}, {}), found node {}",
                               request.source.tensor, raw(part.id), raw(nodes.first),
                               raw(nodes.first) + nodes.count, raw(node)));
    }
    std::memcpy(out, tensor.data() + nodes.local(node) * tensor.cols(), row_bytes);
    out += row_bytes;
  }
  RowReply reply;
  reply.rows = std::move(rows).freeze();
  reply.row_bytes = static_cast<std::uint32_t>(row_bytes);
  return reply;
}

}  // namespace troupe
