#include "launcher/batch_source.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/base/free_memory.hpp"
#include "runtime/feature/collecting_work.hpp"
#include "runtime/graph/list_tables.hpp"
#include "runtime/job/link_rules.hpp"
#include "runtime/job/store_memory.hpp"
#include "runtime/sample/sampling_work.hpp"

namespace troupe {
namespace {

/// Halos of parts are not read: every part is here, and they change no batch.
std::shared_ptr<const std::vector<std::shared_ptr<const Part>>> no_halos() {
  return std::make_shared<const std::vector<std::shared_ptr<const Part>>>();
}

}  // namespace

Result<BatchSource> BatchSource::open(const Job& job, const PartitionedStore& store) {
  ClusterHooks hooks;
  hooks.take_only = true;
  TROUPE_ASSIGN_OR_RETURN(auto plan, ClusterPlan::make(job, store, hooks));
  TROUPE_ASSIGN_OR_RETURN(const auto memory,
                          store_memory(job, plan->layout, store, HostId{0}, free_memory_bytes()));
  const auto here = store.with_memory(memory);
  const auto tables = list_tables(*plan->sample);
  std::vector<std::shared_ptr<const Part>> parts;
  for (std::uint32_t p = 0; p < plan->parts(); ++p) {
    TROUPE_ASSIGN_OR_RETURN(auto loaded, here.load_part(static_cast<PartId>(p)));
    TROUPE_ASSIGN_OR_RETURN(loaded, with_ends_of(std::move(loaded), job, here));
    TROUPE_ASSIGN_OR_RETURN(auto part, with_list_tables(loaded, tables, plan->sample->dir));
    parts.push_back(std::move(part));
  }
  return BatchSource(std::move(plan), std::move(parts));
}

Result<Batch> BatchSource::batch(std::uint32_t epoch, std::uint64_t number) const {
  const auto halos = no_halos();
  const auto part_here = [this](PartId id) { return part(id); };
  SamplingInputs inputs;
  inputs.graph = plan_->graph;
  inputs.book = plan_->book;
  inputs.options = plan_->sample;
  inputs.halos = halos;
  inputs.lists_here = part_here;
  inputs.scratch = scratch_;
  SamplingWork sampling(std::move(inputs), {Purpose::train, epoch, number},
                        order().seeds_of(epoch, number));
  TROUPE_ASSIGN_OR_RETURN(const auto sampled, sampling.step({}));
  TROUPE_ASSERT(sampled.done, "all lists are here: questions left", sampled.ask.size());
  CollectingWork collecting(
      {.book = plan_->book,
       .options = plan_->collect,
       .sampled = std::make_shared<const SampledBatch>(std::move(sampling).take()),
       .cache = nullptr,
       .measure = nullptr,
       .halos = *halos,
       .part_here = part_here});
  TROUPE_ASSIGN_OR_RETURN(const auto collected, collecting.step({}));
  TROUPE_ASSERT(collected.done, "all rows are here: questions left", collected.ask.size());
  return std::move(collecting).take();
}

}  // namespace troupe
