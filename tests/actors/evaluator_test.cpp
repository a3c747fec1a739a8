// The evaluator between a scripted director, trainer, data path, inferrer and holder: the order in
// which a layer's blocks are requested, computed and stored, and which late answers it drops.
#include "actors/evaluator.hpp"

#include "actors/batch_client.hpp"
#include "actors/learner.hpp"
#include "runtime/feature/tensor_rows.hpp"
#include "runtime/nn/catalog.hpp"
#include "tests/actors/scripted_system.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/graph_builder.hpp"

#include <fmt/format.h>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using testing::Asked;
using testing::MessageTrace;
using testing::ScriptedActor;

/// Six nodes in a ring, the first three in part 0: a host that has it infers three blocks of one
/// node each.
testing::CutGraph ring() {
  testing::TestGraph graph = testing::plain_graph(6, {});
  for (std::uint64_t node = 0; node < 6; ++node) {
    graph.edges[0].edges.push_back({node, (node + 1) % 6});
  }
  testing::add_features(graph.nodes[0], 2);
  const PartId here{0};
  const PartId there{1};
  return testing::cut_graph(graph, Assignment{{here, here, here, there, there, there}}, 2);
}

/// A network of two layers, from rows of two columns to two classes.
std::shared_ptr<const nn::Network> two_layers() {
  nn::ModelOptions options;
  options.in_dim = 2;
  options.hidden = 3;
  options.out_dim = 2;
  options.layers = 2;
  auto made = nn::make_network(options);
  EXPECT_OK(made);
  return *std::move(made);
}

class EvaluatorTest : public ::testing::Test {
 protected:
  EvaluatorTest() {
    host_->process = "host 0";
    host_->graph = std::make_shared<const GraphInfo>(cut_.info);
    host_->book = cut_.book;
    host_->parts[PartId{0}] = cut_.parts[0];
    host_->holders = {only(holder_0_), only(holder_1_)};
    host_->executor = system_.executor();
    host_->request_deadline = 5s;
    auto seeds = std::make_shared<SeedList>();
    for (const std::uint64_t original : {4U, 2U, 0U, 5U}) {
      seeds->original.push_back(static_cast<OriginalId>(original));
      seeds->global.push_back(cut_.global(original));
    }
    options_.inference.network = network_;
    options_.inference.decoders = {*RowDecoder::create(cut_.info.node_types[0], Normalize::none)};
    options_.inference.seeds["test"] = seeds;
    options_.inference.block_bytes = 1;
  }

  static std::shared_ptr<const Replicas> only(const ScriptedActor& holder) {
    return nearest_first({&holder});
  }
  static std::shared_ptr<const Replicas> nearest_first(
      const std::vector<const ScriptedActor*>& holders) {
    Replicas part;
    part.what = "a part";
    for (const auto* holder : holders) {
      part.actors.emplace_back([actor = holder->handle()] { return actor; });
    }
    part.recovery_deadline = 1s;
    return std::make_shared<const Replicas>(std::move(part));
  }
  DataPath next_path() {
    const auto number = samplers_.size() + 1;
    const auto& sampler = samplers_.emplace_back(system_, fmt::format("sampler {}", number));
    const auto& collector = collectors_.emplace_back(system_, fmt::format("collector {}", number));
    return {.samplers = {sampler.handle()}, .collector = collector.handle()};
  }
  void start() {
    evaluator_ =
        system_.add("evaluator", spawn_evaluator(
                                     *system_, host_, options_, [this] { return next_path(); },
                                     inferrer_.handle(), [this] { return trainer_; }));
  }
  ScriptedActor& sampler() { return samplers_.back(); }

