// One frame, decoded as one of the messages. What decodes encodes to the same message again, and is
// used as its receiver uses it: requests by a part, replies by the batch that waits for them.
#include "runtime/feature/embedding/embedding_part.hpp"
#include "runtime/feature/embedding/learned_batch.hpp"
#include "runtime/feature/held_tensors.hpp"
#include "runtime/feature/row_collection.hpp"
#include "runtime/feature/tensor_rows.hpp"
#include "runtime/run/count_entities.hpp"
#include "runtime/run/gradient_reducer.hpp"
#include "runtime/sample/batch_builder.hpp"
#include "runtime/sample/edge_lookup.hpp"
#include "runtime/sample/links/graph_questions.hpp"
#include "runtime/sample/links/link_seeds.hpp"

#include "fuzz/frame_input.hpp"
#include "fuzz/small_graph.hpp"
#include "fuzz/targets.hpp"

namespace troupe::fuzz {
namespace {

using namespace net;

/// Answers all open questions from the parts, and takes the batch.
SampledBatch finish(BatchBuilder& builder) {
  while (!builder.done()) {
    for (const auto& question : builder.questions()) {
      const auto reply = sample_one_hop(*small_graph().parts[raw(question.part)], question.request);
      require(reply.ok() && builder.answer(question.id, *reply).ok(),
              "questions that follow from an accepted reply can be answered");
    }
  }
  return std::move(builder).take();
}

BatchBuilder start_batch(std::int32_t fanout, EdgeData edge_data) {
  auto options = std::make_shared<SampleOptions>();
  options->fanout = {{fanout}, {2}};
  options->edge_data = edge_data;
  const auto& graph = small_graph();
  const auto seeds = graph.globals({1, 2, 3, 50});
  return {graph.info, *graph.book, options, {}, NodeTypeId{}, seeds};
}

std::shared_ptr<const SampledBatch> sampled_batch() {
  auto builder = start_batch(3, {.entries = true});
  return std::make_shared<const SampledBatch>(finish(builder));
}

void use(const HopRequest& request) {
  for (const auto& part : small_graph().parts) {
    const auto reply = sample_one_hop(*part, request);
    if (reply.ok()) {
      const auto back = Wire<HopReply>::decode(to_frame(*reply));
      require(back.ok() && back->counts == reply->counts, "an answer travels");
    }
  }
  require(Wire<HopRequest>::reply_bytes(request) > 0, "an answer has a size");
}

void use(const HopReply& reply) {
  for (const std::int32_t fanout : {3, all_neighbours}) {
    auto builder =
        start_batch(fanout, reply.sections.empty() ? EdgeData{} : reply.sections.front().edge_data);
    const auto questions = builder.questions();
    for (const auto& question : questions) {
      if (!builder.answer(question.id, reply).ok()) {
        return;  // the builder is dropped
      }
    }
    const auto batch = finish(builder);
    require(batch.num_nodes() >= 4, "a batch has its seeds");
  }
}

void use(const FindNodes& request) {
  for (const auto& part : small_graph().parts) {
    const auto found = find_nodes(*part, request);
    require(!found.ok() || found->nodes.size() == request.places.size(), "a node for each place");
  }
}

void use(const HasEdges& request) {
  for (const auto& part : small_graph().parts) {
    const auto there = has_edges(*part, request);
    require(!there.ok() || there->has.size() == request.nodes.size(), "an answer for each pair");
  }
}

/// Links whose negatives are to be found, and then held against the graph.
LinkSeeds link_seeds() {
  auto options = std::make_shared<SampleOptions>();
  options->links = LinkOptions{
      .negatives = {.kind = Negatives::binary, .per_positive = 2, .strict = true, .tries = 2}};
  const auto& graph = small_graph();
  PositiveLinks links;
  links.sources = graph.globals({1, 2});
  links.destinations = graph.globals({3, 50});
  const auto types = end_types(graph.info, *options->links, links.edge_type);
  return {graph.info, *graph.book, options, {}, std::move(links), types};
}

void use(const NodesFound& found) {
  auto seeds = link_seeds();
  for (const auto& question : seeds.questions()) {
    if (!seeds.answer(question.id, found).ok()) {
      return;  // the seeds are dropped
    }
  }
  for (const auto& question : seeds.questions()) {
    const auto& asked = std::get<HasEdges>(question.request);
    const auto there = has_edges(*small_graph().parts[raw(question.part)], asked);
    require(there.ok() && seeds.answer(question.id, *there).ok(), "found nodes are in their parts");
  }
  require(seeds.done(), "all is known");
  require(std::move(seeds).take().links.negative_sources.size() == 4, "two negatives each");
}

void use(const EdgesThere& there) {
  auto seeds = link_seeds();
  for (const auto& question : seeds.questions()) {
    const auto& asked = std::get<FindNodes>(question.request);
    const auto found = find_nodes(*small_graph().parts[raw(question.part)], asked);
    require(found.ok() && seeds.answer(question.id, *found).ok(), "the directory has all nodes");
  }
  for (const auto& question : seeds.questions()) {
    if (!seeds.answer(question.id, there).ok()) {
      return;
    }
  }
  require(std::move(seeds).take().links.edges_drawn <= 4, "of four negatives");
}

void use(const CountEdges& request) {
  for (const auto& part : small_graph().parts) {
    const auto counted = count_edges(*part, request);
    require(!counted.ok() || counted->degrees.size() == request.nodes.size(), "one for each node");
  }
}

void use(const EdgesCounted& counted) {
  const auto& graph = small_graph();
  const auto nodes = graph.globals({1, 2, 1});
  DegreeLookup lookup(*graph.book, NodeTypeId{}, {}, nodes);
  for (std::size_t i = 0; i < lookup.questions().size(); ++i) {
    if (!lookup.answer(i, counted).ok()) {
      return;
    }
  }
  require(std::move(lookup).degrees().size() == nodes.size(), "a degree for each node");
}

void use(const FindEdges& request) {
  for (const auto& part : small_graph().parts) {
    const auto found = find_edges(*part, request);
    require(!found.ok() || found->places.size() <= request.edges.size(), "each edge once");
  }
}

void use(const EdgesFound& found) {
  const auto& graph = small_graph();
  const std::vector<EdgeId> edges{EdgeId{0}, EdgeId{3}, EdgeId{5}, EdgeId{3}};
  EdgeLookup lookup(*graph.book, graph.info.edge_types[0], EdgeTypeId{}, edges);
  if (!lookup.answer(PartId{}, found).ok()) {
    return;
  }
  const auto ends = std::move(lookup).take();
  require(!ends.ok() || ends->destinations.size() == edges.size(), "ends of each edge");
}

void use(const RowRequest& request) {
  const auto& graph = small_graph();
  for (const auto& part : graph.parts) {
    const auto reply = read_part_rows(*part, request);
    if (reply.ok()) {
      require(Wire<RowReply>::decode(to_frame(*reply)).ok(), "an answer travels");
    }
    const auto tensor = Matrix::zeros(part->nodes[0].count, 3);
    const std::vector<const Matrix*> tensors(request.sections.size(), &tensor);
    const auto rows = read_tensor_rows(*part, tensors, request);
    require(rows.ok() || !rows.error().what().empty(), "an error has a sentence");
  }
  require(Wire<RowRequest>::reply_bytes(request) > 0, "an answer has a size");
}

void use(const RowReply& reply) {
  const auto& graph = small_graph();
  static const auto sampled = sampled_batch();
  auto options = std::make_shared<CollectOptions>();
  options->decoders.push_back(*RowDecoder::create(graph.info.node_types[0], Normalize::row));
  options->edge_decoders.push_back(*RowDecoder::create(graph.info.edge_types[0]));
  options->columns = {{{TableName::Kind::node_column, 0, 0}, graph.info.node_types[0].columns[0]},
                      {{TableName::Kind::edge_column, 0, 0}, graph.info.edge_types[0].columns[0]}};
  options->digest = DigestMode::full;
  RowCollection rows(*graph.book, options, sampled);
  const auto questions = rows.questions();
  if (!rows.answer(questions[0].id, reply).ok()) {
    return;
  }
  for (std::size_t i = 1; i < questions.size(); ++i) {
    const auto& question = questions[i];
    if (!rows.answer_from(question.id, *graph.parts[raw(question.part)]).ok()) {
      return;  // other labels than the hostile part's
    }
  }
  require(std::move(rows).take().sampled != nullptr, "rows make a batch");
}

void use(const GradientChunk& chunk) {
  GradientReducer reducer(2, 1);
  require(reducer.begin(0, 3).ok(), "a step begins");
  const auto share = std::make_shared<const GradientChunk>(chunk);
  for (int twice = 0; twice < 2; ++twice) {
    const auto sum = reducer.add(share);
    require(!sum.ok() || !sum->has_value(), "one rank's share of two is no sum");
  }
}

void use(const SampleBatch& request) {
  require(request.sample == nullptr && request.collect == nullptr, "options do not travel");
  require(Wire<SampleBatch>::reply_bytes(request) > 0, "an answer has a size");
}

/// What a trainer reads of a batch, layer by layer.
void use(const ReadyBatch& ready) {
  const auto& sampled = *ready.batch.sampled;
  const auto covers = [&](std::size_t type) {
    return ready.batch.rows[type].original_ids.size() == sampled.nodes[type].ids.size();
  };
  bool complete = true;
  for (std::size_t t = 0; t < sampled.nodes.size(); ++t) {
    complete = complete && covers(t);
  }
  if (complete) {
    require(digest_batch(ready.batch, DigestMode::full) != Digest{}, "a batch has a digest");
  }
  for (const auto place : sampled.seed_index) {
    require(place < sampled.nodes[raw(sampled.seed_type)].ids.size(), "seeds are nodes");
  }
  const bool plain = sampled.nodes.size() == 1 && sampled.edges.size() == 1;
  for (std::uint32_t layer = 0; plain && layer < sampled.hops; ++layer) {
    const auto block = layer_block(sampled, layer, sampled.hops);
    for (std::size_t row = 0; row < block.num_dst; ++row) {
      for (auto k = block.offsets[row]; k < block.offsets[row + 1]; ++k) {
        require(block.sources[k] < block.num_src, "neighbours are nodes of their layer");
      }
    }
  }
}

// ---- learned rows ----

std::shared_ptr<const EmbeddingPlan> one_table() {
  auto plan = std::make_shared<EmbeddingPlan>();
  plan->tables = {{.name = "node", .node_type = NodeTypeId{0}, .dim = 2}};
  return plan;
}

/// Rows of a part whose tasks run at once.
class LearnedPart {
 public:
  LearnedPart() : rows_(small_graph().parts[0], one_table(), count_entities) {
    carry_out(rows_.begin({.generation = 0}, 0));
  }
  template <class Request>
  void send(Request request) {
    const auto before = answers_;
    carry_out(request(rows_));
    require(answers_ <= before + 1, "a request has one answer at most");
    carry_out(rows_.digest({.step = *rows_.applied()}, 1));
    require(answers_ >= before + 1, "rows are there whatever was asked");
  }

