#include "tests/sim/random_settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>
#include <utility>
#include <vector>

namespace troupe::testing {
namespace {

void draw_times(Drawn& drawn, const FilesOfJobs& files) {
  if (drawn.once_in(4)) {
    drawn.add({"sample.time.of=split", "dataset.seeds.train=" + files.ids,
               "dataset.seeds.val=" + files.ids, "dataset.seeds.test=" + files.ids,
               "dataset.seeds.times.train=" + files.times, "dataset.seeds.times.val=" + files.times,
               "dataset.seeds.times.test=" + files.times});
  } else {
    drawn.set("sample.time.at", {"10", "536870912", "1073741824"});
  }
  drawn.maybe(2, "sample.time.window", {"1048576", "268435456"});
  drawn.maybe(3, "sample.time.until", {"at"});
  drawn.add({"eval.mode=sampled"});
}

void draw_sampling(Drawn& drawn, GraphOf graph, const FilesOfJobs& files) {
  drawn.set("sample.batch_size", {"7", "16", "33", "64", "1000"});
  const bool nodes = graph != GraphOf::links && graph != GraphOf::relations;
  const bool times = nodes && drawn.once_in(4);
  const auto choice = times ? drawn.one_of({"", "", "weighted", "last"})
                            : drawn.one_of({"", "", "", "", "weighted", "labor"});
  if (!choice.empty()) {
    drawn.add({"sample.choice=" + choice});
  }
  if (choice == "labor") {
    drawn.maybe(2, "sample.shared", {"true"});
  } else if (choice != "last") {
    drawn.maybe(4, "sample.replace", {"true"});
  }
  drawn.maybe(5, "sample.edge_dir", {"out"});
  drawn.maybe(3, "sample.frontier", {"all"});
  drawn.maybe(5, "sample.shuffle", {"false"});
  drawn.maybe(4, "sample.drop_last", {"true"});
  drawn.maybe(5, "sample.disjoint", {"true"});
  drawn.maybe(5, "sample.subgraph", {"bidirectional", "induced"});
  drawn.maybe(5, "sample.edge_data", {R"(["ids"])", R"(["weights"])", R"(["times", "ids"])"});
  if (times) {
    draw_times(drawn, files);
  } else {
    drawn.maybe(3, "eval.mode", {"sampled"});
    if (nodes && drawn.once_in(5)) {
      drawn.add({"dataset.seeds.train=" + files.ids});
    }
    if (nodes && drawn.once_in(5)) {
      drawn.add({"eval.split=other"});
    } else if (nodes && drawn.once_in(5)) {
      drawn.add({"dataset.split=other"});
      drawn.maybe(2, "eval.split", {""});
    }
  }
  drawn.maybe(6, "eval.max_batches", {"1", "2"});
}

void draw_model(Drawn& drawn, bool several) {
  const auto kind =
      several ? drawn.one_of({"graphsage", "gatv2", "rgcn", "rgat", "hgt"})
              : drawn.one_of({"graphsage", "gcn", "gat", "gatv2", "gin", "rgcn", "rgat", "hgt"});
  drawn.add({"model.kind=" + kind});
  drawn.set("sample.fanout", {"[5]", "[3,0]", "[-1,2]", "[10,5]", "[2,3,1]"});
  drawn.set("model.hidden", {"4", "8", "12"});
  if (kind == "graphsage") {
    drawn.set("model.aggregator", {"mean", "max", "sum"});
  }
  if (kind == "gat" || kind == "gatv2" || kind == "rgat" || kind == "hgt") {
    drawn.set("model.heads", {"1", "2", "4"});
  }
  if (kind == "gat" || kind == "gatv2" || kind == "rgat") {
    drawn.maybe(3, "model.out_heads", {"1", "2"});
    drawn.maybe(3, "model.attention_dropout", {"0.1", "0.6"});
  }
  if (kind == "gat" || kind == "gatv2") {
    drawn.maybe(several ? 1 : 3, "model.loops", {"false"});
    drawn.maybe(3, "model.concat", {"false"});
  }
  const bool attends = kind == "gat" || kind == "gatv2" || kind == "rgat";
  const bool reads_edges = attends || kind == "graphsage" || kind == "gin";
  const bool features = reads_edges && drawn.once_in(attends ? 3 : 5);
  if (features) {
    drawn.add({"model.edge_features=true", R"(sample.edge_data=["features"])"});
    if (attends) {
      drawn.add({"model.loops=false"});
    }
  }
  if (kind == "gatv2" && !several) {
    drawn.maybe(3, "model.share_weights", {"true"});
  }
  if (kind == "gin") {
    drawn.maybe(2, "model.train_eps", {"true"});
  }
  if (kind == "rgcn") {
    drawn.maybe(2, "model.bases", {"1", "3"});
  }
  if ((kind == "graphsage" || kind == "gcn" || kind == "gin") && drawn.once_in(6)) {
    drawn.add({"model.edge_weights=true", features ? R"(sample.edge_data=["features", "weights"])"
                                                   : R"(sample.edge_data=["weights"])"});
  }
  if (kind != "gcn" && kind != "hgt") {
    drawn.maybe(3, "model.residual", {"true"});
  }
  drawn.maybe(3, "model.norm", {"layer", "batch"});
  if (drawn.once_in(6)) {
    drawn.add({"model.activation=leaky_relu"});
    drawn.maybe(2, "model.slope", {"0.1"});
  } else {
    drawn.maybe(5, "model.activation", {"elu"});
  }
  drawn.maybe(5, "model.l2", {"true"});
  drawn.maybe(4, "model.input", {"linear"});
  drawn.maybe(2, "model.dropout", {"0.3"});
  drawn.maybe(3, "model.input_dropout", {"0.2"});
}

/// Columns that a decoder reads.
void draw_outputs(Drawn& drawn) {
  drawn.set("model.out_dim", {"4", "8"});
}

void draw_learned_rows(Drawn& drawn, std::string_view type) {
  drawn.set(fmt::format("embedding.{}.dim", type), {"3", "8"});
  drawn.set(fmt::format("embedding.{}.optimizer.kind", type),
            {"sgd", "adagrad", "row_adagrad", "adam"});
  drawn.maybe(3, fmt::format("embedding.{}.init.kind", type), {"uniform", "zeros"});
  drawn.maybe(4, fmt::format("embedding.{}.features", type), {"false"});
}

/// \param several  pairs of customers along the products that both buy, or of both
void draw_walks(Drawn& drawn, bool several) {
  drawn.add({"task.positives=walks"});
  drawn.set("task.walk.length", {"2", "4"});
  drawn.maybe(3, "task.walk.per_seed", {"2"});
  drawn.maybe(3, "task.walk.restart", {"0.3"});
  drawn.maybe(3, "task.walk.window", {"1", "3"});
  if (several) {
    drawn.add({R"(task.walk.along=["buys", "rev_buys"])"});
    drawn.maybe(2, "task.walk.pairs", {"all"});
  } else {
    drawn.maybe(3, "task.walk.p", {"0.25", "4"});
    drawn.maybe(3, "task.walk.q", {"0.5", "2"});
  }
}

void draw_decoder(Drawn& drawn) {
  drawn.set("task.negatives.kind", {"triplet", "binary"});
  drawn.set("task.negatives.per_positive", {"1", "3"});
  drawn.maybe(4, "task.negatives.by", {"degree"});
  if (drawn.once_in(4)) {
    drawn.add({"task.negatives.strict=true"});
    drawn.maybe(2, "task.negatives.tries", {"1", "9"});
  }
  const auto decoder = drawn.one_of({"dot", "distmult", "mlp"});
  drawn.add({"task.decoder.kind=" + decoder});
  if (decoder == "mlp") {
    drawn.maybe(2, "task.decoder.hidden", {"5", "16"});
  }
  const auto loss = drawn.one_of({"bce", "balanced", "margin", "self_adversarial", "softmax"});
  drawn.add({"train.loss=" + loss});
  if (loss == "margin") {
    drawn.maybe(2, "train.margin", {"0.5"});
  }
  if (loss == "self_adversarial") {
    drawn.maybe(2, "train.temperature", {"2"});
  }
}

/// Links of Cora in files, or all its edges, or walks.
void draw_links(Drawn& drawn, const FilesOfJobs& files) {
  if (drawn.once_in(3)) {
    drawn.add({"task.kind=unsupervised", "task.exclude=none"});
    if (drawn.once_in(2)) {
      draw_walks(drawn, false);
    }
    for (const auto& key : files.links) {
      if (key.starts_with("dataset.seeds.val") || key.starts_with("dataset.seeds.test")) {
        drawn.add({key});
      }
    }
  } else {
    drawn.add(files.links);
    drawn.maybe(4, "task.exclude", {"none"});
  }
  draw_decoder(drawn);
  switch (drawn.below(4)) {
    case 0:
      drawn.add({"eval.ranks=all"});
      drawn.maybe(2, "eval.ends", {"source", "destination"});
      break;
    case 1:
      drawn.add(files.candidates);
      drawn.maybe(2, "eval.metric", {"mrr", "hits@10"});
      break;
    default:
      drawn.maybe(3, "eval.negatives.per_positive", {"4"});
      drawn.maybe(4, "eval.negatives.kind", {"binary"});
      drawn.maybe(4, "eval.negatives.strict", {"true"});
  }
}

/// Links of rows as they are, without layers.
void draw_links_of_rows(Drawn& drawn, const FilesOfJobs& files) {
  drawn.add({"model.layers=0"});
  drawn.set("sample.batch_size", {"7", "33", "1000"});
  drawn.maybe(4, "sample.drop_last", {"true"});
  drawn.maybe(5, "sample.shuffle", {"false"});
  draw_links(drawn, files);
  draw_learned_rows(drawn, "node");
}

/// Relations as classes of edges, or as numbers.
void draw_edges(Drawn& drawn) {
  drawn.add({"task.kind=edge", "task.reverse=rev_triple"});
  if (drawn.once_in(3)) {
    const auto loss = drawn.one_of({"mse", "mae", "huber"});
    drawn.add({"train.loss=" + loss});
    if (loss == "huber") {
      drawn.maybe(2, "train.delta", {"0.5"});
    }
  } else {
    drawn.add({"task.classes=7"});
  }
  drawn.set("task.decoder.kind", {"dot", "distmult", "mlp"});
  drawn.maybe(4, "task.exclude", {"none"});
  draw_learned_rows(drawn, "entity");
}

void draw_triples(Drawn& drawn) {
  drawn.add({"task.kind=knowledge"});
  const auto score = drawn.one_of({"transe", "distmult", "complex", "rotate"});
  drawn.add({"task.score.kind=" + score});
  if (score == "transe" || score == "rotate") {
    drawn.maybe(2, "task.score.norm", {"1"});
  }
  if (score == "transe") {
    drawn.maybe(3, "task.score.unit", {"true"});
  }
  drawn.set("task.chunk", {"4", "16", "33"});
  drawn.set("task.negatives.per_chunk", {"3", "16"});
  drawn.set("sample.batch_size", {"20", "128", "700"});
  drawn.maybe(4, "sample.drop_last", {"true"});
  drawn.maybe(4, "sample.shuffle", {"false"});
  if (drawn.once_in(3)) {
    drawn.set("task.regularization.kind", {"l2", "n3"});
    drawn.add({"task.regularization.factor=0.01"});
  }
  drawn.set("embedding.entity.dim", {"4", "8", "10"});
  drawn.set("embedding.entity.optimizer.kind", {"sgd", "adagrad", "row_adagrad", "adam"});
}

void draw_training(Drawn& drawn) {
  drawn.set("seed", {"0", "1", "77"});
  drawn.set("train.epochs", {"1", "2", "3"});
  drawn.maybe(5, "train.patience", {"1", "2"});
  const auto optimizer = drawn.one_of({"adam", "adamw", "sgd", "adagrad"});
  drawn.add({"train.optimizer.kind=" + optimizer});
  if (optimizer == "sgd" && drawn.once_in(2)) {
    drawn.add({"train.optimizer.momentum=0.9"});
    drawn.maybe(2, "train.optimizer.nesterov", {"true"});
  }
  drawn.maybe(4, "train.optimizer.weight_decay", {"0.01"});
  drawn.maybe(3, "train.optimizer.lr", {"0.01", "0.1"});
  if (optimizer == "adam" || optimizer == "adamw") {
    drawn.maybe(5, "train.optimizer.betas", {"[0.5, 0.9]", "[0, 0.99]"});
  }
  if (optimizer != "sgd") {
    drawn.maybe(5, "train.optimizer.eps", {"0.001"});
  }
  drawn.maybe(6, "train.precision", {"bf16"});
  drawn.maybe(5, "train.clip", {"1"});
  switch (drawn.below(6)) {
    case 0:
      drawn.set("train.schedule.kind", {"linear", "cosine"});
      drawn.maybe(2, "train.schedule.end_lr", {"0.001"});
      break;
    case 1:
      drawn.add({"train.schedule.kind=step"});
      drawn.set("train.schedule.step_epochs", {"1", "2"});
      drawn.maybe(2, "train.schedule.factor", {"0.5"});
      break;
    default:
      break;
  }
  drawn.maybe(4, "eval.every", {"0", "2"});
  drawn.maybe(3, "features.normalize", {"row", "column"});
  drawn.maybe(6, "eval.predictions", {"false"});
  drawn.maybe(6, "digest", {"ids"});
}

/// How the nodes get to parts.
void draw_partition(Drawn& drawn) {
  const auto method =
      drawn.one_of({"random", "hash", "range", "ldg", "fennel", "metis", "multilevel", "hotness"});
  drawn.add({"partition.method=" + method});
  const bool cuts = method == "metis" || method == "multilevel";
  if (cuts) {
    drawn.add({drawn.one_of(
        {"partition.objective=cut", "partition.objective=volume", "partition.recursive=true"})});
    drawn.maybe(3, "partition.tries", {"1", "3"});
  }
  if (method == "ldg" || method == "fennel") {
    drawn.maybe(3, "partition.passes", {"1", "5"});
  }
  if (cuts || method == "ldg" || method == "fennel") {
    drawn.maybe(3, "partition.imbalance", {"1.5"});
    drawn.maybe(4, "partition.balance", {R"(["edges"])", R"(["train", "val"])"});
  }
  drawn.maybe(4, "partition.order", {"original", "hotness"});
  drawn.maybe(4, "partition.seed", {"5"});
}

/// What one process of a listed placement has: numbers of parts and ranks.
struct Listed {
  std::set<std::uint32_t> parts, maps, ranks, samples_for;
};

std::string line_of(const Listed& process, std::uint32_t host) {
  std::string line = fmt::format("host={}", host);
  const std::pair<const char*, const std::set<std::uint32_t>&> lists[] = {
      {"parts", process.parts},
      {"maps", process.maps},
      {"ranks", process.ranks},
      {"samples_for", process.samples_for}};
  for (const auto& [key, numbers] : lists) {
    line += numbers.empty() ? "" : fmt::format(" {}={}", key, fmt::join(numbers, ","));
  }
  return line;
}

/// Processes that a user lists: parts at one or two of them, ranks anywhere, some of which others sample for.
void draw_listed(Drawn& drawn, std::uint32_t ranks) {
  const auto parts = 1 + drawn.below(5);
  const auto hosts = 1 + drawn.below(3);
  std::vector<Listed> processes(hosts + drawn.below(3));
  const auto any = [&]() -> Listed& {
    return processes[drawn.below(static_cast<std::uint32_t>(processes.size()))];
  };
  for (std::uint32_t part = 0; part < parts; ++part) {
    any().parts.insert(part);
    if (drawn.once_in(4)) {
      any().parts.insert(part);
    }
    if (drawn.once_in(4)) {
      any().maps.insert(part);
    }
  }
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    auto& trainer = any();
    trainer.ranks.insert(rank);
    auto& sampler = any();
    if (&sampler != &trainer && drawn.once_in(2)) {
      sampler.samples_for.insert(rank);
    }
  }
  std::vector<std::string> lines;
  std::uint32_t host = 0;
  for (const auto& process : processes) {
    if (process.parts.size() + process.ranks.size() + process.samples_for.size() > 0) {
      lines.push_back(fmt::format("\"{}\"", line_of(process, host)));
    }
    host = (host + 1) % hosts;
  }
  drawn.add({fmt::format("cluster.hosts={}", hosts), "cluster.trainers_per_host=1",
             fmt::format("partition.parts={}", parts),
             fmt::format("cluster.processes=[{}]", fmt::join(lines, ", "))});
}

}  // namespace