  std::uint64_t ask(std::uint32_t round, std::uint32_t layer, bool best = false) {
    const auto number = director_.request(evaluator_, net::InferRequest{round, layer, best});
    system_.run();
    return number;
  }
  /// The trainer gives its parameters.
  void give_parameters() {
    const auto asked = rank_0_.take<net::ReadParameters>();
    rank_0_.answer(asked, net::ParameterVector{
                              Segment::of(std::vector<float>(network_->num_parameters(), 0.5F))});
    system_.run();
  }
  static ReadyBatch batch_of(const Asked<SampleBatch>& asked) {
    auto sampled = std::make_shared<SampledBatch>();
    sampled->key = asked->key;
    sampled->seed_type = asked->seed_type;
    sampled->seed_index.resize(asked->seeds.size());
    ReadyBatch ready;
    ready.batch.sampled = std::move(sampled);
    return ready;
  }
  /// The sampler answers its oldest request.
  void sample() {
    const auto asked = sampler().take<SampleBatch>();
    sampler().answer(asked, batch_of(asked));
    system_.run();
  }
  /// Writes `value` and the node's local index as the output of each node of a block.
  void infer(const Asked<InferBlock>& block, float value) {
    for (std::uint64_t i = 0; i < block->nodes.count; ++i) {
      const auto node = block->nodes.first + i;
      std::ranges::fill(block->to->view().row(node), value + static_cast<float>(node));
    }
    inferrer_.answer(block, BlockInferred{.edges = 2});
    system_.run();
  }
  void infer(float value) { infer(inferrer_.take<InferBlock>(), value); }
  /// The holder keeps what it is sent.
  Asked<StoreTensor> store() {
    auto stored = holder_0_.take<StoreTensor>();
    holder_0_.answer(stored, net::Done{});
    system_.run();
    return stored;
  }
  /// Samples and infers what is requested, until nothing is.
  void compute_blocks(float value) {
    while (sampler().waiting() + inferrer_.waiting() > 0) {
      inferrer_.waiting() > 0 ? infer(value) : sample();
    }
  }
  /// From the blocks' first requests to the answer.
  Asked<StoreTensor> finish_layer(float value) {
    compute_blocks(value);
    return store();
  }
  /// Both layers of a round.
  void infer_all(std::uint32_t round, float value) {
    ask(round, 0);
    give_parameters();
    finish_layer(0);
    const auto last = ask(round, 1);
    finish_layer(value);
    EXPECT_OK(director_.answer_to<net::InferResult>(last));
  }
  net::Pong ping() {
    const auto number = director_.request(evaluator_, net::Ping{});
    system_.run();
    return **director_.answer_to<net::Pong>(number);
  }
  Result<Ref<net::ScoreResult>> scores(const std::string& role) {
    const auto number = director_.request(evaluator_, net::ScoreRequest{.role = role});
    system_.run();
    return director_.answer_to<net::ScoreResult>(number);
  }

  testing::ScriptedSystem system_;
  ScriptedActor director_{system_, "director"};
  ScriptedActor rank_0_{system_, "trainer"};
  ScriptedActor holder_0_{system_, "holder 0"};
  ScriptedActor holder_1_{system_, "holder 1"};
  ScriptedActor inferrer_{system_, "inferrer"};
  std::deque<ScriptedActor> samplers_;    ///< One per data path that was started
  std::deque<ScriptedActor> collectors_;  ///< As samplers_
  caf::actor trainer_ = rank_0_.handle();
  testing::CutGraph cut_ = ring();
  std::shared_ptr<const nn::Network> network_ = two_layers();
  EvaluatorOptions options_;
  std::shared_ptr<HostContext> host_ = std::make_shared<HostContext>();
  caf::actor evaluator_;
};

TEST_F(EvaluatorTest, ALayerIsParametersThenBlocksThenOutputs) {
  start();
  const auto asked = ask(1, 0);
  give_parameters();

  sample();
  infer(0);
  sample();
  infer(0);
  sample();
  infer(0);
  store();

  EXPECT_EQ(system_.take_trace(), (MessageTrace{"director -> evaluator: InferRequest",    //
                                                "evaluator -> trainer: ReadParameters",   //
                                                "trainer -> evaluator: ParameterVector",  //
                                                "evaluator -> sampler 1: SampleBatch",    //
                                                "evaluator -> sampler 1: SampleBatch",    //
                                                "sampler 1 -> evaluator: ReadyBatch",     //
                                                "evaluator -> inferrer: InferBlock",      //
                                                "inferrer -> evaluator: BlockInferred",   //
                                                "evaluator -> sampler 1: SampleBatch",    //
                                                "sampler 1 -> evaluator: ReadyBatch",     //
                                                "evaluator -> inferrer: InferBlock",      //
                                                "inferrer -> evaluator: BlockInferred",   //
                                                "sampler 1 -> evaluator: ReadyBatch",     //
                                                "evaluator -> inferrer: InferBlock",      //
                                                "inferrer -> evaluator: BlockInferred",   //
                                                "evaluator -> holder 0: StoreTensor",     //
                                                "holder 0 -> evaluator: Done",            //
                                                "evaluator -> director: InferResult"}));
  ASSERT_OK_AND_ASSIGN(const auto result, director_.answer_to<net::InferResult>(asked));
  EXPECT_EQ(result->nodes, 3U);
  EXPECT_EQ(result->edges, 6U);
}

