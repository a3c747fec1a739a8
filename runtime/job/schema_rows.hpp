#pragma once
/// \file schema_rows.hpp
/// The rows of the job file's schema, section by section; only for schema.cpp.
#include "runtime/feature/cache_policies.hpp"
#include "runtime/job/schema.hpp"
#include "runtime/nn/catalog.hpp"
#include "runtime/partition/methods.hpp"
#include "runtime/sample/choice/choices.hpp"

#include <span>
#include <vector>

namespace troupe {

std::vector<SchemaRow> place_rows();  ///< dataset, partition, cluster
/// The method and the options of methods, for place_rows; tests give them tables of their own.
std::vector<SchemaRow> method_rows(std::span<const PartitionMethod> methods,
                                   std::span<const PartitionOption> options);
/// The kind of model and what only some kinds read, and the cache's policy, for learning_rows.
std::vector<SchemaRow> model_kind_rows(std::span<const nn::ModelKind> kinds);
SchemaRow cache_policy_row(std::span<const CachePolicy> policies);
/// The choice of neighbors and what only some choices read, for learning_rows.
std::vector<SchemaRow> choice_rows(std::span<const ChoiceKind> kinds);
std::vector<SchemaRow> seed_file_rows();  ///< dataset.seeds, for place_rows
std::vector<SchemaRow> task_rows();       ///< task, for learning_rows
std::vector<SchemaRow> knowledge_rows();  ///< task, of knowledge graphs, for task_rows
std::vector<SchemaRow> model_rows();      ///< model, for learning_rows
std::vector<SchemaRow> embedding_rows();  ///< embedding, for learning_rows
std::vector<SchemaRow> eval_rows();       ///< eval, for learning_rows
std::vector<SchemaRow> slurm_rows();      ///< cluster.slurm, for place_rows
std::vector<SchemaRow>
learning_rows();  ///< task, sample, features, embedding, model, train, eval, checkpoint, and the single keys

}  // namespace troupe
