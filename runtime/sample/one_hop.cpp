#include "runtime/sample/one_hop.hpp"

#include "runtime/base/section_cutter.hpp"
#include "runtime/sample/section_sampler.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace troupe {
namespace {

/// Plans as many sections as the reply has room for.
template <class Rows>
Status plan_sections(std::vector<SectionSampler<Rows>>& samplers, std::uint64_t max_edges) {
  Room room{std::max<std::uint64_t>(max_edges, 1), true};
  for (std::size_t i = 0; i < samplers.size(); ++i) {
    TROUPE_RETURN_IF_ERROR(samplers[i].plan(room));
    const auto& plan = samplers[i].planned();
    room.edges -= std::min(room.edges, plan.edges);
    room.empty_reply = room.empty_reply && plan.edges == 0;
    if (!samplers[i].complete()) {
      const std::size_t answered = i + (samplers[i].covered() == 0 ? 0 : 1);
      while (samplers.size() > answered) {
        samplers.pop_back();
      }
    }
  }
  return ok_status();
}

struct ListedCount {
  std::uint32_t place;  ///< In the section's frontier
  std::uint32_t count;  ///< Neighbors; 0: a choice took nothing
};

/// Appends how many neighbors each node of a section got, or where few got any, which did and how many.
/// \param lists  of the section
/// \param of     ListedCount of a list, by its number
/// \returns the number of listed nodes; nothing: each node is counted
template <class Of>
std::optional<std::uint64_t> add_listed(std::size_t lists, std::uint64_t nodes, const Of& of,
                                        HopReply& reply) {
  const std::size_t before = reply.counts.size();
  if (2 * lists > nodes) {
    reply.counts.resize(before + nodes);
    for (std::size_t i = 0; i < lists; ++i) {
      const auto [place, count] = of(i);
      reply.counts[before + place] = count;
    }
    return std::nullopt;
  }
  const std::size_t places_before = reply.places.size();
  reply.counts.resize(before + lists);
  reply.places.resize(places_before + lists);
  std::size_t listed = 0;
  for (std::size_t i = 0; i < lists; ++i) {
    const auto [place, count] = of(i);
    reply.counts[before + listed] = count;
    reply.places[places_before + listed] = place;
    listed += count > 0 ? 1U : 0U;
  }
  reply.counts.resize(before + listed);
  reply.places.resize(places_before + listed);
  return listed;
}

/// Appends what a section says of its nodes.
template <class Rows>
HopReply::Section add_counts(const SectionSampler<Rows>& sampler, HopReply& reply) {
  const auto& plan = sampler.planned();
  HopReply::Section section{.nodes = sampler.covered(),
                            .width_bytes = static_cast<std::uint8_t>(sampler.width_bytes()),
                            .resume_position = plan.resume_position,
                            .edge_data = sampler.edge_data()};
  if constexpr (!Rows::indexed) {
    reply.counts.insert(reply.counts.end(), plan.counts.begin(), plan.counts.end());
  } else if (sampler.all_whole()) {
    const auto lists = sampler.indexed_lists();
    const auto of = [&](std::size_t i) { return ListedCount{lists[i].place, lists[i].entries}; };
    section.listed = add_listed(lists.size(), section.nodes, of, reply);
  } else {
    const auto of = [&](std::size_t row) {
      return ListedCount{static_cast<std::uint32_t>(sampler.place(row)), plan.counts[row]};
    };
    section.listed = add_listed(plan.counts.size(), section.nodes, of, reply);
  }
  return section;
}

template <class Rows>
HopReply write_sections(std::vector<SectionSampler<Rows>>& samplers) {
  std::uint64_t bytes = 0;
  std::size_t rows = 0;
  DataWriter data;
  for (const auto& sampler : samplers) {
    const auto size = sampler.planned().edges * sampler.width_bytes();
    bytes = section_begin(bytes, size) + size;
    data.plan(sampler.edge_data(), sampler.planned().edges);
    if constexpr (Rows::indexed) {
      rows += sampler.indexed_lists().size();
    } else {
      rows += sampler.planned().counts.size();
    }
  }
  Buffer ids(bytes + copied_at_once * sizeof(std::uint64_t));
  data.allocate();
  HopReply reply;
  reply.sections.reserve(samplers.size());
  reply.counts.reserve(rows);
  reply.places.reserve(Rows::indexed ? rows : 0);
  bytes = 0;
  for (auto& sampler : samplers) {
    const auto begin = section_begin(bytes, sampler.planned().edges);
    std::ranges::fill(ids.bytes().subspan(bytes, begin - bytes), std::byte{});
    const auto places = data.places(sampler.edge_data());
    const auto written = sampler.ids().visit([&]<class IdT>(std::span<const IdT> list) {
      return sampler.write(list, reinterpret_cast<IdT*>(ids.data() + begin), places);
    });
    data.advance(sampler.edge_data(), written);
    bytes = written == 0 ? bytes : begin + written * sampler.width_bytes();
    reply.sections.push_back(add_counts(sampler, reply));
  }
  // A choice may have taken less than planned.
  reply.neighbours = std::move(ids).freeze();
  reply.neighbours.bytes = reply.neighbours.bytes.first(bytes);
  reply.edge_data = std::move(data).freeze();
  return reply;
}

/// \param rows_of  makes the rows of a section, by its number
template <class Rows, class RowsOf>
Result<HopReply> sample(const Part& part, const HopRequest& request, const ChoiceKind& kind,
                        const RowsOf& rows_of) {
  SectionScratch scratch;
  std::vector<SectionSampler<Rows>> samplers;
  samplers.reserve(request.sections.size());
  for (std::size_t i = 0; i < request.sections.size(); ++i) {
    samplers.emplace_back(part, request, request.sections[i], rows_of(i), kind, scratch);
    TROUPE_RETURN_IF_ERROR(samplers.back().check());
  }
  TROUPE_RETURN_IF_ERROR(plan_sections(samplers, request.max_edges));
  return write_sections(samplers);
}

}  // namespace

Result<HopReply> sample_one_hop(const Part& part, const HopRequest& request, ListsOf lists_of,
                                std::span<const ChoiceKind> kinds) {
  TROUPE_RETURN_IF_ERROR(check_hop_request(part, request, kinds));
  const auto& kind = kinds[request.choice];
  const auto rows_of = [&]<class Rows>(std::size_t section) {
    const auto& of = request.sections[section];
    return Rows(part, request.frontiers[of.frontier].node_type, of.edge_type, request.dir);
  };
  if (lists_of == ListsOf::halo) {
    return sample<HaloRows>(part, request, kind, [&](std::size_t i) {
      return rows_of.template operator()<HaloRows>(i);
    });
  }
  const auto owned = [&](std::size_t i) { return rows_of.template operator()<OwnedRows>(i); };
  if (const auto indexed = IndexedLists::find(part, request)) {
    return sample<IndexedRows>(part, request, kind, [&](std::size_t i) {
      return IndexedRows(owned(i), indexed->of(i), request.sections[i].excluded);
    });
  }
  return sample<OwnedRows>(part, request, kind, owned);
}

}  // namespace troupe
