#pragma once
/// \file predict_request.hpp
/// Options of `troupe predict` against the job file: checked before data are imported and hosts are reached, but for
/// those that depend on the data.
#include "launcher/commands.hpp"
#include "runtime/base/result.hpp"
#include "runtime/job/job.hpp"
#include "runtime/run/predicted_task.hpp"

namespace troupe {

/// Rows that no layer has made: what models without layers compare, or with --learned the learned columns alone.
/// \param job  fitted to its graph or not: only then those of triples have 0 layers
bool wants_input_rows(const Job& job, const PredictArguments& arguments);

/// \errors invalid_argument: options that the task refuses, or without effect beside the others; unimplemented: a job
///   whose model is not inferred exactly; not_found: a file of --nodes or --links
Status check_request(const Job& job, const PredictArguments& arguments);

/// Whether the edge type that is named says anything: of pairs, or what links are where the data have no split.
Status check_edge_type(const PredictArguments& arguments, const PredictedTask& task);

}  // namespace troupe
