#include "runtime/run/count_entities.hpp"

#include "runtime/nn/knowledge/entity_ranker.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <span>
#include <vector>

namespace troupe {
namespace {

/// Rows that one thread counts.
constexpr std::size_t rows_of_block = 1536;

Error refused_queries(const std::string& what) {
  return {Errc::invalid_argument, fmt::format("queries for entities: {}", what)};
}

nn::TripleScore score_of(const RankEntities& request) {
  return {static_cast<nn::ScoreKind>(request.score), request.norm, request.unit};
}

nn::EntityRanker ranker_of(const RankEntities& request) {
  const auto numbers = request.queries.as<float>();
  const auto weights = numbers.first(request.num_weights());
  const ConstMatrix queries{numbers.data() + weights.size(), request.keys.size(),
                            request.query_cols()};
  if (request.hidden == 0) {
    return {score_of(request), queries};
  }
  return {nn::HalfPerceptron{.weight = {weights.data(), request.hidden, request.cols},
                             .out = weights.last(request.hidden)},
          queries};
}

Status check_ranking(const RankEntities& request, std::size_t rows) {
  if (request.score > score_of_perceptron || (request.norm != 1 && request.norm != 2) ||
      request.keys.size() > nn::queries_at_once) {
    return refused_queries(
        fmt::format("expected a score of 0 to 4, norm 1 or 2 and at most {} queries, found score "
                    "{}, norm {} and "
                    "{} queries",
                    nn::queries_at_once, request.score, request.norm, request.keys.size()));
  }
  const bool perceptron = request.score == score_of_perceptron;
  if (perceptron != (request.hidden > 0) || (perceptron && request.unit)) {
    return refused_queries(
        fmt::format("expected hidden columns with score 4 alone, found {} of them with score {}{}",
                    request.hidden, request.score, request.unit ? " of units" : ""));
  }
  if (!perceptron && score_of(request).complex_rows() && request.cols % 2 != 0) {
    return refused_queries(
        fmt::format("expected an even number of columns, found {}", request.cols));
  }
  for (std::size_t q = 0; q < request.keys.size(); ++q) {
    const auto places =
        std::span(request.left_out)
            .subspan(request.offsets[q], request.offsets[q + 1] - request.offsets[q]);
    const bool rise =
        std::ranges::adjacent_find(places, std::ranges::greater_equal()) == places.end();
    if (!rise || (!places.empty() && places.back() >= rows)) {
      return refused_queries(
          fmt::format("expected places below {} in ascending order for query {}", rows, q));
    }
  }
  return ok_status();
}

/// Those of the request that lie among rows [first, end), counted from `first`.
struct LeftOutOfBlock {
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::uint64_t> rows;
};

LeftOutOfBlock left_out_of(const RankEntities& request, std::uint64_t first, std::uint64_t end) {
  LeftOutOfBlock block;
  for (std::size_t q = 0; q < request.keys.size(); ++q) {
    const auto places =
        std::span(request.left_out)
            .subspan(request.offsets[q], request.offsets[q + 1] - request.offsets[q]);
    for (auto place = std::ranges::lower_bound(places, first);
         place != places.end() && *place < end; ++place) {
      block.rows.push_back(*place - first);
    }
    block.offsets.push_back(block.rows.size());
  }
  return block;
}

}  // namespace

Result<EntityCounts> count_entities(Executor& executor, const RankEntities& request,
                                    ConstMatrix rows) {
  TROUPE_RETURN_IF_ERROR(check_ranking(request, rows.rows));
  const auto queries = request.keys.size();
  if (queries == 0) {
    return EntityCounts{};
  }
  const nn::EntityRanker ranker = ranker_of(request);
  const auto blocks = (rows.rows + rows_of_block - 1) / rows_of_block;
  std::vector<std::vector<nn::AboveAndLevel>> counts(blocks,
                                                     std::vector<nn::AboveAndLevel>(queries));
  executor.parallel_for(blocks, [&](std::size_t b) {
    const auto first = b * rows_of_block;
    const auto count = std::min(rows_of_block, rows.rows - first);
    const auto left_out = left_out_of(request, first, first + count);
    ranker.count(rows.slice(first, count), request.keys, {left_out.offsets, left_out.rows},
                 counts[b]);
  });
  EntityCounts sum{PooledVector<std::uint64_t>(queries), PooledVector<std::uint64_t>(queries)};
  for (const auto& of_block : counts) {
    for (std::size_t q = 0; q < queries; ++q) {
      sum.above[q] += of_block[q].above;
      sum.level[q] += of_block[q].level;
    }
  }
  return sum;
}

Result<EntityCounts> rank_rows(Executor& executor, const RankEntities& request, ConstMatrix rows) {
  TROUPE_RETURN_IF_ERROR(check_queries("RankEntities", request));
  if (rows.cols != request.cols) {
    return refused_queries(
        fmt::format("expected {} columns, found queries of {}", rows.cols, request.cols));
  }
  return count_entities(executor, request, rows);
}

}  // namespace troupe
