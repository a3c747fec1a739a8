#include "runtime/feature/row_collection.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/feature/row_collection_state.hpp"

#include <utility>

namespace troupe {

RowCollection::RowCollection(const PartitionBook& book,
                             std::shared_ptr<const CollectOptions> options,
                             std::shared_ptr<const SampledBatch> sampled,
                             std::shared_ptr<const RowCache> cache,
                             std::span<const std::shared_ptr<const Part>> here, FutureReads future,
                             std::shared_ptr<const RowSlots> slots)
    : state_(std::make_unique<State>(book, std::move(options))) {
  if (state_->options->source.kind == RowSource::Kind::features) {
    state_->cache = std::move(cache);
    state_->here = here;
    state_->future = std::move(future);
    state_->slots = std::move(slots);
  }
  state_->batch.sampled = std::move(sampled);
  state_->prepare();
  state_->here = {};
}

RowCollection::~RowCollection() = default;
RowCollection::RowCollection(RowCollection&&) noexcept = default;
RowCollection& RowCollection::operator=(RowCollection&&) noexcept = default;

const std::vector<RowQuestion>& RowCollection::questions() const {
  return state_->questions;
}

Status RowCollection::answer(std::uint32_t question, const RowReply& reply) {
  State& s = *state_;
  TROUPE_RETURN_IF_ERROR(s.check_open(question));
  TROUPE_ASSIGN_OR_RETURN(const auto sections, s.open_reply(question, reply));
  std::vector<std::vector<ComingRows>> rows(s.batch.rows.size());
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const auto of = s.asked(question, i);
    TROUPE_RETURN_IF_ERROR(s.check_sizes(of, sections[i]));
    TROUPE_RETURN_IF_ERROR(s.take_labels(of, sections[i]));
    s.take_original_ids(of, sections[i]);
    if (of.section.with_rows) {
      s.take_rows(question, i,
                  {.nodes = of.section.nodes, .places = of.places, .packed = sections[i].rows},
                  rows);
    }
  }
  const auto& asked = s.questions[question];
  TROUPE_RETURN_IF_ERROR(s.tables->place(asked.part, asked.request.tables, reply, s.batch));
  s.place_all(rows, 1);
  if (s.future.cache && s.future.cache->covers(asked.part)) {
    s.future.cache->insert(asked, sections);
  }
  s.close(question);
  return ok_status();
}

Status RowCollection::answer_from(std::span<const PartHere> parts) {
  State& s = *state_;
  std::vector<std::vector<ComingRows>> rows(s.batch.rows.size());
  for (const auto& [question, part] : parts) {
    TROUPE_RETURN_IF_ERROR(s.read_part(question, part, rows));
  }
  s.place_all(rows, parts.size());
  for (const auto& [question, part] : parts) {
    s.close(question);
  }
  return ok_status();
}

Status RowCollection::answer_from(std::uint32_t question, const Part& part) {
  const PartHere one{question, part};
  return answer_from({&one, 1});
}

std::uint64_t RowCollection::cached_rows() const {
  std::uint64_t rows = 0;
  for (const auto& of_type : state_->cached) {
    rows += of_type.size();
  }
  return rows;
}

std::vector<PooledVector<NodeId>> RowCollection::cacheable(const std::vector<bool>& here) const {
  auto nodes = state_->cached;
  for (const auto& question : state_->questions) {
    if (here[raw(question.part)]) {
      continue;
    }
    for (const auto& section : question.request.sections) {
      if (section.with_rows) {
        const auto unlabelled = std::span(section.nodes).subspan(section.label_nodes);
        auto& of_type = nodes[raw(section.node_type)];
        of_type.insert(of_type.end(), unlabelled.begin(), unlabelled.end());
      }
    }
  }
  return nodes;
}

std::uint64_t RowCollection::halo_rows() const {
  return state_->halo_rows;
}

bool RowCollection::done() const {
  return state_->open == 0;
}

Batch RowCollection::take() && {
  TROUPE_ASSERT(done(), "rows are missing: open questions", state_->open);
  state_->spread_labels();
  if (state_->staging) {
    state_->batch.staged = std::make_shared<const StagedRows>(std::move(*state_->staging).take());
  }
  if (state_->digester) {
    state_->batch.digest = state_->digester->finish(state_->batch);
  }
  return std::move(state_->batch);
}

}  // namespace troupe
