#pragma once
/// \file replica_cluster.hpp
/// Two replicas of learned rows and the ranks that train them, with every message and task delivered in
/// random order; a replica can be lost at any moment.
#include "runtime/feature/embedding/learned_replica.hpp"
#include "tests/runtime/feature/embedding_support.hpp"

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace troupe::testing {

class ReplicaCluster {
 public:
  using Reply = LearnedReplica::Reply;
  using Then = std::function<void(const Result<Reply>&)>;
  static constexpr std::uint32_t world = 3;
  static constexpr std::uint64_t steps = 7;

  /// Loses a replica at the n-th delivery.
  struct Loss {
    std::size_t replica = 0;
    std::size_t at = 0;
  };

  ReplicaCluster(std::uint32_t seed, std::vector<Loss> losses)
      : dice_(seed), losses_(std::move(losses)) {
    for (std::size_t i = 0; i < 2; ++i) {
      start(i);
    }
  }

  /// Until all ranks are done, or one is told that rows are lost.
  /// \returns whether all went on as if nothing had happened
  bool run() {
    to_both([](LearnedReplica& of, auto ticket) { return of.begin({.generation = 1}, ticket); },
            [this] {
              for (std::uint32_t rank = 0; rank < world; ++rank) {
                read(rank);
              }
            });
    for (std::size_t n = 0; !is_over(); ++n) {
      if (n == 60000 || pending_.empty()) {
        ADD_FAILURE() << "no end, " << done_ << " ranks are done after " << n << " deliveries";
        return false;
      }
      for (const auto& loss : losses_) {
        if (loss.at == n) {
          start(loss.replica);
          take(loss.replica, replicas_[loss.replica].rows->replace_lost());
        }
      }
      const auto place = std::uniform_int_distribution<std::size_t>(0, pending_.size() - 1)(dice_);
      auto next = std::move(pending_[place]);
      pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(place));
      next();
    }
    return !failed_;
  }

  /// Rows read: by (rank, step).
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<float>> rows;
  /// Digests of each replica after the last step, then those of its copy of step 3.
  std::vector<std::vector<TableDigest>> digests() {
    std::vector<std::vector<TableDigest>> all;
    const auto of_both = [&](std::uint32_t generation, std::uint64_t step) {
      for (std::size_t i = 0; i < 2; ++i) {
        settle(
            i,
            [=](LearnedReplica& of, auto t) {
              return of.digest({generation, step}, t);
            },
            [&](const Reply& reply) { all.push_back(std::get<LearnedDigests>(reply).tables); });
      }
    };
    of_both(1, steps);
    for (std::size_t i = 0; i < 2; ++i) {
      settle(
          i,
          [](LearnedReplica& of, auto t) {
            return of.begin({2, 3}, t);
          },
          [](const Reply&) {});
    }
    of_both(2, 3);
    return all;
  }
  const LearnedReplica& replica(std::size_t i) const { return *replicas_[i].rows; }

 private:
  using Request = std::function<LearnedReplica::Actions(LearnedReplica&, LearnedReplica::Ticket)>;
  struct Replica {
    std::shared_ptr<LearnedReplica> rows;
    std::map<LearnedReplica::Ticket, Then> open;
  };

  struct Rank {
    std::uint64_t step = 0;
    bool unkept = false;         ///< the shares of the step before
    bool keeping = false;        ///< a copy, which its shares wait for
    std::function<void()> next;  ///< when neither is
  };

  void start(std::size_t i) {
    auto lost = std::exchange(replicas_[i], Replica{});
    replicas_[i].rows =
        std::make_shared<LearnedReplica>(graph_.parts[0], plan_, nullptr, ++number_, 9000);
    for (auto& [ticket, then] : lost.open) {
      later([then = then] { then(Error(Errc::peer_lost, "the replica is lost")); });
    }
  }
  bool is_over() const {
    return failed_ || (done_ == world && std::ranges::none_of(ranks_, &Rank::unkept));
  }
  void later(std::function<void()> what) { pending_.push_back(std::move(what)); }
  /// Delivers in order until the request is answered.
  void settle(std::size_t to, const Request& request,
              const std::function<void(const Reply&)>& then) {
    bool answered = false;
    bool again = false;
    send(to, request, [&](const Result<Reply>& reply) {
      answered = true;
      again = !reply && reply.error().code() == Errc::overloaded;
      if (!again) {
        ASSERT_OK(reply);
        then(*reply);
      }
    });
    while (!answered) {
      auto next = std::move(pending_.front());
      pending_.erase(pending_.begin());
      next();
    }
    if (again) {
      settle(to, request, then);
    }
  }
  void send(std::size_t to, Request request, Then then) {
    later([this, to, request = std::move(request), then = std::move(then)] {
      const auto ticket = ++ticket_;
      replicas_[to].open.emplace(ticket, then);
      take(to, request(*replicas_[to].rows, ticket));
    });
  }
  /// Again until it is done; `lost` ends all.
  void insist(std::size_t to, const Request& request, const std::function<void()>& done) {
    send(to, request, [=, this](const Result<Reply>& reply) {
      if (reply) {
        return done();
      }
      const auto code = reply.error().code();
      if (code == Errc::overloaded || code == Errc::peer_lost) {
        return insist(to, request, done);
      }
      EXPECT_EQ(code, Errc::not_found) << reply.error().what();
      failed_ = true;
    });
  }
  void to_both(const Request& request, const std::function<void()>& done) {
    const auto missing = std::make_shared<int>(2);
    for (std::size_t i = 0; i < 2; ++i) {
      insist(i, request, [missing, done] {
        if (--*missing == 0) {
          done();
        }
      });
    }
  }
  void take(std::size_t of, LearnedReplica::Actions actions) {
    const auto here = replicas_[of].rows;
    const auto lives = [this, of, here] { return replicas_[of].rows == here; };
    for (auto& answer : actions.answers) {
      const auto then = std::move(replicas_[of].open.extract(answer.ticket).mapped());
      later([then, reply = std::move(answer.reply)] { then(reply); });
    }
    for (auto& task : actions.tasks) {
      later([this, of, lives, task = std::move(task)] {
        InlineExecutor executor;
        if (auto outcome = task.run(executor); lives()) {
          take(of, replicas_[of].rows->finished(task.id, std::move(outcome)));
        }
      });
    }
    if (actions.ask) {
      ask(of, *actions.ask, lives);
    }
  }
  template <class Lives>
  void ask(std::size_t from, const LearnedReplica::Question& question, Lives lives) {
    const Request request = [question](LearnedReplica& of, auto ticket) {
      return std::visit(
          [&]<class Q>(const Q& q) {
            if constexpr (std::is_same_v<Q, FollowLearned>) {
              return of.follow(q, ticket);
            } else if constexpr (std::is_same_v<Q, PullLearned>) {
              return of.pull(q, ticket);
            } else {
              return of.read_copy(q, ticket);
            }
          },
          question);
    };
    send(1 - from, request, [=, this](const Result<Reply>& reply) {
      if (!lives()) {
        return;
      }
      const auto code = reply ? Errc::internal : reply.error().code();
      if (code == Errc::overloaded || code == Errc::peer_lost) {
        return ask(from, question, lives);
      }
      take(from, replicas_[from].rows->heard(reply));
    });
  }

  // ---- a rank ----

  void read(std::uint32_t rank, std::size_t from = 0) {
    auto& me = ranks_[rank];
    if (me.step == steps) {
      ++done_;
      return;
    }
    ReadLearned what;
    what.generation = 1;
    what.step = me.step;
    what.sections = {{.node_type = NodeTypeId{0}, .cols = 3, .nodes = 40}};
    for (std::uint32_t n = 0; n < 40; ++n) {
      what.nodes.push_back(
          static_cast<NodeId>(raw(graph_.parts[0]->nodes_of(NodeTypeId{0}).first) + n));
    }
    const auto request = std::make_shared<const ReadLearned>(std::move(what));
    send((rank + from) % 2,
         [request](LearnedReplica& of, auto ticket) { return of.read(request, ticket); },
         [=, this](const Result<Reply>& reply) {
           if (!reply) {
             const auto code = reply.error().code();
             EXPECT_NE(code, Errc::failed_precondition) << reply.error().what();
             failed_ = failed_ || code == Errc::not_found;
             return read(rank, from + 1);
           }
           const auto values = std::get<LearnedRows>(*reply).rows.as<float>();
           rows[{rank, ranks_[rank].step}] = {values.begin(), values.end()};
           share(rank);
         });
  }
  /// Rank 0 has copies kept before its gradients of some steps. Those of the step before may be under way.
  void keep() {
    auto& me = ranks_[0];
    if (me.step != 3 && me.step != 4) {
      return;
    }
    me.keeping = true;
    const KeepLearned keep{.generation = 1, .step = me.step, .best = me.step == 4, .oldest = 0};
    to_both([keep](LearnedReplica& of, auto ticket) { return of.keep(keep, ticket); },
            [this] {
              ranks_[0].keeping = false;
              go_on(0);
            });
  }
  void go_on(std::uint32_t rank) {
    if (auto next = std::exchange(ranks_[rank].next, nullptr)) {
      next();
    }
  }
  void share(std::uint32_t rank) {
    auto& me = ranks_[rank];
    if (me.unkept || me.keeping) {
      me.next = [this, rank] { share(rank); };
      return;
    }
    me.unkept = true;
    auto share = share_of(graph_, 0, rank, me.step, 30);
    share.generation = 1;
    const auto message = std::make_shared<const SparseGradients>(std::move(share));
    to_both([message](LearnedReplica& of, auto ticket) { return of.add(message, ticket); },
            [this, rank] {
              ranks_[rank].unkept = false;
              go_on(rank);
            });
    // The parameters of a step need the gradients of all ranks.
    if (++left_[me.step] == world) {
      for (std::uint32_t other = 0; other < world; ++other) {
        ++ranks_[other].step;
        later([this, other] { read(other); });
      }
      keep();
    }
  }

  CutGraph graph_ = users_and_items(1);
  std::shared_ptr<EmbeddingPlan> plan_ = two_tables(world);
  std::mt19937 dice_;
  std::vector<Loss> losses_;
  std::array<Replica, 2> replicas_;
  std::array<Rank, world> ranks_;
  std::map<std::uint64_t, std::uint32_t> left_;
  std::vector<std::function<void()>> pending_;
  LearnedReplica::Ticket ticket_ = 0;
  std::uint64_t number_ = 0;
  std::uint32_t done_ = 0;
  bool failed_ = false;
};

}  // namespace troupe::testing
