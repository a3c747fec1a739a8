#include "runtime/job/schema_fields.hpp"
#include "runtime/job/schema_rows.hpp"
#include "runtime/nn/number_losses.hpp"

namespace troupe {
namespace {

using namespace schema_fields;

constexpr std::uint64_t most = std::uint64_t{1} << 20;

void put_fanout(const Json& json, Job& job) {
  auto& sample = job.sample;
  if (json.is_array()) {
    sample.fanout = json.get<std::vector<std::int32_t>>();
    return;
  }
  sample.fanout_of = json.get<std::map<std::string, std::vector<std::int32_t>>>();
  if (auto others = sample.fanout_of.extract("*"); !others.empty()) {
    sample.fanout = std::move(others.mapped());
  }
}

// NOLINTNEXTLINE(readability-function-size): a table
void add_sample(std::vector<SchemaRow>& rows) {
  rows.push_back(
      {"/sample/fanout",
       {.type = ValueType::integers_by_name,
        .low = -1,
        .high = most,
        .min_items = 1,
        .max_items = 16},
       required(),
       "neighbours drawn per node, one entry per hop; -1: all; as many as `model.layers`; in an "
       "object by edge type, `\"*\"` for those not named",
       {},
       put_fanout});
  rows.push_back({"/sample/batch_size",
                  integer_rule(1, most),
                  value("1024"),
                  "seeds per rank and step",
                  {},
                  put<&Job::sample, &SampleJob::batch_size>});
  for (auto& row : choice_rows(choice_kinds())) {
    rows.push_back(std::move(row));
  }
  rows.push_back({"/sample/edge_dir",
                  choice_rule({"in", "out"}),
                  value("\"in\""),
                  "follow edges to their sources, or to their destinations",
                  {},
                  [](const Json& v, Job& job) {
                    job.sample.edge_dir = v == "out" ? EdgeDir::out : EdgeDir::in;
                  }});
  rows.push_back(
      {"/sample/frontier",
       choice_rule({"new", "all"}),
       value("\"new\""),
       "each hop asks for the nodes new in the last one, or for all so far, drawn afresh",
       {},
       [](const Json& v, Job& job) {
         job.sample.frontier = v == "all" ? Frontier::all : Frontier::fresh;
       }});
  rows.push_back({"/sample/seed_order",
                  choice_rule({"global", "local"}),
                  value("\"global\""),
                  "batches of one shuffled list dealt to the ranks, or each part's seeds to the "
                  "ranks that sample where it lies",
                  {},
                  put<&Job::sample, &SampleJob::seed_order>});
  rows.push_back(
      {"/sample/shuffle",
       boolean_rule(),
       value("true"),
       "batches of another order of the training seeds in every epoch; false: in order of "
       "original ids",
       {},
       put<&Job::sample, &SampleJob::shuffle>});
  rows.push_back({"/sample/drop_last",
                  boolean_rule(),
                  value("false"),
                  "leave out the training seeds that do not fill the epoch's last batch, or with "
                  "\"local\" the last batch of each rank",
                  {},
                  put<&Job::sample, &SampleJob::drop_last>});
  rows.push_back(
      {"/sample/disjoint",
       boolean_rule(),
       value("false"),
       "each seed has a tree of its own: a node that several reach occurs, and is drawn for, in "
       "each of their trees; always so with `sample.time`",
       {},
       put<&Job::sample, &SampleJob::disjoint>});
  rows.push_back({"/sample/subgraph",
                  choice_rule({"directional", "bidirectional", "induced"}),
                  value("\"directional\""),
                  "edges of a batch: those that hops draw, their reverses too, or all edges of the "
                  "graph among its nodes; with the last two every layer works on all of them",
                  {},
                  [](const Json& v, Job& job) {
                    job.sample.subgraph = v == "induced"         ? Subgraph::induced
                                          : v == "bidirectional" ? Subgraph::bidirectional
                                                                 : Subgraph::directional;
                  }});
  constexpr auto latest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  rows.push_back(
      {"/sample/time/at",
       integer_rule(std::numeric_limits<std::int64_t>::min(), latest),
       absent(),
       "time of all seeds: of edges with times only those before it are sampled, in disjoint "
       "batches",
       {},
       [](const Json& v, Job& job) { job.sample.time.at = v.get<std::int64_t>(); }});
  rows.push_back({"/sample/time/of",
                  choice_rule({"at", "split"}),
                  value("\"at\""),
                  "seeds have the time `at`, or each its own, as the split has it",
                  {},
                  [](const Json& v, Job& job) { job.sample.time.of_split = v == "split"; }});
  rows.push_back({"/sample/time/until",
                  choice_rule({"before", "at"}),
                  value("\"before\""),
                  "edges before the seed's time, or those at that time too",
                  {},
                  [](const Json& v, Job& job) { job.sample.time.rule.inclusive = v == "at"; }});
  rows.push_back(
      {"/sample/time/window",
       integer_rule(1, latest),
       absent(),
       "no edges that are earlier than the seed's time minus this",
       {},
       [](const Json& v, Job& job) { job.sample.time.rule.window = v.get<std::uint64_t>(); }});
  rows.push_back(
      {"/sample/on",
       choice_rule({"auto", "host", "device"}),
       value("\"auto\""),
       "where a rank's batches are made: on its device, or on the host; auto: as much of "
       "it on the device as is built, rows alone for graphs in several parts "
       "(docs/gpu.md)",
       {},
       [](const Json& v, Job& job) {
         job.sample.on = v == "device" ? SampleOn::device
                         : v == "host" ? SampleOn::host
                                       : SampleOn::automatic;
       }});
  rows.push_back({"/sample/device_lists",
                  choice_rule({"device", "pinned"}),
                  value("\"device\""),
                  "where a device that makes batches reads neighbor lists: in its memory, or in "
                  "pinned memory of "
                  "the host",
                  {},
                  [](const Json& v, Job& job) { job.sample.pinned_lists = v == "pinned"; }});
  rows.push_back(
      {"/sample/edge_data",
       {.type = ValueType::choice_list,
        .words = {"ids", "weights", "times", "features"},
        .max_items = 4},
       value("[]"),
       "what batches carry of their edges: original edge ids, weights, times, rows of features",
       {},
       [](const Json& v, Job& job) {
         const auto has = [&](const char* word) { return std::ranges::find(v, word) != v.end(); };
         job.sample.edge_data = {has("ids"), has("weights"), has("times"), has("features")};
       }});
  rows.push_back(
      {"/sample/cache/budget",
       bytes_rule(0, std::uint64_t{1} << 40),
       absent(),
       "bytes of neighbour lists of other hosts' nodes that a rank keeps, hottest first by "
       "`partition.order`",
       {},
       [](const Json& v, Job& job) { job.sample.cache_bytes = *parse_bytes(v); }});
}

void add_cache(std::vector<SchemaRow>& rows) {
  rows.push_back(cache_policy_row(cache_policies()));
  rows.push_back({"/features/cache/budget",
                  bytes_rule(0, std::uint64_t{1} << 40),
                  absent(),
                  "bytes of the cache per rank",
                  {},
                  [](const Json& v, Job& job) { job.features.cache_bytes = *parse_bytes(v); }});
  rows.push_back({"/features/cache/ratio",
                  number_rule({.low = 0, .high = 1}),
                  absent(),
                  "instead of `budget`: as many bytes as this share of all rows of the graph takes",
                  {},
                  put<&Job::features, &FeaturesJob::cache_ratio>});
  rows.push_back({"/features/cache/presample_batches",
                  integer_rule(1, 1'000'000),
                  value("100"),
                  fmt::format("batches that {} watches",
                              readers_of(cache_policies(), "presample_batches", "`")),
                  {},
                  put<&Job::features, &FeaturesJob::presample_batches>});
  rows.push_back({"/features/cache/lookahead",
                  integer_rule(0, 1024),
                  value("32"),
                  fmt::format("batches beyond those requested whose rows {} knows; their lists are "
                              "kept until then",
                              readers_of(cache_policies(), "lookahead", "`")),
                  {},
                  put<&Job::features, &FeaturesJob::cache_lookahead>});
  rows.push_back(
      {"/features/cache/measure",
       boolean_rule(),
       value("false"),
       "report beside the hit rate that of the best choice of as many rows; counts which "
       "rows are read, some 40 bytes each",
       {},
       put<&Job::features, &FeaturesJob::cache_measure>});
  rows.push_back(
      {"/features/cache/device_budget",
       choice_or_room_rule({"auto"}, 0, std::uint64_t{1} << 40),
       value("\"auto\""),
       "how much of the rows of a process's parts is in a device's memory, the hottest first, "
       "where devices gather rows; the others are read from pinned memory of the host; auto: as "
       "many as there is room for "
       "(docs/gpu.md)",
       {},
       [](const Json& v, Job& job) { job.features.device_budget = parse_device_budget(v); }});
}

void add_features(std::vector<SchemaRow>& rows) {
  rows.push_back(
      {"/features/collect",
       boolean_rule(),
       value("true"),
       "false: batches have no features and labels; for user programs and `troupe batches`",
       {},
       put<&Job::features, &FeaturesJob::collect>});
  rows.push_back(
      {"/features/columns",
       {.type = ValueType::text_list, .max_items = 1024},
       value("[]"),
       "named columns that batches have, as they are stored: \"nodes-TYPE/NAME\" or "
       "\"edges-TYPE/NAME\"",
       {},
       [](const Json& v, Job& job) { job.features.columns = v.get<std::vector<std::string>>(); }});
  rows.push_back({"/features/normalize",
                  choice_rule({"none", "row", "column"}),
                  value("\"none\""),
                  "rows x / max(sum, 1), or columns (x - mean) / max(sd, 1e-6) over all nodes",
                  {},
                  [](const Json& v, Job& job) {
                    job.features.normalize = v == "row"      ? Normalize::row
                                             : v == "column" ? Normalize::column
                                                             : Normalize::none;
                  }});
  add_cache(rows);
}

void add_optimizer(std::vector<SchemaRow>& rows) {
  rows.push_back(
      {"/train/optimizer/kind",
       choice_rule({"adam", "adamw", "sgd", "adagrad"}),
       value("\"adam\""),
       "as PyTorch defines them",
       {},
       [](const Json& v, Job& job) { job.train.optimizer.kind = v.get<std::string>(); }});
  rows.push_back({"/train/optimizer/lr",
                  number_rule({.low = 0, .high = 1000, .open_low = true}),
                  value("0.001"),
                  "learning rate",
                  {},
                  [](const Json& v, Job& job) { job.train.optimizer.lr = v.get<double>(); }});
  rows.push_back(
      {"/train/optimizer/weight_decay",
       number_rule({.low = 0, .high = 1000}),
       value("0"),
       "added to the gradient; `adamw`: shrinks the parameters instead",
       {},
       [](const Json& v, Job& job) { job.train.optimizer.weight_decay = v.get<double>(); }});
  rows.push_back({"/train/optimizer/momentum",
                  number_rule({.low = 0, .high = 1, .open_high = true}),
                  value("0"),
                  "`sgd` only",
                  {},
                  [](const Json& v, Job& job) { job.train.optimizer.momentum = v.get<double>(); }});
  rows.push_back({"/train/optimizer/nesterov",
                  boolean_rule(),
                  value("false"),
                  "`sgd` with momentum only",
                  {},
                  [](const Json& v, Job& job) { job.train.optimizer.nesterov = v.get<bool>(); }});
  rows.push_back({"/train/optimizer/betas",
                  {.type = ValueType::number_list,
                   .numbers = {.low = 0, .high = 1, .open_high = true},
                   .min_items = 2,
                   .max_items = 2},
                  value("[0.9, 0.999]"),
                  "`adam`, `adamw`: decay of the two moments",
                  {},
                  [](const Json& v, Job& job) {
                    job.train.optimizer.beta1 = v[0].get<double>();
                    job.train.optimizer.beta2 = v[1].get<double>();
                  }});
  rows.push_back({"/train/optimizer/eps",
                  number_rule({.low = 0, .high = 1, .open_low = true}),
                  derived("`1e-8`, with `adagrad` `1e-10`"),
                  "`adam`, `adamw`, `adagrad`: added to the root",
                  {},
                  [](const Json& v, Job& job) { job.train.optimizer.eps = v.get<double>(); }});
}

void add_schedule(std::vector<SchemaRow>& rows) {
  rows.push_back({"/train/schedule/kind",
                  choice_rule({"constant", "step", "linear", "cosine"}),
                  value("\"constant\""),
                  "how the learning rate changes from epoch to epoch",
                  {},
                  [](const Json& v, Job& job) { job.train.schedule.kind = v.get<std::string>(); }});
  rows.push_back(
      {"/train/schedule/step_epochs",
       integer_rule(0, 1000000),
       value("0"),
       "`step`, which needs it: epochs until the rate is multiplied by `factor`, again and again",
       {},
       [](const Json& v, Job& job) { job.train.schedule.step_epochs = v.get<std::uint32_t>(); }});
  rows.push_back({"/train/schedule/factor",
                  number_rule({.low = 0, .high = 1000, .open_low = true}),
                  value("0.1"),
                  "`step`",
                  {},
                  [](const Json& v, Job& job) { job.train.schedule.factor = v.get<double>(); }});
  rows.push_back({"/train/schedule/end_lr",
                  number_rule({.low = 0, .high = 1000}),
                  value("0"),
                  "`linear`, `cosine`: the rate that the last epoch leads to",
                  {},
                  [](const Json& v, Job& job) { job.train.schedule.end_lr = v.get<double>(); }});
}

SchemaRow precision_row() {
  const auto& names = nn::precision_names;
  return {"/train/precision",
          choice_rule({names.begin(), names.end()}),
          value(fmt::format("\"{}\"", names.front())),
          "how the matrix products of layers, decoders and triples are computed in training and "
          "sampled evaluation; all else stays float32. CUDA devices have all of them, CPUs `tf32` "
          "not, and `bf16` where the processor has a unit for it",
          {},
          [](const Json& v, Job& job) {
            const auto found = std::ranges::find(nn::precision_names, v.get<std::string>());
            const auto number = found - nn::precision_names.begin();
            job.train.precision = static_cast<nn::Precision>(number);
          }};
}

std::vector<std::string> loss_names() {
  std::vector<std::string> names{"cross_entropy", "bce_logits"};
  for (const auto& kind : nn::number_loss_kinds()) {
    names.emplace_back(kind.name);
  }
  for (const auto& kind : nn::link_loss_kinds()) {
    names.emplace_back(kind.name);
  }
  return names;
}

void add_loss(std::vector<SchemaRow>& rows) {
  rows.push_back(
      {"/train/loss",
       choice_rule(loss_names()),
       derived("`\"cross_entropy\"`, with `link` `\"bce\"`, with `knowledge` by its score"),
       "what the task can be trained with: see below",
       {},
       put<&Job::train, &TrainJob::loss>});
  rows.push_back({"/train/delta",
                  number_rule({.low = 0, .high = 1e6, .open_low = true}),
                  value("1"),
                  "`huber`: difference from which on the loss grows evenly",
                  {},
                  put<&Job::train, &TrainJob::delta>});
  rows.push_back(
      {"/train/margin",
       number_rule({.low = 0, .high = 1e6, .open_low = true}),
       value("1"),
       "`margin`: how much higher the score of a true link is to be than that of a drawn one",
       {},
       [](const Json& v, Job& job) { job.train.link_loss.margin = v.get<double>(); }});
  rows.push_back(
      {"/train/temperature",
       number_rule({.low = 0, .high = 1e6, .open_low = true}),
       value("1"),
       "`self_adversarial`: what scores of drawn links are multiplied with in their shares",
       {},
       [](const Json& v, Job& job) { job.train.link_loss.temperature = v.get<double>(); }});
  rows.push_back(
      {"/train/pos_weight",
       number_rule({.low = 0, .high = 1e6, .open_low = true}),
       value("1"),
       "with `bce_logits`: what the loss of a positive target counts; all labels have the same",
       {},
       put<&Job::train, &TrainJob::pos_weight>});
  rows.push_back({"/train/class_weights",
                  {.type = ValueType::choice_or_numbers,
                   .numbers = {.low = 0, .high = 1e6},
                   .words = {"balanced"},
                   .min_items = 1,
                   .max_items = 65536},
                  absent(),
                  "`cross_entropy`: what the loss of a seed of each class counts, by class, or "
                  "balanced by the training seeds; `bce_logits` of multi-label targets: what that "
                  "of each label counts",
                  {},
                  [](const Json& v, Job& job) {
                    job.train.class_weights = {.balanced = v.is_string()};
                    if (v.is_array()) {
                      job.train.class_weights.values = v.get<std::vector<double>>();
                    }
                  }});
}

void add_train(std::vector<SchemaRow>& rows) {
  rows.push_back({"/train/epochs",
                  integer_rule(1, 1000000),
                  value("1"),
                  "passes over the training seeds",
                  {},
                  put<&Job::train, &TrainJob::epochs>});
  rows.push_back({"/train/patience",
                  integer_rule(0, 1000000),
                  value("0"),
                  "evaluations in a row without a better `eval.metric` that end training before "
                  "`epochs`; 0: none do",
                  {},
                  put<&Job::train, &TrainJob::patience>});
  add_loss(rows);
  add_optimizer(rows);
  rows.push_back({"/train/clip",
                  number_rule({.low = 0, .high = 1e9, .open_low = true}),
                  absent(),
                  "largest length of the mean gradient over all parameters; a longer one is scaled",
                  {},
                  put<&Job::train, &TrainJob::clip>});
  rows.push_back(precision_row());
  rows.push_back(
      {"/train/reduce",
       choice_rule({"exact", "fast"}),
       value("\"exact\""),
       "how gradients of ranks are added: `exact` in the order of ranks, with the same bits "
       "everywhere; `fast`, for devices, in any order, without a promised digest",
       {},
       put<&Job::train, &TrainJob::reduce>});
  rows.push_back(
      {"/train/staleness",
       integer_rule(0, max_staleness),
       value("0"),
       "steps that learned rows may be behind when they are read; the parameters then depend on "
       "timing",
       {},
       put<&Job::train, &TrainJob::staleness>});
  add_schedule(rows);
}

void add_checkpoint(std::vector<SchemaRow>& rows) {
  rows.push_back({"/checkpoint/every/epochs",
                  integer_rule(1, 1000000),
                  absent(),
                  "epochs between checkpoints",
                  {},
                  put<&Job::checkpoint, &CheckpointJob::epochs>});
  rows.push_back({"/checkpoint/every/steps",
                  integer_rule(1, 1000000000),
                  absent(),
                  "steps between checkpoints",
                  {},
                  put<&Job::checkpoint, &CheckpointJob::steps>});
  rows.push_back({"/checkpoint/every/seconds",
                  number_rule({.low = 1, .high = 1e7}),
                  absent(),
                  "seconds between checkpoints",
                  {},
                  put<&Job::checkpoint, &CheckpointJob::seconds>});
  rows.push_back({"/checkpoint/keep",
                  integer_rule(1, 1000),
                  value("2"),
                  "newest checkpoints that stay",
                  {},
                  put<&Job::checkpoint, &CheckpointJob::keep>});
  rows.push_back(
      {"/checkpoint/other_device",
       boolean_rule(),
       value("false"),
       "`--resume` on a GPU continues a checkpoint of a CPU, or the other way round; the "
       "bits of what is learned differ then",
       {},
       put<&Job::checkpoint, &CheckpointJob::other_device>});
  rows.push_back({"/checkpoint/copies",
                  integer_rule(1, 1024),
                  value("1"),
                  "hosts that keep the checkpoints where no file system is shared: this one and, "
                  "with launch \"ssh\", the first others of `cluster.hosts`",
                  {},
                  put<&Job::checkpoint, &CheckpointJob::copies>});
}

void add_single_keys(std::vector<SchemaRow>& rows) {
  rows.push_back({"/digest",
                  choice_rule({"full", "ids", "off"}),
                  value("\"full\""),
                  "what the digest of the batches covers: ids, rows and labels, or ids alone",
                  {},
                  [](const Json& v, Job& job) {
                    job.digest = v == "full"  ? DigestMode::full
                                 : v == "ids" ? DigestMode::ids
                                              : DigestMode::off;
                  }});
  rows.push_back({"/seed",
                  integer_rule(0, ~std::uint64_t{0}),
                  value("0"),
                  "of all randomness of the run: seed order, neighbours, dropout, initial weights",
                  {},
                  [](const Json& v, Job& job) { job.seed = v.get<std::uint64_t>(); }});
  rows.push_back({"/output",
                  text_rule(1),
                  derived("`runs/NAME` for `NAME.json`, then `runs/NAME-2`, …"),
                  "folder for everything the run writes; relative to the working directory",
                  {},
                  [](const Json& v, Job& job) { job.output = v.get<std::string>(); }});
  rows.push_back({"/log_every",
                  integer_rule(0, 1000000000),
                  value("0"),
                  "steps between progress lines, and lines of `metrics.jsonl`, within an epoch; 0: "
                  "a line per epoch only",
                  {},
                  [](const Json& v, Job& job) { job.log_every = v.get<std::uint64_t>(); }});
  rows.push_back({"/trace",
                  boolean_rule(),
                  value("false"),
                  "write `trace.json`, of real processes one file each: what every actor did when",
                  {},
                  [](const Json& v, Job& job) { job.trace = v.get<bool>(); }});
}

}  // namespace

std::vector<SchemaRow> learning_rows() {
  std::vector<SchemaRow> rows;
  for (auto& row : task_rows()) {
    rows.push_back(std::move(row));
  }
  add_sample(rows);
  add_features(rows);
  for (auto& row : embedding_rows()) {
    rows.push_back(std::move(row));
  }
  for (auto& row : model_rows()) {
    rows.push_back(std::move(row));
  }
  add_train(rows);
  for (auto& row : eval_rows()) {
    rows.push_back(std::move(row));
  }
  add_checkpoint(rows);
  add_single_keys(rows);
  return rows;
}

}  // namespace troupe
