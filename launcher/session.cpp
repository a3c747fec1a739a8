#include "launcher/session.hpp"

#include "launcher/seconds.hpp"
#include "launcher/session_state.hpp"
#include "runtime/base/even_share.hpp"
#include "runtime/job/knowledge_rules.hpp"
#include "runtime/job/link_rules.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

namespace troupe {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::hours longest_wait{24 * 365};

std::uint64_t elapsed_ns(SteadyClock::time_point began) {
  return static_cast<std::uint64_t>((SteadyClock::now() - began).count());
}

Segment copy_of(std::span<const float> values) {
  return Segment::of(std::vector<float>(values.begin(), values.end()));
}

const NodeTypeInfo& seed_type(const Session::State& state) {
  const auto& order = *state.place.options.orders.at("train");
  const auto& graph = *state.place.host->graph;
  const auto* links = order.links();
  const auto type =
      links == nullptr
          ? order.seeds().node_type
          : links->pairs_of().value_or(graph.edge_types.at(raw(links->edge_type())).source);
  return graph.node_types.at(raw(type));
}

/// \errors not_found: the split has no such role
Result<std::shared_ptr<const SeedOrder>> order_of(const Session::State& state,
                                                  const std::string& role) {
  const auto& orders = state.place.options.orders;
  const auto found = orders.find(role);
  if (found == orders.end()) {
    std::string names;
    for (const auto& [name, order] : orders) {
      names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", name);
    }
    return Error(Errc::not_found,
                 fmt::format("role: expected a role of the split ({}), got \"{}\"", names, role));
  }
  return found->second;
}

}  // namespace

// ---- the rank's way to its actor ----

std::chrono::milliseconds Session::State::deadline() const {
  return seconds_as<std::chrono::milliseconds>(run->job.cluster.step_deadline_s);
}

Error Session::State::error_of(const caf::error& error, std::chrono::milliseconds within) const {
  if (error == caf::sec::request_timeout) {
    return {Errc::deadline_exceeded,
            fmt::format("rank {}: expected an answer within {} ms, got none; try: a larger "
                        "cluster.step_deadline",
                        rank(), within.count())};
  }
  return from_caf(error);
}

Status Session::State::check_thread() const {
  if (std::this_thread::get_id() == thread) {
    return ok_status();
  }
  return Error(Errc::failed_precondition,
               fmt::format("rank {}: expected a call on the thread of its rank, got one on another "
                           "thread; try: calls of the session on the thread of the rank's function",
                           rank()));
}

Status Session::State::keep(Status result) {
  if (!result && status) {
    status = result;
  }
  return result;
}

Result<Ref<Together>> Session::State::together(Contribute request,
                                               std::chrono::milliseconds within) {
  request.deadline = within;
  const auto began = SteadyClock::now();
  // The actor's deadline names the ranks that are missing, so it comes first.
  auto answer = ask<Together>(place.actor, std::move(request), within + std::chrono::seconds(10));
  reduce_ns += elapsed_ns(began);
  return answer;
}

Status Session::State::check_order(std::uint32_t e) const {
  if (!begun || e >= *begun) {
    return ok_status();
  }
  return Error(
      Errc::failed_precondition,
      fmt::format("rank {}: expected epoch({}) or a later one, got epoch({}); a resumed run "
                  "leaves out the epochs before the one it continues",
                  rank(), *begun, e));
}

Status Session::State::record_step() {
  const auto now = SteadyClock::now();
  if (run->on_step && rank() == 0) {
    constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
    run->on_step({Rank{0}, position.epoch, position.step, steps, position.global_step, unknown,
                  unknown, std::chrono::duration<double>(now - last_step).count()});
  }
  last_step = now;
  if (position.step != steps || !run->on_epoch) {
    return ok_status();
  }
  TROUPE_ASSIGN_OR_RETURN(const auto counted, ask<CountedEpoch>(CountEpoch{}));
  net::RankEpoch epoch;
  epoch.result.rank = place.options.rank;
  epoch.result.epoch = position.epoch;
  epoch.result.wall_ns = elapsed_ns(epoch_began);
  epoch.result.counters = counted->counters;
  epoch.result.counters.train_ns = train_ns;
  epoch.result.counters.reduce_ns = reduce_ns;
  epoch.result.counters.learned_ns = learned_ns;
  epoch.result.batches = position.batches;
  epoch.global_step = position.global_step;
  return run->on_epoch(epoch);
}

// ---- who and where ----

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {
  auto& s = *state_;
  s.session = this;
  s.steps = s.place.options.orders.at("train")->num_steps(s.place.options.world);
  s.writes.assign(s.place.host->holders.size(), 0);
  if (s.run->resume) {
    const auto& from = s.run->resume->training;
    s.position.epoch = from.epoch;
    s.position.step = from.step;
    s.position.global_step = from.global_step;
    s.position.batches = from.batches;
    s.resumes = true;
  }
}
Session::~Session() {
  state_->finish_writing();
}

