#include "actors/director.hpp"

#include "actors/error.hpp"
#include "actors/message.hpp"
#include "tests/support/expect.hpp"

#include <caf/all.hpp>

#include <future>

namespace troupe {
namespace {

using namespace std::chrono_literals;

/// A trainer whose first `good_epochs` epochs go well; then it does `then`.
enum class Then { fail, die };
caf::behavior fake_trainer(caf::event_based_actor* self, std::uint32_t good_epochs, Then then) {
  return {
      [=](const Ref<net::EpochRequest>& request) -> caf::result<Ref<net::EpochResult>> {
        if (request->epoch < good_epochs) {
          net::EpochResult result;
          result.epoch = request->epoch;
          result.loss_weight = 1;
          return Ref<net::EpochResult>(result);
        }
        if (then == Then::die) {
          self->quit(caf::exit_reason::kill);
          return self->make_response_promise<Ref<net::EpochResult>>();
        }
        return to_caf(Error(Errc::deadline_exceeded, "holder of part 1: no answer"));
      },
      [](const Ref<net::KeepBest>&) { return Ref<net::Done>(net::Done{}); },
      [](const Ref<net::Restore>&) { return Ref<net::Done>(net::Done{}); },
      [](const Ref<net::TakeState>&) {
        return Ref<net::StateReply>(net::StateReply{std::make_shared<const net::TrainingState>()});
      },
  };
}

struct Ended {
  Result<RunRecord> record = Error(Errc::internal, "still running");
  std::vector<std::uint32_t> epochs;
};

Ended direct(std::uint32_t good_epochs, Then then) {
  caf::actor_system_config config;
  caf::actor_system system(config);
  std::promise<Result<RunEnd>> promise;
  auto future = promise.get_future();
  Ended ended;
  DirectorOptions options;
  const std::vector<caf::actor> trainers = {system.spawn(fake_trainer, 100U, then),
                                            system.spawn(fake_trainer, good_epochs, then)};
  options.world = 2;
  options.trainer = [trainers](Rank rank) { return trainers[raw(rank)]; };
  options.start = std::make_shared<const Checkpoint>();
  options.io = std::make_shared<InlineExecutor>();
  options.conductor.epochs = 5;
  options.conductor.world = 2;
  options.conductor.train_only = true;
  options.progress = [&](const EpochRecord& epoch) { ended.epochs.push_back(epoch.epoch + 1); };
  options.on_end = [&](Result<RunEnd> end) { promise.set_value(std::move(end)); };
  spawn_director(system, std::move(options));
  if (future.wait_for(10s) == std::future_status::ready) {
    auto end = future.get();
    ended.record = end ? Result<RunRecord>(end->record) : Result<RunRecord>(end.error());
  }
  for (const auto& trainer : trainers) {
    caf::anon_send_exit(trainer, caf::exit_reason::kill);
  }
  return ended;
}

TEST(Director, LeadsAllEpochsAndGivesTheRecord) {
  const auto ended = direct(100, Then::fail);

  ASSERT_OK(ended.record);
  EXPECT_EQ(ended.epochs, (std::vector<std::uint32_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ((*ended.record).epochs.size(), 5U);
}

TEST(Director, EndsWithTheErrorOfTheTrainerThatFailed) {
  const auto ended = direct(2, Then::fail);

  EXPECT_ERROR(ended.record, Errc::deadline_exceeded, "trainer 1: holder of part 1: no answer");
  EXPECT_EQ(ended.epochs, (std::vector<std::uint32_t>{1, 2}));
}

TEST(Director, EndsWhenATrainerDies) {
  const auto ended = direct(1, Then::die);

  EXPECT_ERROR(ended.record, Errc::peer_lost, "trainer 1");
}

}  // namespace
}  // namespace troupe