TEST_F(EvaluatorTest, BlocksAreRequestedInOrderTwoAtATime) {
  start();
  ask(1, 0);
  give_parameters();

  ASSERT_EQ(sampler().waiting(), 2U);
  const auto first = sampler().take<SampleBatch>();
  const auto second = sampler().take<SampleBatch>();
  sampler().answer(first, batch_of(first));
  sampler().answer(second, batch_of(second));
  system_.run();
  EXPECT_EQ(sampler().waiting(), 0U) << "both are still computed";
  infer(0);
  const auto third = sampler().take<SampleBatch>();

  const auto node = cut_.parts[0]->nodes[0].first;
  EXPECT_EQ(first->seeds, std::vector<NodeId>{node});
  EXPECT_EQ(second->seeds, std::vector<NodeId>{advance(node, 1)});
  EXPECT_EQ(third->seeds, std::vector<NodeId>{advance(node, 2)});
  EXPECT_EQ(sampler().waiting(), 0U);
}

TEST_F(EvaluatorTest, BlocksThatAreComputedInAnotherOrderAreStoredInPlace) {
  start();
  ask(1, 0);
  give_parameters();

  const auto first = sampler().take<SampleBatch>();
  sample();
  const auto of_second = inferrer_.take<InferBlock>();
  sampler().answer(first, batch_of(first));
  system_.run();
  infer(10);  // the first
  infer(of_second, 10);
  const auto stored = finish_layer(10);

  EXPECT_EQ(stored->tensor, 1U);
  ASSERT_EQ(stored->rows->rows(), 3U);
  for (std::size_t node = 0; node < 3; ++node) {
    EXPECT_EQ(stored->rows->view().row(node)[0], 10.0F + static_cast<float>(node));
  }
}

TEST_F(EvaluatorTest, TheNextLayerReadsTheTensorOfTheOneBeforeAndNoParameters) {
  start();
  ask(1, 0);
  give_parameters();
  finish_layer(0);
  system_.take_trace();

  ask(1, 1);
  const auto block = sampler().take<SampleBatch>();
  sampler().answer(block, batch_of(block));
  system_.run();
  const auto stored = finish_layer(0);

  EXPECT_EQ(block->collect->source.kind, RowSource::Kind::tensor);
  EXPECT_EQ(block->collect->source.tensor, 1U);
  EXPECT_EQ(stored->tensor, 2U);
  EXPECT_EQ(rank_0_.waiting(), 0U);
}

TEST_F(EvaluatorTest, ALayerOutOfTurnIsRefused) {
  start();

  EXPECT_ERROR(director_.answer_to<net::InferResult>(ask(1, 1)), Errc::failed_precondition,
               "evaluator of host 0: asked for layer 1 of 2 out of turn");
  EXPECT_ERROR(director_.answer_to<net::InferResult>(ask(1, 2)), Errc::failed_precondition,
               "asked for layer 2 of 2");
}

TEST_F(EvaluatorTest, TheBestParametersAreReadWhereTheyAreAskedFor) {
  start();

  ask(1, 0, true);

  EXPECT_TRUE(rank_0_.take<net::ReadParameters>()->best);
}

