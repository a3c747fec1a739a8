#pragma once
/// \file schema_rows.hpp
/// The rows of the job file's schema, section by section; only for schema.cpp.
#include "runtime/job/schema.hpp"
#include "runtime/partition/methods.hpp"

#include <span>
#include <vector>

namespace troupe {

std::vector<SchemaRow> place_rows();  ///< dataset, partition, cluster
/// The method and the options of methods, for place_rows; tests give them tables of their own.
std::vector<SchemaRow> method_rows(std::span<const PartitionMethod> methods,
                                   std::span<const PartitionOption> options);
std::vector<SchemaRow> slurm_rows();  ///< cluster.slurm, for place_rows
std::vector<SchemaRow>
learning_rows();  ///< sample, features, model, train, eval, checkpoint, and the single keys

}  // namespace troupe
