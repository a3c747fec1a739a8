// Checkpoints of sessions: runs of a user's own trainer go on exactly where they were interrupted.
#include "tests/sim/session_support.hpp"

#include <atomic>
#include <map>
#include <numeric>
#include <thread>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using testing::all_nodes;
using testing::one_host;
using testing::Overrides;
using testing::RankFunction;
using testing::take_all;
using testing::two_hosts;
using testing::with;

/// Remembers per node and in common what depends on every batch in turn.
class Memory {
 public:
  explicit Memory(Session& session) : session_(session) {}

  Status train(const std::function<void()>& before_end_of_step) {
    TROUPE_RETURN_IF_ERROR(session_.make_tensor("seen"));
    session_.on_save([this] {
      const auto bytes = std::as_bytes(std::span(memory_));
      return std::vector<std::byte>(bytes.begin(), bytes.end());
    });
    session_.on_restore([this](std::span<const std::byte> bytes) {
      std::ranges::copy(bytes, std::as_writable_bytes(std::span(memory_)).begin());
      return ok_status();
    });
    for (auto e = session_.first_epoch(); e < session_.epochs(); ++e) {
      for (const Batch& batch : session_.epoch(e)) {
        TROUPE_RETURN_IF_ERROR(learn(batch));
        before_end_of_step();
        TROUPE_RETURN_IF_ERROR(session_.end_step());
      }
      TROUPE_RETURN_IF_ERROR(session_.status());
      memory_[1] += memory_[0];  // once after every epoch
    }
    return ok_status();
  }

  /// Of all that was learned; the same on all ranks.
  Result<Digest> digest() {
    DigestBuilder digest;
    digest.add_array(std::span<const float>(memory_));
    TROUPE_ASSIGN_OR_RETURN(const auto tensor, session_.tensor("seen"));
    TROUPE_ASSIGN_OR_RETURN(const auto rows, tensor.read(all_nodes()));
    digest.add_array(rows.as<float>());
    return digest.digest();
  }

 private:
  Status learn(const Batch& batch) {
    const auto x = batch.rows[0].features.view().flat();
    std::vector<float> sum = {std::accumulate(x.begin(), x.end(), 0.0F)};
    TROUPE_RETURN_IF_ERROR(session_.all_reduce_mean(sum, batch.labels.size()));
    memory_[0] = memory_[0] * 0.7F + sum[0];
    std::vector<NodeId> seeds;
    for (const auto at : batch.sampled->seed_index) {
      seeds.push_back(batch.sampled->nodes[0].ids[at]);
    }
    const std::vector<float> rows(seeds.size(), memory_[0]);
    TROUPE_ASSIGN_OR_RETURN(auto tensor, session_.tensor("seen"));
    return tensor.add(seeds, std::span<const float>(rows));  // a seed is in one rank's batch
  }

  Session& session_;
  std::vector<float> memory_ = {0, 0};
};

struct Learned {
  SessionOutcome outcome;
  Digest digest;
  std::vector<Checkpoint> checkpoints;
};

class SessionCheckpoints : public testing::SessionTest {
 protected:
  /// \param stop_at  asks for the end in this step; 0: never
  Learned learn(const Overrides& overrides, std::uint64_t stop_at = 0,
                std::shared_ptr<const Checkpoint> resume = nullptr) {
    Learned learned;
    SessionSetup setup;
    setup.resume = std::move(resume);
    const auto dir = folder_.path() / fmt::format("checkpoints-{}", runs_++);
    setup.write_checkpoint = [&](const Checkpoint& checkpoint) -> Status {
      testing::KeptCheckpoints kept(dir);
      SessionSetup writer;
      kept.keep_by(writer);
      TROUPE_RETURN_IF_ERROR(writer.write_checkpoint(checkpoint));
      learned.checkpoints.push_back(*kept.latest());
      return ok_status();
    };
    auto cluster = create(overrides, std::move(setup));
    if (!cluster) {
      learned.outcome.status = cluster.error();
      return learned;
    }
    (*cluster)->start([&](Session& session) -> Status {
      Memory learner(session);
      TROUPE_RETURN_IF_ERROR(learner.train([&] {
        if (session.rank() == Rank{0} && session.global_step() + 1 == stop_at) {
          (*cluster)->stop();
        }
      }));
      TROUPE_ASSIGN_OR_RETURN(const auto digest, learner.digest());
      TROUPE_RETURN_IF_ERROR(session.barrier(20s));
      if (session.rank() == Rank{0}) {
        learned.digest = digest;
      }
      return ok_status();
    });
    learned.outcome = (*cluster)->wait();
    return learned;
  }

 private:
  int runs_ = 0;
};

Status take_all_and_save(Session& session) {
  session.on_save([] { return std::vector<std::byte>(1); });
  return take_all(session);
}

const Overrides rarely = {"checkpoint.every.steps=1000"};