TEST_F(EvaluatorTest, ARepeatedRequestWaitsForTheSameLayer) {
  start();
  const auto first = ask(1, 0);
  give_parameters();
  const auto second = ask(1, 0);

  finish_layer(0);
  const auto third = ask(1, 0);

  for (const auto asked : {first, second, third}) {
    ASSERT_OK_AND_ASSIGN(const auto result, director_.answer_to<net::InferResult>(asked));
    EXPECT_EQ(result->nodes, 3U);
  }
  EXPECT_EQ(rank_0_.waiting() + sampler().waiting(), 0U) << "nothing was computed again";
}

// ---- a newer round ----

TEST_F(EvaluatorTest, ANewRoundEndsTheOldOneAndDropsItsAnswers) {
  start();
  const auto old = ask(1, 0);
  give_parameters();
  sample();
  const auto old_computing = inferrer_.take<InferBlock>();
  const auto old_sampling = sampler().take<SampleBatch>();

  const auto now = ask(2, 0);
  EXPECT_ERROR(director_.answer_to<net::InferResult>(old), Errc::cancelled,
               "another layer was asked for");
  give_parameters();
  EXPECT_EQ(sampler().waiting(), 2U);
  sampler().answer(old_sampling, batch_of(old_sampling));
  infer(old_computing, 100);
  EXPECT_EQ(sampler().waiting(), 2U);
  EXPECT_EQ(inferrer_.waiting(), 0U);
  EXPECT_EQ(ping().work, 0U);
  const auto stored = finish_layer(10);

  EXPECT_EQ(stored->rows->view().row(0)[0], 10.0F);
  ASSERT_OK_AND_ASSIGN(const auto result, director_.answer_to<net::InferResult>(now));
  EXPECT_EQ(result->nodes, 3U);
  EXPECT_EQ(director_.answers(old), 1U);
}

TEST_F(EvaluatorTest, ParametersOfAnOlderRoundAreDropped) {
  start();
  ask(1, 0);
  const auto old = rank_0_.take<net::ReadParameters>();
  ask(2, 0);

  rank_0_.answer(old, net::ParameterVector{});  // damaged, too
  system_.run();
  EXPECT_EQ(sampler().waiting(), 0U);
  give_parameters();

  EXPECT_EQ(sampler().waiting(), 2U);
}

TEST_F(EvaluatorTest, OutputsOfAnOlderRoundThatAreKeptLateDoNotEndTheNewOne) {
  start();
  ask(1, 0);
  give_parameters();
  compute_blocks(0);
  const auto old = holder_0_.take<StoreTensor>();
  const auto now = ask(2, 0);
  give_parameters();
  compute_blocks(0);

  holder_0_.answer(old, net::Done{});
  system_.run();
  EXPECT_FALSE(director_.is_answered(now));
  store();

  EXPECT_OK(director_.answer_to<net::InferResult>(now));
}

TEST_F(EvaluatorTest, OutputsOfAnOlderRoundDoNotReplaceThoseOfTheNewOne) {
  start();
  ask(1, 0);
  give_parameters();
  compute_blocks(0);
  holder_0_.fail(holder_0_.take<StoreTensor>(), Error(Errc::overloaded, "busy"));
  system_.run();  // it would be sent again after a pause

  ask(2, 0);
  give_parameters();
  EXPECT_EQ(finish_layer(10)->rows->view().row(0)[0], 10.0F);
  system_.run_for(1500ms);

  EXPECT_EQ(holder_0_.waiting(), 0U);
}

// ---- losses and errors ----

TEST_F(EvaluatorTest, ALostSamplerIsReplacedAndItsBlocksAreRequestedAgain) {
  start();
  const auto asked = ask(1, 0);
  give_parameters();
  const auto late = samplers_[0].take<SampleBatch>();
  const auto first = late->seeds;

  samplers_[0].end();
  system_.run();
  ASSERT_EQ(samplers_.size(), 2U);
  EXPECT_TRUE(collectors_[0].has_ended());
  ASSERT_EQ(samplers_[1].waiting(), 2U);
  samplers_[0].answer(late, batch_of(late));
  system_.run();
  EXPECT_EQ(inferrer_.waiting(), 0U) << "the answer of the old path is dropped";
  const auto again = samplers_[1].take<SampleBatch>();
  EXPECT_EQ(again->seeds, first);
  samplers_[1].answer(again, batch_of(again));
  system_.run();
  finish_layer(0);

  ASSERT_OK_AND_ASSIGN(const auto result, director_.answer_to<net::InferResult>(asked));
  EXPECT_EQ(result->nodes, 3U);
}

