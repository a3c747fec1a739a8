#include "runtime/nn/knowledge/known_answers.hpp"

#include <algorithm>

namespace troupe::nn {

void KnownAnswers::add(std::uint64_t head, std::uint32_t relation, std::uint64_t tail) {
  answers_[static_cast<std::size_t>(ReplacedEnd::tail)].push_back({head, relation, tail});
  answers_[static_cast<std::size_t>(ReplacedEnd::head)].push_back({tail, relation, head});
}

void KnownAnswers::finish() {
  for (auto& answers : answers_) {
    std::ranges::sort(answers);
    answers.erase(std::unique(answers.begin(), answers.end()), answers.end());
    answers.shrink_to_fit();
  }
}

KnownRows KnownAnswers::rows_among(std::span<const TripleQuery> queries, std::uint64_t first,
                                   std::uint64_t count) const {
  KnownRows known{{0}, {}};
  for (const auto& query : queries) {
    const auto& answers = answers_[static_cast<std::size_t>(query.replaced)];
    auto at = std::ranges::lower_bound(answers, Answer{query.known, query.relation, first});
    const auto end =
        std::ranges::lower_bound(answers, Answer{query.known, query.relation, first + count});
    for (; at != end; ++at) {
      known.rows.push_back(at->answer - first);
    }
    known.offsets.push_back(known.rows.size());
  }
  return known;
}

}  // namespace troupe::nn
