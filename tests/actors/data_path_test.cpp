// Holder, sampler and collector as actors, together: answers and bounds.
#include "actors/collector.hpp"
#include "actors/error.hpp"
#include "actors/gate.hpp"
#include "actors/holder.hpp"
#include "actors/local_messages.hpp"
#include "actors/sampler.hpp"
#include "runtime/feature/tensor_rows.hpp"
#include "runtime/net/sim_network.hpp"
#include "runtime/wire/messages.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/graph_builder.hpp"
#include "tests/support/held_executor.hpp"
#include "tests/support/one_section.hpp"
#include "tests/support/replicas.hpp"

#include <caf/all.hpp>

namespace troupe {
namespace {

using namespace std::chrono_literals;

/// One host that holds part 0 of two; part 1 is behind its holder.
class DataPathTest : public ::testing::Test {
 protected:
  DataPathTest() {
    auto graph = testing::skewed_graph(40, 4);
    testing::add_features(graph.nodes[0], 3);
    cut_ = testing::cut_graph(graph, 2);
    host_->graph = std::make_shared<const GraphInfo>(cut_.info);
    host_->book = cut_.book;
    host_->parts[PartId{0}] = cut_.parts[0];
    host_->executor = std::make_shared<InlineExecutor>();
    for (const auto& part : cut_.parts) {
      holders_.push_back(spawn(spawn_holder(system_, part, host_->executor)));
      host_->holders.push_back(testing::only(holders_.back()));
    }
    auto sample = std::make_shared<SampleOptions>();
    sample->fanout = {{3}, {3}};
    sample_ = sample;
    auto collect = std::make_shared<CollectOptions>();
    collect->decoders = {*RowDecoder::create(cut_.info.node_types[0], Normalize::none)};
    collect->digest = DigestMode::full;
    collect_ = collect;
  }
  ~DataPathTest() override {
    for (const auto& actor : actors_) {
      caf::anon_send_exit(actor, caf::exit_reason::kill);
    }
  }

  caf::actor spawn(caf::actor actor) {
    actors_.push_back(actor);
    return actor;
  }
  caf::actor start_sampler() {
    return spawn(spawn_sampler(system_, host_, spawn(spawn_collector(system_, host_))));
  }
  Ref<SampleBatch> batch(std::vector<std::uint64_t> originals) const {
    return Ref<SampleBatch>(SampleBatch{
        {Purpose::train, 0, 7}, NodeTypeId{0}, cut_.globals(originals), sample_, collect_});
  }

  template <class Reply, class Request>
  Result<Ref<Reply>> ask(const caf::actor& to, const Request& request) {
    caf::scoped_actor self(system_);
    Result<Ref<Reply>> result = Error(Errc::internal, "no answer");
    self->request(to, 10s, request)
        .receive([&](const Ref<Reply>& reply) { result = reply; },
                 [&](const caf::error& error) { result = from_caf(error); });
    return result;
  }

