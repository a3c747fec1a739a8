// Writes the seeds of the corpora from valid inputs: make_corpus FOLDER. Equal on every run.
#include "runtime/base/files.hpp"
#include "runtime/base/staged_directory.hpp"
#include "runtime/data/npy_import.hpp"
#include "runtime/feature/row_request.hpp"
#include "runtime/job/job_file.hpp"
#include "runtime/net/piece.hpp"
#include "runtime/nn/model_file.hpp"
#include "runtime/partition/add_features.hpp"
#include "runtime/partition/partitioner.hpp"
#include "runtime/run/checkpoint.hpp"
#include "runtime/run/state_pieces.hpp"
#include "tests/support/example_message.hpp"

#include "fuzz/array_files.hpp"
#include "fuzz/format_folders.hpp"
#include "fuzz/frame_input.hpp"
#include "fuzz/handshake_input.hpp"
#include "fuzz/small_graph.hpp"
#include "fuzz/small_model.hpp"

#include <fmt/format.h>

namespace troupe::fuzz {
namespace {

namespace fs = std::filesystem;

class Corpus {
 public:
  explicit Corpus(fs::path root) : root_(std::move(root)) {}

  void add(const std::string& target, const std::string& name, std::string_view bytes) {
    fs::create_directories(root_ / target);
    std::ofstream(root_ / target / name, std::ios::binary | std::ios::trunc) << bytes;
    total_ += bytes.size();
  }
  void add(const std::string& target, const std::string& name,
           const std::vector<std::uint8_t>& bytes) {
    add(target, name, text_of(bytes));
  }
  std::size_t total() const { return total_; }

