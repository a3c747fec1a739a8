#include "runtime/partition/halo.hpp"

#include <algorithm>
#include <utility>

namespace troupe {
namespace {

class HaloSearch {
 public:
  HaloSearch(const GraphInfo& info, const Relabelling& relabelling, PartId part)
      : info_(info), relabelling_(relabelling), part_(part), found_(info.node_types.size()) {
    for (const auto& type : info.node_types) {
      seen_.emplace_back(type.count, false);
    }
  }

  void search(const KeptLists& lists, std::uint32_t hops) {
    for (std::uint32_t hop = 1; hop <= hops + 1; ++hop) {
      std::vector<std::vector<std::uint64_t>> before;
      for (std::size_t type = 0; type < found_.size(); ++type) {
        before.push_back(hop == 1 ? owned(type) : std::exchange(last_[type], {}));
      }
      last_.assign(found_.size(), {});
      for (std::size_t e = 0; e < info_.edge_types.size(); ++e) {
        const auto source = raw(info_.edge_types[e].source);
        const auto destination = raw(info_.edge_types[e].destination);
        if (!lists.in.empty()) {
          follow(lists.in[e], before[destination], source, hop);
        }
        if (!lists.out.empty()) {
          follow(lists.out[e], before[source], destination, hop);
        }
      }
    }
  }

  std::vector<HaloNodes> take() {
    std::vector<HaloNodes> halo(found_.size());
    for (std::size_t type = 0; type < found_.size(); ++type) {
      std::ranges::sort(found_[type]);
      for (const auto& [id, hop] : found_[type]) {
        halo[type].ids.push_back(id);
        halo[type].hops.push_back(hop);
      }
    }
    return halo;
  }

 private:
  /// Original ids of the part's own nodes.
  std::vector<std::uint64_t> owned(std::size_t type) const {
    const auto ids = relabelling_.owned(type, part_);
    return {ids.begin(), ids.end()};
  }

  /// \param nodes  original ids
  void follow(const WholeLists& lists, const std::vector<std::uint64_t>& nodes, std::size_t type,
              std::uint32_t hop) {
    const auto& first = relabelling_.ranges.first_node[type];
    const auto begin = first[raw(part_)];
    const auto end = first[raw(part_) + 1U];
    lists.neighbours.visit([&](auto ids) {
      for (const auto node : nodes) {
        for (auto i = lists.offsets[node]; i < lists.offsets[node + 1]; ++i) {
          if (seen_[type][ids[i]]) {
            continue;
          }
          seen_[type][ids[i]] = true;
          const auto id = relabelling_.global_of[type][ids[i]];
          if (id < begin || id >= end) {
            found_[type].emplace_back(id, static_cast<std::uint8_t>(hop));
            last_[type].push_back(ids[i]);
          }
        }
      }
    });
  }

  const GraphInfo& info_;
  const Relabelling& relabelling_;
  PartId part_;
  std::vector<std::vector<bool>> seen_;  ///< [type][original id]; of other parts or not
  std::vector<std::vector<std::pair<std::uint64_t, std::uint8_t>>> found_;  ///< global ids, hops
  std::vector<std::vector<std::uint64_t>> last_;  ///< original ids of those of the last hop
};

}  // namespace

std::vector<HaloNodes> find_halo(const GraphInfo& info, const Relabelling& relabelling,
                                 const KeptLists& lists, PartId part, std::uint32_t hops) {
  HaloSearch search(info, relabelling, part);
  search.search(lists, hops);
  return search.take();
}

}  // namespace troupe
