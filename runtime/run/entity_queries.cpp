#include "runtime/run/entity_queries.hpp"

#include "runtime/base/assert.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace troupe {

Matrix queries_of(ConstMatrix outputs, std::size_t kept) {
  TROUPE_ASSERT(kept <= outputs.cols, "columns before queries", kept, outputs.cols);
  Matrix queries(outputs.rows, outputs.cols - kept);
  for (std::size_t i = 0; i < outputs.rows; ++i) {
    std::ranges::copy(outputs.row(i).subspan(kept), queries.view().row(i).begin());
  }
  return queries;
}

Matrix with_counts(ConstMatrix outputs, std::size_t kept, ConstMatrix counts) {
  Matrix all(outputs.rows, kept + counts.cols);
  for (std::size_t i = 0; i < outputs.rows; ++i) {
    const auto row = all.view().row(i);
    std::ranges::copy(outputs.row(i).first(kept), row.begin());
    std::ranges::copy(counts.row(i), row.subspan(kept).begin());
  }
  return all;
}

EntityQueries::EntityQueries(const RankingPlan& plan, const PartitionBook& book,
                             const SampledBatch& sampled, ConstMatrix outputs, ComparedRows rows)
    : rows_(std::move(rows)), counts_(Matrix::zeros(outputs.rows, rank_cols)) {
  for (const auto end : {ReplacedEnd::tail, ReplacedEnd::head}) {
    if (outputs.rows > 0 && is_ranked(plan.ends, end)) {
      add_side(plan, book, sampled, outputs, end);
    }
  }
  missing_ = questions_.size();
}

void EntityQueries::add_side(const RankingPlan& plan, const PartitionBook& book,
                             const SampledBatch& sampled, ConstMatrix outputs,
                             ReplacedEnd replaced) {
  const auto& links = *sampled.links;
  const bool tail = replaced == ReplacedEnd::tail;
  const auto triples = outputs.rows;
  const auto cols = outputs.cols / 2 - 1;
  const auto first = tail ? 0 : cols + 1;
  const auto known_type = tail ? links.source_type : links.destination_type;
  const auto answer_type = tail ? links.destination_type : links.source_type;
  const auto& ids = sampled.nodes[raw(known_type)].ids;
  const auto relation = plan.relation_of(links.edge_type);
  std::vector<nn::TripleQuery> queries;
  const auto& weights = tail ? rows_.weights.of_destinations : rows_.weights.of_sources;
  const auto before = weights.as<float>();
  std::vector<float> rows(before.begin(), before.end());
  PooledVector<float> keys;
  for (std::size_t i = 0; i < triples; ++i) {
    const auto row = outputs.row(i).subspan(first, cols + 1);
    rows.insert(rows.end(), row.begin(), row.end() - 1);
    keys.push_back(row[cols]);
    queries.push_back({raw(ids[(tail ? links.sources : links.destinations)[i]]),
                       plan.of_triples ? static_cast<std::uint32_t>(links.labels[i]) : relation,
                       replaced});
  }
  const auto shared = Segment::of(std::move(rows));
  for (std::uint32_t p = 0; p < book.parts(); ++p) {
    const auto part = static_cast<PartId>(p);
    const auto range = book.range(answer_type, part);
    if (range.size() == 0) {
      continue;
    }
    const auto known = plan.known.rows_among(queries, raw(range.first), range.size());
    RankEntities request;
    request.node_type = answer_type;
    request.tensor = rows_.tensor;
    request.cols = rows_.cols == 0 ? static_cast<std::uint32_t>(cols) : rows_.cols;
    request.hidden = before.empty() ? 0 : static_cast<std::uint32_t>(cols);
    request.score =
        before.empty() ? static_cast<std::uint16_t>(plan.score.kind) : score_of_perceptron;
    request.norm = static_cast<std::uint16_t>(plan.score.norm);
    request.unit = plan.score.unit;
    request.queries = shared;
    request.keys = keys;
    request.offsets.assign(known.offsets.begin(), known.offsets.end());
    request.left_out.assign(known.rows.begin(), known.rows.end());
    questions_.push_back({part, std::move(request)});
    sides_.push_back(replaced);
  }
}

Status EntityQueries::answer(std::size_t question, const EntityCounts& counts) {
  const auto triples = counts_.rows();
  if (counts.above.size() != triples || counts.level.size() != triples) {
    return Error(Errc::data_corruption,
                 fmt::format("counts of part {}: expected those of {} queries, found {} and {}",
                             raw(questions_[question].part), triples, counts.above.size(),
                             counts.level.size()));
  }
  const std::size_t first = sides_[question] == ReplacedEnd::tail ? 0 : 2;
  for (std::size_t i = 0; i < triples; ++i) {
    const auto row = counts_.view().row(i);
    row[first] += static_cast<float>(counts.above[i]);
    row[first + 1] += static_cast<float>(counts.level[i]);
  }
  --missing_;
  return ok_status();
}

}  // namespace troupe