Rank Session::rank() const {
  return state_->place.options.rank;
}
std::uint32_t Session::world() const {
  return state_->place.options.world;
}
std::string Session::role() const {
  return "trainer";
}
const GraphInfo& Session::graph() const {
  return *state_->place.host->graph;
}
std::uint64_t Session::columns() const {
  const auto& features = seed_type(*state_).features;
  return features ? features->cols : 0;
}
std::uint64_t Session::classes() const {
  const auto& labels = seed_type(*state_).labels;
  return labels ? labels->classes : 0;
}
std::uint64_t Session::seed() const {
  return state_->run->job.seed;
}
std::uint32_t Session::epochs() const {
  return state_->run->job.train.epochs;
}
std::optional<TripleFacts> Session::triples() const {
  const auto& job = state_->run->job;
  const auto* links = training_links(job, graph());
  if (!job.task.knowledge() || links == nullptr) {
    return std::nullopt;
  }
  return TripleFacts{links->relations, shared_candidates(job).chunks};
}
std::uint32_t Session::first_epoch() const {
  return state_->run->resume ? state_->run->resume->training.epoch : 0;
}
std::uint64_t Session::steps_per_epoch() const {
  return state_->steps;
}
std::uint64_t Session::global_step() const {
  return state_->position.global_step;
}
Digest Session::digest() const {
  return state_->position.batches;
}
const Status& Session::status() const {
  return state_->status;
}

Result<LinkList> Session::links(const std::string& role) const {
  TROUPE_ASSIGN_OR_RETURN(const auto order, order_of(*state_, role));
  const auto* all = order->links();
  if (all == nullptr) {
    return Error(Errc::failed_precondition,
                 "links: expected a job of links, found one of nodes; try: task.kind \"link\"");
  }
  const auto [first, size] = even_share(all->size(), world(), rank());
  return all->slice(first, size);
}

Result<SeedList> Session::seeds(const std::string& role) const {
  TROUPE_ASSIGN_OR_RETURN(const auto order, order_of(*state_, role));
  if (order->links() != nullptr) {
    return Error(Errc::failed_precondition,
                 "seeds: expected a job of nodes, found one of links; try: links()");
  }
  const auto& all = order->seeds();
  const auto range = even_share(all.global.size(), world(), rank());
  const auto first = static_cast<std::ptrdiff_t>(range.first);
  const auto end = static_cast<std::ptrdiff_t>(range.first + range.size);
  SeedList share;
  share.node_type = all.node_type;
  share.original.assign(all.original.begin() + first, all.original.begin() + end);
  share.global.assign(all.global.begin() + first, all.global.begin() + end);
  if (!all.times.empty()) {
    share.times.assign(all.times.begin() + first, all.times.begin() + end);
  }
  return share;
}

Result<EdgeShare> Session::edges(EdgeTypeId edge_type) const {
  const auto& types = state_->place.host->graph->edge_types;
  if (raw(edge_type) >= types.size()) {
    return Error(Errc::invalid_argument,
                 fmt::format("edge type: expected < {}, got {}", types.size(), raw(edge_type)));
  }
  const auto& type = types[raw(edge_type)];
  const auto ids = type.end_of_edge_ids() - type.edge_id_begin;
  const auto [first, size] = even_share(ids, world(), rank());
  return EdgeShare{static_cast<EdgeId>(type.edge_id_begin + first), size};
}

// ---- batches ----

EpochRange Session::epoch(std::uint32_t e) {
  auto& s = *state_;
  if (s.in_turn) {
    static_cast<void>(end_step());  // kept in status()
  }
  s.in_epoch = false;
  ++s.passes;
  if (!s.status || !s.keep(s.restore_all()) || !s.keep(s.check_order(e)) || e < first_epoch()) {
    return {this, {}};
  }
  s.begun = e;
  s.resumes = s.resumes && s.position.epoch == e;
  if (!s.resumes) {
    s.position.epoch = e;
    s.position.step = 0;
  }
  s.epoch_began = s.last_step = SteadyClock::now();
  s.train_ns = s.reduce_ns = s.learned_ns = 0;
  const auto begun = s.ask<EpochBegun>(BeginEpoch{e, s.position.step});
  if (!begun) {
    static_cast<void>(s.keep(begun.error()));
  }
  s.in_epoch = begun.ok();
  return {this, {s.passes, e}};
}

std::shared_ptr<const Batch> Session::shared_batch() const {
  const auto& ready = state_->batch;
  return state_->in_turn ? std::shared_ptr<const Batch>(ready, &ready->batch) : nullptr;
}