TEST_F(EvaluatorTest, ABlockThatLostItsCollectorWaitsForTheNextPath) {
  start();
  const auto asked = ask(1, 0);
  give_parameters();

  sampler().fail(sampler().take<SampleBatch>(), Error(Errc::peer_lost, "the collector ended"));
  system_.run();
  EXPECT_FALSE(director_.is_answered(asked));
  collectors_[0].end();
  system_.run();
  finish_layer(0);

  EXPECT_OK(director_.answer_to<net::InferResult>(asked));
}

TEST_F(EvaluatorTest, ABlockWhoseComputationIsUnderWayOutlivesItsDataPath) {
  start();
  const auto asked = ask(1, 0);
  give_parameters();
  sample();

  samplers_[0].end();
  system_.run();
  EXPECT_EQ(samplers_[1].waiting(), 1U) << "the other block";
  finish_layer(0);

  ASSERT_OK_AND_ASSIGN(const auto result, director_.answer_to<net::InferResult>(asked));
  EXPECT_EQ(result->nodes, 3U);
}

TEST_F(EvaluatorTest, ADataPathThatIsLostTooOftenEndsTheEvaluatorWithTheCause) {
  start();
  const auto asked = ask(1, 0);
  give_parameters();

  for (std::uint32_t i = 0; i <= BatchClient::max_restarts; ++i) {
    sampler().end();
    system_.run();
  }

  EXPECT_EQ(samplers_.size(), 1 + BatchClient::max_restarts);
  EXPECT_ERROR(director_.answer_to<net::InferResult>(asked), Errc::peer_lost,
               "exact inference on host 0: a sampler or the collector ended 6 times in a row");
  EXPECT_TRUE(inferrer_.has_ended()) << "it ends with the evaluator";
}

TEST_F(EvaluatorTest, AnErrorOfTheDataPathFailsTheLayerAndLeavesTheNextOneFree) {
  start();
  const auto failed = ask(1, 0);
  give_parameters();
  sample();
  const auto computing = inferrer_.take<InferBlock>();

  sampler().fail(sampler().take<SampleBatch>(), Error(Errc::data_corruption, "page 3 is torn"));
  system_.run();
  EXPECT_ERROR(director_.answer_to<net::InferResult>(failed), Errc::data_corruption,
               "exact inference on host 0: page 3 is torn");
  infer(computing, 0);
  EXPECT_EQ(sampler().waiting(), 0U);
  const auto again = ask(1, 0);
  give_parameters();
  finish_layer(0);

  EXPECT_OK(director_.answer_to<net::InferResult>(again));
}

TEST_F(EvaluatorTest, AnErrorOfTheInferrerFailsTheLayer) {
  start();
  const auto asked = ask(1, 0);
  give_parameters();
  sample();

  inferrer_.fail(inferrer_.take<InferBlock>(), Error(Errc::cuda_failure, "device 0 is gone"));
  system_.run();

  EXPECT_ERROR(director_.answer_to<net::InferResult>(asked), Errc::cuda_failure,
               "exact inference on host 0: device 0 is gone");
}

TEST_F(EvaluatorTest, ALostTrainerFailsTheFirstLayer) {
  start();
  trainer_ = {};
  EXPECT_ERROR(director_.answer_to<net::InferResult>(ask(1, 0)), Errc::peer_lost,
               "there is no trainer to read parameters from");

  trainer_ = rank_0_.handle();
  const auto silent = ask(1, 0);
  system_.run_for(4999ms);
  EXPECT_FALSE(director_.is_answered(silent));
  system_.run_for(1ms);
  EXPECT_ERROR(director_.answer_to<net::InferResult>(silent), Errc::deadline_exceeded,
               "exact inference on host 0: reading the parameters of this host's trainer");

  rank_0_.end();
  EXPECT_ERROR(director_.answer_to<net::InferResult>(ask(1, 0)), Errc::peer_lost,
               "exact inference on host 0: reading the parameters of this host's trainer");
}

