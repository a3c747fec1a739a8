// A trainer whose gradients stay on a device: when it launches the mean, and what ends its wait for a rank that is
// lost.
#include "actors/local_messages.hpp"
#include "actors/trainer.hpp"
#include "runtime/wire/messages.hpp"
#include "tests/actors/scripted_system.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/fake_means.hpp"

namespace troupe {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t device_parameters = 3 * 2 * 2 + 2;  // one layer, 3 to 2

/// Rank 0: brings a share of weight 1 for each that it takes, and decides as ReductionRoute does there.
struct FirstRankState {
  std::uint64_t vectors = 0;  ///< Shares and sums with values
  std::uint64_t facts = 0;    ///< Without
};
caf::behavior first_rank(caf::stateful_actor<FirstRankState>* self, CommunicatorId id) {
  return {
      [self, id](const Ref<net::GradientChunk>& share) -> Ref<net::GradientSum> {
        const bool joined = share->offer.joined;
        const bool by_devices = self->state.facts > 0 || self->state.vectors > 1;
        ++(by_devices ? self->state.facts : self->state.vectors);
        const std::size_t size = by_devices ? 0 : device_parameters / 2;
        net::GradientChunk mine;
        mine.generation = share->generation;
        mine.step = share->step;
        mine.weight = 1;
        mine.values = Segment::of(std::vector<float>(size, 0.5F));
        self->request(caf::actor_cast<caf::actor>(self->current_sender()), 10s,
                      Ref<net::GradientChunk>(std::move(mine)))
            .then([](const Ref<net::GradientSum>&) {}, [](const caf::error&) {});
        net::GradientSum sum;
        sum.step = share->step;
        sum.values = Segment::of(std::vector<float>(size, 0.5F));
        sum.weight = 1;
        sum.communicator = id;
        sum.by_devices = joined;
        return Ref<net::GradientSum>(std::move(sum));
      },
      [self](caf::ok_atom) {
        self->state = {};  // the next generation begins with the links
      },
  };
}

/// Rank 1 of 2, without batches: it adds nothing in any step, of which each epoch has one.
class TrainerOnDevice : public ::testing::Test {
 protected:
  using FakeNetwork = testing::FakeNetwork;

  void SetUp() override {
    auto seeds = std::make_shared<SeedList>();
    seeds->original = {OriginalId{0}};
    seeds->global = {NodeId{0}};
    auto collect = std::make_shared<CollectOptions>();
    collect->digest = DigestMode::off;
    TrainerOptions options;
    options.rank = Rank{1};
    options.world = 2;
    options.collect = collect;
    options.orders["train"] = std::make_shared<const SeedOrder>(seeds, 1, 1, true);
    options.learner.model.layers = 1;
    options.learner.model.in_dim = 3;
    options.learner.model.out_dim = 2;
    options.on_step = [this](const StepReport& step) { ways_.push_back(step.by_devices); };
    auto learner = spawn_learner(*system_, options.learner, system_.executor());
    ASSERT_OK(learner);
    learner->means =
        std::make_shared<testing::FakeMeans>(network_, DevicePlace{"a network", "its device"});
    system_.add("learner", learner->actor);
    trainer_ = system_.add("trainer", spawn_trainer(
                                          *system_, std::move(options),
                                          [this] {
                                            return DataPath{.samplers = {sampler_.handle()},
                                                            .collector = collector_.handle()};
                                          },
                                          *std::move(learner)));
    first_ = system_.add("rank 0", (*system_).spawn(first_rank, network_.make_id()));
    caf::anon_send(trainer_, Ref<TrainerPeers>(TrainerPeers{{first_, first_}}));
    system_.run();
  }
  std::uint64_t begin_epoch(std::uint32_t epoch, std::uint32_t generation = 0) {
    const auto asked =
        director_.request(trainer_, net::EpochRequest{.generation = generation, .epoch = epoch});
    system_.run();
    return asked;
  }
  template <class Reply, class Request>
  Result<Ref<Reply>> ask(Request request) {
    const auto asked = director_.request(trainer_, std::move(request));
    system_.run();
    return director_.answer_to<Reply>(asked);
  }
  /// The communicator that it has joined.
  FakeNetwork::Group& group() { return *network_.group({7, network_.made()}, 2); }
  void other_rank_launches() {
    group().joined[0] = true;
    group().queues[0].push_back({{.vector = other_, .weight = 1, .after = [] {}, .done = {}}});
    group().queues[0].back().work.done = [](const Status& status) { EXPECT_OK(status); };
  }

