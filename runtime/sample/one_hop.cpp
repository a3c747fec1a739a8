#include "runtime/sample/one_hop.hpp"

#include "runtime/base/section_cutter.hpp"
#include "runtime/sample/section_sampler.hpp"

#include <algorithm>
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
      const std::size_t answered = i + (plan.counts.empty() ? 0 : 1);
      while (samplers.size() > answered) {
        samplers.pop_back();
      }
    }
  }
  return ok_status();
}

template <class Rows>
HopReply write_sections(std::vector<SectionSampler<Rows>>& samplers) {
  std::uint64_t bytes = 0;
  std::size_t nodes = 0;
  DataWriter data;
  for (const auto& sampler : samplers) {
    const auto size = sampler.planned().edges * sampler.width_bytes();
    bytes = section_begin(bytes, size) + size;
    data.plan(sampler.edge_data(), sampler.planned().edges);
    nodes += sampler.planned().counts.size();
  }
  Buffer ids(bytes);
  data.allocate();
  HopReply reply;
  reply.sections.reserve(samplers.size());
  reply.counts.reserve(nodes);
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
    const auto& plan = sampler.planned();
    reply.counts.insert(reply.counts.end(), plan.counts.begin(), plan.counts.end());
    reply.sections.push_back({.nodes = plan.counts.size(),
                              .width_bytes = static_cast<std::uint8_t>(sampler.width_bytes()),
                              .resume_position = plan.resume_position,
                              .edge_data = sampler.edge_data()});
  }
  // A choice may have taken less than planned.
  reply.neighbours = std::move(ids).freeze();
  reply.neighbours.bytes = reply.neighbours.bytes.first(bytes);
  reply.edge_data = std::move(data).freeze();
  return reply;
}

template <class Rows>
Result<HopReply> sample(const Part& part, const HopRequest& request, const ChoiceKind& kind) {
  std::vector<SectionSampler<Rows>> samplers;
  samplers.reserve(request.sections.size());
  for (const auto& section : request.sections) {
    samplers.emplace_back(part, request, section, kind);
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
  return lists_of == ListsOf::owned ? sample<OwnedRows>(part, request, kind)
                                    : sample<HaloRows>(part, request, kind);
}

}  // namespace troupe