TEST_F(EvaluatorTest, ParametersOfAnotherSizeFailTheLayer) {
  start();
  const auto asked = ask(1, 0);

  rank_0_.answer(rank_0_.take<net::ReadParameters>(), net::ParameterVector{});
  system_.run();

  EXPECT_ERROR(director_.answer_to<net::InferResult>(asked), Errc::data_corruption,
               "parameters of the trainer: expected");
}

TEST_F(EvaluatorTest, OutputsThatAHolderDoesNotKeepFailTheLayer) {
  start();
  const auto asked = ask(1, 0);
  give_parameters();
  compute_blocks(0);

  holder_0_.fail(holder_0_.take<StoreTensor>(), Error(Errc::invalid_argument, "expected 4 rows"));
  system_.run();

  EXPECT_ERROR(director_.answer_to<net::InferResult>(asked), Errc::invalid_argument,
               "exact inference on host 0: expected 4 rows");
}

TEST_F(EvaluatorTest, WithReplicasOutputsThatALostHolderDoesNotKeepAreNotWaitedFor) {
  host_->holders[0] = nearest_first({&holder_0_, &holder_1_});
  start();
  const auto asked = ask(1, 0);
  give_parameters();
  compute_blocks(0);

  holder_0_.end();
  system_.run_for(0ms);

  EXPECT_OK(director_.answer_to<net::InferResult>(asked));
}

TEST_F(EvaluatorTest, ItsEndEndsDataPathAndInferrer) {
  start();

  caf::anon_send_exit(evaluator_, caf::exit_reason::user_shutdown);
  system_.run();

  EXPECT_TRUE(samplers_[0].has_ended());
  EXPECT_TRUE(collectors_[0].has_ended());
  EXPECT_TRUE(inferrer_.has_ended());
}

// ---- signs of life, scores ----

TEST_F(EvaluatorTest, SignsOfLifeCountBlocksAndSayWhatIsWaitedFor) {
  start();
  EXPECT_TRUE(ping().waits) << "for a command";
  ask(1, 0);
  give_parameters();
  EXPECT_TRUE(ping().waits) << "for batches";

  sample();
  EXPECT_FALSE(ping().waits) << "a block is computed";
  EXPECT_EQ(ping().work, 0U);
  infer(0);
  EXPECT_EQ(ping().work, 1U);
  finish_layer(0);
  EXPECT_EQ(ping().work, 3U);
  EXPECT_TRUE(ping().waits);

  ask(1, 1);
  finish_layer(0);
  EXPECT_EQ(ping().work, 6U) << "of all layers";
}

TEST_F(EvaluatorTest, ScoresAreOfTheSeedsOnThisHost) {
  start();
  EXPECT_ERROR(scores("test"), Errc::failed_precondition, "before exact inference");

  infer_all(1, 10);
  ASSERT_OK_AND_ASSIGN(const auto result, scores("test"));

  const auto& nodes = cut_.parts[0]->nodes[0];
  EXPECT_EQ(result->positions, (std::vector<std::uint64_t>{1, 2})) << "of the seeds 4, 2, 0, 5";
  EXPECT_EQ(result->cols, 2U);
  const auto outputs = result->outputs.as<float>();
  ASSERT_EQ(outputs.size(), 4U);
  EXPECT_EQ(outputs[0], 10.0F + static_cast<float>(nodes.local(cut_.global(2))));
  EXPECT_EQ(outputs[2], 10.0F + static_cast<float>(nodes.local(cut_.global(0))));
  EXPECT_EQ(result->labels, (std::vector<std::int64_t>{2, 0}));
  EXPECT_ERROR(scores("val"), Errc::failed_precondition, "no such seeds");
}

TEST_F(EvaluatorTest, ScoresOfAReplicaAreLeftToItsOtherHost) {
  host_->parts[PartId{1}] = cut_.parts[1];
  host_->replicas = {PartId{1}};
  host_->holders[0] = nearest_first({&holder_0_, &holder_1_});
  host_->holders[1] = nearest_first({&holder_1_, &holder_0_});
  start();
  for (std::uint32_t layer = 0; layer < 2; ++layer) {
    ask(1, layer);
    if (layer == 0) {
      give_parameters();
    }
    finish_layer(0);
    holder_1_.answer(holder_1_.take<StoreTensor>(), net::Done{});
    system_.run();
  }

  ASSERT_OK_AND_ASSIGN(const auto result, scores("test"));

  EXPECT_EQ(result->positions, (std::vector<std::uint64_t>{1, 2}));
}