TEST_F(SessionCheckpoints, ARunInterruptedAtAnyStepGoesOnToTheSameBits) {
  const auto undisturbed = learn(two_hosts);
  ASSERT_OK(undisturbed.outcome.status);

  for (std::uint64_t step = 1; step <= 6; ++step) {
    const auto first = learn(with(two_hosts, rarely), step);
    EXPECT_ERROR(first.outcome.status, Errc::cancelled, "asked to end");
    ASSERT_EQ(first.checkpoints.size(), 1U);
    EXPECT_EQ(first.checkpoints[0].training.global_step, step);

    const auto second = learn(with(step % 2 == 0 ? one_host : two_hosts, rarely), 0,
                              std::make_shared<const Checkpoint>(first.checkpoints[0]));

    ASSERT_OK(second.outcome.status);
    EXPECT_EQ(second.outcome.steps, 6U);
    EXPECT_EQ(to_string(second.outcome.batches), to_string(undisturbed.outcome.batches)) << step;
    EXPECT_EQ(to_string(second.digest), to_string(undisturbed.digest)) << step;
  }
}

/// Makes each epoch twice; its state is how often it has made the one under way.
Status make_epochs_twice(Session& session) {
  std::uint8_t passes = 0;
  session.on_save([&] { return std::vector<std::byte>{static_cast<std::byte>(passes)}; });
  session.on_restore([&](std::span<const std::byte> bytes) {
    passes = std::to_integer<std::uint8_t>(bytes[0]);
    return ok_status();
  });
  for (auto e = session.first_epoch(); e < session.epochs(); ++e) {
    for (; passes < 2; ++passes) {
      for (const Batch& batch : session.epoch(e)) {
        static_cast<void>(batch);
      }
      TROUPE_RETURN_IF_ERROR(session.status());
    }
    passes = 0;
  }
  return ok_status();
}

TEST_F(SessionCheckpoints, ARunThatRepeatsEpochsGoesOnToTheSameBatchesFromAnyStep) {
  std::map<std::uint64_t, std::shared_ptr<const Checkpoint>> kept;
  SessionSetup setup;
  setup.write_checkpoint = [&](const Checkpoint& checkpoint) {
    kept[checkpoint.training.global_step] = std::make_shared<const Checkpoint>(checkpoint);
    return ok_status();
  };
  const auto undisturbed =
      run(with(two_hosts, {"checkpoint.every.steps=1"}), make_epochs_twice, std::move(setup));
  ASSERT_OK(undisturbed.status);
  ASSERT_EQ(undisturbed.steps, 12U);

  for (const auto& [step, checkpoint] : kept) {
    SessionSetup resumed;
    resumed.resume = checkpoint;
    const auto ran = run(two_hosts, make_epochs_twice, std::move(resumed));

    EXPECT_OK(ran.status);
    EXPECT_EQ(ran.steps, 12U) << step;
    EXPECT_EQ(to_string(ran.batches), to_string(undisturbed.batches)) << step;
  }
}

TEST_F(SessionCheckpoints, OfAnEndThatWasAskedForAreWrittenWhoeverSavesLast) {
  for (const auto slow : {Rank{0}, Rank{1}}) {
    std::atomic<int> checkpoints{0};
    SessionSetup setup;
    setup.write_checkpoint = [&](const Checkpoint& checkpoint) {
      EXPECT_EQ(checkpoint.training.blobs.size(), 2U);
      ++checkpoints;
      return ok_status();
    };
    auto cluster = create(with(two_hosts, rarely), std::move(setup));
    ASSERT_OK(cluster);
    (*cluster)->start([&](Session& session) -> Status {
      session.on_save([&] {
        std::this_thread::sleep_for(session.rank() == slow ? 200ms : 0ms);
        return std::vector<std::byte>(1);
      });
      for (const Batch& batch : session.epoch(0)) {
        static_cast<void>(batch);
        (*cluster)->stop();
        TROUPE_RETURN_IF_ERROR(session.end_step());
      }
      return session.status();
    });

    EXPECT_ERROR((*cluster)->wait().status, Errc::cancelled, "asked to end");
    EXPECT_EQ(checkpoints, 1) << "rank " << raw(slow);
  }
}

TEST_F(SessionCheckpoints, ComeWhenTheJobSaysSo) {
  const auto steps_of = [](const Learned& learned) {
    std::vector<std::uint64_t> steps;
    for (const auto& checkpoint : learned.checkpoints) {
      steps.push_back(checkpoint.training.global_step);
    }
    return steps;
  };
  using Steps = std::vector<std::uint64_t>;

  EXPECT_EQ(steps_of(learn(two_hosts)), Steps{});
  EXPECT_EQ(steps_of(learn(with(two_hosts, {"checkpoint.every.steps=2"}))), (Steps{2, 4, 6}));
  EXPECT_EQ(steps_of(learn(with(two_hosts, {"checkpoint.every.epochs=1"}))), (Steps{3, 6}));
  checkpoint_seconds_ = 1e-9;
  EXPECT_EQ(steps_of(learn(two_hosts)), (Steps{1, 2, 3, 4, 5, 6}));
}

