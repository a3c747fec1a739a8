#include "runtime/job/knowledge_rules.hpp"

#include "runtime/job/embedding_rules.hpp"
#include "runtime/job/graph_types.hpp"
#include "runtime/job/layerless_rules.hpp"
#include "runtime/job/link_rules.hpp"

#include <fmt/format.h>

namespace troupe {
namespace {

/// Keys that only knowledge tasks read are at their defaults.
void refuse_knowledge_keys(const TaskJob& task, ProblemList& problems) {
  const nn::KnowledgeOptions unset;
  const auto& given = task.completes;
  const auto refuse = [&](const char* key, bool changed) {
    if (changed && !problems.has(key)) {
      problems.add({key, fmt::format("nothing with task.kind \"{}\"", task.kind), "something",
                    "set task.kind to \"knowledge\""});
    }
  };
  refuse("/task/score/kind", given.score.kind != unset.score.kind);
  refuse("/task/score/norm", given.score.norm != unset.score.norm);
  refuse("/task/score/unit", given.score.unit);
  refuse("/task/chunk", given.chunk != unset.chunk);
  refuse("/task/negatives/per_chunk", given.negatives != unset.negatives);
  refuse("/task/negatives/from", task.own_candidates);
  refuse("/task/regularization/kind", given.regularization != unset.regularization);
  refuse("/task/regularization/factor", given.factor != unset.factor);
}

/// Keys of models, sampling and evaluation that a knowledge task does not read.
void refuse_other_keys(const Job& job, ProblemList& problems) {
  const auto refuse = [&](const char* key, bool changed, const std::string& expected) {
    if (changed && !problems.has(key)) {
      problems.add({key, fmt::format("{} with task.kind \"knowledge\"", expected), "another", ""});
    }
  };
  refuse_layer_keys(job, "task.kind \"knowledge\"", problems);
  refuse("/model/layers", job.model.layers != 1, "none: entities are learned rows");
  refuse("/task/decoder/kind", job.task.decoder.kind != "dot", "none");
  refuse("/eval/mode", job.eval.mode != "exact", "\"exact\": ranks are among all entities");
}

}  // namespace

std::string default_knowledge_loss(const TaskJob& task) {
  return task.completes.score.comparison() != nn::Comparison::product ? "self_adversarial"
                                                                      : "softmax";
}

void check_knowledge_keys(const Job& job, ProblemList& problems) {
  const auto& task = job.task;
  if (!task.knowledge()) {
    return refuse_knowledge_keys(task, problems);
  }
  refuse_other_keys(job, problems);
  const auto& score = task.completes.score;
  const auto refuse_unread = [&](const char* key, bool changed, const char* expected,
                                 const std::string& found) {
    const auto pointer = fmt::format("/task/score/{}", key);
    if (changed && !score.reads(key) && !problems.has(pointer)) {
      problems.add({pointer, fmt::format("{} with score \"{}\"", expected, score.row().name), found,
                    fmt::format("it is for {}", readers_of(nn::score_kinds, key, "\""))});
    }
  };
  refuse_unread("norm", score.norm != 2, "none", fmt::format("{}", score.norm));
  refuse_unread("unit", score.unit, "false", "true");
  const bool none = task.completes.regularization == nn::Regularization::none;
  if (none != (task.completes.factor == 0) && !problems.has("/task/regularization/factor")) {
    problems.add({"/task/regularization/factor",
                  none ? "0 with kind \"none\"" : "a factor above 0 for the regularization",
                  fmt::format("{}", task.completes.factor), ""});
  }
}

bool check_triples(const Job& job, const GraphInfo& graph, ProblemList& problems) {
  const auto* links = training_links(job, graph);
  if (links == nullptr) {
    return false;  // check_links() says so
  }
  const auto& edges = graph.edge_types[raw(links->edge_type)];
  if (edges.source != edges.destination) {
    problems.add({"/dataset/split", "triples whose ends are of one node type",
                  fmt::format("\"{}\" and \"{}\", which are not built yet",
                              graph.node_types[raw(edges.source)].name,
                              graph.node_types[raw(edges.destination)].name),
                  "import the graph with one node type"});
    return false;
  }
  if (links->relations == 0) {
    problems.add({"/dataset/split", "triples, links whose labels are relations", "links without",
                  "import the triples again, with --relations one"});
  }
  return true;
}

void check_knowledge_graph(const Job& job, const GraphInfo& graph, ProblemList& problems) {
  if (!check_triples(job, graph, problems)) {
    return;
  }
  const auto* links = training_links(job, graph);
  const auto& type = graph.node_types[raw(graph.edge_types[raw(links->edge_type)].source)];
  if (links->relations > most_dense_relations) {
    problems.add(
        {"/dataset/split",
         fmt::format("triples of 1 to {} relations; more are not built yet", most_dense_relations),
         fmt::format("{}", links->relations), ""});
  }
  if (type.count > std::uint64_t{1} << 24) {
    problems.add({"/dataset/path", "at most 2^24 entities; more are not built yet",
                  fmt::format("{}", type.count), ""});
  }
  if (type.features.has_value() && type.features->cols > 0) {
    problems.add(
        {"/dataset/path", fmt::format("\"{}\" nodes without features", type.name),
         fmt::format("{} columns, which are not built yet beside learned rows of a knowledge "
                     "graph",
                     type.features->cols),
         fmt::format("embedding.{}.features false leaves them out", type.name)});
  }
  const auto cols = embedding_cols(job, type);
  const bool complex_rows = job.task.completes.score.complex_rows();
  if (cols == 0 || (complex_rows && cols % 2 != 0)) {
    problems.add({cols == 0 ? "/embedding" : fmt::format("/embedding/{}/dim", type.name),
                  fmt::format("{} learned rows of \"{}\", the entities",
                              complex_rows ? "an even number of columns of the" : "the", type.name),
                  fmt::format("{}", cols), ""});
  }
  if (job.embedding.size() > 1) {
    problems.add({"/embedding", fmt::format("rows of \"{}\" alone", type.name),
                  fmt::format("{} tables", job.embedding.size()), ""});
  }
}

void fit_knowledge_to_graph(Job& job, const GraphInfo& graph) {
  const auto* links = training_links(job, graph);
  const auto& edges = graph.edge_types[raw(links->edge_type)];
  const auto& score = job.task.completes.score;
  auto& model = job.model;
  model.types = model_types(job, graph, edges.source);
  const auto cols = model.types.nodes[raw(edges.source)].cols;
  model.layers = 0;
  model.in_dim = cols;
  model.out_dim = cols;
  model.decoder = {};
  model.relations = {.rows = links->relations,
                     .cols = score.relation_cols(cols),
                     .bound = nn::relation_bound(score, job.train.link_loss.margin, cols)};
}

SharedCandidates shared_candidates(const Job& job) {
  return {
      .chunks = {.triples = job.task.completes.chunk, .negatives = job.task.completes.negatives}};
}

Status add_own_candidates(SampleOptions& options, const Job& job, const GraphInfo& graph,
                          const Layout& layout, const PartitionBook& book) {
  const auto* links = training_links(job, graph);
  if (links == nullptr || !job.task.own_candidates) {
    return ok_status();
  }
  const auto type = graph.edge_types[raw(links->edge_type)].source;
  for (const auto& parts : parts_of_ranks(layout)) {
    auto& own = options.links->shared->of_ranks.emplace_back();
    for (const auto part : parts) {
      const auto range = book.range(type, part);
      if (range.size() > 0) {
        own.push_back({range.first, range.size()});
      }
    }
    if (own.empty()) {
      return Error(
          Errc::failed_precondition,
          fmt::format("/task/negatives/from: expected nodes in the parts of each rank with "
                      "\"own\", found none for rank {}\ntry: \"all\"",
                      options.links->shared->of_ranks.size() - 1));
    }
  }
  return ok_status();
}

}  // namespace troupe
