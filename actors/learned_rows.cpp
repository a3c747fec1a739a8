#include "actors/learned_rows.hpp"

#include "runtime/base/assert.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace troupe {

LearnedRowsClient::LearnedRowsClient(caf::event_based_actor* self, LearnedRowsLinks links,
                                     Rank rank, std::function<void(const Error&)> on_error)
    : links_(std::move(links)),
      rank_(rank),
      on_error_(std::move(on_error)),
      pass_(self),
      commands_(self) {
  for (const auto& holders : links_.holders) {
    auto patient = *holders;
    patient.request_deadline.reset();
    patient_.push_back(std::make_shared<const Replicas>(std::move(patient)));
  }
}

void LearnedRowsClient::count(std::uint64_t nodes, std::uint64_t bytes, std::uint64_t messages) {
  counts_.rows += nodes;
  counts_.bytes += bytes;
  counts_.messages += messages;
}

// ---- a step ----

void LearnedRowsClient::read(const std::shared_ptr<const SampledBatch>& sampled, std::uint64_t step,
                             bool best, Then<Rows> then) {
  batch_.emplace(links_.plan, *links_.book, sampled);
  const auto& questions = batch_->questions();
  count(batch_->nodes(), batch_->nodes() * sizeof(NodeId) + batch_->row_bytes(), questions.size());
  if (questions.empty()) {
    return then(batch_->take());
  }
  reading_ = std::move(then);
  for (std::size_t q = 0; q < questions.size(); ++q) {
    auto request = questions[q].request;
    request.generation = generation_;
    request.step = step;
    request.best = best;
    pass_.request<LearnedRows>(
        patient_[raw(questions[q].part)], Ref<ReadLearned>(std::move(request)),
        [this, q](const Result<Ref<LearnedRows>>& reply) { take_rows(q, reply); });
  }
}

void LearnedRowsClient::take_rows(std::size_t question, const Result<Ref<LearnedRows>>& reply) {
  if (!reading_) {
    return;
  }
  Status taken = reply ? batch_->answer(question, **reply) : Status(reply.error());
  if (!taken) {
    const auto then = std::exchange(reading_, nullptr);
    return then(taken.error());
  }
  if (batch_->done()) {
    const auto then = std::exchange(reading_, nullptr);
    then(batch_->take());
  }
}

void LearnedRowsClient::read_ahead(const std::shared_ptr<const SampledBatch>& sampled,
                                   std::uint64_t at_least) {
  if (std::ranges::find(ahead_, sampled, &Ahead::sampled) != ahead_.end()) {
    return;
  }
  const auto ahead = std::make_shared<Ahead>(
      Ahead{sampled, LearnedBatch(links_.plan, *links_.book, sampled), ok_status()});
  ahead_.push_back(ahead);
  const auto& questions = ahead->batch.questions();
  count(ahead->batch.nodes(), ahead->batch.nodes() * sizeof(NodeId) + ahead->batch.row_bytes(),
        questions.size());
  for (std::size_t q = 0; q < questions.size(); ++q) {
    auto request = questions[q].request;
    request.generation = generation_;
    request.step = at_least;
    request.or_later = true;
    pass_.request<LearnedRows>(
        patient_[raw(questions[q].part)], Ref<ReadLearned>(std::move(request)),
        [this, q, weak = std::weak_ptr(ahead)](const Result<Ref<LearnedRows>>& reply) {
          if (const auto of = weak.lock()) {
            const Status taken = reply ? of->batch.answer(q, **reply) : Status(reply.error());
            of->answered = of->answered ? taken : of->answered;
            hand_over();
          }
        });
  }
}

void LearnedRowsClient::take_ahead(const std::shared_ptr<const SampledBatch>& sampled,
                                   Then<Rows> then) {
  TROUPE_ASSERT(!ahead_.empty() && ahead_.front()->sampled == sampled,
                "rows that were not asked for", ahead_.size());
  taking_ = std::move(then);
  hand_over();
}

void LearnedRowsClient::hand_over() {
  if (!taking_ || (ahead_.front()->answered && !ahead_.front()->batch.done())) {
    return;
  }
  const auto first = ahead_.front();
  ahead_.pop_front();
  const auto then = std::exchange(taking_, nullptr);
  if (!first->answered) {
    return then(first->answered.error());
  }
  batch_.emplace(std::move(first->batch));
  then(batch_->take());
}

void LearnedRowsClient::rank(EntityQueries queries, std::uint64_t step, bool best,
                             Then<Matrix> then) {
  queries_.emplace(std::move(queries));
  const auto& questions = queries_->questions();
  if (questions.empty()) {
    return then(queries_->take());
  }
  ranking_ = std::move(then);
  for (std::size_t q = 0; q < questions.size(); ++q) {
    auto request = questions[q].request;
    request.generation = generation_;
    request.step = step;
    request.best = best;
    pass_.request<EntityCounts>(
        patient_[raw(questions[q].part)], Ref<RankEntities>(std::move(request)),
        [this, q](const Result<Ref<EntityCounts>>& reply) { take_counts_of(q, reply); });
  }
}