TEST_F(SessionCheckpoints, HoldEachRanksBytesAndTheTensors) {
  const auto learned = learn(with(two_hosts, {"checkpoint.every.epochs=2"}));

  ASSERT_EQ(learned.checkpoints.size(), 1U);
  const auto& training = learned.checkpoints[0].training;
  EXPECT_EQ(training.blobs.at("rank 0").size(), 8U);
  EXPECT_EQ(training.blobs.at("rank 1").size(), 8U);
  EXPECT_TRUE(training.blobs.at("tensor \"seen\" of f32 [], nodes of node").empty());
  ASSERT_NE(learned.checkpoints[0].tensors, nullptr);
  EXPECT_EQ(learned.checkpoints[0].tensors->parts(), 2U);
  EXPECT_EQ(training.batches, learned.outcome.batches);
  EXPECT_NE(learned.checkpoints[0].job.find("\"batch_size\""), std::string::npos);
}

TEST_F(SessionCheckpoints, AreLostOnlyWithANote) {
  std::atomic<int> notes{0};
  SessionSetup setup;
  setup.write_checkpoint = [](const Checkpoint&) {
    return Status(Error(Errc::failed_precondition, "the disk is full"));
  };
  setup.say = [&](const std::string& text) {
    EXPECT_NE(text.find("the disk is full"), std::string::npos);
    ++notes;
  };

  const auto ran =
      run(with(two_hosts, {"checkpoint.every.steps=3"}), take_all_and_save, std::move(setup));

  EXPECT_OK(ran.status);
  EXPECT_EQ(notes, 2);
}

TEST_F(SessionCheckpoints, WithNothingOfTheProgramAreNotWritten) {
  std::atomic<int> written{0};
  std::vector<std::string> notes;
  SessionSetup setup;
  setup.write_checkpoint = [&](const Checkpoint&) {
    ++written;
    return ok_status();
  };
  setup.say = [&](const std::string& text) { notes.push_back(text); };  // rank 0 alone

  const auto ran = run(with(two_hosts, {"checkpoint.every.steps=1"}), take_all, std::move(setup));

  EXPECT_OK(ran.status);
  EXPECT_EQ(written, 0);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("no checkpoint is written: the program has no save hook"),
            std::string::npos)
      << notes[0];
}

TEST_F(SessionCheckpoints, ThatTakeLongerThanAStepMayHoldUpTheRanks) {
  longest_step_s_ = 1;
  std::atomic<int> written{0};
  std::atomic<int> notes{0};
  SessionSetup setup;
  setup.write_checkpoint = [&](const Checkpoint&) {
    std::this_thread::sleep_for(written++ == 0 ? 2500ms : 0ms);
    return ok_status();
  };
  setup.say = [&](const std::string& text) {
    EXPECT_NE(text.find("waiting until the checkpoint of step 1 is written"), std::string::npos);
    ++notes;
  };

  const auto ran =
      run(with(two_hosts, {"checkpoint.every.steps=1"}), take_all_and_save, std::move(setup));

  EXPECT_OK(ran.status);
  EXPECT_EQ(written, 6);
  EXPECT_EQ(notes, 1);
}

TEST_F(SessionCheckpoints, OfAnotherTrainerAreRefused) {
  const auto first = learn(with(two_hosts, rarely), 2);
  ASSERT_EQ(first.checkpoints.size(), 1U);
  const auto resume = [&](const RankFunction& fn, Checkpoint checkpoint) {
    SessionSetup setup;
    setup.resume = std::make_shared<const Checkpoint>(std::move(checkpoint));
    return run(two_hosts, fn, std::move(setup)).status;
  };
  const auto take_bytes = [](Session& session) {
    session.on_restore([](std::span<const std::byte>) { return ok_status(); });
    return take_all(session);
  };
  auto without_ranks = first.checkpoints[0];
  without_ranks.training.blobs.clear();

  EXPECT_ERROR(resume(take_all, first.checkpoints[0]), Errc::failed_precondition,
               "it has no restore hook");
  EXPECT_ERROR(resume(take_bytes, first.checkpoints[0]), Errc::failed_precondition,
               "holds tensor \"seen\" of f32 [], nodes of node, which was not made");
  EXPECT_ERROR(resume(take_bytes, without_ranks), Errc::failed_precondition, "holds nothing of it");
  const auto other_columns = [&](Session& session) -> Status {
    TROUPE_RETURN_IF_ERROR(session.make_tensor("seen", {.shape = {2}}));
    return take_bytes(session);
  };
  EXPECT_ERROR(resume(other_columns, first.checkpoints[0]), Errc::failed_precondition,
               "holds tensor \"seen\" of f32 [], nodes of node, which was not made");
}

}  // namespace
}  // namespace troupe
