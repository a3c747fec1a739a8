#include "runtime/run/task/link_queries.hpp"

#include "runtime/nn/knowledge/entity_ranker.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace troupe {
namespace {

/// Rows of one side of links, by link.
struct Side {
  ConstMatrix rows;
  std::span<const std::uint32_t> places;
};

void add_side(const Side& known, const Side& answers, std::span<const float> factors,
              std::size_t first, MutMatrix out) {
  const auto links = out.rows;
  const auto cols = known.rows.cols;
  Matrix queries(links, cols);
  Matrix answer_rows(links, cols);
  for (std::size_t i = 0; i < links; ++i) {
    const auto from = known.rows.row(known.places[i]);
    const auto query = queries.view().row(i);
    for (std::size_t c = 0; c < cols; ++c) {
      query[c] = factors.empty() ? from[c] : from[c] * factors[c];
    }
    std::ranges::copy(answers.rows.row(answers.places[i]), answer_rows.view().row(i).begin());
  }
  const nn::EntityRanker ranker(link_product, std::as_const(queries).view());
  std::vector<float> keys(links);
  ranker.answer_keys(std::as_const(answer_rows).view(), keys);
  for (std::size_t i = 0; i < links; ++i) {
    const auto to = out.row(i).subspan(first, cols + 1);
    std::ranges::copy(std::as_const(queries).view().row(i), to.begin());
    to.back() = keys[i];
  }
}

}  // namespace

void add_link_queries(const LinkEnds& ends, MutMatrix out) {
  const Side sources{ends.sources, ends.of};
  const Side destinations{ends.destinations, ends.to};
  add_side(sources, destinations, ends.factors, 0, out);
  add_side(destinations, sources, ends.factors, ends.sources.cols + 1, out);
}

}  // namespace troupe