const Batch* Session::next_batch(const Pass& pass) {
  auto& s = *state_;
  if (pass.number == 0) {
    return nullptr;
  }
  if (pass.number != s.passes) {
    static_cast<void>(s.keep(
        Error(Errc::failed_precondition,
              fmt::format("rank {}: epoch({}): its turns ended when epoch() was called again; try: "
                          "the loop over one epoch before the next call",
                          s.rank(), pass.epoch))));
    return nullptr;
  }
  if (s.in_turn) {
    static_cast<void>(end_step());
  }
  if (!s.in_epoch || !s.status) {
    return nullptr;
  }
  const auto taken = s.ask<TakenBatch>(NextBatch{});
  if (!taken) {
    static_cast<void>(s.keep(taken.error()));
    return nullptr;
  }
  s.resumes = false;
  s.batch = (*taken)->ready;
  s.batch_is_own = (*taken)->own;
  s.in_turn = s.batch != nullptr;
  s.in_epoch = s.in_turn;
  s.turn_began = SteadyClock::now();
  s.reduced_before_ns = s.reduce_ns;
  return s.in_turn ? &s.batch->batch : nullptr;
}

Status Session::end_step() {
  auto& s = *state_;
  TROUPE_RETURN_IF_ERROR(s.status);
  if (!s.in_turn) {
    return s.keep(Error(Errc::failed_precondition,
                        fmt::format("rank {}: end_step outside a turn of an epoch", s.rank())));
  }
  s.in_turn = false;
  s.train_ns += elapsed_ns(s.turn_began) - (s.reduce_ns - s.reduced_before_ns);
  TROUPE_RETURN_IF_ERROR(s.keep(s.send_learned()));
  Contribute request;
  request.what = Collective::step;
  request.epoch = s.position.epoch;
  if (s.batch_is_own && s.run->job.digest != DigestMode::off) {
    TROUPE_RETURN_IF_ERROR(s.keep(check_original_ids(s.batch->batch)));
    request.batch = digest_of_trained(s.batch->batch, s.run->job.digest);
  }
  request.number = s.flags();
  const auto done = s.together(std::move(request), s.deadline());
  if (!done) {
    return s.keep(done.error());
  }
  for (const auto& batch : (*done)->batches) {
    s.position.batches = chain(s.position.batches, batch);
  }
  s.position.step += 1;
  s.position.global_step += 1;
  TROUPE_RETURN_IF_ERROR(s.keep(s.record_step()));
  const auto flags = static_cast<unsigned>((*done)->number);
  if (s.due(flags)) {
    if ((flags & still_writing) != 0) {
      TROUPE_RETURN_IF_ERROR(s.keep(s.wait_until_written()));
    }
    TROUPE_RETURN_IF_ERROR(s.keep(s.save_all()));
  }
  if ((flags & stop_wanted) != 0) {
    // The first that returns ends the run for all; rank 0 must have taken everyone's state by then.
    static_cast<void>(s.together(Contribute{}, s.deadline()));
    s.finish_writing();
    return s.keep(Error(Errc::cancelled, fmt::format("rank {}: the run is asked to end after step "
                                                     "{}",
                                                     s.rank(), s.position.global_step)));
  }
  return ok_status();
}

// ---- all ranks together ----

Status Session::all_reduce(std::span<float> values) {
  auto& s = *state_;
  TROUPE_RETURN_IF_ERROR(s.status);
  for (std::size_t first = 0; first == 0 || first < values.size(); first += session_piece) {
    const auto piece = values.subspan(first, std::min(session_piece, values.size() - first));
    Contribute request;
    request.what = Collective::sum;
    request.values = copy_of(piece);
    request.length = first == 0 ? std::optional(values.size()) : std::nullopt;
    request.weight = 1;
    const auto sum = s.together(std::move(request), s.deadline());
    if (!sum) {
      return s.keep(sum.error());
    }
    std::ranges::copy((*sum)->values, piece.begin());
  }
  return ok_status();
}

Result<std::uint64_t> Session::all_reduce_mean(std::span<float> values, std::uint64_t weight) {
  auto& s = *state_;
  TROUPE_RETURN_IF_ERROR(s.status);
  std::uint64_t total = 0;
  for (std::size_t first = 0; first == 0 || first < values.size(); first += session_piece) {
    const auto piece = values.subspan(first, std::min(session_piece, values.size() - first));
    Contribute request;
    request.what = Collective::mean;
    request.values = copy_of(piece);
    request.length = first == 0 ? std::optional(values.size()) : std::nullopt;
    request.weight = weight;
    const auto sum = s.together(std::move(request), s.deadline());
    if (!sum) {
      return std::move(s.keep(sum.error())).error();
    }
    std::ranges::copy((*sum)->values, piece.begin());
    total = (*sum)->weight;
  }
  return total;
}

Status Session::barrier(std::chrono::milliseconds deadline) {
  auto& s = *state_;
  TROUPE_RETURN_IF_ERROR(s.status);
  const auto within =
      std::clamp<std::chrono::milliseconds>(deadline, std::chrono::milliseconds(0), longest_wait);
  const auto done = s.together(Contribute{}, within);
  if (done) {
    return ok_status();
  }
  const Status failed = done.error();
  return failed.error().code() == Errc::deadline_exceeded ? failed : s.keep(failed);
}

void Session::on_save(Save hook) {
  state_->save = std::move(hook);
}
void Session::on_restore(Restore hook) {
  state_->restore = std::move(hook);
}

}  // namespace troupe
