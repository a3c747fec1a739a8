#include "runtime/sample/one_hop.hpp"

#include "runtime/sample/id_index.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <span>
#include <string>
#include <utility>

namespace troupe {
namespace {

constexpr std::size_t group_nodes = 16;     // frontier nodes whose memory is requested together
constexpr std::uint32_t short_fanout = 64;  // up to here a sorted array beats a hash set

/// Draws for one node after another; keeps its scratch.
class PositionDrawer {
 public:
  explicit PositionDrawer(bool replace) : replace_(replace) {}

  /// Fills `out` with positions in [0, degree). \requires degree > 0; without replacement degree >
  /// out.size()
  void draw(DrawStream stream, std::uint32_t degree, std::span<std::uint32_t> out) {
    if (replace_) {
      draw_with_replacement(stream, degree, out);
    } else if (out.size() <= short_fanout) {
      draw_few(stream, degree, out);
    } else {
      draw_many(stream, degree, out);
    }
  }

 private:
  static void draw_with_replacement(DrawStream& stream, std::uint32_t degree,
                                    std::span<std::uint32_t> out) {
    for (auto& position : out) {
      position = stream.below(degree);
    }
    std::ranges::sort(out);
  }

  /// Floyd: j runs over the last out.size() positions and t over [0, j]; j is above all that were
  /// taken before it.
  static void draw_few(DrawStream& stream, std::uint32_t degree, std::span<std::uint32_t> out) {
    std::uint32_t j = degree - static_cast<std::uint32_t>(out.size());
    for (std::size_t taken = 0; taken < out.size(); ++taken, ++j) {
      const std::uint32_t t = stream.below(j + 1);
      std::size_t at = taken;
      while (at > 0 && out[at - 1] > t) {
        --at;
      }
      if (at > 0 && out[at - 1] == t) {
        out[taken] = j;
      } else {
        std::copy_backward(out.data() + at, out.data() + taken, out.data() + taken + 1);
        out[at] = t;
      }
    }
  }

  void draw_many(DrawStream& stream, std::uint32_t degree, std::span<std::uint32_t> out) {
    taken_.clear();
    taken_.reserve(out.size());
    std::uint32_t j = degree - static_cast<std::uint32_t>(out.size());
    for (auto& position : out) {
      const std::uint32_t t = stream.below(j + 1);
      position = taken_.find(t) ? j : t;
      taken_.find_or_insert(position, 0);
      ++j;
    }
    std::ranges::sort(out);
  }

  bool replace_;
  IdIndex taken_;
};

/// The frontier nodes that a reply covers: where their lists lie and how many entries of each it
/// takes.
struct Plan {
  struct Row {
    std::uint64_t begin;    ///< first entry of the list, or of the rest asked for
    std::uint32_t entries;  ///< from there to the end of the list
  };
  std::vector<Row> rows;
  std::vector<std::uint32_t> counts;
  std::uint64_t edges = 0;
  std::uint64_t resume_position = 0;
};

std::uint32_t drawn_count(const HopRequest& request, std::uint32_t degree) {
  if (request.fanout == all_neighbours) {
    return degree;
  }
  const auto fanout = static_cast<std::uint32_t>(request.fanout);
  if (request.replace) {
    return degree == 0 ? 0 : fanout;
  }
  return std::min(degree, fanout);
}

/// The lists of the nodes that a part owns.
struct OwnedRows {
  OwnedRows(const Part& part, const HopRequest& request)
      : nodes(part.nodes_of(request.node_type)),
        lists(part.edges_of(request.edge_type).lists(request.dir)) {}
  std::uint64_t count() const { return nodes.count; }
  bool has(NodeId id) const { return nodes.owns(id); }
  std::uint64_t row(NodeId id) const { return nodes.local(id); }
  const std::uint64_t& original_id(NodeId id) const { return nodes.original_ids[nodes.local(id)]; }
  std::string expected() const {
    return fmt::format("in [{}, {})", raw(nodes.first), raw(nodes.first) + nodes.count);
  }

  const PartNodes& nodes;
  const NeighbourLists& lists;
};

/// The lists that it keeps of nodes of other parts.
struct HaloRows {
  HaloRows(const Part& part, const HopRequest& request)
      : nodes(part.nodes_of(request.node_type)),
        lists(part.edges_of(request.edge_type).halo_lists(request.dir)) {}
  std::uint64_t count() const { return nodes.halo_listed.size(); }
  bool has(NodeId id) const { return nodes.halo_listed.contains(raw(id)); }
  std::uint64_t row(NodeId id) const { return *nodes.halo_listed.rank(raw(id)); }
  const std::uint64_t& original_id(NodeId id) const {
    return nodes.halo_original_ids[*nodes.halo.rank(raw(id))];
  }
  std::string expected() const {
    return fmt::format("one of the {} whose lists its halo keeps", nodes.halo_listed.size());
  }