 private:
  fs::path root_;
  std::size_t total_ = 0;
};

template <class T>
T checked(Result<T> result) {
  if (!result.ok()) {
    fmt::print(stderr, "make_corpus: {}\n", result.error().what());
    std::exit(1);
  }
  return *std::move(result);
}

// ---- text ----

void add_jobs(Corpus& corpus) {
  const std::string least = R"({"dataset": {"path": "d"}, "sample": {"fanout": [3, -1]}})";
  corpus.add("job", "least", least);
  corpus.add("job", "defaults", checked(parse_job(least, "", {})).job.json);
  corpus.add("job", "comments",
             "// a job\n{\"dataset\": {\"path\": \"d\", \"split\": \"mask0\"}, /* two hops */\n"
             "\"partition\": {\"method\": \"random\", \"parts\": 4}, \"cluster\": {\"hosts\": 2},\n"
             "\"sample\": {\"fanout\": [15, 10], \"batch_size\": 64, \"frontier\": \"all\"},\n"
             "\"train\": {\"epochs\": 3, \"optimizer\": {\"kind\": \"sgd\", \"lr\": 0.1}},\n"
             "\"eval\": {\"metric\": \"f1\"}, \"seed\": 18446744073709551615}\n");
  for (const auto& key : job_keys()) {
    std::string path = key.pointer.substr(1);
    std::ranges::replace(path, '/', '.');
    const auto value = key.default_value == "required" ? "[1]" : key.default_value;
    auto name = path;
    std::ranges::replace(name, '*', 'X');  // where any name may stand
    corpus.add("overrides", name, fmt::format("{}={}", path, value));
  }
  corpus.add("overrides", "many", "seed=7\nsample.fanout=[1,2]\ndigest=off\ntrain.epochs=x\n");
}

void add_texts(Corpus& corpus) {
  corpus.add("text", "digest", "0123456789abcdef0123456789ABCDEF");
  corpus.add("text", "path", "part-0/nodes-node/features.npy");
  corpus.add("text", "up", "part-0/../graph.json");
  corpus.add("text", "dtype", "bf16");
}

// ---- arrays and stores ----

std::vector<File> edge_list_folder() {
  return {array_file("edge_index.npy", {'i', 8}, {2, 8},
                     Ids{0, 1, 2, 3, 4, 4, 5, 0, 1, 2, 0, 4, 0, 0, 0, 0}),
          array_file("x.npy", {'f', 4}, {6, 2}, std::vector<float>(12, 0.5F)),
          array_file("y.npy", {'i', 8}, {6}, Ids{0, 1, 2, -1, 1, 0}),
          array_file("train_idx.npy", {'i', 8}, {3}, Ids{0, 2, 5}),
          array_file("val_idx.npy", {'i', 8}, {1}, Ids{1}),
          array_file("train_links.npy", {'i', 8}, {3, 2}, Ids{4, 1, 0, 2, 4, 1}),
          array_file("train_links_times.npy", {'i', 8}, {3}, Ids{7, -8, 9}),
          array_file("train_links_labels.npy", {'f', 4}, {3}, std::vector<float>{0, 1, -0.5F}),
          text_file("meta.json", R"({"num_nodes": 6, "num_classes": 3})")};
}

std::vector<File> csr_folder() {
  return {array_file("indptr.npy", {'u', 4}, {5}, std::vector<std::uint32_t>{0, 2, 3, 3, 4}),
          array_file("indices.npy", {'i', 4}, {4}, std::vector<std::int32_t>{1, 3, 0, 2}),
          array_file("x_indptr.npy", {'i', 8}, {5}, Ids{0, 1, 1, 3, 4}),
          array_file("x_indices.npy", {'i', 8}, {4}, Ids{4, 0, 2, 1}),
          array_file("x_data.npy", {'f', 2}, {4}, std::vector<std::uint16_t>(4, 0x3C00)),
          array_file("y.npy", {'f', 4}, {4, 2}, std::vector<float>{0, 1, 1, 1, 0, 0, 1, 0}),
          array_file("train_masks.npy", {'b', 1}, {2, 4},
                     std::vector<std::uint8_t>{1, 0, 0, 1, 0, 1, 1, 0}),
          text_file("meta.json", R"({"num_features": 5, "node_type": "n", "edge_type": "e"})")};
}

void add_stores(Corpus& corpus) {
  int number = 0;
  for (const auto& folder : {edge_list_folder(), csr_folder()}) {
    const auto name = fmt::format("folder{}", number++);
    corpus.add("import", name, pack_files(folder));
    for (const auto& file : folder) {
      if (file.name.ends_with(".npy")) {
        corpus.add("npy", name + "-" + file.name, file.bytes);
      }
    }
    const ScratchFiles scratch;
    scratch.fill(folder);
    const auto store_dir = scratch.path() / "store";
    checked(import_npy(scratch.path(), store_dir));
    corpus.add("store", name + "-whole", pack_files(read_files_below(store_dir)));
    const auto store = checked(GraphStore::open(store_dir, {}));
    const auto graph_text = checked(read_text_file(store_dir / "graph.json", 1 << 20));
    corpus.add("graph_json", name, graph_text);
    for (const auto complete : {CompleteFor::in, CompleteFor::out, CompleteFor::both}) {
      const auto part_name = fmt::format("{}-{}", name, to_string(complete));
      const auto parts_dir = scratch.path() / part_name;
      checked(partition_store(store, {"random", 2, 1, complete}, parts_dir));
      corpus.add("store", part_name, pack_files(read_files_below(parts_dir)));
      const auto partition_text = checked(read_text_file(parts_dir / "partition.json", 1 << 20));
      corpus.add(
          "graph_json", part_name,
          checked(read_text_file(parts_dir / "graph.json", 1 << 20)) + '\x1e' + partition_text);
    }
  }
}

/// Parts whose features come later: none of them yet, those of one part, all.
void add_two_stages(Corpus& corpus) {
  const ScratchFiles scratch;
  scratch.fill(csr_folder());
  const auto store_dir = scratch.path() / "store";
  checked(import_npy(scratch.path(), store_dir));
  PartitionOptions options{"random", 2, 1, CompleteFor::in};
  options.halo.features = true;
  options.features_later = true;
  const auto parts_dir = scratch.path() / "parts";
  checked(partition_store(checked(GraphStore::open(store_dir, {})), options, parts_dir));
  InlineExecutor executor;
  for (const std::uint32_t parts : {0U, 1U, 2U}) {
    if (parts > 0) {
      checked(add_features(store_dir, parts_dir, {.parts = {static_cast<PartId>(parts - 1)}},
                           executor));
    }
    corpus.add("store", fmt::format("features-of-{}", parts),
               pack_files(read_files_below(parts_dir)));
  }
}

void add_schemas(Corpus& corpus) {
  corpus.add("heterogeneous_schema", "least", R"({ "classes": 2,
  "node_types": { "a": { "count": 50, "features": 3, "labels": true } },
  "edge_types": { "to": { "source": "a", "destination": "a", "edges": 200 } } })");
  corpus.add("heterogeneous_schema", "all-keys", R"({ "classes": 3,
  "node_types": { "author": { "count": 40, "features": 5, "noise": 0.5, "labels": true },
                  "paper": { "count": 90, "features": 4 }, "venue": { "count": 6 } },
  "edge_types": { "writes": { "source": "author", "destination": "paper", "edges": 120,
                              "homophily": 0.9, "weights": true, "times": true, "reverse_edges": true },
                  "cites": { "source": "paper", "destination": "paper", "edges": 100,
                             "symmetrize": true, "dedup": true, "drop_self_loops": true },
                  "appears": { "source": "paper", "destination": "venue", "edges": 90 } },
  "splits": { "": { "nodes": "author", "train": 10, "val": 0.1, "test": 0.2 },
              "other": { "nodes": "author", "train": 0.5 } } })");
}

