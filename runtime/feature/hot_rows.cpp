#include "runtime/feature/hot_rows.hpp"

#include "runtime/base/saturating.hpp"

#include <algorithm>
#include <tuple>

namespace troupe {
namespace {

/// A bucket of a part's profile.
struct Bucket {
  double heat_per_byte = 0;
  std::size_t type = 0;
  std::size_t part = 0;
  std::size_t number = 0;
};

std::vector<Bucket> hottest_first(const GraphInfo& graph, const PartHeat& heat,
                                  const HotRowsOptions& options) {
  std::vector<Bucket> buckets;
  for (std::size_t t = 0; t < heat.mean.size(); ++t) {
    const auto bytes = bytes_of_row(graph.node_types[t].features);
    for (std::size_t p = 0; bytes > 0 && p < options.nodes[t].size(); ++p) {
      const auto& means = heat.mean[t][p];
      for (std::size_t b = 0; options.nodes[t][p] > 0 && b < means.size(); ++b) {
        const auto per_byte = means[b] / static_cast<double>(bytes + options.extra_bytes);
        if (per_byte > 0) {
          buckets.push_back({per_byte, t, p, b});
        }
      }
    }
  }
  std::ranges::sort(buckets, [](const Bucket& a, const Bucket& b) {
    return std::tuple(-a.heat_per_byte, a.number, a.type, a.part) <
           std::tuple(-b.heat_per_byte, b.number, b.type, b.part);
  });
  return buckets;
}

/// A type's table whose rows are shared out.
struct TableShare {
  std::uint64_t count = 0;
  std::uint64_t row_bytes = 0;
  std::uint64_t& taken;
};

/// The same share of each table, all of it where the budget suffices. \returns what is left
std::uint64_t share_out(std::vector<TableShare> tables, std::uint64_t budget) {
  std::uint64_t all = 0;
  for (const auto& table : tables) {
    all = plus(all, times(table.count, table.row_bytes));
  }
  std::uint64_t used = 0;
  for (auto& table : tables) {
    const auto part = static_cast<unsigned __int128>(table.count) * budget;
    table.taken = budget >= all ? table.count : static_cast<std::uint64_t>(part / all);
    used += table.taken * table.row_bytes;
  }
  return budget - used;
}

std::vector<TableShare> shares_of(const TieredTables& tables, std::vector<std::uint64_t>& taken) {
  std::vector<TableShare> shares;
  for (const auto type : tables.edge_features) {
    const auto& info = tables.graph.edge_types[raw(type)];
    shares.push_back({info.count, bytes_of_row(info.features), taken[raw(type)]});
  }
  return shares;
}

std::vector<std::vector<std::uint64_t>> pieces_of(const TieredTables& tables) {
  auto pieces = tables.nodes;
  for (const auto& type : tables.graph.node_types) {
    if (tables.nodes.empty()) {
      pieces.push_back({type.count});
    }
  }
  return pieces;
}

}  // namespace

HotRows hottest_rows(const GraphInfo& graph, const PartHeat& heat, const HotRowsOptions& options) {
  HotRows hot{.rows = options.nodes, .left_bytes = options.budget_bytes};
  for (auto& of_type : hot.rows) {
    std::ranges::fill(of_type, 0);
  }
  for (const auto& bucket : hottest_first(graph, heat, options)) {
    const auto nodes = options.nodes[bucket.type][bucket.part];
    const auto each = bytes_of_row(graph.node_types[bucket.type].features) + options.extra_bytes;
    const auto first = PartHeat::bucket_begin(nodes, bucket.number);
    auto& rows = hot.rows[bucket.type][bucket.part];
    if (rows != first) {
      continue;  // the one before did not fit whole
    }
    const auto taken =
        std::min(PartHeat::bucket_begin(nodes, bucket.number + 1) - first, hot.left_bytes / each);
    rows += taken;
    hot.left_bytes -= taken * each;
  }
  return hot;
}

std::uint64_t bytes_of(const TieredTables& tables) {
  return bytes_of(tables, split_rows(tables, {}, ~std::uint64_t{0}));
}

std::uint64_t bytes_of(const TieredTables& tables, const RowTiers& tiers) {
  const auto& graph = tables.graph;
  std::uint64_t sum = 0;
  for (std::size_t t = 0; t < tiers.nodes.size(); ++t) {
    for (const auto rows : tiers.nodes[t]) {
      sum = plus(sum, times(rows, bytes_of_row(graph.node_types[t].features)));
    }
  }
  for (std::size_t e = 0; e < tiers.edges.size(); ++e) {
    sum = plus(sum, times(tiers.edges[e], bytes_of_row(graph.edge_types[e].features)));
  }
  return sum;
}

RowTiers split_rows(const TieredTables& tables, const PartHeat& heat, std::uint64_t budget_bytes) {
  const auto& graph = tables.graph;
  const auto pieces = pieces_of(tables);
  RowTiers tiers{pieces, std::vector<std::uint64_t>(graph.edge_types.size())};
  auto left = budget_bytes;
  if (heat.known()) {
    auto hot = hottest_rows(graph, heat, {.budget_bytes = budget_bytes, .nodes = pieces});
    left = hot.left_bytes;
    for (std::size_t t = 0; t < pieces.size(); ++t) {
      const auto bytes = bytes_of_row(graph.node_types[t].features);
      for (std::size_t p = 0; p < pieces[t].size(); ++p) {
        const auto rest = pieces[t][p] - hot.rows[t][p];
        const auto more = bytes == 0 ? rest : std::min(rest, left / bytes);
        tiers.nodes[t][p] = hot.rows[t][p] + more;
        left -= more * bytes;
      }
    }
  } else {
    std::vector<TableShare> shares;
    for (std::size_t t = 0; t < pieces.size(); ++t) {
      for (std::size_t p = 0; p < pieces[t].size(); ++p) {
        shares.push_back(
            {pieces[t][p], bytes_of_row(graph.node_types[t].features), tiers.nodes[t][p]});
      }
    }
    left = share_out(std::move(shares), left);
  }
  share_out(shares_of(tables, tiers.edges), left);
  return tiers;
}

}  // namespace troupe