TEST_F(EvaluatorTest, NodesOfAPartThatIsOnlyReadHereAreInferredByItsHolders) {
  host_->parts[PartId{1}] = cut_.parts[1];
  host_->replicas = {PartId{1}};
  host_->mapped = {PartId{1}};
  start();

  const auto asked = ask(1, 0);
  give_parameters();
  finish_layer(0);

  ASSERT_OK_AND_ASSIGN(const auto result, director_.answer_to<net::InferResult>(asked));
  EXPECT_EQ(result->nodes, 3U) << "of part 0 alone";
  EXPECT_EQ(holder_1_.waiting(), 0U);
}

TEST_F(EvaluatorTest, OutputsOfAPartWithoutReplicasAreWaitedForBesideOthersThatHaveThem) {
  host_->parts[PartId{1}] = cut_.parts[1];
  host_->holders[0] = nearest_first({&holder_0_, &holder_1_});
  start();
  const auto asked = ask(1, 0);
  give_parameters();
  finish_layer(0);

  holder_1_.fail(holder_1_.take<StoreTensor>(), Error(Errc::invalid_argument, "expected 4 rows"));
  system_.run();

  EXPECT_ERROR(director_.answer_to<net::InferResult>(asked), Errc::invalid_argument,
               "exact inference on host 0: expected 4 rows");
}

TEST_F(EvaluatorTest, ANewRoundTakesTheScoresOfTheOldOneAway) {
  start();
  infer_all(1, 10);

  ask(2, 0);
  give_parameters();
  EXPECT_ERROR(scores("test"), Errc::failed_precondition, "before exact inference");
  finish_layer(0);
  ask(2, 1);
  finish_layer(20);

  ASSERT_OK_AND_ASSIGN(const auto result, scores("test"));
  EXPECT_GE(result->outputs.as<float>()[0], 20.0F);
}

// ---- links ----

/// Five links to test, two of them in a batch; this evaluator has every second batch of `hosts`.
class LinkEvaluatorTest : public EvaluatorTest {
 protected:
  LinkEvaluatorTest() {
    nn::ModelOptions model;
    model.in_dim = 2;
    model.hidden = 3;
    model.out_dim = 2;
    model.decoder.kind = "dot";
    auto made = nn::make_network(model);
    EXPECT_OK(made);
    network_ = *std::move(made);
    options_.inference.network = network_;
    options_.inference.seeds.clear();
    std::vector<std::uint64_t> ends;
    for (const std::uint64_t source : {0U, 1U, 2U, 3U, 4U}) {
      for (const std::uint64_t end : {source, source + 1}) {
        ends.push_back(end);
      }
    }
    const auto rows = Segment::of(std::move(ends));
    auto links = std::make_shared<const LinkList>(
        EdgeTypeId{0}, rows.as<std::uint64_t>(), 2, std::span<const std::int64_t>(),
        std::span<const float>(), std::vector<std::shared_ptr<const void>>{rows.owner});
    SampleOptions sample;
    sample.fanout = {{3}, {2}};
    sample.links = LinkOptions{};
    options_.links = {.orders = {{"test", std::make_shared<const SeedOrder>(links, 2, 1, false)}},
                      .sample = std::make_shared<const SampleOptions>(std::move(sample)),
                      .task = {.kind = "link", .loss = "bce"},
                      .cols = 1,
                      .host = 0,
                      .hosts = 1};
  }