void Drawn::set(std::string_view key, std::initializer_list<const char*> choices) {
  settings_.push_back(fmt::format("{}={}", key, one_of(choices)));
}

void Drawn::maybe(std::uint32_t n, std::string_view key,
                  std::initializer_list<const char*> choices) {
  if (once_in(n)) {
    set(key, choices);
  }
}

Settings draw_job(Drawn& drawn, GraphOf graph, const FilesOfJobs& files) {
  draw_training(drawn);
  if (graph == GraphOf::triples) {
    draw_triples(drawn);
    return drawn.take();
  }
  if (graph == GraphOf::links && drawn.once_in(4)) {
    draw_links_of_rows(drawn, files);
    return drawn.take();
  }
  const bool several = graph == GraphOf::several_types || graph == GraphOf::relations;
  draw_sampling(drawn, graph, files);
  draw_model(drawn, several);
  switch (graph) {
    case GraphOf::links:
      draw_links(drawn, files);
      draw_outputs(drawn);
      break;
    case GraphOf::relations:
      draw_edges(drawn);
      draw_outputs(drawn);
      return drawn.take();
    case GraphOf::several_types:
      if (drawn.once_in(5)) {
        drawn.add({"task.kind=unsupervised", "task.exclude=none"});
        if (drawn.once_in(2)) {
          draw_walks(drawn, true);
        } else {
          drawn.set("task.edges", {"buys", "knows", R"(["buys", "sells"])"});
        }
        draw_decoder(drawn);
        draw_outputs(drawn);
      }
      if (drawn.once_in(4)) {
        draw_learned_rows(drawn, "product");
      }
      break;
    case GraphOf::two_classes:
      if (drawn.once_in(2)) {
        drawn.add({"train.loss=bce_logits"});
        drawn.maybe(2, "train.pos_weight", {"3"});
      } else {
        drawn.maybe(2, "train.class_weights", {"balanced", "[0.3,2]"});
      }
      drawn.maybe(2, "eval.metric", {"auc", "f1"});
      break;
    default:
      break;
  }
  if (drawn.once_in(3)) {
    draw_learned_rows(drawn, graph == GraphOf::several_types ? "customer" : "node");
  }
  return drawn.take();
}

