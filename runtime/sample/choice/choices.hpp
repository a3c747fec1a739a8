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
  /// Null: not built yet.
  std::unique_ptr<Choice> (*make)(const ChoiceOptions& options) = nullptr;
};

std::span<const ChoiceKind> choice_kinds();

}  // namespace troupe