  std::uint64_t ask_scores(const std::string& role, std::uint32_t epoch = 0) {
    const auto number =
        director_.request(evaluator_, net::ScoreRequest{.epoch = epoch, .role = role});
    system_.run();
    return number;
  }
  /// The sampler answers its oldest request of links.
  void sample_links() {
    const auto asked = sampler().take<SampleBatch>();
    ASSERT_TRUE(asked->links);
    auto ready = batch_of(asked);
    auto sampled = *ready.batch.sampled;
    sampled.links = BatchLinks{};
    sampled.links->sources.resize(asked->links->sources.size());
    sampled.links->destinations.resize(asked->links->sources.size());
    ready.batch.sampled = std::make_shared<const SampledBatch>(std::move(sampled));
    sampler().answer(asked, std::move(ready));
    system_.run();
  }
  void score_all(float value) {
    while (sampler().waiting() + inferrer_.waiting() > 0) {
      inferrer_.waiting() > 0 ? infer(value) : sample_links();
    }
  }
};

TEST_F(LinkEvaluatorTest, ScoresBatchesWithoutHopsWhoseRowsAreTheLastOutputs) {
  start();
  infer_all(1, 0);

  ask_scores("test");
  const auto first = sampler().take<SampleBatch>();
  EXPECT_EQ(first->sample->fanout.size(), 0U);
  EXPECT_EQ(first->collect->source.kind, RowSource::Kind::tensor);
  EXPECT_EQ(first->collect->source.tensor, 2U);
  EXPECT_EQ(first->links->sources.size(), 2U);
  EXPECT_EQ(sampler().waiting(), 1U);  // two batches at once
}

TEST_F(LinkEvaluatorTest, GivesTheScoresOfItsBatchesInOrder) {
  options_.links.host = 1;
  options_.links.hosts = 2;
  start();
  infer_all(1, 0);
  const auto one = ask_scores("test");
  score_all(7);
  ASSERT_OK_AND_ASSIGN(const auto second, director_.answer_to<net::ScoreResult>(one));
  EXPECT_EQ(second->positions, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(second->outputs.as<float>()[0], 7);
  EXPECT_EQ(second->outputs.as<float>()[1], 8);
  EXPECT_EQ(second->cols, 1U);
}

TEST_F(LinkEvaluatorTest, RepeatsOfARequestAreAnsweredTogetherAndAfterwards) {
  start();
  infer_all(1, 0);
  const auto asked = ask_scores("test");
  const auto again = ask_scores("test");
  score_all(1);
  const auto late = ask_scores("test");

  for (const auto number : {asked, again, late}) {
    ASSERT_OK_AND_ASSIGN(const auto scores, director_.answer_to<net::ScoreResult>(number));
    EXPECT_EQ(scores->positions.size(), 5U);
  }
  EXPECT_EQ(sampler().waiting(), 0U);
}

TEST_F(LinkEvaluatorTest, AnotherInferenceDropsTheScoresUnderWayAndThoseBefore) {
  start();
  infer_all(1, 0);
  const auto asked = ask_scores("test");
  sample_links();
  ask(2, 0);
  EXPECT_ERROR(director_.answer_to<net::ScoreResult>(asked), Errc::cancelled,
               "a layer was asked for");
  EXPECT_ERROR(scores("test"), Errc::failed_precondition, "before exact inference");
}

TEST_F(LinkEvaluatorTest, RefusesScoresBeforeInferenceAndOfUnknownLinks) {
  start();
  EXPECT_ERROR(scores("test"), Errc::failed_precondition, "before exact inference");
  infer_all(1, 0);
  EXPECT_ERROR(scores("val"), Errc::failed_precondition, "of which it has no links");
}

TEST_F(LinkEvaluatorTest, AnErrorOfTheSamplerEndsThePassAndTheNextOneBegins) {
  start();
  infer_all(1, 0);
  const auto asked = ask_scores("test");
  sampler().fail(sampler().take<SampleBatch>(), Error(Errc::not_found, "no such link"));
  system_.run();
  EXPECT_ERROR(director_.answer_to<net::ScoreResult>(asked), Errc::not_found, "no such link");
  while (sampler().waiting() > 0) {
    sample_links();  // of the pass before: dropped
  }

  const auto next = ask_scores("test");
  score_all(2);
  ASSERT_OK_AND_ASSIGN(const auto scores, director_.answer_to<net::ScoreResult>(next));
  EXPECT_EQ(scores->positions.size(), 5U);
}

}  // namespace
}  // namespace troupe
