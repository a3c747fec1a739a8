#include "runtime/feature/future_cache.hpp"

#include "runtime/feature/hot_rows.hpp"
#include "runtime/feature/row_collection.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace troupe {
namespace {

constexpr auto no_original_id = static_cast<OriginalId>(~std::uint64_t{0});

/// [types] rows that do not lie here.
std::vector<std::uint64_t> rows_elsewhere(const GraphInfo& graph, const PartitionBook& book,
                                          const std::vector<bool>& here) {
  std::vector<std::uint64_t> rows(graph.node_types.size());
  for (std::size_t t = 0; t < rows.size(); ++t) {
    for (std::uint32_t p = 0; p < here.size(); ++p) {
      const auto range = book.range(static_cast<NodeTypeId>(t), static_cast<PartId>(p));
      rows[t] += here[p] || !graph.node_types[t].features ? 0 : range.size();
    }
  }
  return rows;
}

/// Eight levels for each factor of two below the hottest.
std::uint8_t level_of(double heat, double hottest) {
  constexpr double top = FutureRows::levels - 1;
  constexpr double of_two = 8;
  return heat > 0 ? static_cast<std::uint8_t>(
                        std::clamp(top + of_two * std::log2(heat / hottest), 1.0, top))
                  : std::uint8_t{0};
}

}  // namespace

std::uint32_t labelled_nodes(const SampledBatch& sampled, const CollectOptions& options,
                             NodeTypeId type) {
  return options.with_labels && type == sampled.seed_type ? sampled.nodes[raw(type)].hop_end.front()
                                                          : 0;
}

std::vector<std::uint64_t> future_room(const GraphInfo& graph, const PartitionBook& book,
                                       const CacheOptions& options, const std::vector<bool>& here) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max() - 1;
  std::vector<std::uint64_t> room(graph.node_types.size());
  if (options.heat.known()) {
    const auto rows = count_first_rows(graph, book, options, here);
    for (std::size_t t = 0; t < rows.size(); ++t) {
      room[t] = std::min(most, std::accumulate(rows[t].begin(), rows[t].end(), std::uint64_t{0}));
    }
    return room;
  }
  const auto rows = rows_elsewhere(graph, book, here);
  double all_bytes = 0;
  for (std::size_t t = 0; t < rows.size(); ++t) {
    const auto each = bytes_of_row(graph.node_types[t].features) + cache_entry_bytes;
    all_bytes += static_cast<double>(rows[t]) * static_cast<double>(each);
  }
  const auto share = static_cast<double>(options.budget_bytes) / std::max(all_bytes, 1.0);
  for (std::size_t t = 0; t < rows.size(); ++t) {
    const auto part = static_cast<double>(rows[t]) * std::min(share, 1.0);
    room[t] = std::min(most, static_cast<std::uint64_t>(part));
  }
  return room;
}

FutureCache::FutureCache(const std::shared_ptr<const GraphInfo>& graph,
                         std::shared_ptr<const PartitionBook> book,
                         const std::shared_ptr<const CacheOptions>& options, std::vector<bool> here)
    : book_(std::move(book)),
      here_(std::move(here)),
      room_(future_room(*graph, *book_, *options, here_)) {
  for (std::size_t t = 0; t < room_.size(); ++t) {
    types_.emplace_back(FutureRowsOptions{.room = room_[t],
                                          .row_bytes = bytes_of_row(graph->node_types[t].features),
                                          .lookahead = options->lookahead});
  }
  looked_up_.resize(types_.empty() ? 1 : types_.front().window());
  if (options->heat.known()) {
    take_heat(options->heat);
  }
}