  const PartNodes& nodes;
  const NeighbourLists& lists;
};

template <class Rows>
Status check_request(const Part& part, const HopRequest& request) {
  const auto refuse = [&](Errc code, const std::string& what) {
    return Error(code, fmt::format("sampling in part {}: {}", raw(part.id), what));
  };
  if (raw(request.edge_type) >= part.edges.size() || raw(request.node_type) >= part.nodes.size()) {
    return refuse(
        Errc::invalid_argument,
        fmt::format("expected edge type < {} and node type < {}, got {} and {}", part.edges.size(),
                    part.nodes.size(), raw(request.edge_type), raw(request.node_type)));
  }
  if (request.fanout < all_neighbours) {
    return refuse(Errc::invalid_argument,
                  fmt::format("expected fanout >= 0 or -1 for all, got {}", request.fanout));
  }
  const bool resumes = request.first_position != 0;
  if (resumes && (request.fanout != all_neighbours || request.frontier.empty())) {
    return refuse(
        Errc::invalid_argument,
        fmt::format("first position {} needs fanout -1 and a node, got fanout {}, {} nodes",
                    request.first_position, request.fanout, request.frontier.size()));
  }
  const Rows rows(part, request);
  const auto& lists = rows.lists;
  const auto other = request.dir == EdgeDir::in ? CompleteFor::out : CompleteFor::in;
  if (!lists.present() || part.complete_for == other) {
    return refuse(Errc::failed_precondition,
                  fmt::format("edge type {} has no whole lists for direction {}",
                              raw(request.edge_type), request.dir == EdgeDir::in ? "in" : "out"));
  }
  if (lists.offsets.size() != rows.count() + 1) {
    return refuse(Errc::invalid_argument,
                  fmt::format("edge type {} has lists for {} nodes, node type {} has {}",
                              raw(request.edge_type), lists.offsets.size() - 1,
                              raw(request.node_type), rows.count()));
  }
  if (request.with_edge_ids && lists.edge_ids.size() != lists.neighbours.size()) {
    return refuse(Errc::failed_precondition,
                  fmt::format("edge type {} has no edge ids stored", raw(request.edge_type)));
  }
  return ok_status();
}

/// One pass over the offsets: checks the nodes and finds out what fits, so that the reply is
/// allocated once.
template <class Rows>
Result<Plan> plan_reply(const Part& part, const HopRequest& request) {
  const Rows rows(part, request);
  const auto& lists = rows.lists;
  const auto& frontier = request.frontier;
  const bool whole_lists = request.fanout == all_neighbours;
  const std::uint64_t limit = std::max<std::uint64_t>(request.max_edges, 1);
  Plan plan;
  plan.rows.reserve(frontier.size());
  plan.counts.reserve(frontier.size());
  for (std::size_t i = 0; i < frontier.size(); ++i) {
    if (i + group_nodes < frontier.size() && rows.has(frontier[i + group_nodes])) {
      __builtin_prefetch(&lists.offsets[rows.row(frontier[i + group_nodes])]);
    }
    if (!rows.has(frontier[i])) {
      return Error(Errc::invalid_argument,
                   fmt::format("sampling in part {}: frontier node {} is not {}", raw(part.id),
                               raw(frontier[i]), rows.expected()));
    }
    const std::uint64_t local = rows.row(frontier[i]);
    const std::uint64_t skipped = i == 0 ? request.first_position : 0;
    const std::uint64_t degree = lists.degree(local);
    if (skipped > degree) {
      return Error(Errc::invalid_argument,
                   fmt::format("sampling in part {}: first position {} of node {} of degree {}",
                               raw(part.id), skipped, raw(frontier[i]), degree));
    }
    if (degree > std::numeric_limits<std::uint32_t>::max()) {
      return Error(Errc::unimplemented,
                   fmt::format("sampling in part {}: node {} has degree {}, at most 2^32-1 works",
                               raw(part.id), raw(frontier[i]), degree));
    }
    const auto entries = static_cast<std::uint32_t>(degree - skipped);
    std::uint32_t count = drawn_count(request, entries);
    if (count > limit - std::min(plan.edges, limit) && (whole_lists || plan.edges > 0)) {
      if (!whole_lists || plan.edges == limit) {
        break;
      }
      count = static_cast<std::uint32_t>(limit - plan.edges);
      plan.resume_position = skipped + count;
    }
    plan.rows.push_back({lists.offsets[local] + skipped, entries});
    plan.counts.push_back(count);
    plan.edges += count;
    if (plan.resume_position != 0) {
      break;
    }
  }
  return plan;
}

/// Draws and copies the planned rows into the reply, group by group: positions and prefetches
/// first, then the entries.
template <class Rows>
class ReplyWriter {
 public:
  ReplyWriter(const Part& part, const HopRequest& request, const Plan& plan)
      : rows_(part, request), request_(request), plan_(plan), drawer_(request.replace) {}

