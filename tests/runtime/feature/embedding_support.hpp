#pragma once
/// \file embedding_support.hpp
/// A graph of two node types, cut into parts, whose nodes have learned rows.
#include "runtime/feature/embedding/embedding_part.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/graph_builder.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troupe::testing {

inline std::shared_ptr<EmbeddingPlan> two_tables(std::uint32_t world = 2) {
  auto plan = std::make_shared<EmbeddingPlan>();
  plan->tables = {{.name = "user", .node_type = NodeTypeId{0}, .dim = 3},
                  {.name = "item", .node_type = NodeTypeId{1}, .dim = 4}};
  plan->tables[1].optimizer.kind = "adam";
  plan->world = world;
  plan->job_seed = 7;
  return plan;
}

inline CutGraph users_and_items(std::uint32_t parts) {
  TestGraph graph;
  graph.nodes = {{.name = "user", .count = 700}, {.name = "item", .count = 40}};
  return cut_graph(graph, parts);
}

/// Rows of one part, whose tasks run at once unless they are held.
class DrivenPart {
 public:
  DrivenPart(const CutGraph& graph, std::uint32_t part, std::shared_ptr<const EmbeddingPlan> plan,
             CountEntities count = nullptr)
      : rows(graph.parts[part], std::move(plan), std::move(count)) {}

  /// \returns the answer to a request, if it is there after the tasks that may run
  template <class Request>
  EmbeddingPart::Ticket send(Request request) {
    const auto ticket = next_++;
    take(request(rows, ticket));
    return ticket;
  }
  EmbeddingPart::Ticket begin(std::uint32_t generation, std::uint64_t step = 0) {
    return send([&](auto& of, auto ticket) {
      return of.begin({.generation = generation, .step = step}, ticket);
    });
  }
  EmbeddingPart::Ticket add(SparseGradients share) {
    return send([&](auto& of, auto ticket) {
      return of.add(std::make_shared<const SparseGradients>(std::move(share)), ticket);
    });
  }
  EmbeddingPart::Ticket read(ReadLearned request) {
    return send([&](auto& of, auto ticket) {
      return of.read(std::make_shared<const ReadLearned>(std::move(request)), ticket);
    });
  }
  EmbeddingPart::Ticket keep(const KeepLearned& request) {
    return send([&](auto& of, auto ticket) { return of.keep(request, ticket); });
  }
  EmbeddingPart::Ticket digest(const DigestLearned& request) {
    return send([&](auto& of, auto ticket) { return of.digest(request, ticket); });
  }

  void take(EmbeddingPart::Actions actions) {
    for (auto& answer : actions.answers) {
      answers.emplace_back(answer.ticket, std::move(answer.reply));
    }
    for (auto& task : actions.tasks) {
      tasks.push_back(std::move(task));
    }
    if (!held) {
      run_all();
    }
  }
  void run_all() {
    InlineExecutor executor;
    while (!tasks.empty()) {
      auto task = std::move(tasks.front());
      tasks.erase(tasks.begin());
      auto outcome = task.run(executor);
      take_one(rows.finished(task.id, std::move(outcome)));
    }
  }

  bool answered(EmbeddingPart::Ticket ticket) const {
    return std::ranges::any_of(answers, [&](const auto& a) { return a.first == ticket; });
  }
  const Result<EmbeddingPart::Reply>& answer(EmbeddingPart::Ticket ticket) const {
    const auto found =
        std::ranges::find_if(answers, [&](const auto& a) { return a.first == ticket; });
    EXPECT_NE(found, answers.end()) << "no answer to " << ticket;
    return found->second;
  }
  std::vector<float> rows_of(EmbeddingPart::Ticket ticket) const {
    const auto& reply = answer(ticket);
    EXPECT_OK(reply);
    const auto values = std::get<LearnedRows>(*reply).rows.as<float>();
    return {values.begin(), values.end()};
  }
  std::vector<TableDigest> digests(std::uint32_t generation, std::uint64_t step) {
    const auto& reply = answer(digest({.generation = generation, .step = step}));
    EXPECT_OK(reply);
    return std::get<LearnedDigests>(*reply).tables;
  }

  EmbeddingPart rows;
  bool held = false;
  std::vector<EmbeddingPart::Task> tasks;
  std::vector<std::pair<EmbeddingPart::Ticket, Result<EmbeddingPart::Reply>>> answers;

 private:
  void take_one(EmbeddingPart::Actions actions) {
    for (auto& answer : actions.answers) {
      answers.emplace_back(answer.ticket, std::move(answer.reply));
    }
    for (auto& task : actions.tasks) {
      tasks.push_back(std::move(task));
    }
  }
  EmbeddingPart::Ticket next_ = 1;
};

/// A share with rows of users that a part owns; the numbers follow from rank and step.
inline SparseGradients share_of(const CutGraph& graph, std::uint32_t part, std::uint32_t rank,
                                std::uint64_t step, std::uint64_t nodes = 5) {
  const auto& users = graph.parts[part]->nodes_of(NodeTypeId{0});
  SparseGradients share;
  share.step = step;
  share.rank = static_cast<Rank>(rank);
  share.weight = rank + 1;
  share.sections = {{.node_type = NodeTypeId{0}, .cols = 3, .nodes = nodes}};
  std::vector<float> values;
  for (std::uint64_t i = 0; i < nodes; ++i) {
    share.nodes.push_back(
        static_cast<NodeId>(raw(users.first) + (i * (step + 2) + rank) % users.count));
    for (int c = 0; c < 3; ++c) {
      values.push_back(0.37F * static_cast<float>(i + 1) - static_cast<float>(rank) * 1.3F +
                       static_cast<float>(c) / 7);
    }
  }
  share.rows = Segment::of(std::move(values));
  return share;
}
inline SparseGradients empty_share(std::uint32_t rank, std::uint64_t step,
                                   std::uint64_t weight = 0) {
  SparseGradients share;
  share.step = step;
  share.rank = static_cast<Rank>(rank);
  share.weight = weight;
  return share;
}

}  // namespace troupe::testing
