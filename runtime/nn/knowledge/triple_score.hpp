#pragma once
/// \file triple_score.hpp
/// Scores of triples (head, relation, tail) of knowledge graphs, by rows of entities and relations.
/// Every score compares a *query*, made of the known end and the relation, with the other end, so
/// that one query serves many candidates: as a product, or as a distance (pair_scores.hpp). Higher
/// is more likely; no margin is added. Complex rows hold the real half first, [re | im].
///
/// | kind     | score                        | source                 |
/// |----------|------------------------------|------------------------|
/// | transe   | -‖h + r - t‖_p               | Bordes et al., 2013    |
/// | distmult | Σ h r t                      | Yang et al., 2015      |
/// | complex  | Re Σ h r conj(t)             | Trouillon et al., 2016 |
/// | rotate   | -‖h e^{iθ} - t‖_p            | Sun et al., 2019       |
///
/// RotatE's ‖·‖_1 is the sum of the moduli of complex numbers, its ‖·‖_2 the length of the whole
/// row.
#include "runtime/base/matrix.hpp"
#include "runtime/sample/knowledge/replaced_end.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace troupe::nn {

enum class ScoreKind : std::uint8_t { transe, distmult, complex, rotate };  ///< rows of score_kinds

/// How queries and candidates are compared (pair_scores.hpp).
enum class Comparison : std::uint8_t {
  product,     ///< q · c
  distance_1,  ///< -Σ |q - c|
  distance_2,  ///< -sqrt(Σ (q - c)²)
  moduli,      ///< -Σ |q_k - c_k| over complex numbers
};

struct TripleScoreKind {
  std::string_view name;                       ///< as in the job file
  std::array<Comparison, 2> comparisons = {};  ///< with the norms 1 and 2; a product has none
  bool complex = false;                        ///< rows of entities are complex numbers
  bool angles = false;  ///< rows of relations are angles, half as many as an entity has columns
  std::span<const std::string_view> options = {};  ///< those it reads of the keys `norm` and `unit`
};

inline constexpr std::array<std::string_view, 2> options_of_transe = {"norm", "unit"};
inline constexpr std::array<std::string_view, 1> options_of_rotate = {"norm"};
inline constexpr std::array score_kinds = {
    TripleScoreKind{.name = "transe",
                    .comparisons = {Comparison::distance_1, Comparison::distance_2},
                    .options = options_of_transe},
    TripleScoreKind{.name = "distmult"},
    TripleScoreKind{.name = "complex", .complex = true},
    TripleScoreKind{.name = "rotate",
                    .comparisons = {Comparison::moduli, Comparison::distance_2},
                    .complex = true,
                    .angles = true,
                    .options = options_of_rotate},
};

struct TripleScore {
  ScoreKind kind = ScoreKind::distmult;
  int norm = 2;  ///< p of the distances: 1 or 2
  bool unit =
      false;  ///< TransE: entities are divided by their length ‖·‖_p, or 1e-12 if that is longer

  const TripleScoreKind& row() const { return score_kinds[static_cast<std::size_t>(kind)]; }
  bool reads(std::string_view option) const {
    return std::ranges::find(row().options, option) != row().options.end();
  }
  /// Of a relation's row: half of an entity's where relations are angles.
  std::size_t relation_cols(std::size_t entity_cols) const {
    return row().angles ? entity_cols / 2 : entity_cols;
  }
  /// Entities of complex numbers need an even number of columns.
  bool complex_rows() const { return row().complex; }
  Comparison comparison() const { return row().comparisons[norm == 1 ? 0 : 1]; }
};

/// What queries are made of, for each relation: its row; for RotatE [cos | sin] of its angles.
/// \param factors  [n, entity columns], overwritten
void relation_factors(const TripleScore& score, ConstMatrix relations, MutMatrix factors);

/// queries[i] = what candidates for the replaced end of triple i are compared with.
/// \param known    [n, cols] rows of the known ends, of length 1 where the score asks for it
/// \param factors  [n, cols] as relation_factors() gives them
void query_rows(const TripleScore& score, ReplacedEnd replaced, ConstMatrix known,
                ConstMatrix factors, MutMatrix queries);

/// Gradients by the rows that queries are made of, overwritten.
struct QueryGradients {
  MutMatrix known;      ///< [n, cols]
  MutMatrix relations;  ///< [n, relation columns]
};
/// The gradient of query_rows() and relation_factors(). \param grad_queries  [n, cols]
void query_backward(const TripleScore& score, ReplacedEnd replaced, ConstMatrix known,
                    ConstMatrix factors, ConstMatrix grad_queries, const QueryGradients& grads);

/// Divides rows by max(their length ‖·‖_p, 1e-12). \param lengths  [rows], written
void unit_rows(int norm, ConstMatrix rows, MutMatrix out, std::span<float> lengths);
/// Turns the gradient of the divided rows into that of the rows, in place.
/// \param out  the divided rows
void unit_backward(int norm, ConstMatrix out, std::span<const float> lengths, MutMatrix grad);

}  // namespace troupe::nn
