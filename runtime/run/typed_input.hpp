#pragma once
/// \file typed_input.hpp
/// A batch of a typed graph as a model takes it (runtime/nn/model.hpp). Of one type of each the
/// learner makes the input itself.
#include "runtime/base/result.hpp"
#include "runtime/feature/batch.hpp"
#include "runtime/nn/model.hpp"

namespace troupe {

/// Borrows the batch.
/// \param model  typed
/// \errors failed_precondition: the batch has other types, too few hops, or lacks rows or, for
///   training, original ids
Result<nn::TypedInput> typed_input(const nn::ModelOptions& model, const Batch& batch,
                                   bool training);

}  // namespace troupe
