#pragma once
/// \file catalog.hpp
/// The kinds of models that a job can name, one row each (runtime/base/kinds.hpp): job schema, model
/// files and docs/job-file.md read this table. A new model is a convolution (conv/) and a row.
#include "runtime/base/kinds.hpp"
#include "runtime/base/result.hpp"
#include "runtime/nn/network.hpp"

#include <memory>
#include <span>
#include <string_view>

namespace troupe::nn {

struct ModelKind {
  std::string_view name;                           ///< as in the job file
  std::string_view help;                           ///< one line, with the source
  bool heterogeneous = false;                      ///< takes graphs of several node or edge types
  std::span<const std::string_view> options = {};  ///< Keys of `model` that not all kinds read
  /// Null: known, so that the job file can refuse it by name, but not built yet.
  std::unique_ptr<const Conv> (*make)(const ModelOptions& options) = nullptr;
};

std::span<const ModelKind> model_kinds();
/// The row of a name, built or not, or nullptr.
const ModelKind* find_model_kind(std::string_view name);

/// \errors invalid_argument: sizes that make no model; unimplemented: a kind that is not built, or
///   not for a graph of several types
Result<std::unique_ptr<Network>> make_network(const ModelOptions& options);
/// The same with a kind of the caller's.
Result<std::unique_ptr<Network>> make_network(const ModelOptions& options, const ModelKind& kind);

}  // namespace troupe::nn