void add_formats(Corpus& corpus) {
  for (const auto& [name, folder] : format_folders()) {
    corpus.add("import_formats", name, pack_files(folder));
  }
}

// ---- messages ----

HopRequest hop_request() {
  const auto& graph = small_graph();
  HopRequest request;
  request.frontiers.emplace_back();
  request.sections.push_back({.fanout = 3, .edge_data = {true, true, true, true}});
  request.time = {.inclusive = true, .window = std::uint64_t{1} << 40};
  for (std::uint64_t i = 0; i < 6; ++i) {
    request.frontiers[0].nodes.push_back(advance(graph.parts[0]->nodes[0].first, i));
    request.frontiers[0].trees.push_back(static_cast<std::uint32_t>(i / 2));
    request.frontiers[0].times.push_back(static_cast<std::int64_t>(i) << 33);
  }
  request.sections[0].excluded = {{1, graph.global(2)}, {4, graph.global(0)}};
  return request;
}

RowRequest row_request() {
  RowRequest request;
  request.with_original_ids = true;
  request.sections.push_back({.nodes = hop_request().frontiers[0].nodes, .label_nodes = 2});
  request.tables = {{{TableName::Kind::edge_features, 0, 0}, {0, 3, 3, 7}},
                    {{TableName::Kind::node_column, 0, 0}, {5, 1}},
                    {{TableName::Kind::edge_column, 0, 0}, {9}}};
  return request;
}

/// By hand where a message is used by its target: of the small graph.
template <class T>
T example() {
  return testing::example_message<T>();
}
template <>
HopRequest example<HopRequest>() {
  return hop_request();
}
template <>
HopReply example<HopReply>() {
  return checked(sample_one_hop(*small_graph().parts[0], hop_request()));
}
template <>
RowRequest example<RowRequest>() {
  return row_request();
}
template <>
RowReply example<RowReply>() {
  return checked(read_part_rows(*small_graph().parts[0], row_request()));
}
template <>
net::GradientChunk example<net::GradientChunk>() {
  net::GradientChunk chunk;
  chunk.weight = 5;
  chunk.values = Segment::of(std::vector<float>{1.0F, -2.0F, 0.5F});
  chunk.offer = {"a network", "a device", true};
  return chunk;
}

