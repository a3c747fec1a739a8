#include "runtime/feature/row_request.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <utility>

namespace troupe {
namespace {

Error refused(const Part& part, Errc code, const std::string& what) {
  return {code, fmt::format("reading rows of part {}: {}", raw(part.id), what)};
}

Status check_section(const Part& part, const RowSection& section) {
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
  if (section.with_rows && !nodes.features) {
    return refused(part, Errc::invalid_argument,
                   fmt::format("node type {} has no features", raw(section.node_type)));
  }
  if (section.with_rows &&
      nodes.features->row_bytes() > std::numeric_limits<std::uint32_t>::max()) {
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

Status check_request(const Part& part, const RowRequest& request) {
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
    TROUPE_RETURN_IF_ERROR(check_section(part, section));
    before = &section;
  }
  return ok_status();
}

void copy_rows(const PartNodes& nodes, std::span<const NodeId> wanted, std::span<std::byte> to) {
  const std::size_t row_bytes = nodes.features->row_bytes();
  std::byte* out = to.data();
  for (std::size_t i = 0; i < wanted.size() && row_bytes > 0; ++i) {
    if (i + rows_ahead < wanted.size()) {
      __builtin_prefetch(nodes.features->row(nodes.local(wanted[i + rows_ahead])).data());
    }
    std::memcpy(out, nodes.features->row(nodes.local(wanted[i])).data(), row_bytes);
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

Error corrupt(std::string_view what, std::uint64_t expected, std::uint64_t found) {
  return {Errc::data_corruption,
          fmt::format("row reply: expected {} {}, found {}", expected, what, found)};
}

/// Takes values of sections out of an array, one after the other.
template <class T>
class Taker {
 public:
  explicit Taker(std::span<const T> all) : all_(all) {}
  bool has(std::uint64_t count) const { return count <= all_.size() - taken_; }
  std::span<const T> take(std::uint64_t count) {
    taken_ += count;
    return all_.subspan(taken_ - count, count);
  }
  std::uint64_t taken() const { return taken_; }
  bool done() const { return taken_ == all_.size(); }

 private:
  std::span<const T> all_;
  std::uint64_t taken_ = 0;
};

}  // namespace

std::uint64_t RowRequest::num_nodes() const {
  std::uint64_t nodes = 0;
  for (const auto& section : sections) {
    nodes += section.nodes.size();
  }
  return nodes;
}

Result<std::vector<RowSectionView>> sections_of(const RowReply& reply) {
  Taker<std::byte> rows(reply.rows.bytes);
  Taker<OriginalId> ids(reply.original_ids);
  Taker<std::int64_t> labels(reply.labels);
  Taker<float> targets(reply.targets);
  std::vector<RowSectionView> views;
  views.reserve(reply.sections.size());
  for (const auto& section : reply.sections) {
    const std::uint64_t padding = section_begin(rows.taken()) - rows.taken();
    const std::uint64_t left = reply.rows.bytes.size() - rows.taken();
    if (section.row_bytes != 0 &&
        (padding > left || section.nodes > (left - padding) / section.row_bytes)) {
      return corrupt(fmt::format("rows of {} bytes or more", section.row_bytes), section.nodes,
                     left / section.row_bytes);
    }
    const std::uint64_t its_ids = reply.original_ids.empty() ? 0 : section.nodes;
    if (!ids.has(its_ids)) {
      return corrupt("original ids or more", ids.taken() + its_ids, reply.original_ids.size());
    }
    if (!labels.has(section.labels)) {
      return corrupt("labels or more", labels.taken() + section.labels, reply.labels.size());
    }
    if (!targets.has(section.targets)) {
      return corrupt("targets or more", targets.taken() + section.targets, reply.targets.size());
    }
    const std::uint64_t row_bytes = section.nodes * section.row_bytes;
    if (row_bytes > 0) {
      rows.take(padding);
    }
    views.push_back({rows.take(row_bytes), section.row_bytes, ids.take(its_ids),
                     labels.take(section.labels), targets.take(section.targets)});
  }
  if (!rows.done()) {
    return corrupt("bytes of rows", rows.taken(), reply.rows.bytes.size());
  }
  if (!ids.done()) {
    return corrupt("original ids", ids.taken(), reply.original_ids.size());
  }
  if (!labels.done()) {
    return corrupt("labels", labels.taken(), reply.labels.size());
  }
  if (!targets.done()) {
    return corrupt("targets", targets.taken(), reply.targets.size());
  }
  return views;
}

OpenRowReply::OpenRowReply(const RowRequest& request, std::span<const std::uint64_t> row_bytes) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < request.sections.size(); ++i) {
    const std::uint64_t nodes = request.sections[i].nodes.size();
    reply.sections.push_back(
        {.nodes = nodes, .row_bytes = static_cast<std::uint32_t>(row_bytes[i])});
    begins_.push_back(nodes * row_bytes[i] > 0 ? section_begin(bytes) : bytes);
    bytes = begins_.back() + nodes * row_bytes[i];
  }
  buffer_ = Buffer(bytes);
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < begins_.size(); ++i) {
    std::ranges::fill(buffer_.bytes().subspan(end, begins_[i] - end), std::byte{});
    end = begins_[i] + rows(i).size();
  }
}

std::span<std::byte> OpenRowReply::rows(std::size_t section) const {
  const auto& of = reply.sections[section];
  return buffer_.bytes().subspan(begins_[section], of.nodes * of.row_bytes);
}

RowReply OpenRowReply::close() && {
  reply.rows = std::move(buffer_).freeze();
  return std::move(reply);
}

Result<RowReply> read_part_rows(const Part& part, const RowRequest& request) {
  TROUPE_RETURN_IF_ERROR(check_request(part, request));
  std::vector<std::uint64_t> row_bytes;
  for (const auto& section : request.sections) {
    const auto& nodes = part.nodes_of(section.node_type);
    row_bytes.push_back(section.with_rows ? nodes.features->row_bytes() : 0);
  }
  OpenRowReply open(request, row_bytes);
  for (std::size_t i = 0; i < request.sections.size(); ++i) {
    const auto& section = request.sections[i];
    const auto& nodes = part.nodes_of(section.node_type);
    if (section.with_rows) {
      copy_rows(nodes, section.nodes, open.rows(i));
    }
    if (request.with_original_ids) {
      for (const NodeId node : section.nodes) {
        open.reply.original_ids.push_back(
            static_cast<OriginalId>(nodes.original_ids[nodes.local(node)]));
      }
    }
    read_labels(nodes, section, open.reply, open.reply.sections[i]);
  }
  return std::move(open).close();
}

}  // namespace troupe