void LearnedRowsClient::take_counts_of(std::size_t question,
                                       const Result<Ref<EntityCounts>>& reply) {
  if (!ranking_) {
    return;
  }
  const Status taken = reply ? queries_->answer(question, **reply) : Status(reply.error());
  if (!taken) {
    const auto then = std::exchange(ranking_, nullptr);
    return then(taken.error());
  }
  if (queries_->done()) {
    const auto then = std::exchange(ranking_, nullptr);
    then(queries_->take());
  }
}

void LearnedRowsClient::send(std::uint64_t step, const Contribution& mine,
                             std::function<void()> then) {
  const auto parts = static_cast<std::uint32_t>(links_.holders.size());
  Shares shares{step, mine.learned ? batch_->shares(*mine.learned, mine.weight)
                                   : LearnedBatch::empty_shares(parts)};
  for (auto& share : shares.of_parts) {
    share.weight = mine.weight;
    share.generation = generation_;
    share.step = step;
    share.rank = rank_;
  }
  if (unkept_) {
    next_ = std::move(shares);
    then_sent_ = std::move(then);
    return;
  }
  leave(std::move(shares));
  then();
}

void LearnedRowsClient::send_of(const std::shared_ptr<const SampledBatch>& nodes,
                                std::uint64_t step, const Contribution& mine,
                                std::function<void()> then) {
  batch_.emplace(links_.plan, *links_.book, nodes);
  send(step, mine, std::move(then));
}

void LearnedRowsClient::leave(Shares shares) {
  std::vector<ReplicaClient::Share<SparseGradients>> messages;
  for (std::size_t part = 0; part < shares.of_parts.size(); ++part) {
    auto& share = shares.of_parts[part];
    const auto replicas = links_.holders[part]->actors.size();
    count(0, replicas * (share.nodes.size() * sizeof(NodeId) + share.rows.bytes.size()), replicas);
    messages.emplace_back(links_.holders[part], Ref<SparseGradients>(std::move(share)));
  }
  unkept_ = true;
  pass_.request_all<net::Done>(messages, [this](const Result<Ref<net::Done>>& kept) {
    if (!kept) {
      return on_error_(kept.error());
    }
    unkept_ = false;
    if (next_) {
      leave(*std::exchange(next_, std::nullopt));
      const auto then = std::exchange(then_sent_, nullptr);
      then();
    }
  });
}

void LearnedRowsClient::drop() {
  pass_.forget_all();
  reading_ = nullptr;
  ranking_ = nullptr;
  taking_ = nullptr;
  ahead_.clear();
  then_sent_ = nullptr;
  next_.reset();
  unkept_ = false;
}

// ---- commands ----

template <class Message>
void LearnedRowsClient::to_all(const Message& message, Then<net::Done> then) {
  std::vector<ReplicaClient::Share<Message>> messages;
  for (const auto& holders : patient_) {
    messages.emplace_back(holders, Ref<Message>(message));
  }
  commands_.request_all<net::Done>(
      messages, [then = std::move(then)](const Result<Ref<net::Done>>& done) {
        then(done ? Result<net::Done>(net::Done{}) : Result<net::Done>(done.error()));
      });
}

void LearnedRowsClient::begin(std::uint64_t step, Then<net::Done> then) {
  to_all(BeginLearned{.generation = generation_, .step = step}, std::move(then));
}

void LearnedRowsClient::keep(const KeepLearned& what, Then<net::Done> then) {
  auto message = what;
  message.generation = generation_;
  to_all(message, std::move(then));
}

void LearnedRowsClient::digest(std::uint64_t step, Then<std::vector<TableDigest>> then) {
  struct Sum {
    Then<std::vector<TableDigest>> then;
    std::vector<TableDigest> tables;
    std::size_t missing = 0;
  };
  const auto sum = std::make_shared<Sum>(Sum{std::move(then), {}, patient_.size()});
  for (const auto& table : links_.plan->tables) {
    sum->tables.push_back({.node_type = table.node_type, .rows = {}, .best = {}});
  }
  const DigestLearned request{.generation = generation_, .step = step};
  for (const auto& holders : patient_) {
    commands_.request<LearnedDigests>(
        holders, Ref<DigestLearned>(request), [sum](const Result<Ref<LearnedDigests>>& reply) {
          if (!sum->then) {
            return;
          }
          if (!reply) {
            return std::exchange(sum->then, nullptr)(reply.error());
          }
          const auto& tables = (*reply)->tables;
          if (tables.size() != sum->tables.size()) {
            return std::exchange(sum->then, nullptr)(
                Error(Errc::data_corruption,
                      fmt::format("digests of learned rows: expected {} tables, found {}",
                                  sum->tables.size(), tables.size())));
          }
          for (std::size_t i = 0; i < tables.size(); ++i) {
            auto& of = sum->tables[i];
            of.rows = add_digests(of.rows, tables[i].rows);
            of.best = add_digests(of.best, tables[i].best);
          }
          if (--sum->missing == 0) {
            std::exchange(sum->then, nullptr)(std::move(sum->tables));
          }
        });
  }
}

void LearnedRowsClient::on_down(const caf::down_msg& down) {
  pass_.on_down(down);
  commands_.on_down(down);
}

}  // namespace troupe
