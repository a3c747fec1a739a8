#include "runtime/job/embedding_rules.hpp"

#include "runtime/base/nearest.hpp"
#include "runtime/job/overrides.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string>

namespace troupe {
namespace {

std::string place_of(const std::string& name, const char* key) {
  return fmt::format("/embedding/{}/{}", pointer_token(name), key);
}

}  // namespace

void check_embedding_keys(const Job& job, ProblemList& problems) {
  if (job.train.staleness > 0 && job.embedding.empty() && !problems.has("/train/staleness")) {
    problems.add({"/train/staleness", "0 without learned rows (embedding)",
                  fmt::to_string(job.train.staleness), ""});
  }
  const SparseOptimizerOptions unset;
  const InitialRowsOptions normal;
  for (const auto& [name, table] : job.embedding) {
    const auto& optimizer = table.optimizer;
    const auto* kind = find_kind(sparse_optimizer_kinds(), optimizer.kind);
    const auto refuse = [&, table_name = name](const char* key, double fallback, double found,
                                               const std::string& reader) {
      if (found != fallback && !problems.has(place_of(table_name, key))) {
        problems.add({place_of(table_name, key), fmt::format("{} with kind {}", fallback, reader),
                      fmt::format("{}", found), ""});
      }
    };
    const bool good = kind != nullptr && !problems.has(place_of(name, "optimizer/kind"));
    const auto reader = fmt::format("\"{}\"", optimizer.kind);
    if (good && !reads_option(*kind, "initial_accumulator")) {
      refuse("optimizer/initial_accumulator", 0, optimizer.initial_accumulator, reader);
    }
    if (good && !reads_option(*kind, "beta1")) {
      refuse("optimizer/betas", unset.beta1, optimizer.beta1, reader);
      refuse("optimizer/betas", unset.beta2, optimizer.beta2, reader);
    }
    const auto start = fmt::format("\"{}\"", table.init.kind);
    if (table.init.kind != "normal") {
      refuse("init/std", normal.std, table.init.std, start);
    }
    if (table.init.kind != "uniform") {
      refuse("init/scale", normal.scale, table.init.scale, start);
    }
  }
}

void check_embedding_types(const Job& job, const GraphInfo& graph, ProblemList& problems) {
  std::vector<std::string> names;
  for (const auto& type : graph.node_types) {
    names.push_back(type.name);
  }
  for (const auto& [name, table] : job.embedding) {
    if (std::ranges::find(names, name) == names.end()) {
      const Nearest best = nearest(name, names);
      problems.add({fmt::format("/embedding/{}", pointer_token(name)), "a node type of the graph",
                    fmt::format("\"{}\"", name),
                    best.close ? fmt::format("did you mean \"{}\"?", best.word)
                               : fmt::format("such as \"{}\"", names.front()),
                    true});
    }
  }
}

void check_embedding_use(const Job& job, const GraphInfo& graph,
                         const std::vector<NodeTypeId>& read, ProblemList& problems) {
  if (job.embedding.empty()) {
    return;
  }
  for (std::size_t t = 0; t < graph.node_types.size(); ++t) {
    const auto& name = graph.node_types[t].name;
    if (job.embedding.contains(name) &&
        std::ranges::find(read, static_cast<NodeTypeId>(t)) == read.end()) {
      problems.add({fmt::format("/embedding/{}", pointer_token(name)),
                    "node types that a layer of the model reads", fmt::format("\"{}\"", name),
                    "no edges lead from it to the seeds in so many layers", true});
    }
  }
}

std::vector<NodeTypeId> types_with_replaced_features(const Job& job, const GraphInfo& graph) {
  std::vector<NodeTypeId> types;
  for (std::size_t t = 0; t < graph.node_types.size(); ++t) {
    const auto& type = graph.node_types[t];
    const auto table = job.embedding.find(type.name);
    if (type.features && table != job.embedding.end() && !table->second.features) {
      types.push_back(static_cast<NodeTypeId>(t));
    }
  }
  return types;
}

std::shared_ptr<const EmbeddingPlan> embedding_plan(const Job& job, const GraphInfo& graph) {
  if (job.embedding.empty()) {
    return nullptr;
  }
  auto plan = std::make_shared<EmbeddingPlan>();
  plan->world = job.cluster.world();
  plan->job_seed = job.seed;
  for (std::size_t t = 0; t < graph.node_types.size(); ++t) {
    const auto& name = graph.node_types[t].name;
    if (const auto found = job.embedding.find(name); found != job.embedding.end()) {
      auto& table = plan->tables.emplace_back(found->second);
      table.name = name;
      table.node_type = static_cast<NodeTypeId>(t);
    }
  }
  return plan;
}

std::uint64_t embedding_cols(const Job& job, const NodeTypeInfo& type) {
  const auto found = job.embedding.find(type.name);
  return found == job.embedding.end() ? 0 : found->second.dim;
}

}  // namespace troupe