std::shared_ptr<const net::TrainingState> training_state() {
  auto state = std::make_shared<net::TrainingState>();
  state->parameters = {1.0F, 2.0F, 3.0F};
  state->optimizer = {4, {{"m", {0.5F, 0.25F, 0.0F}}, {"v", {1.0F, 1.0F, 2.0F}}}};
  state->best = {1.5F, 2.5F, 3.5F};
  state->blobs["mine"] = {std::byte{7}, std::byte{8}};
  return state;
}
template <>
net::StateReply example<net::StateReply>() {
  return {training_state()};
}
template <>
net::Restore example<net::Restore>() {
  return {2, training_state()};
}
template <>
net::KeepState example<net::KeepState>() {
  return {1, true, training_state()};
}

template <>
FindNodes example<FindNodes>() {
  return {.places = {0, 3, 3}};
}
std::vector<NodeId> requested_nodes() {
  const auto nodes = hop_request().frontiers.at(0).nodes;
  return {nodes.begin(), nodes.end()};
}

template <>
HasEdges example<HasEdges>() {
  const auto nodes = requested_nodes();
  return {.nodes = nodes, .neighbours = {nodes.rbegin(), nodes.rend()}};
}
template <>
EdgesThere example<EdgesThere>() {
  return {.has = {1, 0, 1}};
}

template <>
CountEdges example<CountEdges>() {
  return {.nodes = requested_nodes()};
}
template <>
FindEdges example<FindEdges>() {
  return {.edges = {EdgeId{0}, EdgeId{3}, EdgeId{5}}};
}
template <>
EdgesCounted example<EdgesCounted>() {
  return {.degrees = {4, 0, 4}};
}
template <>
EdgesFound example<EdgesFound>() {
  return checked(find_edges(*small_graph().parts[0], example<FindEdges>()));
}

LearnedSection learned_section(std::size_t nodes) {
  return {.node_type = NodeTypeId{0}, .cols = 2, .nodes = nodes};
}
template <>
SparseGradients example<SparseGradients>() {
  SparseGradients share;
  share.weight = 3;
  const auto nodes = requested_nodes();
  share.nodes.assign(nodes.begin(), nodes.end());
  share.sections = {learned_section(nodes.size())};
  share.rows = Segment::of(std::vector<float>(2 * nodes.size(), 0.5F));
  return share;
}
template <>
RankEntities example<RankEntities>() {
  RankEntities rank;
  rank.cols = 2;
  rank.score = 1;
  rank.queries = Segment::of(std::vector<float>{0.5F, 1, -1, 0.25F});
  rank.keys = {0.5F, -2};
  rank.offsets = {0, 2, 3};
  rank.left_out = {1, 4, 0};
  return rank;
}
template <>
ReadLearned example<ReadLearned>() {
  ReadLearned read;
  const auto nodes = requested_nodes();
  read.nodes.assign(nodes.begin(), nodes.end());
  read.sections = {learned_section(nodes.size())};
  return read;
}