void FutureCache::take_heat(const PartHeat& heat) {
  heat_.resize(types_.size());
  for (std::size_t t = 0; t < heat_.size(); ++t) {
    double hottest = 0;
    for (const auto& part : heat.mean[t]) {
      hottest = part.empty() ? hottest : std::max(hottest, std::ranges::max(part));
    }
    heat_[t].resize(here_.size());
    for (std::uint32_t p = 0; p < here_.size(); ++p) {
      const auto range = book_->range(static_cast<NodeTypeId>(t), static_cast<PartId>(p));
      auto& of = heat_[t][p];
      of.first = raw(range.first);
      const auto& mean = heat.mean[t][p];
      for (std::size_t b = 0; b < mean.size(); ++b) {
        of.begins.push_back(PartHeat::bucket_begin(range.size(), b));
        of.levels.push_back(level_of(mean[b], hottest));
      }
    }
  }
}

std::uint8_t FutureCache::level(NodeTypeId type, PartId part, NodeId id) const {
  if (heat_.empty() || heat_[raw(type)][raw(part)].begins.empty()) {
    return 0;
  }
  const auto& of = heat_[raw(type)][raw(part)];
  const auto next = std::ranges::upper_bound(of.begins, raw(id) - of.first);
  return of.levels[static_cast<std::size_t>(next - of.begins.begin()) - 1];
}

void FutureCache::expect(Turn turn, std::uint64_t ticket, const SampledBatch& sampled,
                         const CollectOptions& options) {
  const std::lock_guard guard(mutex_);
  const auto& looked_up = looked_up_[turn % looked_up_.size()];
  if (looked_up.turn == turn && looked_up.ticket > ticket) {
    return;
  }
  for (std::size_t t = 0; t < types_.size(); ++t) {
    const auto type = static_cast<NodeTypeId>(t);
    reads_.clear();
    const auto ids =
        room_[t] > 0 ? std::span<const NodeId>(sampled.nodes[t].ids) : std::span<const NodeId>();
    const std::size_t labelled = ids.empty() ? 0 : labelled_nodes(sampled, options, type);
    for (const auto id : ids.subspan(labelled)) {
      if (covers(book_->owner(type, id))) {
        reads_.push_back(id);
      }
    }
    types_[t].expect(turn, reads_);
  }
}

std::optional<std::uint32_t> FutureCache::LookUp::find(NodeTypeId type, NodeId id,
                                                       bool with_original_id) const {
  const auto at = cache_.types_[raw(type)].find(id);
  const bool lacks = at && with_original_id && original_id(type, *at) == no_original_id;
  return lacks ? std::nullopt : at;
}

/// The reads of the turn are over.
void FutureCache::LookUp::end() {
  if (!turn_) {
    return;
  }
  cache_.looked_up_[*turn_ % cache_.looked_up_.size()] = {*turn_, ticket_};
  for (auto& of_type : cache_.types_) {
    of_type.forget(*turn_);
  }
}

void FutureCache::insert(const RowQuestion& question, std::span<const RowSectionView> reply) {
  const auto& sections = question.request.sections;
  const std::lock_guard guard(mutex_);
  for (std::size_t s = 0; s < sections.size(); ++s) {
    const auto& section = sections[s];
    const auto type = section.node_type;
    if (!section.with_rows || room_[raw(type)] == 0) {
      continue;
    }
    const auto row_bytes = reply[s].row_bytes;
    for (std::size_t i = 0; i < section.nodes.size(); ++i) {
      const auto id = section.nodes[i];
      types_[raw(type)].insert(
          id, level(type, question.part, id), reply[s].rows.subspan(i * row_bytes, row_bytes),
          reply[s].original_ids.empty() ? no_original_id : reply[s].original_ids[i]);
    }
  }
}

std::uint64_t FutureCache::rows() const {
  const std::lock_guard guard(mutex_);
  return std::accumulate(types_.begin(), types_.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& of) { return sum + of.kept(); });
}

bool FutureCache::knows(Turn turn) const {
  const std::lock_guard guard(mutex_);
  return std::ranges::any_of(types_, [turn](const auto& of) { return of.knows(turn); });
}

}  // namespace troupe
