#include "runtime/job/collect_options.hpp"

#include "runtime/job/columns.hpp"

#include <utility>

namespace troupe {

bool reads_original_ids(const Job& job, BatchReader reader) {
  return reader == BatchReader::user || job.digest != DigestMode::off || job.model.drops();
}

Result<CollectOptions> collect_options(const Job& job, const GraphInfo& graph, BatchReader reader) {
  CollectOptions collect;
  for (const auto& type : graph.node_types) {
    if (!job.features.collect) {
      collect.decoders.push_back(RowDecoder::plain(0));
      continue;
    }
    TROUPE_ASSIGN_OR_RETURN(auto decoder, RowDecoder::create(type, job.features.normalize));
    collect.decoders.push_back(std::move(decoder));
    collect.label_bytes.push_back(type.labels ? type.labels->row_bytes() : 0);
  }
  if (job.sample.edge_data.entries) {
    for (const auto& type : graph.edge_types) {
      TROUPE_ASSIGN_OR_RETURN(auto decoder, RowDecoder::create(type));
      collect.edge_decoders.push_back(std::move(decoder));
    }
  }
  if (job.features.collect) {
    collect.columns = wanted_columns(job, graph);
  }
  collect.with_labels = job.features.collect && !job.task.links();
  collect.digest = job.digest;
  collect.digest_here = true;
  collect.with_original_ids = reads_original_ids(job, reader);
  return collect;
}

}  // namespace troupe