template <>
SampleBatch example<SampleBatch>() {
  const auto nodes = requested_nodes();
  SampleBatch batch;
  batch.key = {Purpose::train, 1, 2};
  batch.flow = 9;
  batch.options = BatchOptions::job;
  batch.links = {.sources = nodes,
                 .destinations = {nodes.rbegin(), nodes.rend()},
                 .times = std::vector<std::int64_t>(nodes.size(), -1),
                 .labels = std::vector<float>(nodes.size(), 0.5F)};
  return batch;
}
/// A batch of the small graph, as a collector gives it.
template <>
ReadyBatch example<ReadyBatch>() {
  const auto& graph = small_graph();
  auto options = std::make_shared<SampleOptions>();
  options->fanout = {{3}, {2}};
  options->edge_data = {true, true, true, true};
  options->disjoint = true;
  BatchBuilder builder(graph.info, *graph.book, options, {}, NodeTypeId{},
                       graph.globals({1, 2, 3, 2}));
  while (!builder.done()) {
    for (const auto& question : builder.questions()) {
      checked(builder.answer(question.id, checked(sample_one_hop(*graph.parts[raw(question.part)],
                                                                 question.request))));
    }
  }
  auto collect = std::make_shared<CollectOptions>();
  collect->decoders.push_back(
      checked(RowDecoder::create(graph.info.node_types[0], Normalize::row)));
  collect->edge_decoders.push_back(checked(RowDecoder::create(graph.info.edge_types[0])));
  collect->columns = {{{TableName::Kind::node_column, 0, 0}, graph.info.node_types[0].columns[0]},
                      {{TableName::Kind::edge_column, 0, 0}, graph.info.edge_types[0].columns[0]}};
  collect->digest = DigestMode::full;
  auto sampled = std::move(builder).take();
  sampled.links = {.sources = {0, 1},
                   .destinations = {2, 3},
                   .negative_sources = {0, 1},
                   .negative_destinations = {3, 3},
                   .labels = {0.5F, -1},
                   .times = {-1, 7}};
  RowCollection rows(*graph.book, collect,
                     std::make_shared<const SampledBatch>(std::move(sampled)));
  for (const auto& question : rows.questions()) {
    checked(rows.answer_from(question.id, *graph.parts[raw(question.part)]));
  }
  return {std::move(rows).take(), {1, 2, {{3}, {4}}, 5, 6, 7, 8}};
}

/// What goes over a link for these frames.
std::vector<std::uint8_t> on_the_wire(std::vector<net::Frame> frames) {
  net::PieceWriter writer;
  for (auto& frame : frames) {
    writer.push(std::move(frame));
  }
  std::vector<std::uint8_t> out{1};
  const auto block = [&](std::span<const std::byte> bytes) {
    const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
    out.insert(out.end(), data, data + bytes.size());
  };
  while (const auto piece = writer.next()) {
    block(std::as_bytes(std::span(&piece->header, 1)));
    for (const auto& span : piece->spans) {
      block(span);
    }
  }
  return out;
}

template <class... T>
void add_messages(Corpus& corpus, net::MessageList<T...>) {
  const std::vector<net::Frame> frames{net::to_frame(example<T>())...};
  for (std::size_t i = 0; i < frames.size(); ++i) {
    corpus.add("codec", fmt::format("message{:02}", i),
               pack_frame(static_cast<std::uint8_t>(i), frames[i]));
    corpus.add("pieces", fmt::format("message{:02}", i), on_the_wire({frames[i]}));
  }
  corpus.add("pieces", "all", on_the_wire(frames));
  std::vector<std::uint8_t> end{1};
  const auto append = [&](const auto& bytes) {
    const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
    end.insert(end.end(), data, data + bytes.size());
  };
  append(net::heartbeat_piece());
  append(net::goodbye_piece(Error(Errc::cancelled, "done")));
  corpus.add("pieces", "goodbye", end);
}

// ---- handshakes ----

using namespace net::handshake;

/// A message with room for its proof.
template <class T>
void put(std::vector<std::uint8_t>& out, Kind kind, const T& message) {
  const auto bytes = encode(message);
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  out.insert(out.end(), data, data + bytes.size());
  out.insert(out.end(), size_of(kind) - bytes.size(), 0);
}

