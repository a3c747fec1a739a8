#include "runtime/job/sample_rules.hpp"

#include "runtime/job/columns.hpp"
#include "runtime/sample/choice/choices.hpp"

#include <fmt/format.h>
#include <string>

namespace troupe {
namespace {

void check_lists_cache(const Job& job, ProblemList& problems) {
  if (job.sample.cache_bytes > 0 && job.partition.given &&
      job.partition.order == NodeOrder::original) {
    problems.add({"/partition/order", "\"degree\" or \"hotness\" with sample.cache.budget",
                  "\"original\"", ""});
  }
}

/// What columns and features of edges go with: those are read where their lists are.
void check_features_of_edges(const Job& job, ProblemList& problems) {
  if (!job.features.columns.empty() && !job.features.collect) {
    problems.add({"/features/columns", "none with features.collect false",
                  fmt::format("\"{}\"", job.features.columns.front()), ""});
  }
  if (job.sample.cache_bytes > 0 && reads_rows_of_edges(job)) {
    problems.add({"/sample/cache/budget",
                  "none with \"features\" in sample.edge_data or columns of edges",
                  fmt::format("{} bytes", job.sample.cache_bytes),
                  "lists that are kept have no rows of edges, their owners are asked"});
  }
  if (job.sample.edge_data.entries && !job.features.collect) {
    problems.add(
        {"/sample/edge_data", "no \"features\" with features.collect false", "\"features\"", ""});
  }
  if (job.sample.subgraph == Subgraph::bidirectional && reads_rows_of_edges(job)) {
    problems.add({"/sample/subgraph",
                  "\"directional\" or \"induced\" with features or columns of edges",
                  "\"bidirectional\"", "reverse edges have none"});
  }
}

/// What the times of seeds go with.
void check_time(const Job& job, ProblemList& problems) {
  const auto& time = job.sample.time;
  const auto* choice = find_kind(choice_kinds(), job.sample.choice);
  if (time.at && time.of_split) {
    problems.add(
        {"/sample/time/at", "none with sample.time.of \"split\"", fmt::to_string(*time.at), ""});
  }
  if (!time.given()) {
    if (time.rule.window > 0 || time.rule.inclusive) {
      problems.add({time.rule.window > 0 ? "/sample/time/window" : "/sample/time/until",
                    "sample.time.at with it, or sample.time.of \"split\"", "none", ""});
    }
    if (choice != nullptr && choice->needs_times) {
      problems.add(
          {"/sample/time/at", fmt::format("a time for choice \"{}\"", choice->name), "none", ""});
    }
  }
}

/// What a choice does not go with.
void check_choice(const Job& job, ProblemList& problems) {
  const auto* choice = find_kind(choice_kinds(), job.sample.choice);
  if (choice == nullptr) {
    return;
  }
  if (choice->needs_originals && job.sample.cache_bytes > 0) {
    problems.add({"/sample/cache/budget", fmt::format("0 with choice \"{}\"", choice->name),
                  fmt::to_string(job.sample.cache_bytes),
                  "lists that were fetched lack their neighbors' original ids"});
  }
  if (job.sample.shared && !reads_option(*choice, "shared")) {
    problems.add({"/sample/shared", fmt::format("false with choice \"{}\"", choice->name), "true",
                  fmt::format("choice {} reads it", readers_of(choice_kinds(), "shared", "\""))});
  }
  if (job.sample.replace && !reads_option(*choice, "replace")) {
    problems.add(
        {"/sample/replace", fmt::format("false with choice \"{}\"", choice->name), "true", ""});
  }
}

}  // namespace

void check_sampling(const Job& job, ProblemList& problems) {
  const auto good = [&](const char* pointer) { return !problems.has(pointer); };
  if (good("/sample/cache/budget")) {
    check_lists_cache(job, problems);
  }
  if (good("/sample/edge_data") && good("/sample/cache/budget") && good("/features/collect") &&
      good("/features/columns")) {
    check_features_of_edges(job, problems);
  }
  if (good("/sample/choice") && good("/sample/time/at") && good("/sample/time/window")) {
    check_time(job, problems);
  }
  if (good("/sample/choice") && good("/sample/cache/budget")) {
    check_choice(job, problems);
  }
}

}  // namespace troupe
