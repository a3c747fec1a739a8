#pragma once
/// \file choices.hpp
/// The choices of neighbors that `sample.choice` can name, one row each (runtime/base/kinds.hpp):
/// job schema, hop requests and docs/job-file.md read this table.
#include "runtime/base/kinds.hpp"
#include "runtime/sample/choice/choice.hpp"

#include <memory>
#include <span>
#include <string_view>

namespace troupe {

struct ChoiceKind {
  std::string_view name;                           ///< Word in job files
  std::string_view help;                           ///< Neighbors that a hop takes, one line
  std::span<const std::string_view> options = {};  ///< Keys of `sample` that not all kinds read
  bool needs_weights = false;                      ///< Lists must have alias tables
  bool needs_times = false;                        ///< Lists must be in order of time
  bool needs_originals = false;  ///< Lists must have the original ids of their neighbors
  bool on_average = false;       ///< The fanout is the mean of what a list gives, not the most
  Domain domain = Domain::neighbours;  ///< Of its streams
  /// Null: not built yet.
  std::unique_ptr<Choice> (*make)(const ChoiceOptions& options) = nullptr;
};

std::span<const ChoiceKind> choice_kinds();

/// The most entries that a list gives; in all likelihood, where the fanout is met on average: six
/// standard deviations of a sum of independent entries above it.
std::uint64_t most_taken(const ChoiceKind& kind, std::uint32_t fanout);

/// Whether a kind reads entries, not only their number: it sees those that are excluded too.
constexpr bool reads_entries(const ChoiceKind& kind) noexcept {
  return kind.needs_weights || kind.needs_originals;
}

}  // namespace troupe
