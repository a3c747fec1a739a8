#include "runtime/run/task/task.hpp"

#include "runtime/base/kinds.hpp"
#include "runtime/run/task/edge_task.hpp"
#include "runtime/run/task/knowledge_task.hpp"
#include "runtime/run/task/link_task.hpp"
#include "runtime/run/task/node_task.hpp"

#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace troupe {
namespace {

constexpr std::array task_table = {
    TaskKind{.name = "node", .make = make_node_task},
    TaskKind{.name = "link", .make = make_link_task},
    TaskKind{.name = "edge", .make = make_edge_task},
    TaskKind{.name = "unsupervised", .make = make_link_task},
    TaskKind{.name = "knowledge", .make = make_knowledge_task},
};

}  // namespace

std::span<const TaskKind> task_kinds() {
  return task_table;
}

Result<std::unique_ptr<Task>> make_task(const TaskOptions& options, const nn::Network& network,
                                        nn::BlockOps& ops) {
  const auto* kind = find_kind(task_table, options.kind);
  if (kind == nullptr) {
    return Error(Errc::invalid_argument,
                 fmt::format("task.kind: expected one of {}, found \"{}\"",
                             fmt::join(names_of(task_table), ", "), options.kind));
  }
  return kind->make(options, network, ops);
}

}  // namespace troupe
