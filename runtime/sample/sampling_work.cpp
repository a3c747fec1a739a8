#include "runtime/sample/sampling_work.hpp"

#include "runtime/sample/one_hop.hpp"
#include "runtime/sample/seed_limits.hpp"
#include "runtime/sample/walks/walk_pairs.hpp"

#include <algorithm>
#include <type_traits>

namespace troupe {

SamplingWork::SamplingWork(SamplingInputs inputs, BatchKey key, NodeTypeId seed_type,
                           PooledVector<NodeId> seeds, PooledVector<std::int64_t> seed_times)
    : inputs_(std::move(inputs)),
      key_(key),
      seeds_{.groups = {{seed_type, std::move(seeds)}}, .times = std::move(seed_times)} {}

SamplingWork::SamplingWork(SamplingInputs inputs, BatchKey key, OrderedSeeds seeds)
    : SamplingWork(std::move(inputs), key, seeds.type, std::move(seeds.nodes),
                   std::move(seeds.times)) {
  positives_ = std::move(seeds.links);
}

/// The part with the lists if this host has it, else nullptr.
std::shared_ptr<const Part> SamplingWork::here(PartId part, ListsOf lists_of) const {
  if (lists_of == ListsOf::halo) {
    return *std::ranges::find(*inputs_.halos, part, &Part::id);
  }
  return inputs_.lists_here(part);
}

Status SamplingWork::take_reply(const Arrived& arrived) {
  return std::visit(
      [&]<class Reply>(const std::shared_ptr<const Reply>& reply) -> Status {
        if constexpr (std::is_same_v<Reply, HopReply>) {
          return take_lists(arrived.question, reply);
        } else if constexpr (std::is_same_v<Reply, EdgesThere>) {
          return take_edges(arrived.question, *reply);
        } else {
          return link_seeds_->answer(arrived.question, *reply);
        }
      },
      arrived.reply);
}

Status SamplingWork::take_lists(std::uint32_t question,
                                const std::shared_ptr<const HopReply>& reply) {
  return walks_ ? walks_->answer(question, reply) : builder_->answer(question, reply);
}

Status SamplingWork::take_edges(std::uint32_t question, const EdgesThere& there) {
  return walks_ ? walks_->answer(question, there) : link_seeds_->answer(question, there);
}

Status SamplingWork::answer_here() {
  for (const auto& question : std::exchange(local_, {})) {
    const auto part = here(question.part, question.lists_of);
    if (const auto* hop = std::get_if<HopRequest>(&question.request)) {
      TROUPE_ASSIGN_OR_RETURN(auto reply, sample_one_hop(*part, *hop, question.lists_of));
      TROUPE_RETURN_IF_ERROR(
          take_lists(question.id, std::make_shared<const HopReply>(std::move(reply))));
    } else if (const auto* nodes = std::get_if<FindNodes>(&question.request)) {
      TROUPE_ASSIGN_OR_RETURN(const auto found, find_nodes(*part, *nodes));
      TROUPE_RETURN_IF_ERROR(link_seeds_->answer(question.id, found));
    } else if (const auto* edges = std::get_if<HasEdges>(&question.request)) {
      TROUPE_ASSIGN_OR_RETURN(const auto there, has_edges(*part, *edges));
      TROUPE_RETURN_IF_ERROR(take_edges(question.id, there));
    }
  }
  return ok_status();
}

/// Grows the batch from its seeds, once they are known.
Status SamplingWork::grow() {
  if (link_seeds_) {
    auto found = std::move(*link_seeds_).take();
    link_seeds_.reset();
    seeds_ = std::move(found.seeds);
    links_ = std::move(found.links);
  }
  if (inputs_.options->walks && !inputs_.options->links) {
    auto& [type, nodes] = seeds_.groups.front();
    TROUPE_RETURN_IF_ERROR(check_walk_seeds(*inputs_.graph, *inputs_.options, type, nodes.size()));
    walks_.emplace(*inputs_.graph, *inputs_.book, inputs_.options, key_, type, std::move(nodes),
                   *inputs_.halos, inputs_.scratch, std::move(seeds_.times));
    return ok_status();
  }
  TROUPE_RETURN_IF_ERROR(
      check_seed_count(*inputs_.graph, *inputs_.book, *inputs_.options, seeds_.size()));
  builder_.emplace(*inputs_.graph, *inputs_.book, inputs_.options, key_, seeds_, *inputs_.halos,
                   inputs_.scratch);
  return ok_status();
}

/// Walks begin at the sources of the positive links, whose place pairs of walks take.
Status SamplingWork::walk_first() {
  const auto types = end_types(*inputs_.graph, *inputs_.options->links, positives_->edge_type);
  TROUPE_RETURN_IF_ERROR(
      check_walk_seeds(*inputs_.graph, *inputs_.options, types.source, positives_->sources.size()));
  walks_.emplace(*inputs_.graph, *inputs_.book, inputs_.options, key_, types.source,
                 std::exchange(positives_->sources, {}), *inputs_.halos, inputs_.scratch);
  return ok_status();
}

Status SamplingWork::draw_negatives(PositiveLinks links, LinkEndTypes types) {
  TROUPE_RETURN_IF_ERROR(
      check_link_seeds(*inputs_.graph, *inputs_.book, *inputs_.options, links, types));
  positives_.reset();
  link_seeds_.emplace(*inputs_.graph, *inputs_.book, inputs_.options, key_, std::move(links),
                      types);
  return ok_status();
}

/// Does what needs no answer.
Status SamplingWork::begin() {
  if (positives_ && !walks_ && inputs_.options->walks) {
    return walk_first();
  }
  if (positives_ && !walks_) {
    const auto types = end_types(*inputs_.graph, *inputs_.options->links, positives_->edge_type);
    return draw_negatives(*std::move(positives_), types);
  }
  return link_seeds_ || builder_ || walks_ ? ok_status() : grow();
}

/// What can be asked now.
Result<std::vector<SampleQuestion>> SamplingWork::questions() {
  std::vector<SampleQuestion> all;
  if (walks_ && positives_ && walks_->done()) {
    const auto walked = std::move(*walks_).take();
    walks_.reset();
    const auto types =
        turn_of_pairs(*inputs_.options->links, key_, walked.walks->column_types.front());
    TROUPE_RETURN_IF_ERROR(draw_negatives(
        links_of_pairs(walked, positives_->edge_type, types, inputs_.options->walks->window),
        types));
  }
  if (link_seeds_) {
    for (auto& [id, part, request] : link_seeds_->questions()) {
      auto& question = all.emplace_back();
      question.id = id;
      question.part = part;
      std::visit([&](auto& of_kind) { question.request = std::move(of_kind); }, request);
    }
  }
  if (link_seeds_ && link_seeds_->done()) {
    TROUPE_RETURN_IF_ERROR(grow());
  }
  if (builder_) {
    for (auto& [id, part, lists_of, request] : builder_->questions()) {
      all.push_back({id, part, lists_of, std::move(request)});
    }
  }
  if (walks_) {
    for (auto& [id, part, lists_of, request] : walks_->questions()) {
      auto& question = all.emplace_back();
      question.id = id;
      question.part = part;
      question.lists_of = lists_of;
      std::visit([&](auto& of_kind) { question.request = std::move(of_kind); }, request);
    }
  }
  return all;
}

void SamplingWork::split(std::vector<SampleQuestion> questions,
                         std::vector<SampleQuestion>& elsewhere) {
  for (auto& question : questions) {
    const bool lies_here = here(question.part, question.lists_of) != nullptr;
    if (const auto* request = std::get_if<HopRequest>(&question.request)) {
      const auto nodes = request->num_nodes();
      frontier_.add(hop(), nodes, lies_here ? 0 : nodes);
    }
    std::visit([this](auto& request) { request.flow = inputs_.flow; }, question.request);
    (lies_here ? local_ : elsewhere).push_back(std::move(question));
  }
}

/// The hop that was under way is over.
void SamplingWork::begin_hop(bool asks) {
  if (inputs_.on_hop) {
    inputs_.on_hop(key_, hop());
  }
  if (hop_began_ != TraceTrack::TimePoint{}) {
    inputs_.trace.slice("hop", hop_began_, inputs_.flow);
  }
  hop_began_ = asks ? inputs_.trace.now() : TraceTrack::TimePoint{};
}

Result<SamplingWork::Step> SamplingWork::step(const std::vector<Arrived>& arrived) {
  TROUPE_RETURN_IF_ERROR(begin());
  for (const auto& reply : arrived) {
    TROUPE_RETURN_IF_ERROR(take_reply(reply));
  }
  Step step;
  TROUPE_RETURN_IF_ERROR(answer_here());
  for (;;) {
    TROUPE_ASSIGN_OR_RETURN(auto asked, questions());
    if (asked.empty()) {
      break;
    }
    if (builder_ || walks_) {
      begin_hop(true);
    }
    split(std::move(asked), step.ask);
    if (!step.ask.empty()) {
      step.more = !local_.empty();
      return step;
    }
    TROUPE_RETURN_IF_ERROR(answer_here());
  }
  step.done = is_grown();
  if (step.done) {
    begin_hop(false);
  }
  return step;
}

SampledBatch SamplingWork::take() && {
  if (walks_) {
    return std::move(*walks_).take();
  }
  auto batch = std::move(*builder_).take();
  if (links_) {
    for (auto* places : {&links_->sources, &links_->destinations, &links_->negative_sources,
                         &links_->negative_destinations, &links_->candidates}) {
      for (auto& place : *places) {
        place = batch.seed_index[place];
      }
    }
    batch.links = std::move(links_);
  }
  return batch;
}

}  // namespace troupe
