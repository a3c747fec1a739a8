#pragma once
/// \file knowledge_support.hpp
/// The scores of triples with their definitions in float64, and random rows for them.
#include "runtime/nn/knowledge/chunk_scorer.hpp"
#include "tests/runtime/nn/nn_support.hpp"

#include <cmath>
#include <complex>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace troupe::nn::testing {

struct ScoreCase {
  std::string name;  ///< of its golden
  TripleScore score;
};

inline std::vector<ScoreCase> score_cases() {
  return {{"distmult", {ScoreKind::distmult, 2, false}},
          {"complex", {ScoreKind::complex, 2, false}},
          {"transe_p1", {ScoreKind::transe, 1, false}},
          {"transe_p2", {ScoreKind::transe, 2, false}},
          {"transe_p1_unit", {ScoreKind::transe, 1, true}},
          {"transe_p2_unit", {ScoreKind::transe, 2, true}},
          {"rotate", {ScoreKind::rotate, 1, false}},
          {"rotate_l2", {ScoreKind::rotate, 2, false}}};
}

using DoubleRow = std::vector<double>;

inline DoubleRow doubles(std::span<const float> row) {
  return {row.begin(), row.end()};
}

inline double length_of(const DoubleRow& row, int norm) {
  double sum = 0;
  for (const double x : row) {
    sum += norm == 1 ? std::abs(x) : x * x;
  }
  return norm == 1 ? sum : std::sqrt(sum);
}

/// Number k of a complex row.
inline std::complex<double> complex_at(const DoubleRow& row, std::size_t k) {
  return {row[k], row[row.size() / 2 + k]};
}

/// The score of a triple as its paper has it.
inline double score_twin(const TripleScore& score, DoubleRow h, const DoubleRow& r, DoubleRow t) {
  for (DoubleRow* end : {&h, &t}) {
    const double length = score.unit ? length_of(*end, score.norm) : 1;
    for (double& x : *end) {
      x /= length;
    }
  }
  const std::size_t half = h.size() / 2;
  double sum = 0;
  if (score.kind == ScoreKind::distmult) {
    for (std::size_t c = 0; c < h.size(); ++c) {
      sum += h[c] * r[c] * t[c];
    }
    return sum;
  }
  if (score.kind == ScoreKind::transe) {
    for (std::size_t c = 0; c < h.size(); ++c) {
      h[c] += r[c] - t[c];
    }
    return -length_of(h, score.norm);
  }
  DoubleRow moduli;
  for (std::size_t k = 0; k < half; ++k) {
    if (score.kind == ScoreKind::complex) {
      sum += (complex_at(h, k) * complex_at(r, k) * std::conj(complex_at(t, k))).real();
    } else {
      moduli.push_back(std::abs(complex_at(h, k) * std::polar(1.0, r[k]) - complex_at(t, k)));
    }
  }
  return score.kind == ScoreKind::complex ? sum : -length_of(moduli, score.norm);
}

/// Random rows of a chunk.
struct OwnedChunk {
  Matrix known;
  Matrix relation;
  Matrix answer;
  Matrix negative;

  ChunkRows rows() const { return {known.view(), relation.view(), answer.view(), negative.view()}; }
};

struct ChunkShape {
  std::size_t triples = 0;
  std::size_t negatives = 0;
  std::size_t cols = 0;
};

inline OwnedChunk random_chunk(const TripleScore& score, const ChunkShape& shape,
                               std::uint64_t seed) {
  return {random_matrix(shape.triples, shape.cols, seed),
          random_matrix(shape.triples, score.relation_cols(shape.cols), seed + 1),
          random_matrix(shape.triples, shape.cols, seed + 2),
          random_matrix(shape.negatives, shape.cols, seed + 3)};
}

/// Score of triple i of a chunk whose replaced end is `other`.
inline double twin_of(const TripleScore& score, ReplacedEnd replaced, const ChunkRows& rows,
                      std::size_t i, std::span<const float> other) {
  const auto known = doubles(rows.known.row(i));
  const auto relation = doubles(rows.relation.row(i));
  return replaced == ReplacedEnd::tail ? score_twin(score, known, relation, doubles(other))
                                       : score_twin(score, doubles(other), relation, known);
}

}  // namespace troupe::nn::testing