 private:
  void carry_out(EmbeddingPart::Actions actions) {
    InlineExecutor executor;
    answers_ += actions.answers.size();
    for (auto& task : actions.tasks) {
      auto outcome = task.run(executor);
      carry_out(rows_.finished(task.id, std::move(outcome)));
    }
  }
  EmbeddingPart rows_;
  std::size_t answers_ = 0;
};

void use(const SparseGradients& share) {
  LearnedPart().send(
      [&](EmbeddingPart& of) { return of.add(std::make_shared<const SparseGradients>(share), 2); });
}

void use(const ReadLearned& request) {
  LearnedPart().send(
      [&](EmbeddingPart& of) { return of.read(std::make_shared<const ReadLearned>(request), 2); });
  require(Wire<ReadLearned>::reply_bytes(request) > 0, "an answer has a size");
}

void use(const RankEntities& request) {
  LearnedPart().send(
      [&](EmbeddingPart& of) { return of.rank(std::make_shared<const RankEntities>(request), 2); });
}

void use(const LearnedRows& rows) {
  static const auto sampled = sampled_batch();
  LearnedBatch batch(one_table(), *small_graph().book, sampled);
  require(!batch.questions().empty(), "a batch has nodes");
  const auto taken = batch.answer(0, rows);
  require(taken.ok() || !taken.error().what().empty(), "an error has a sentence");
}

void use(const ReadCopy& request) {
  LearnedPart().send([&](EmbeddingPart& of) { return of.read_copy(request, 2); });
}

void use(const LoadCopy& piece) {
  LearnedPart().send([&](EmbeddingPart& of) { return of.load(piece, 2); });
}

void use(const FollowLearned& request) {
  LearnedPart().send([&](EmbeddingPart& of) { return of.follow(request, 2); });
}

void use(const PullLearned& request) {
  LearnedPart().send([&](EmbeddingPart& of) { return of.pull(request, 2); });
}

// ---- tensors by name ----

/// Tensors of a part, one of its nodes and one of many free rows, of which a copy is kept.
class TensorPart {
 public:
  TensorPart() {
    const auto& nodes = part().nodes[0];
    make({.operation = 1,
          .tensor = 1,
          .name = "nodes",
          .first = raw(nodes.first),
          .count = nodes.count});
    make({.operation = 2, .tensor = 2, .name = "rows", .of = 2, .count = std::uint64_t{1} << 40});
    WriteTensor write{.operation = 3, .tensor = 2, .row_bytes = 4, .first = 1U << 30, .count = 1};
    write.values = Segment::of(std::vector<float>{1});
    require(held_.write(part(), write).ok(), "a row is written");
    require(held_.keep(part(), {.operation = 4, .step = 7}).ok(), "a copy is kept");
  }
  static const Part& part() { return *small_graph().parts[0]; }
  HeldTensors& held() { return held_; }

