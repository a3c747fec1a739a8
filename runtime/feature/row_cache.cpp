#include "runtime/feature/row_cache.hpp"

#include "runtime/feature/hot_rows.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <tuple>

namespace troupe {

std::uint64_t cache_bytes_of(const GraphInfo& graph, double share) {
  double bytes = 0;
  for (const auto& type : graph.node_types) {
    if (type.features) {
      bytes += share * static_cast<double>(type.count) *
               static_cast<double>(bytes_of_row(type.features) + cache_entry_bytes);
    }
  }
  return static_cast<std::uint64_t>(bytes);
}

std::vector<std::vector<std::uint64_t>> count_first_rows(const GraphInfo& graph,
                                                         const PartitionBook& book,
                                                         const CacheOptions& options,
                                                         const std::vector<bool>& here) {
  HotRowsOptions wanted{.budget_bytes = options.budget_bytes, .extra_bytes = cache_entry_bytes};
  for (std::size_t t = 0; t < graph.node_types.size(); ++t) {
    auto& nodes = wanted.nodes.emplace_back();
    for (std::size_t p = 0; p < here.size(); ++p) {
      const auto range = book.range(static_cast<NodeTypeId>(t), static_cast<PartId>(p));
      nodes.push_back(here[p] ? 0 : range.size());
    }
  }
  return hottest_rows(graph, options.heat, wanted).rows;
}

std::vector<CacheChoice> choose_first_rows(const GraphInfo& graph, const PartitionBook& book,
                                           const CacheOptions& options,
                                           const std::vector<bool>& here) {
  const auto rows = count_first_rows(graph, book, options, here);
  std::vector<CacheChoice> choices;
  for (std::size_t t = 0; t < rows.size(); ++t) {
    for (std::size_t p = 0; p < rows[t].size(); ++p) {
      CacheChoice choice{static_cast<PartId>(p), static_cast<NodeTypeId>(t), {}};
      const auto first = raw(book.range(choice.type, choice.part).first);
      for (std::uint64_t i = 0; i < rows[t][p]; ++i) {
        choice.nodes.push_back(static_cast<NodeId>(first + i));
      }
      if (!choice.nodes.empty()) {
        choices.push_back(std::move(choice));
      }
    }
  }
  return choices;
}

void RowCounter::count(const RowSection& section) {
  auto& of = types_[raw(section.node_type)];
  for (const auto id : std::span(section.nodes).subspan(section.label_nodes)) {
    const auto next = static_cast<std::uint32_t>(of.ids.size());
    const auto at = of.index.find_or_insert(raw(id), next);
    if (at == next) {
      of.ids.push_back(id);
      of.times.push_back(0);
    }
    ++of.times[at];
  }
}

std::vector<CacheChoice> RowCounter::choose(const GraphInfo& graph, const PartitionBook& book,
                                            std::uint64_t budget_bytes) const {
  struct Candidate {
    double times_per_byte = 0;
    std::size_t type = 0;
    NodeId id{};
  };
  std::vector<Candidate> candidates;
  for (std::size_t t = 0; t < types_.size(); ++t) {
    const auto bytes = bytes_of_row(graph.node_types[t].features);
    for (std::size_t i = 0; bytes > 0 && i < types_[t].ids.size(); ++i) {
      candidates.push_back({types_[t].times[i] / static_cast<double>(bytes + cache_entry_bytes), t,
                            types_[t].ids[i]});
    }
  }
  std::ranges::sort(candidates, [](const Candidate& a, const Candidate& b) {
    return std::tuple(-a.times_per_byte, a.type, raw(a.id)) <
           std::tuple(-b.times_per_byte, b.type, raw(b.id));
  });
  std::map<std::pair<std::size_t, PartId>, std::vector<NodeId>> nodes_of;
  for (const auto& candidate : candidates) {
    const auto each = bytes_of_row(graph.node_types[candidate.type].features) + cache_entry_bytes;
    if (each > budget_bytes) {
      break;
    }
    budget_bytes -= each;
    const auto owner = book.owner(static_cast<NodeTypeId>(candidate.type), candidate.id);
    nodes_of[{candidate.type, owner}].push_back(candidate.id);
  }
  std::vector<CacheChoice> choices;
  for (auto& [place, nodes] : nodes_of) {
    std::ranges::sort(nodes);
    choices.push_back({place.second, static_cast<NodeTypeId>(place.first), std::move(nodes)});
  }
  return choices;
}

RowCache::RowCache(const GraphInfo& graph) {
  for (const auto& type : graph.node_types) {
    types_.emplace_back().row_bytes = bytes_of_row(type.features);
  }
}

Status RowCache::add(const RowQuestion& question, const RowReply& reply) {
  const auto corrupt = [&](const std::string& what) {
    return Error(Errc::data_corruption,
                 fmt::format("filling the cache: rows from part {}: {}", raw(question.part), what));
  };
  const auto views = sections_of(reply);
  const auto& sections = question.request.sections;
  if (!views) {
    return corrupt(views.error().what());
  }
  if (views->size() != sections.size()) {
    return corrupt(fmt::format("expected {} node types, got {}", sections.size(), views->size()));
  }
  for (std::size_t s = 0; s < sections.size(); ++s) {
    const auto& view = (*views)[s];
    const auto count = sections[s].nodes.size();
    const auto row_bytes = types_[raw(sections[s].node_type)].row_bytes;
    if (view.row_bytes != row_bytes || view.rows.size() != count * row_bytes ||
        view.original_ids.size() != count) {
      return corrupt(fmt::format(
          "node type {}: expected {} rows of {} bytes and ids, got {} bytes in rows of {} and {} "
          "ids",
          raw(sections[s].node_type), count, row_bytes, view.rows.size(), view.row_bytes,
          view.original_ids.size()));
    }
  }
  parts_.resize(std::max<std::size_t>(parts_.size(), raw(question.part) + 1U));
  parts_[raw(question.part)] = true;
  for (std::size_t s = 0; s < sections.size(); ++s) {
    keep(sections[s], (*views)[s]);
  }
  return ok_status();
}

void RowCache::keep(const RowSection& section, const RowSectionView& view) {
  auto& of = types_[raw(section.node_type)];
  for (std::size_t i = 0; i < section.nodes.size(); ++i) {
    const auto next = static_cast<std::uint32_t>(of.original_ids.size());
    if (of.index.find_or_insert(raw(section.nodes[i]), next) == next) {
      const auto row = view.rows.subspan(i * of.row_bytes, of.row_bytes);
      of.rows.insert(of.rows.end(), row.begin(), row.end());
      of.original_ids.push_back(view.original_ids[i]);
    }
  }
}

std::span<const std::byte> RowCache::row(NodeTypeId type, std::uint32_t at) const {
  const auto& of = types_[raw(type)];
  return std::span(of.rows).subspan(at * of.row_bytes, of.row_bytes);
}

std::uint64_t RowCache::rows() const {
  const auto of_types = rows_of_types();
  return std::accumulate(of_types.begin(), of_types.end(), std::uint64_t{0});
}

std::vector<std::uint64_t> RowCache::rows_of_types() const {
  std::vector<std::uint64_t> rows;
  for (const auto& of : types_) {
    rows.push_back(of.original_ids.size());
  }
  return rows;
}

std::vector<RowQuestion> cache_questions(const GraphInfo& graph,
                                         const std::vector<CacheChoice>& choices,
                                         std::uint64_t piece_bytes) {
  std::vector<RowQuestion> questions;
  for (const auto& choice : choices) {
    const auto bytes = bytes_of_row(graph.node_types[raw(choice.type)].features);
    const auto step = static_cast<std::size_t>(std::max<std::uint64_t>(1, piece_bytes / bytes));
    for (std::size_t i = 0; i < choice.nodes.size(); i += step) {
      const auto nodes =
          std::span(choice.nodes).subspan(i, std::min(step, choice.nodes.size() - i));
      RowQuestion question{
          .id = static_cast<std::uint32_t>(questions.size()), .part = choice.part, .request = {}};
      question.request.with_original_ids = true;
      question.request.sections.push_back(
          {.node_type = choice.type, .nodes = {nodes.begin(), nodes.end()}, .row_bytes = bytes});
      questions.push_back(std::move(question));
    }
  }
  return questions;
}

}  // namespace troupe
