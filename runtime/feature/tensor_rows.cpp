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

Result<std::vector<std::shared_ptr<const Matrix>>> TensorTable::find(
    const RowRequest& request) const {
  std::vector<std::shared_ptr<const Matrix>> found;
  for (const auto& section : request.sections) {
    TROUPE_ASSIGN_OR_RETURN(auto tensor, find(request.source.tensor, section.node_type));
    found.push_back(std::move(tensor));
  }
  return found;
}

Result<RowReply> read_tensor_rows(const Part& part, std::span<const Matrix* const> tensors,
                                  const RowRequest& request) {
  std::vector<std::uint64_t> row_bytes;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    TROUPE_RETURN_IF_ERROR(check_type(part, request.source.tensor, request.sections[i].node_type));
    row_bytes.push_back(tensors[i]->cols() * sizeof(float));
  }
  OpenRowReply open(request, row_bytes);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto& nodes = part.nodes_of(request.sections[i].node_type);
    std::byte* out = open.rows(i).data();
    for (const NodeId node : request.sections[i].nodes) {
      if (!nodes.owns(node)) {
        return Error(Errc::invalid_argument,
                     fmt::format("rows of tensor {}: part {} owns nodes [{}, {}), found node {}",
                                 request.source.tensor, raw(part.id), raw(nodes.first),
                                 raw(nodes.first) + nodes.count, raw(node)));
      }
      std::memcpy(out, tensors[i]->data() + nodes.local(node) * tensors[i]->cols(), row_bytes[i]);
      out += row_bytes[i];
    }
  }
  return std::move(open).close();
}

}  // namespace troupe