void add_handshakes(Corpus& corpus) {
  const auto peer = handshake_options(2).self;
  const auto other = net::PeerIdentity{ProcessId{2}, 7, "other:1"};
  const Claim claim{peer, {}, 0, "job"};
  for (const auto& [name, claimed] :
       {std::pair("accepts", claim), std::pair("denies", Claim{other, {}, 0, "job"}),
        std::pair("other-job", Claim{peer, {}, 0, "else"}),
        std::pair("other-process", Claim{peer, ProcessId{3}, 1, "job"})}) {
    std::vector<std::uint8_t> bytes{handshake_sealed, 6};
    put(bytes, Kind::hello, Hello{{1, 1}, "tcp", {}});
    put(bytes, Kind::claim, claimed);
    bytes.insert(bytes.end(), {'l', 'i', 'n', 'k'});
    corpus.add("handshake", name, bytes);
  }
  for (const bool denied : {false, true}) {
    std::vector<std::uint8_t> bytes{handshake_sealed | handshake_dials, 40};
    put(bytes, Kind::challenge, Challenge{2, {}});
    if (denied) {
      put(bytes, Kind::denied, Denied{13, "replaced"});
    } else {
      put(bytes, Kind::accepted, Accepted{peer});
    }
    corpus.add("handshake", denied ? "is-denied" : "dials", bytes);
  }
  for (const auto& [name, hello] : {std::pair("versions", Hello{{8, 9}, "tcp", {}}),
                                    std::pair("transport", Hello{{1, 1}, "tcp+tls", {}})}) {
    std::vector<std::uint8_t> bytes{0, 0};
    put(bytes, Kind::hello, hello);
    corpus.add("handshake", name, bytes);
  }
  std::vector<std::uint8_t> refused{handshake_dials, 3};
  put(refused, Kind::refused, Refused{Reason::versions, {3, 4}});
  corpus.add("handshake", "refused", refused);
}

// ---- models and checkpoints ----

class OneTensor final : public TensorSource {
 public:
  std::uint32_t parts() const override { return 1; }
  Status read(std::uint32_t /*part*/, const Take& take) const override {
    return take({.name = "t",
                 .of = static_cast<std::uint16_t>(TensorOf::rows),
                 .dtype = static_cast<std::uint16_t>(DType::f32),
                 .cols = 1,
                 .runs = {5, 2},
                 .values = Segment::of(std::vector<float>{1, 2})});
  }
};

void add_models(Corpus& corpus) {
  const std::vector<float> parameters{1, 2, 3, 4, 5, 6, 7, 8};
  const nn::TensorFile file{nn::split_parameters(small_layout(), parameters), {{"kind", "gcn"}}};
  const auto bytes = nn::encode_tensors(file);
  corpus.add("model_file", "model",
             text_of(Input(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size())));
  const auto empty = nn::encode_tensors({});
  corpus.add("model_file", "empty",
             text_of(Input(reinterpret_cast<const std::uint8_t*>(empty.data()), empty.size())));

  Checkpoint checkpoint;
  checkpoint.training = *training_state();
  checkpoint.training.global_step = 7;
  checkpoint.training.parameters = parameters;
  checkpoint.training.best = parameters;
  checkpoint.record.epochs.resize(2);
  checkpoint.record.epochs[1].valid = Scores{5, 0.5, 0.25, {}};
  checkpoint.record.best_epoch = 1;
  checkpoint.job = "{}";
  const auto add = [&](const std::string& name) {
    const ScratchFiles scratch;
    CheckpointFolder folder({.dir = scratch.path(), .layout = small_layout(), .flush = Flush::no});
    checked(folder.write(checkpoint));
    corpus.add("checkpoint", name, pack_files(read_files_below(scratch.path() / "step-7")));
  };
  checkpoint.training.blobs.clear();
  add("plain");
  checkpoint.training.blobs["mine"] = {std::byte{7}};
  add("blobs");
  checkpoint.training.blobs = {{tensor_blob("t"), {}}};
  checkpoint.tensors = std::make_shared<const OneTensor>();
  add("tensors");
}

int make(const fs::path& root) {
  Corpus corpus(root);
  add_jobs(corpus);
  add_texts(corpus);
  add_stores(corpus);
  add_two_stages(corpus);
  add_schemas(corpus);
  add_formats(corpus);
  add_messages(corpus, net::Messages{});
  add_handshakes(corpus);
  add_models(corpus);
  fmt::print("make_corpus: {} bytes in {}\n", corpus.total(), root.string());
  return 0;
}

}  // namespace
}  // namespace troupe::fuzz

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: make_corpus FOLDER\n");
    return 2;
  }
  return troupe::fuzz::make(argv[1]);
}