Settings draw_place(Drawn& drawn, std::uint32_t ranks) {
  std::uint32_t per_host = drawn.once_in(3) ? ranks : 1;
  if (ranks == 4 && drawn.once_in(2)) {
    per_host = 2;
  }
  drawn.add({fmt::format("cluster.hosts={}", ranks / per_host),
             fmt::format("cluster.trainers_per_host={}", per_host)});
  drawn.set("partition.parts", {"1", "2", "3", "5"});
  draw_partition(drawn);
  return drawn.take();
}

Settings draw_tuning(Drawn& drawn) {
  drawn.set("cluster.batches_in_flight", {"auto", "1", "7"});
  drawn.maybe(3, "cluster.samplers_per_trainer", {"2"});
  drawn.maybe(3, "cluster.threads", {"1", "3"});
  drawn.maybe(3, "cluster.network.latency_us", {"10", "300"});
  drawn.maybe(5, "cluster.network.bandwidth_gbps", {"1", "25"});
  drawn.maybe(3, "cluster.window", {"64KiB"});
  drawn.maybe(3, "partition.topology", {"replicated"});
  drawn.maybe(3, "partition.halo", {"1", "2"});
  drawn.maybe(3, "partition.halo_features", {"true"});
  drawn.maybe(4, "dataset.memory", {"mapped", "copied"});
  drawn.maybe(5, "sample.cache.budget", {"20KB"});
  if (drawn.once_in(3)) {
    drawn.set("features.cache.policy", {"degree", "presample", "future"});
    if (drawn.once_in(4)) {
      drawn.set("features.cache.budget", {"1KB", "100KB"});
    } else {
      drawn.set("features.cache.ratio", {"0.1", "0.5", "1"});
    }
    drawn.maybe(4, "features.cache.presample_batches", {"1", "3"});
    drawn.maybe(3, "features.cache.lookahead", {"1", "5"});
    drawn.maybe(3, "features.cache.measure", {"true"});
  }
  return drawn.take();
}

