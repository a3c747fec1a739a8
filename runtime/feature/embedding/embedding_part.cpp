#include "runtime/feature/embedding/embedding_part.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/feature/embedding/sparse_optimizer.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <new>

namespace troupe {

EmbeddingPart::EmbeddingPart(std::shared_ptr<const Part> part,
                             std::shared_ptr<const EmbeddingPlan> plan, CountEntities count)
    : plan_(std::move(plan)), tables_(std::make_shared<Tables>()) {
  tables_->part = std::move(part);
  tables_->plan = plan_;
  tables_->counts = std::move(count);
  for (const auto& table : plan_->tables) {
    const auto& nodes = tables_->part->nodes_of(table.node_type);
    try {
      tables_->tables.emplace_back(table, nodes, plan_->job_seed);
    } catch (const std::bad_alloc&) {
      no_room_ = refused(
          Errc::out_of_memory,
          fmt::format("{}: expected room for {} rows of {} numbers and {} of their optimizer, {} "
                      "bytes, found less; try: a smaller embedding.{}.dim, or more hosts and parts",
                      table.name, nodes.count, table.dim, sparse_state_cols(table),
                      nodes.count * (table.dim + sparse_state_cols(table)) * sizeof(float),
                      table.name));
      return;
    }
  }
}

Error EmbeddingPart::refused(Errc code, const std::string& what) const {
  return {code, fmt::format("learned rows of part {}: {}", raw(tables_->part->id), what)};
}

/// Memory that a task lacks is its error.
EmbeddingPart::Work EmbeddingPart::within_memory(const char* name, Work work) const {
  return [error = refused(Errc::out_of_memory,
                          fmt::format("{}: expected more memory; try: a smaller dim of the "
                                      "embedding, or more hosts and parts",
                                      name)),
          work = std::move(work)](Executor& executor) -> Result<Reply> {
    try {
      return work(executor);
    } catch (const std::bad_alloc&) {
      return error;
    }
  };
}

Status EmbeddingPart::check_generation(std::uint32_t generation) const {
  if (no_room_) {
    return *no_room_;
  }
  if (!generation_) {
    return refused(Errc::not_found, "their holder was restarted and has lost them");
  }
  if (generation < *generation_) {
    return refused(Errc::fenced,
                   fmt::format("generation {} is over, now {}", generation, *generation_));
  }
  if (generation > *generation_) {
    return refused(Errc::failed_precondition,
                   fmt::format("expected generation {}, got {}", *generation_, generation));
  }
  return ok_status();
}

Status EmbeddingPart::check_nodes(const std::vector<LearnedSection>& sections,
                                  const PooledVector<NodeId>& nodes) const {
  auto rest = std::span<const NodeId>(nodes);
  const LearnedSection* before = nullptr;
  for (const auto& section : sections) {
    const auto* table = plan_->find(section.node_type);
    if (table == nullptr || section.cols != table->dim || section.nodes > rest.size()) {
      return refused(Errc::invalid_argument,
                     fmt::format("expected node types with tables, found {} nodes of type {} in "
                                 "{} columns",
                                 section.nodes, raw(section.node_type), section.cols));
    }
    if (before != nullptr && section.node_type <= before->node_type) {
      return refused(Errc::invalid_argument,
                     fmt::format("expected node types in ascending order, got {} after {}",
                                 raw(section.node_type), raw(before->node_type)));
    }
    before = &section;
    const auto& owned = tables_->part->nodes_of(section.node_type);
    for (const NodeId node : rest.first(section.nodes)) {
      if (!owned.owns(node)) {
        return refused(
            Errc::invalid_argument,
            fmt::format("node {} of type {} is not in [{}, {})", raw(node), raw(section.node_type),
                        raw(owned.first), raw(owned.first) + owned.count));
      }
    }
    rest = rest.subspan(section.nodes);
  }
  if (!rest.empty()) {
    return refused(Errc::invalid_argument, fmt::format("{} nodes of no section", rest.size()));
  }
  return ok_status();
}

Status EmbeddingPart::check_share(const SparseGradients& share) const {
  if (raw(share.rank) >= plan_->world || (share.weight == 0 && !share.sections.empty())) {
    return refused(Errc::invalid_argument,
                   fmt::format("expected a rank below {} and rows with a weight, got rank {}, "
                               "weight {} and {} sections",
                               plan_->world, raw(share.rank), share.weight, share.sections.size()));
  }
  TROUPE_RETURN_IF_ERROR(check_nodes(share.sections, share.nodes));
  return check_learned("SparseGradients", share.sections, share.nodes.size(),
                       share.rows.bytes.size() / sizeof(float));
}

EmbeddingPart::Actions EmbeddingPart::answer(Ticket ticket, Result<Reply> reply) {
  Actions actions;
  actions.answers.push_back({ticket, std::move(reply)});
  return actions;
}

EmbeddingPart::Actions EmbeddingPart::begin(const BeginLearned& request, Ticket ticket) {
  if (no_room_) {
    return answer(ticket, *no_room_);
  }
  if (generation_ && request.generation < *generation_) {
    return answer(ticket, check_generation(request.generation).error());
  }
  if (generation_ == request.generation && applied_) {
    return answer(ticket, Reply(Done{}));  // a repeat
  }
  Actions actions;
  const auto fenced = refused(Errc::fenced, fmt::format("generation {} begins at step {}",
                                                        request.generation, request.step));
  for (auto& waiting : std::exchange(waiting_, {})) {
    actions.answers.push_back({*waiting.ticket, fenced});
  }
  generation_ = request.generation;
  ++beginnings_;
  applied_.reset();
  shares_.clear();
  const auto found = kept_.find(request.step);
  const auto copy = found == kept_.end() ? nullptr : found->second;
  if (copy == nullptr && request.step > 0) {
    actions.answers.push_back(
        {ticket, refused(Errc::not_found, fmt::format("those of step {} are not kept here: their "
                                                      "holder was restarted and has lost them",
                                                      request.step))});
    return actions;
  }
  kept_.erase(kept_.upper_bound(request.step), kept_.end());
  note(request);
  waiting_.push_back({.ticket = ticket,
                      .step = request.step,
                      .access = Access::writes,
                      .name = "begin learned rows",
                      .run = [tables = tables_, copy](Executor& executor) {
                        return tables->start(executor, copy.get());
                      }});
  schedule(actions);
  return actions;
}

EmbeddingPart::Actions EmbeddingPart::add(std::shared_ptr<const SparseGradients> share,
                                          Ticket ticket) {
  if (const auto good = check_generation(share->generation); !good) {
    return answer(ticket, good.error());
  }
  if (const auto good = check_share(*share); !good) {
    return answer(ticket, good.error());
  }
  if (!applied_ || share->step > complete() + 1) {
    return answer(ticket, refused(Errc::failed_precondition,
                                  fmt::format("expected gradients of step {} or the one after, got "
                                              "step {}",
                                              complete(), share->step)));
  }
  Actions actions = answer(ticket, Reply(Done{}));
  if (share->step >= *applied_) {
    const auto ahead = share->step - *applied_;
    while (shares_.size() <= ahead) {
      shares_.emplace_back(plan_->world);
    }
    auto& place = shares_[ahead][raw(share->rank)];
    if (place == nullptr) {
      place = std::move(share);
      note(place);
    }
    schedule(actions);
  }
  return actions;
}

EmbeddingPart::Actions EmbeddingPart::enqueue(Request request) {
  const bool over = applied_ && request.step < *applied_ && !request.or_later;
  if (!applied_ || over || request.step > complete() + 1) {
    return answer(*request.ticket,
                  refused(Errc::failed_precondition,
                          fmt::format("expected a request at step {} or the one after, got step {}",
                                      applied_.value_or(0), request.step)));
  }
  if (waiting_.size() == most_waiting()) {
    return answer(*request.ticket,
                  refused(Errc::overloaded, fmt::format("{} requests wait, the most that it takes",
                                                        waiting_.size())));
  }
  if (request.keeps) {
    note(*request.keeps);
  }
  waiting_.push_back(std::move(request));
  Actions actions;
  schedule(actions);
  return actions;
}

EmbeddingPart::Actions EmbeddingPart::read(std::shared_ptr<const ReadLearned> request,
                                           Ticket ticket) {
  if (const auto good = check_generation(request->generation); !good) {
    return answer(ticket, good.error());
  }
  if (const auto good = check_nodes(request->sections, request->nodes); !good) {
    return answer(ticket, good.error());
  }
  const auto step = request->step;
  const bool or_later = request->or_later;
  return enqueue({.ticket = ticket,
                  .step = step,
                  .access = Access::reads,
                  .name = "read learned rows",
                  .run = [tables = tables_, request = std::move(request)](
                             Executor& executor) { return tables->gather(executor, *request); },
                  .or_later = or_later});
}

EmbeddingPart::Actions EmbeddingPart::rank(std::shared_ptr<const RankEntities> request,
                                           Ticket ticket) {
  if (const auto good = check_generation(request->generation); !good) {
    return answer(ticket, good.error());
  }
  if (const auto good = check_queries("RankEntities", *request); !good) {
    return answer(ticket, good.error());
  }
  const auto* table = plan_->find(request->node_type);
  if (table == nullptr || table->dim != request->cols || tables_->counts == nullptr) {
    return answer(ticket,
                  refused(Errc::invalid_argument,
                          fmt::format("expected queries of a table's columns, found {} columns for "
                                      "node type {}",
                                      request->cols, raw(request->node_type))));
  }
  const auto step = request->step;
  return enqueue({.ticket = ticket,
                  .step = step,
                  .access = Access::reads,
                  .name = "rank entities",
                  .run = [tables = tables_, request = std::move(request)](Executor& executor) {
                    return tables->count(executor, *request);
                  }});
}

EmbeddingPart::Actions EmbeddingPart::keep(const KeepLearned& request, Ticket ticket) {
  if (const auto good = check_generation(request.generation); !good) {
    return answer(ticket, good.error());
  }
  if (request.best) {
    return enqueue({.ticket = ticket,
                    .step = request.step,
                    .access = Access::writes,
                    .name = "keep the best learned rows",
                    .run = [tables = tables_](Executor&) { return tables->keep_best(); },
                    .keeps = request});
  }
  kept_.erase(kept_.begin(), kept_.lower_bound(request.oldest));
  const auto copy = std::make_shared<std::shared_ptr<const Copy>>();
  return enqueue(
      {.ticket = ticket,
       .step = request.step,
       .access = Access::reads,
       .name = "keep learned rows",
       .run =
           [tables = tables_, copy](Executor&) {
             *copy = tables->copy();
             return Result<Reply>(Reply(Done{}));
           },
       .done = [copy, step = request.step](EmbeddingPart& of, Reply&) { of.kept_[step] = *copy; },
       .keeps = request});
}

EmbeddingPart::Actions EmbeddingPart::digest(const DigestLearned& request, Ticket ticket) {
  if (const auto good = check_generation(request.generation); !good) {
    return answer(ticket, good.error());
  }
  return enqueue(
      {.ticket = ticket,
       .step = request.step,
       .access = Access::reads,
       .name = "digest learned rows",
       .run = [tables = tables_](Executor& executor) { return tables->digests(executor); }});
}

// ---- the order of work ----

std::uint64_t EmbeddingPart::complete() const {
  const auto incomplete = std::ranges::find_if(shares_, [](const Shares& shares) {
    return std::ranges::any_of(shares, [](const auto& share) { return share == nullptr; });
  });
  return applied_.value_or(0) + static_cast<std::uint64_t>(incomplete - shares_.begin());
}

/// The next step of which all shares are here. Without rows it is over at once.
/// \returns whether it is over
bool EmbeddingPart::apply_next(Actions& actions) {
  const auto& shares = shares_.front();
  if (std::ranges::all_of(shares, [](const auto& share) { return share->sections.empty(); })) {
    const bool counts = std::ranges::any_of(shares, [](const auto& s) { return s->weight > 0; });
    tables_->steps += counts ? 1 : 0;
    shares_.pop_front();
    ++*applied_;
    return true;
  }
  run({.step = *applied_,
       .access = Access::writes,
       .name = "apply learned gradients",
       .run = [tables = tables_,
               shares](Executor& executor) { return tables->apply(executor, shares); }},
      *applied_ + 1, actions);
  return false;
}

void EmbeddingPart::run(Request request, std::optional<std::uint64_t> then, Actions& actions) {
  const auto id = next_task_++;
  writing_ = request.access == Access::writes;
  running_.emplace(id, Running{.ticket = request.ticket,
                               .then = then,
                               .beginnings = beginnings_,
                               .done = std::move(request.done),
                               .keeps = request.keeps});
  actions.tasks.push_back({id, request.name, within_memory(request.name, std::move(request.run))});
}

/// Starts what may run: requests at the step that is applied in their order, then the next step.
void EmbeddingPart::schedule(Actions& actions) {
  do {
    start_waiting(actions);
  } while (!writing_ && running_.empty() && applied_ && complete() > *applied_ &&
           apply_next(actions));
}

void EmbeddingPart::start_waiting(Actions& actions) {
  for (auto next = waiting_.begin(); next != waiting_.end() && !writing_;) {
    const bool begins = !applied_;
    const bool comes =
        begins || next->step == *applied_ || (next->or_later && next->step < *applied_);
    if (!comes) {
      ++next;
      continue;
    }
    if (next->access == Access::writes && !running_.empty()) {
      return;
    }
    auto request = std::move(*next);
    next = waiting_.erase(next);
    const auto step = request.step;
    run(std::move(request), begins ? std::optional(step) : std::nullopt, actions);
  }
}

EmbeddingPart::Actions EmbeddingPart::finished(std::uint64_t task, Result<Reply> outcome) {
  if (const auto apart = apart_.extract(task); !apart.empty()) {
    return answer(apart.mapped(), std::move(outcome));
  }
  const auto node = running_.extract(task);
  TROUPE_ASSERT(!node.empty(), "a task that does not run", task);
  const auto& done = node.mapped();
  writing_ = false;
  Actions actions;
  const bool current = done.beginnings == beginnings_;
  if (current && done.then && outcome) {
    const bool step = !done.ticket;
    applied_ = *done.then;
    if (step) {
      shares_.pop_front();
    }
  }
  if (current && done.done && outcome) {
    done.done(*this, *outcome);
  }
  if (current && !outcome && !done.ticket) {  // a step that is applied in part: the rows are lost
    no_room_ = outcome.error();
    for (auto& waiting : std::exchange(waiting_, {})) {
      actions.answers.push_back({*waiting.ticket, *no_room_});
    }
    applied_.reset();
    shares_.clear();
  }
  if (done.ticket) {
    actions.answers.push_back(
        {*done.ticket, current ? std::move(outcome)
                               : Result<Reply>(refused(Errc::fenced, "a generation begins"))});
  }
  schedule(actions);
  return actions;
}

}  // namespace troupe