  FakeNetwork network_;
  std::vector<float> other_ = std::vector<float>(device_parameters, 0.5F);
  std::vector<bool> ways_;
  testing::ScriptedSystem system_;
  testing::ScriptedActor director_{system_, "director"};
  testing::ScriptedActor sampler_{system_, "sampler"};
  testing::ScriptedActor collector_{system_, "collector"};
  caf::actor trainer_;
  caf::actor first_;
};

TEST_F(TrainerOnDevice, LaunchesTheMeanWhenItHasTheFactsOfAllRanks) {
  for (std::uint32_t epoch = 0; epoch < 2; ++epoch) {
    ASSERT_OK(director_.answer_to<net::EpochResult>(begin_epoch(epoch)));
  }
  EXPECT_EQ(ways_, (std::vector<bool>{false, false}));
  const auto before = ask<net::ParameterVector>(net::ReadParameters{});
  ASSERT_OK(before);

  const auto third = begin_epoch(2);
  EXPECT_FALSE(director_.is_answered(third)) << "the other rank has not launched";
  EXPECT_EQ(group().queues[1].size(), 1U);
  ASSERT_OK_AND_ASSIGN(const auto waits, ask<net::Pong>(net::Ping{}));
  EXPECT_TRUE(waits->waits) << "it waits for another rank";
  other_rank_launches();
  EXPECT_TRUE(network_.end_one());
  system_.run();
  ASSERT_OK(director_.answer_to<net::EpochResult>(third));
  EXPECT_EQ(ways_, (std::vector<bool>{false, false, true}));
  const auto after = ask<net::ParameterVector>(net::ReadParameters{});
  ASSERT_OK(after);
  EXPECT_FALSE(std::ranges::equal((*before)->values.as<float>(), (*after)->values.as<float>()));
}

TEST_F(TrainerOnDevice, ARestoreEndsTheWaitForALostRank) {
  for (std::uint32_t epoch = 0; epoch < 2; ++epoch) {
    ASSERT_OK(director_.answer_to<net::EpochResult>(begin_epoch(epoch)));
  }
  ASSERT_OK_AND_ASSIGN(const auto state, ask<net::StateReply>(net::TakeState{0}));
  const auto third = begin_epoch(2);
  EXPECT_EQ(group().queues[1].size(), 1U);
  auto& lost = group();

  caf::anon_send(first_, caf::ok_atom::value);
  net::Restore restore;
  restore.generation = 1;
  restore.state = state->state;
  ASSERT_OK(ask<net::Done>(restore));
  EXPECT_ERROR(director_.answer_to<net::EpochResult>(third), Errc::cancelled, "rolled back");
  EXPECT_TRUE(lost.gone[1]);
  EXPECT_TRUE(lost.queues[1].empty());
  ASSERT_OK_AND_ASSIGN(const auto again, ask<net::StateReply>(net::TakeState{1}));
  EXPECT_EQ(again->state->parameters, state->state->parameters);

  // Over the links at first.
  ASSERT_OK(director_.answer_to<net::EpochResult>(begin_epoch(2, 1)));
  EXPECT_EQ(ways_, (std::vector<bool>{false, false, false}));
}

TEST_F(TrainerOnDevice, TheEndOfATrainerAbortsItsCommunicator) {
  for (std::uint32_t epoch = 0; epoch < 3; ++epoch) {
    begin_epoch(epoch);
  }
  EXPECT_EQ(group().queues[1].size(), 1U);
  caf::anon_send_exit(trainer_, caf::exit_reason::kill);
  system_.run();
  EXPECT_TRUE(group().gone[1]);
  EXPECT_TRUE(group().queues[1].empty());
}

}  // namespace
}  // namespace troupe