Settings draw_devices(Drawn& drawn) {
  drawn.set("cluster.device", {"emulated:1", "emulated:2"});
  if (drawn.once_in(3)) {
    drawn.add({"sample.on=host"});
  } else {
    drawn.maybe(4, "sample.device_lists", {"pinned"});
    drawn.maybe(3, "features.cache.device_budget", {"0", "10%"});
  }
  return drawn.take();
}

Settings draw_placement(Drawn& drawn, std::uint32_t ranks) {
  const auto placement = drawn.one_of({"worker", "server_client", "explicit"});
  drawn.add({"cluster.placement=" + placement});
  if (placement == "explicit") {
    draw_listed(drawn, ranks);
  } else if (placement == "server_client") {
    const auto servers = drawn.once_in(2) ? 1U : 3U;
    drawn.add({fmt::format("cluster.servers={}", servers)});
    if (drawn.once_in(3)) {
      std::vector<std::uint32_t> server_of_rank(ranks);
      for (auto& server : server_of_rank) {
        server = drawn.below(servers);
      }
      drawn.add({fmt::format("cluster.server_of_rank=[{}]", fmt::join(server_of_rank, ","))});
    }
    drawn.maybe(3, "cluster.prefetch", {"2"});
  }
  drawn.maybe(3, "cluster.channel_budget", {"64KiB"});
  drawn.maybe(3, "cluster.sampler_devices", {"emulated:1"});
  return drawn.take();
}

}  // namespace troupe::testing
