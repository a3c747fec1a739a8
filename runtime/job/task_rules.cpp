#include "runtime/job/task_rules.hpp"

#include "runtime/job/graph_types.hpp"
#include "runtime/job/knowledge_rules.hpp"
#include "runtime/job/link_rules.hpp"
#include "runtime/job/walk_positives.hpp"
#include "runtime/nn/link_losses.hpp"
#include "runtime/nn/number_losses.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>
#include <string_view>

namespace troupe {
namespace {

using Words = std::vector<std::string>;

/// Counts travel as float32, whole numbers up to here.
constexpr std::uint64_t most_ranked_nodes = std::uint64_t{1} << 24;

const Words& scores_of_classes() {
  static const Words words{"accuracy", "auc", "f1", "ap"};
  return words;
}

Words scores_of(const Job& job) {
  if (job.task.predicts_links()) {
    return {"auc", "ap", "mrr", "mr", "hits@1", "hits@3", "hits@10", "hits@50"};
  }
  if (job.task.knowledge()) {
    return {"mrr", "mr", "hits@1", "hits@3", "hits@10", "hits@50"};
  }
  if (nn::predicts_numbers(job.train.loss)) {
    return {"rmse", "mae", "r2"};
  }
  const bool several = job.task.links() && job.task.classes != 2;
  return several ? Words{"accuracy", "f1"} : scores_of_classes();
}

Words losses_of(const TaskJob& task) {
  if (task.predicts_links()) {
    return names_of(nn::link_loss_kinds());
  }
  if (task.knowledge()) {
    return {"softmax", "self_adversarial"};
  }
  Words words{"cross_entropy"};
  if (!task.links()) {
    words.emplace_back("bce_logits");
  }
  std::ranges::copy(names_of(nn::number_loss_kinds()), std::back_inserter(words));
  return words;
}

std::string list_of(const Words& words) {
  Words marked;
  std::ranges::transform(words, std::back_inserter(marked),
                         [](const auto& word) { return fmt::format("\"{}\"", word); });
  return fmt::format("{}", fmt::join(marked, " | "));
}

void check_among(const char* pointer, const Words& words, const std::string& found,
                 const std::string& task, ProblemList& problems) {
  if (!problems.has(pointer) && std::ranges::find(words, found) == words.end()) {
    problems.add({pointer, fmt::format("{} with task.kind \"{}\"", list_of(words), task),
                  fmt::format("\"{}\"", found), ""});
  }
}

void check_loss_options(const Job& job, ProblemList& problems) {
  const auto& train = job.train;
  const auto* kind = find_kind(nn::link_loss_kinds(), train.loss);
  const auto* numbers = find_kind(nn::number_loss_kinds(), train.loss);
  const nn::LinkLossOptions unset;
  const bool triples = job.task.knowledge() && train.loss == "self_adversarial";
  const auto refuse = [&](const char* key, double found, double fallback) {
    const bool read = triples || (kind != nullptr && reads_option(*kind, key)) ||
                      (numbers != nullptr && reads_option(*numbers, key));
    const auto pointer = fmt::format("/train/{}", key);
    if (!read && found != fallback && !problems.has(pointer)) {
      problems.add({pointer, fmt::format("{} with loss \"{}\"", fallback, train.loss),
                    fmt::format("{}", found), ""});
    }
  };
  refuse("margin", train.link_loss.margin, unset.margin);
  refuse("temperature", train.link_loss.temperature, unset.temperature);
  refuse("delta", train.delta, 1);
}

/// A weight for each class of edges, whose number the job has.
void check_class_weights(const Job& job, ProblemList& problems) {
  const auto& weights = job.train.class_weights;
  if (!weights.given() || problems.has("/train/class_weights")) {
    return;
  }
  const auto found = weights.balanced ? std::string("\"balanced\"")
                                      : fmt::format("a list of {}", weights.values.size());
  const auto refuse = [&](const std::string& expected, const char* hint) {
    problems.add({"/train/class_weights", expected, found, hint});
  };
  const bool classes = job.train.loss == "cross_entropy";
  if (!classes && job.train.loss != "bce_logits") {
    return refuse(fmt::format("none with loss \"{}\"", job.train.loss),
                  "class weights are for \"cross_entropy\" and \"bce_logits\"");
  }
  if (!classes && weights.balanced) {
    return refuse("a number for each label with loss \"bce_logits\"",
                  "pos_weight says what positive targets count");
  }
  if (!weights.balanced && std::ranges::max(weights.values) == 0) {
    return refuse("a weight above 0", "");
  }
  if (job.task.kind == "edge" && !weights.balanced && job.task.classes > 0 &&
      weights.values.size() != job.task.classes) {
    refuse(fmt::format("{} weights, one for each of task.classes", job.task.classes), "");
  }
}

/// Links are ranked among all nodes.
void check_ranks_of_all(const Job& job, ProblemList& problems) {
  const auto& eval = job.eval;
  const auto refuse = [&](const char* expected, const std::string& found, const char* hint = "") {
    if (!problems.has("/eval/ranks")) {
      problems.add({"/eval/ranks", expected, found, hint});
    }
  };
  if (!job.task.predicts_links()) {
    refuse("\"given\" unless links are predicted", "\"all\"", "set task.kind to \"link\"");
  }
  if (job.eval.mode == "sampled" && job.model.layers > 0) {
    refuse("\"given\" with sampled neighborhoods", "\"all\", which is not built yet for them",
           "eval.mode \"exact\" works");
  }
  if (!eval.negative_files.empty() || !eval.candidate_files.empty()) {
    refuse("\"given\" with files of links to evaluate", "\"all\"");
  }
}

/// Types whose nodes links are ranked among.
void check_ranked_types(const Job& job, const GraphInfo& graph, const SplitInfo& split,
                        ProblemList& problems) {
  std::set<NodeTypeId> ends;
  std::set<NodeTypeId> ranked;
  for (const auto& [role, links] : split.links) {
    for (const EdgeTypeId edge_type : edge_types_of(links)) {
      const auto& type = graph.edge_types[raw(edge_type)];
      if (links.pairs_of || links.count == 0) {
        continue;
      }
      ends.insert({type.source, type.destination});
      if (is_ranked(job.eval.ends, ReplacedEnd::head)) {
        ranked.insert(type.source);
      }
      if (is_ranked(job.eval.ends, ReplacedEnd::tail)) {
        ranked.insert(type.destination);
      }
    }
  }
  for (const NodeTypeId end : ends) {
    const auto& type = graph.node_types[raw(end)];
    if (problems.has("/eval/ranks")) {
      return;
    }
    if (ranked.contains(end) && type.count > most_ranked_nodes) {
      problems.add({"/eval/ranks", "\"given\" with more than 2^24 nodes of a type",
                    fmt::format("\"all\" of {}, which is not built yet", type.count), ""});
    } else if (job.model.layers == 0 && type.features) {
      problems.add({"/eval/ranks",
                    fmt::format("\"given\" where rows without layers have the features of \"{}\"",
                                type.name),
                    "\"all\", which is not built yet for them",
                    fmt::format("embedding.{}.features false: learned rows alone can be ranked",
                                type.name)});
    }
  }
}

/// The score that chooses the best epoch is defined on the validation links.
void check_metric_of_links(const Job& job, const SplitInfo& split, ProblemList& problems) {
  const auto val = split.links.find("val");
  if (!job.task.predicts_links() || val == split.links.end() || val->second.count == 0) {
    return;
  }
  const auto& eval = job.eval;
  const bool ranks = eval.metric != "auc" && eval.metric != "ap";
  const bool candidates = eval.candidate_files.contains("val");
  const bool negatives = eval.negative_files.contains("val");
  const bool drawn = eval.negatives.drawn() > 0;
  if ((ranks && eval.rank_all) || drawn || candidates || (!ranks && negatives)) {
    return;
  }
  if (negatives) {
    problems.add({"/eval/metric", "\"auc\" or \"ap\" of links with eval.negatives.val alone",
                  fmt::format("\"{}\"", eval.metric),
                  "links are ranked among those of eval.candidates.val"});
    return;
  }
  const bool of_test = !eval.negative_files.empty() || !eval.candidate_files.empty();
  problems.add(
      {"/eval/negatives/kind",
       fmt::format("\"binary\" or \"triplet\" where val links are scored by \"{}\"", eval.metric),
       "\"none\"",
       of_test ? "beside files of the test links, eval.negatives.val or "
                 "eval.candidates.val says what val links are scored against"
               : "or eval.negatives.val, or with eval.ranks \"all\" the metric \"mrr\""});
}

/// Keys of evaluation that are for links alone.
void check_eval_keys(const Job& job, ProblemList& problems) {
  const auto& eval = job.eval;
  const bool files = !eval.negative_files.empty() || !eval.candidate_files.empty();
  if (eval.rank_all) {
    check_ranks_of_all(job, problems);
  }
  if (!job.task.predicts_links()) {
    if (eval.negatives.kind != Negatives::none || files) {
      const bool negatives = !eval.negative_files.empty();
      const auto& of_role = negatives ? eval.negative_files : eval.candidate_files;
      problems.add({files ? fmt::format("/eval/{}/{}", negatives ? "negatives" : "candidates",
                                        of_role.begin()->first)
                          : "/eval/negatives/kind",
                    fmt::format("none with task.kind \"{}\"", job.task.kind),
                    files ? "files of links" : "some", "set task.kind to \"link\""});
    }
    return;
  }
  if (files && eval.negatives.kind != Negatives::none) {
    problems.add({"/eval/negatives/kind", "\"none\" beside files of links", "others", ""});
  }
  if (files && job.sample.time.of_split) {
    problems.add({"/sample/time/of", "\"at\" with files of links to evaluate",
                  "\"split\", which is not built yet for them", "they have no times"});
  }
  if (files && eval.max_batches > 0) {
    problems.add(
        {"/eval/max_batches", "0 with files of links", fmt::format("{}", eval.max_batches), ""});
  }
}

void check_decoder_keys(const Job& job, ProblemList& problems) {
  const auto& task = job.task;
  const bool classes = task.kind == "edge" && job.train.loss == "cross_entropy";
  const auto* kind = find_kind(nn::decoder_kinds(), task.decoder.kind);
  if (classes && task.classes == 0 && !problems.has("/task/classes")) {
    problems.add(
        {"/task/classes", "the number of classes with loss \"cross_entropy\"", "none", ""});
  }
  if (!classes && task.classes > 0) {
    problems.add({"/task/classes", "none unless edges have classes",
                  fmt::format("{}", task.classes), "task.kind \"edge\", loss \"cross_entropy\""});
  }
  if (classes && kind != nullptr && !kind->many && !problems.has("/task/decoder/kind")) {
    problems.add({"/task/decoder/kind", "\"distmult\" or \"mlp\" for classes",
                  fmt::format("\"{}\"", task.decoder.kind), "it has one output"});
  }
  if (!task.links() && job.out_dim > 0) {
    problems.add({"/model/out_dim", fmt::format("none with task.kind \"{}\"", task.kind),
                  fmt::format("{}", job.out_dim), "classes or targets decide"});
  }
}

}  // namespace

std::vector<std::string> metric_names() {
  return {"accuracy", "auc",     "f1",      "ap",   "mrr", "mr", "hits@1",
          "hits@3",   "hits@10", "hits@50", "rmse", "mae", "r2"};
}

std::string default_loss(const TaskJob& task) {
  if (task.knowledge()) {
    return default_knowledge_loss(task);
  }
  return task.predicts_links() ? "bce" : "cross_entropy";
}

std::string default_metric(const Job& job) {
  const auto* numbers = find_kind(nn::number_loss_kinds(), job.train.loss);
  return numbers != nullptr ? std::string(numbers->metric) : scores_of(job).front();
}

std::string default_decoder(const TaskJob& task) {
  return task.kind == "edge" ? "mlp" : "dot";
}

std::string default_eval_negatives(const TaskJob& task, bool files) {
  return task.predicts_links() && !files ? "triplet" : "none";
}

void check_task_keys(const Job& job, ProblemList& problems) {
  check_among("/train/loss", losses_of(job.task), job.train.loss, job.task.kind, problems);
  if (!problems.has("/train/loss")) {
    check_loss_options(job, problems);
    check_class_weights(job, problems);
    check_among("/eval/metric", scores_of(job), job.eval.metric, job.task.kind, problems);
    check_decoder_keys(job, problems);
  }
  if (job.task.kind == "edge" && job.task.negatives.kind != Negatives::none &&
      !problems.has("/task/negatives/kind")) {
    problems.add({"/task/negatives/kind", "\"none\" with task.kind \"edge\"", "others",
                  "edges have labels of their own"});
  }
  if (!job.task.embeds() && !job.task.edges.empty() && !problems.has("/task/edges")) {
    problems.add({"/task/edges", fmt::format("\"\" with task.kind \"{}\"", job.task.kind),
                  fmt::format("\"{}\"", job.task.edges), "set task.kind to \"unsupervised\""});
  }
  check_walk_positives(job, problems);
  check_eval_keys(job, problems);
  check_knowledge_keys(job, problems);
}

void fit_links_to_graph(Job& job, const GraphInfo& graph) {
  if (job.task.knowledge()) {
    return fit_knowledge_to_graph(job, graph);
  }
  const auto* links = training_links(job, graph);
  const auto source = end_types_of(graph, *links).source;
  const auto& features = graph.node_types[raw(source)].features;
  auto& model = job.model;
  model.types = model_types(job, graph, source);
  model.in_dim = features ? features->cols : 0;
  model.out_dim = job.out_dim > 0 ? job.out_dim : model.hidden;
  if (model.layers == 0) {
    model.in_dim = model.types.nodes[raw(source)].cols;
    model.out_dim = model.in_dim;
  }
  model.decoder = job.task.decoder;
  model.decoder.outputs = std::max<std::uint64_t>(1, job.task.classes);
  model.decoder.relations = links->edge_types;
}

void check_links_to_train(const Job& job, const GraphInfo& graph, JobTrainer trainer,
                          ProblemList& problems) {
  check_links(job, graph, trainer, problems);
  const auto* split = graph.find_split(job.dataset.split);
  const auto* links = training_links(job, graph);
  if (split == nullptr || links == nullptr || links->count == 0) {
    return;
  }
  if (job.task.knowledge()) {
    return check_knowledge_graph(job, graph, problems);
  }
  if (trainer == JobTrainer::none) {
    return;
  }
  const auto* loss = find_kind(nn::link_loss_kinds(), job.train.loss);
  if (loss != nullptr && job.task.negatives.kind == Negatives::none) {
    problems.add({"/task/negatives/kind", "\"binary\" or \"triplet\" to learn links from",
                  "\"none\"", "a true link alone teaches nothing"});
  }
  if (job.task.embeds() && job.model.layers > 0 && !job.infers_exactly()) {
    problems.add({"/task/kind", "a kind without embeddings of all nodes with sample.time",
                  "\"unsupervised\"", "\"link\" works"});
  }
  if (job.eval.rank_all) {
    check_ranked_types(job, graph, *split, problems);
  }
  check_metric_of_links(job, *split, problems);
  for (const auto& [role, of_role] : split->links) {
    if (job.task.kind == "edge" && !of_role.has_labels && of_role.count > 0) {
      problems.add({"/dataset/split", fmt::format("labels of the {} links", role), "none",
                    "import the data with labels of its links"});
    }
  }
}

std::uint64_t score_cols(const Job& job) {
  if (job.task.knowledge()) {
    return 4;  // of a tail and of a head what is above and level
  }
  if (job.task.predicts_links()) {
    return 1 + job.eval.negatives.drawn() + (job.eval.rank_all ? 4 : 0);
  }
  return job.task.links() ? job.model.decoder.outputs : job.model.out_dim;
}

}  // namespace troupe
