#pragma once
/// \file schema_rows.hpp
/// The rows of the job file's schema, section by section; only for schema.cpp.
#include "runtime/job/schema.hpp"

#include <vector>

namespace troupe {

std::vector<SchemaRow> place_rows();  ///< dataset, partition, cluster
std::vector<SchemaRow> slurm_rows();  ///< cluster.slurm, for place_rows
std::vector<SchemaRow>
learning_rows();  ///< sample, features, model, train, eval, checkpoint, and the single keys

}  // namespace troupe
