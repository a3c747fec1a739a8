#include "runtime/feature/writable_tensors.hpp"

#include "runtime/feature/tensor_rows.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace troupe {
namespace {

Error refused(const Part& part, const WriteRows& write, const std::string& what) {
  return {Errc::invalid_argument,
          fmt::format("write {} of rank {} to tensor {} of part {}: {}", write.operation,
                      raw(write.writer), write.tensor, raw(part.id), what)};
}

Status check(const Part& part, const WriteRows& write) {
  if (raw(write.node_type) >= part.nodes.size()) {
    return refused(part, write,
                   fmt::format("expected a node type < {}, found {}", part.nodes.size(),
                               raw(write.node_type)));
  }
  if (write.cols == 0 || write.cols > max_tensor_cols) {
    return refused(part, write,
                   fmt::format("expected 1..{} columns, found {}", max_tensor_cols, write.cols));
  }
  const auto bytes = write.nodes.size() * write.cols * sizeof(float);
  if (write.rows.bytes.size() != bytes) {
    return refused(part, write,
                   fmt::format("expected {} bytes for {} rows of {} columns, found {}", bytes,
                               write.nodes.size(), write.cols, write.rows.bytes.size()));
  }
  const auto& nodes = part.nodes_of(write.node_type);
  const auto stranger =
      std::ranges::find_if(write.nodes, [&](NodeId node) { return !nodes.owns(node); });
  if (stranger != write.nodes.end()) {
    return refused(part, write,
                   fmt::format("expected nodes in [{}, {}), found {}", raw(nodes.first),
                               raw(nodes.first) + nodes.count, raw(*stranger)));
  }
  return ok_status();
}

void put(Matrix& tensor, const PartNodes& nodes, const WriteRows& write) {
  const auto values = write.rows.as<float>();
  for (std::size_t i = 0; i < write.nodes.size(); ++i) {
    const auto from = values.subspan(i * write.cols, write.cols);
    const auto to = tensor.view().row(nodes.local(write.nodes[i]));
    if (write.add) {
      std::ranges::transform(to, from, to.begin(), std::plus<>());
    } else {
      std::ranges::copy(from, to.begin());
    }
  }
}

}  // namespace

Status WritableTensors::apply(const Part& part, const WriteRows& write) {
  const auto before = last_operation_.find(write.writer);
  const std::uint64_t last = before == last_operation_.end() ? 0 : before->second;
  if (write.operation != 0 && write.operation <= last) {
    return ok_status();
  }
  if (write.operation != last + 1) {
    return Error(Errc::failed_precondition,
                 fmt::format("part {}: expected write {} of rank {}, found write {}: what was "
                             "written before is lost here; try: --resume from the last checkpoint",
                             raw(part.id), last + 1, raw(write.writer), write.operation));
  }
  TROUPE_RETURN_IF_ERROR(check(part, write));
  const std::pair key(write.tensor, write.node_type);
  auto found = tensors_.find(key);
  if (found == tensors_.end()) {
    if (tensors_.size() == max_writable_tensors) {
      return refused(part, write, fmt::format("expected at most {} tensors", max_writable_tensors));
    }
    const auto owned = part.nodes_of(write.node_type).count;
    found = tensors_.emplace(key, Matrix::zeros(owned, write.cols)).first;
  }
  if (found->second.cols() != write.cols) {
    return refused(part, write,
                   fmt::format("expected {} columns, found {}", found->second.cols(), write.cols));
  }
  put(found->second, part.nodes_of(write.node_type), write);
  last_operation_[write.writer] = write.operation;
  return ok_status();
}

bool WritableTensors::serves(const RowRequest& request) const {
  return request.source.kind == RowSource::Kind::tensor &&
         std::ranges::any_of(request.sections, [&](const RowSection& section) {
           return tensors_.contains({request.source.tensor, section.node_type});
         });
}

Result<RowReply> WritableTensors::read(const Part& part, const RowRequest& request) const {
  std::vector<const Matrix*> found;
  for (const auto& section : request.sections) {
    const auto tensor = tensors_.find({request.source.tensor, section.node_type});
    if (tensor == tensors_.end()) {
      return Error(Errc::not_found, fmt::format("tensor {} of node type {}: not stored here",
                                                request.source.tensor, raw(section.node_type)));
    }
    found.push_back(&tensor->second);
  }
  return read_tensor_rows(part, found, request);
}

}  // namespace troupe