  caf::actor_system_config config_;
  caf::actor_system system_{config_};
  testing::CutGraph cut_;
  std::vector<caf::actor> holders_;  ///< [parts]
  std::shared_ptr<HostContext> host_ = std::make_shared<HostContext>();
  std::shared_ptr<const SampleOptions> sample_;
  std::shared_ptr<const CollectOptions> collect_;
  std::vector<caf::actor> actors_;
};

TEST_F(DataPathTest, ABatchComesWithRowsAndLabelsOfBothParts) {
  ASSERT_OK_AND_ASSIGN(const auto ready, ask<ReadyBatch>(start_sampler(), batch({1, 2, 3, 1})));

  const auto& sampled = *ready->batch.sampled;
  const auto& rows = ready->batch.rows[0];
  EXPECT_EQ(sampled.seed_index, (std::vector<std::uint32_t>{0, 1, 2, 0}));
  EXPECT_EQ(ready->batch.labels, (std::vector<std::int64_t>{1, 2, 3, 1}));
  for (std::size_t i = 0; i < sampled.nodes[0].ids.size(); ++i) {
    const auto original = cut_.original(sampled.nodes[0].ids[i]);
    EXPECT_EQ(raw(rows.original_ids[i]), original);
    EXPECT_EQ(rows.features.view().row(i)[2], static_cast<float>(original) + 0.25F);
  }
  EXPECT_GT(ready->trace.rows_remote, 0U);
  EXPECT_LT(ready->trace.rows_remote, ready->trace.rows);
}

TEST_F(DataPathTest, AnEmptyBatchIsAnswered) {
  ASSERT_OK_AND_ASSIGN(const auto ready, ask<ReadyBatch>(start_sampler(), batch({})));

  EXPECT_EQ(ready->batch.sampled->num_nodes(), 0U);
  EXPECT_TRUE(ready->batch.labels.empty());
}

TEST_F(DataPathTest, SeedsThatDoNotExistAreRefused) {
  auto message = *batch({1});
  message.seeds = {NodeId{40}};

  EXPECT_ERROR(ask<ReadyBatch>(start_sampler(), Ref<SampleBatch>(message)), Errc::invalid_argument,
               "expected ids below 40, found 40");
}

TEST_F(DataPathTest, ANodeTypeThatDoesNotExistIsRefused) {
  auto message = *batch({});
  message.seed_type = NodeTypeId{1};

  EXPECT_ERROR(ask<ReadyBatch>(start_sampler(), Ref<SampleBatch>(message)), Errc::invalid_argument,
               "expected a node type below 1, found 1");
}

TEST_F(DataPathTest, ASamplerBehindALinkGivesTheSameBatch) {
  host_->sample = sample_;
  host_->collect = collect_;
  const auto sampler = start_sampler();
  net::RealTimeDriver driver;
  auto [left, right] = net::make_sim_link(driver, {});
  const auto near = Gate::make(system_, std::move(left), {});
  const auto far = Gate::make(system_, std::move(right), {});
  far->export_actor({Role::holder, 9}, sampler);
  const auto proxy = near->proxy({Role::holder, 9});
  auto message = *batch({1, 2, 3, 1});
  message.options = BatchOptions::job;

  ASSERT_OK_AND_ASSIGN(const auto here, ask<ReadyBatch>(sampler, Ref<SampleBatch>(message)));
  ASSERT_OK_AND_ASSIGN(const auto away, ask<ReadyBatch>(proxy, Ref<SampleBatch>(message)));
  message.options = BatchOptions::own;
  const auto own = ask<ReadyBatch>(proxy, Ref<SampleBatch>(message));

  EXPECT_EQ(digest_batch(away->batch, DigestMode::full),
            digest_batch(here->batch, DigestMode::full));
  EXPECT_EQ(away->trace.rows, here->trace.rows);
  EXPECT_ERROR(own, Errc::invalid_argument, "only those of the job go from process to process");
  near->close(Error(Errc::cancelled, "test over"));
  EXPECT_TRUE(near->wait_closed(5s) && far->wait_closed(5s));
}

TEST_F(DataPathTest, AHolderTakesItsFillOfRequestsAndThenRefuses) {
  const auto held = std::make_shared<testing::HeldExecutor>();
  const auto holder = spawn(spawn_holder(system_, cut_.parts[0], held));
  HopRequest request = testing::one_hop_request();
  request.sections[0].fanout = 1;
  const Ref<HopRequest> message(request);
  for (std::size_t i = 0; i < holder_max_under_way; ++i) {
    caf::anon_send(holder, message);
  }
  EXPECT_ERROR(ask<HopReply>(holder, message), Errc::overloaded, "65536 requests under way");

  EXPECT_EQ(held->run_all(), holder_max_under_way);
  EXPECT_OK(ask<net::Done>(
      holder, Ref<StoreTensor>(StoreTensor{
                  1, NodeTypeId{0},
                  std::make_shared<Matrix>(Matrix::zeros(cut_.parts[0]->nodes[0].count, 1))})));
}

TEST_F(DataPathTest, AHolderKeepsTensorsAndServesTheirRows) {
  const auto& holder = holders_[0];
  const auto owned = cut_.parts[0]->nodes[0].count;
  auto rows = std::make_shared<Matrix>(Matrix::zeros(owned, 2));
  rows->data()[3] = 5.0F;  // second node, second column
  RowRequest request = testing::one_row_request({NodeId{1}});
  request.source = {RowSource::Kind::tensor, 1};

  EXPECT_ERROR(ask<RowReply>(holder, Ref<RowRequest>(request)), Errc::not_found, "tensor 1");
  ASSERT_OK(ask<net::Done>(holder, Ref<StoreTensor>(StoreTensor{1, NodeTypeId{0}, rows})));
  ASSERT_OK_AND_ASSIGN(const auto reply, ask<RowReply>(holder, Ref<RowRequest>(request)));

  EXPECT_EQ(reply->rows.as<float>()[1], 5.0F);
}

}  // namespace
}  // namespace troupe
