#include "launcher/store_plots.hpp"

#include "launcher/svg_plot.hpp"
#include "runtime/base/files.hpp"
#include "runtime/base/staged_directory.hpp"

#include <bit>
#include <numeric>

namespace troupe {
namespace {

/// Of one edge type: [k] nodes with 2^k to 2^(k + 1) - 1 neighbours.
using Degrees = std::vector<std::uint64_t>;

void count_degrees(const Part& part, std::vector<Degrees>& degrees) {
  degrees.resize(part.edges.size(), Degrees(64, 0));
  for (std::size_t e = 0; e < part.edges.size(); ++e) {
    const auto& lists = part.edges[e].in.present() ? part.edges[e].in : part.edges[e].out;
    for (std::size_t row = 0; row + 1 < lists.offsets.size(); ++row) {
      if (const auto degree = lists.degree(row); degree > 0) {
        ++degrees[e][static_cast<std::size_t>(std::bit_width(degree) - 1)];
      }
    }
  }
}

Status write_degrees(const GraphInfo& info, const std::vector<Degrees>& degrees,
                     const std::filesystem::path& folder) {
  std::vector<PointSeries> series;
  for (std::size_t e = 0; e < degrees.size(); ++e) {
    auto& of = series.emplace_back(PointSeries{info.edge_types[e].name, {}});
    for (std::size_t k = 0; k < degrees[e].size(); ++k) {
      of.points.emplace_back(static_cast<double>(std::uint64_t{1} << k),
                             static_cast<double>(degrees[e][k]));
    }
  }
  return write_new_text_file(
      folder / "degrees.svg",
      log_log_plot({"nodes by number of neighbours", "neighbours, from", "nodes"}, series));
}

/// Over their average; nothing where there is nothing.
void add_sizes(const std::string& name, const std::vector<std::uint64_t>& sizes,
               std::vector<BarSeries>& series) {
  const auto total = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
  if (total == 0) {
    return;
  }
  auto& of = series.emplace_back(BarSeries{name, {}});
  for (const auto size : sizes) {
    of.values.push_back(static_cast<double>(size) * static_cast<double>(sizes.size()) /
                        static_cast<double>(total));
  }
}

Status write_sizes(const PartitionInfo& partition, const GraphInfo& info,
                   const std::filesystem::path& folder) {
  std::vector<BarSeries> series;
  for (std::size_t t = 0; t < info.node_types.size(); ++t) {
    const auto& first = partition.ranges.first_node[t];
    std::vector<std::uint64_t> sizes;
    for (std::size_t p = 0; p + 1 < first.size(); ++p) {
      sizes.push_back(first[p + 1] - first[p]);
    }
    add_sizes("nodes " + info.node_types[t].name, sizes, series);
  }
  for (std::size_t e = 0; e < info.edge_types.size(); ++e) {
    add_sizes("edges " + info.edge_types[e].name, partition.edges[e], series);
  }
  return write_new_text_file(folder / "sizes.svg",
                             bar_plot({"what each part has", "part", "over the average"}, series));
}

}  // namespace

Status write_plots(const GraphStore& store, const std::filesystem::path& folder) {
  TROUPE_ASSIGN_OR_RETURN(auto staged, StagedDirectory::create(folder));
  std::vector<Degrees> degrees;
  count_degrees(*store.graph(), degrees);
  TROUPE_RETURN_IF_ERROR(write_degrees(store.info(), degrees, staged.path()));
  return staged.commit(Flush::no);
}

Status write_plots(const PartitionedStore& store, const std::filesystem::path& folder) {
  TROUPE_ASSIGN_OR_RETURN(auto staged, StagedDirectory::create(folder));
  std::vector<Degrees> degrees;
  for (std::uint32_t p = 0; p < store.partition().parts; ++p) {
    TROUPE_ASSIGN_OR_RETURN(const auto part, store.load_lists(static_cast<PartId>(p)));
    count_degrees(*part, degrees);
  }
  TROUPE_RETURN_IF_ERROR(write_degrees(store.info(), degrees, staged.path()));
  TROUPE_RETURN_IF_ERROR(write_sizes(store.partition(), store.info(), staged.path()));
  return staged.commit(Flush::no);
}

}  // namespace troupe