  template <class IdT>
  void write(std::span<const IdT> ids, std::span<IdT> out, std::span<std::uint64_t> edge_ids_out) {
    std::uint64_t written = 0;
    for (std::size_t first = 0; first < plan_.rows.size(); first += group_nodes) {
      const std::size_t end = std::min(first + group_nodes, plan_.rows.size());
      draw_group(ids, first, end);
      const std::uint32_t* next = positions_.data();
      for (std::size_t i = first; i < end; ++i) {
        const std::uint64_t begin = plan_.rows[i].begin;
        const std::uint32_t count = plan_.counts[i];
        if (is_drawn(i)) {
          pick(ids.data() + begin, {next, count}, out.data() + written);
          if (!edge_ids_out.empty()) {
            pick(rows_.lists.edge_ids.data() + begin, {next, count}, edge_ids_out.data() + written);
          }
          next += count;
        } else {
          std::copy_n(ids.data() + begin, count, out.data() + written);
          if (!edge_ids_out.empty()) {
            std::copy_n(rows_.lists.edge_ids.data() + begin, count, edge_ids_out.data() + written);
          }
        }
        written += count;
      }
    }
  }

 private:
  /// Otherwise the row is a stretch of the list, and costs no draw.
  bool is_drawn(std::size_t i) const {
    if (request_.fanout == all_neighbours) {
      return false;
    }
    return request_.replace ? plan_.counts[i] > 0 : plan_.counts[i] < plan_.rows[i].entries;
  }

  std::uint64_t original_id(std::size_t i) const { return rows_.original_id(request_.frontier[i]); }

  template <class IdT>
  void draw_group(std::span<const IdT> ids, std::size_t first, std::size_t end) {
    std::size_t drawn = 0;
    for (std::size_t i = first; i < end; ++i) {
      if (is_drawn(i)) {
        __builtin_prefetch(&rows_.original_id(request_.frontier[i]));
        drawn += plan_.counts[i];
      } else if (plan_.counts[i] > 0) {
        __builtin_prefetch(ids.data() + plan_.rows[i].begin);
      }
    }
    if (positions_.size() < drawn) {
      positions_.resize(drawn);
    }
    std::uint32_t* next = positions_.data();
    for (std::size_t i = first; i < end; ++i) {
      if (!is_drawn(i)) {
        continue;
      }
      const std::span<std::uint32_t> row(next, plan_.counts[i]);
      drawer_.draw(DrawStream(request_.key, original_id(i)), plan_.rows[i].entries, row);
      for (const std::uint32_t position : row) {
        __builtin_prefetch(ids.data() + plan_.rows[i].begin + position);
      }
      next += row.size();
    }
  }

  template <class T>
  static void pick(const T* list, std::span<const std::uint32_t> positions, T* out) {
    for (const std::uint32_t position : positions) {
      *out++ = list[position];
    }
  }

  const Rows rows_;
  const HopRequest& request_;
  const Plan& plan_;
  PositionDrawer drawer_;
  std::vector<std::uint32_t> positions_;  ///< of one group, row after row
};

template <class Rows>
Result<HopReply> sample(const Part& part, const HopRequest& request) {
  TROUPE_RETURN_IF_ERROR(check_request<Rows>(part, request));
  TROUPE_ASSIGN_OR_RETURN(Plan plan, plan_reply<Rows>(part, request));
  const auto& ids = Rows(part, request).lists.neighbours;
  Buffer neighbours(plan.edges * ids.width_bytes());
  Buffer edge_ids(request.with_edge_ids ? plan.edges * sizeof(std::uint64_t) : 0);
  ReplyWriter<Rows> writer(part, request, plan);
  ids.visit([&]<class IdT>(std::span<const IdT> list) {
    writer.write(list, neighbours.as<IdT>(), edge_ids.as<std::uint64_t>());
  });
  HopReply reply;
  reply.counts = std::move(plan.counts);
  reply.neighbours = {std::move(neighbours).freeze(), ids.width_bytes()};
  if (request.with_edge_ids) {
    reply.edge_ids = std::move(edge_ids).freeze();
  }
  reply.resume_position = plan.resume_position;
  return reply;
}

}  // namespace

Result<HopReply> sample_one_hop(const Part& part, const HopRequest& request, ListsOf lists_of) {
  return lists_of == ListsOf::owned ? sample<OwnedRows>(part, request)
                                    : sample<HaloRows>(part, request);
}

void draw_positions(DrawStream stream, std::uint32_t degree, std::uint32_t fanout, bool replace,
                    std::vector<std::uint32_t>& out) {
  out.clear();
  if (!replace && degree <= fanout) {
    for (std::uint32_t i = 0; i < degree; ++i) {
      out.push_back(i);
    }
  } else if (degree > 0) {
    out.resize(fanout);
    PositionDrawer(replace).draw(stream, degree, out);
  }
}

}  // namespace troupe