 private:
  void make(MakeTensor request) {
    request.dtype = static_cast<std::uint16_t>(DType::f32);
    request.cols = 1;
    require(held_.make(part(), request).ok(), "a tensor is made");
  }
  HeldTensors held_;
};

void explain(const Status& done) {
  require(done.ok() || !done.error().what().empty(), "an error has a sentence");
}

void use(const MakeTensor& request) {
  TensorPart of;
  auto next = request;
  next.writer = Rank{0};
  next.operation = 5;
  explain(of.held().make(TensorPart::part(), next));
}

void use(const WriteTensor& request) {
  TensorPart of;
  auto next = request;
  next.writer = Rank{0};
  next.operation = 5;
  if (next.places().size() < 100) {  // each may make a block
    explain(of.held().write(TensorPart::part(), next));
  }
}

void use(const ReadTensor& request) {
  if (const auto rows = TensorPart().held().read(TensorPart::part(), request)) {
    require(rows->values.bytes.size() == tensor_bytes(request.places(), request.row_bytes),
            "an answer has the rows that were asked for");
  }
}

void use(const ReadTensorCopy& request) {
  auto from = request;
  from.step = 7;
  const auto piece = TensorPart().held().read_copy(TensorPart::part(), from);
  require(piece.ok() && check_tensor_piece("a piece", *piece).ok(), "a copy has pieces");
  require(piece->last || piece->next_tensor > from.tensor || piece->next_row > from.row,
          "which come to an end");
}

void use(const LoadTensors& piece) {
  auto next = piece;
  next.operation = 1;
  explain(TensorPart().held().load(TensorPart::part(), next));
}

template <class T>
void use(const T&) {}

template <class T>
void decode_and_use(const Frame& frame) {
  const auto message = Wire<T>::decode(frame);
  if (!message.ok()) {
    require(!message.error().what().empty(), "an error has a sentence");
    return;
  }
  const auto again = to_frame(*message);
  const auto back = Wire<T>::decode(again);
  require(back.ok(), "a message that was decoded travels again");
  const auto third = to_frame(*back);
  require(std::ranges::equal(std::as_bytes(again.words()), std::as_bytes(third.words())) &&
              again.segments.size() == third.segments.size(),
          "as the same message");
  for (std::size_t i = 0; i < again.segments.size(); ++i) {
    require(std::ranges::equal(again.segments[i].bytes, third.segments[i].bytes),
            "with the same segments");
  }
  use(*message);
}

template <class... T>
void dispatch(net::MessageList<T...>, const FrameInput& input) {
  using Decode = void (*)(const Frame&);
  constexpr Decode decoders[] = {decode_and_use<T>...};
  decoders[input.kind % sizeof...(T)](input.frame);
}

}  // namespace

void run_codec(Input input) {
  dispatch(net::Messages{}, unpack_frame(input));
}

}  // namespace troupe::fuzz

TROUPE_FUZZ_TARGET(troupe::fuzz::run_codec)
