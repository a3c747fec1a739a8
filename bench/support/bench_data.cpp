#include "bench/support/bench_data.hpp"

#include "launcher/prepare_store.hpp"
#include "launcher/read_job.hpp"
#include "runtime/graph/list_tables.hpp"
#include "runtime/job/collect_options.hpp"
#include "runtime/job/link_rules.hpp"
#include "runtime/job/sample_options.hpp"

#include <fmt/format.h>

namespace troupe::bench {
namespace {

Result<std::shared_ptr<const SeedOrder>> training_order(const Job& job,
                                                        const PartitionedStore& store) {
  if (job.task.links()) {
    TROUPE_ASSIGN_OR_RETURN(auto links, store.links(job.dataset.split, "train"));
    return std::make_shared<const SeedOrder>(std::make_shared<const LinkList>(std::move(links)),
                                             job.sample.batch_size, job.seed, true);
  }
  TROUPE_ASSIGN_OR_RETURN(auto seeds, store.seeds(job.dataset.split, "train"));
  return std::make_shared<const SeedOrder>(std::make_shared<const SeedList>(std::move(seeds)),
                                           job.sample.batch_size, job.seed, true);
}

}  // namespace

Result<BenchData> open_bench_data(Job job) {
  const Say say = [](const std::string& text) { fmt::print(stderr, "{}\n", text); };
  TROUPE_ASSIGN_OR_RETURN(auto store, prepare_store(job, say));
  store = store.with_memory(job.dataset.memory.value_or(StoreMemory::copied));
  const auto trainer = job.task.kind != "node" ? JobTrainer::own : JobTrainer::built_in;
  if (!fit_to_graph_or_print(job, store.info(), trainer)) {
    return Error(Errc::invalid_argument, "the job does not fit its data");
  }
  TROUPE_ASSIGN_OR_RETURN(auto collect, collect_options(job, store.info(), BatchReader::trainer));
  auto sample = sample_options(job, store.info());
  TROUPE_RETURN_IF_ERROR(take_edge_ends(sample, job, store));
  std::vector<std::shared_ptr<const Part>> parts;
  for (std::uint32_t p = 0; p < store.partition().parts; ++p) {
    TROUPE_ASSIGN_OR_RETURN(auto loaded, store.load_part(static_cast<PartId>(p)));
    TROUPE_ASSIGN_OR_RETURN(loaded, with_ends_of(std::move(loaded), job, store));
    TROUPE_ASSIGN_OR_RETURN(auto part, with_list_tables(loaded, list_tables(sample), sample.dir));
    parts.push_back(std::move(part));
  }
  auto graph = std::make_shared<const GraphInfo>(store.info());
  auto book = std::make_shared<const PartitionBook>(store.partition().ranges);
  TROUPE_ASSIGN_OR_RETURN(auto order, training_order(job, store));
  if (order->num_seeds() < job.sample.batch_size) {
    return Error(Errc::invalid_argument, fmt::format("expected seeds for a batch of {}, found {}",
                                                     job.sample.batch_size, order->num_seeds()));
  }
  return BenchData{std::move(job),
                   std::move(store),
                   std::move(graph),
                   std::move(book),
                   std::move(parts),
                   std::move(order),
                   std::make_shared<const SampleOptions>(std::move(sample)),
                   std::make_shared<const CollectOptions>(std::move(collect))};
}

}  // namespace troupe::bench
