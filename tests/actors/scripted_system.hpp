#pragma once
/// \file scripted_system.hpp
/// Actor tests that read as message traces: an actor system that runs one message at a time on the
/// test's thread and on a virtual clock, and scripted actors, whose inbox the test reads and whose
/// answers it sends. No test waits, and the test alone orders the messages.
#include "actors/error.hpp"
#include "actors/message.hpp"
#include "actors/offload.hpp"
#include "tests/support/held_executor.hpp"

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cxxabi.h>
#include <deque>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace troupe::testing {

/// Lines "sender -> receiver: Message", in the order in which messages were taken.
using MessageTrace = std::vector<std::string>;

/// Name of a message's type without Ref and namespaces: "RowRequest", "error(peer_lost)".
inline std::string message_text(const caf::type_erased_tuple& content) {
  if (content.match_elements<caf::down_msg>()) {
    return "down";
  }
  if (content.match_elements<caf::exit_msg>()) {
    return "exit";
  }
  if (content.match_elements<caf::error>()) {
    return fmt::format("error({})", to_string(from_caf(content.get_as<caf::error>(0)).code()));
  }
  const auto* const type = content.empty() ? nullptr : content.type(0).second;
  if (type == nullptr) {
    return content.stringify();
  }
  const std::unique_ptr<char, void (*)(void*)> plain(
      abi::__cxa_demangle(type->name(), nullptr, nullptr, nullptr), std::free);
  std::string text = plain ? plain.get() : type->name();
  text = text.substr(text.rfind("::") + 2);
  return text.substr(0, text.find('>'));
}

/// Runs actors under test.
/// Lifecycle: the first member of a fixture, so that it outlives the actors' handles; ends the
///   actors that were added
/// Threads:   the test's alone
class ScriptedSystem {
 public:
  ScriptedSystem() : system_(deterministic(config_)) {
    clock().current_time += std::chrono::hours(1);  // as CAF's own fixture: never at zero
  }
  ~ScriptedSystem() {  // NOLINT(bugprone-exception-escape): what it throws ends the test
    for (const auto& actor : actors_) {  // before what they still have to take: the fixture is gone
      caf::actor_cast<caf::abstract_actor*>(actor)->enqueue(
          nullptr, caf::make_message_id(caf::message_priority::high),
          caf::make_message(caf::exit_msg{actor.address(), caf::exit_reason::kill}), nullptr);
    }
    run_messages();
  }
  ScriptedSystem(const ScriptedSystem&) = delete;
  ScriptedSystem& operator=(const ScriptedSystem&) = delete;

  caf::actor_system& operator*() { return system_; }
  /// Work that actors offload; run() does it.
  const std::shared_ptr<HeldExecutor>& executor() const { return executor_; }

  /// Names an actor under test, and has it begin.
  caf::actor add(const std::string& name, const caf::actor& actor) {
    names_[actor.id()] = name;
    actor->attach_functor(
        [this, id = actor.id()](const caf::error& why) { ends_.emplace(id, from_caf(why)); });
    if (coordinator().prioritize(actor)) {
      coordinator().run_once();
    }
    return actors_.emplace_back(actor);
  }
  void name(const caf::actor& actor, const std::string& name) { names_[actor.id()] = name; }
  /// Why an actor that was added has ended; nothing: it lives.
  std::optional<Error> end_of(const caf::actor& actor) const {
    const auto found = ends_.find(actor.id());
    return found == ends_.end() ? std::nullopt : std::optional<Error>(found->second);
  }

  /// The message that run_one() takes next, as in the trace; empty: none.
  std::string next_message() {
    std::string text;
    if (const auto next = next_element(); next.second != nullptr) {
      text = text_of(*next.second, next.first->id());
    }
    return text;
  }
  /// Lets an actor take one message. \returns whether there was one
  bool run_one() {
    if (coordinator().jobs.empty()) {
      return false;
    }
    if (const auto next = next_element(); next.second != nullptr) {
      note(*next.second, next.first->id());
    }
    coordinator().run_once();
    return true;
  }
  /// Lets all messages be taken; offloaded work stays where it is, and so does the time.
  void run_messages() {
    for (std::size_t taken = 0; run_one(); ++taken) {
      require(taken < most_messages, "the actors send messages without end");
    }
  }
  /// Lets all messages be taken and all offloaded work be done, at this time.
  void run() {
    do {
      run_messages();
    } while (executor_->run_all() > 0);
  }
  /// As run(), then advances the virtual time until `holds()`. \returns whether it does
  template <class Holds>
  bool run_until(Holds holds, std::chrono::milliseconds limit = std::chrono::seconds(10)) {
    const auto end = clock().now() + limit;
    const auto& timeouts = clock().schedule();
    run();
    while (!holds() && !timeouts.empty() && timeouts.begin()->first <= end) {
      clock().advance_time(std::max(timeouts.begin()->first - clock().now(), caf::timespan(0)));
      run();
    }
    return holds();
  }
  /// As run(), then advances the virtual time by a span.
  void run_for(std::chrono::milliseconds time) {
    const auto end = clock().now() + time;
    run_until([] { return false; }, time);
    clock().advance_time(end - clock().now());
  }

  /// Delayed messages and deadlines of requests that are still to come.
  std::size_t timers() { return clock().schedule().size(); }

  /// A line of the test's own, for example from a function that an actor calls.
  void say(std::string line) { trace_.push_back(std::move(line)); }
  /// The trace since the last call. Continuations are left out: they are no messages to others.
  MessageTrace take_trace() { return std::exchange(trace_, {}); }

  /// For scripted actors: `what` is taken by `receiver`.
  void note(const caf::mailbox_element& what, caf::actor_id receiver) {
    if (!what.content().match_elements<Ref<Continuation>>()) {
      say(text_of(what, receiver));
    }
  }
  /// Ends the test with `problem` unless `holds`.
  static void require(bool holds, const std::string& problem) {
    if (!holds) {
      throw std::runtime_error(problem);
    }
  }

 private:
  static constexpr std::size_t most_messages = 1'000'000;

  static caf::actor_system_config& deterministic(caf::actor_system_config& config) {
    config.set("scheduler.policy", caf::atom("testing"));
    return config;
  }
  caf::scheduler::test_coordinator& coordinator() {
    return dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler());
  }
  caf::detail::test_actor_clock& clock() { return coordinator().clock(); }
  std::pair<caf::abstract_actor*, const caf::mailbox_element*> next_element() {
    const auto& jobs = coordinator().jobs;
    auto* const actor = jobs.empty() ? nullptr : dynamic_cast<caf::abstract_actor*>(jobs.front());
    return {actor, actor == nullptr ? nullptr : actor->peek_at_next_mailbox_element()};
  }
  std::string name_of(caf::actor_id id) const {
    const auto found = names_.find(id);
    return found == names_.end() ? fmt::format("actor {}", id) : found->second;
  }
  std::string text_of(const caf::mailbox_element& what, caf::actor_id receiver) const {
    const auto& content = what.content();
    std::string from = what.sender ? name_of(what.sender->id()) : "nobody";
    if (content.match_elements<caf::down_msg>()) {
      from = name_of(content.get_as<caf::down_msg>(0).source.id());
    }
    return fmt::format("{} -> {}: {}", from, name_of(receiver), message_text(content));
  }

  caf::actor_system_config config_;
  caf::actor_system system_;
  std::shared_ptr<HeldExecutor> executor_ = std::make_shared<HeldExecutor>();
  std::vector<caf::actor> actors_;
  std::map<caf::actor_id, std::string> names_;
  std::map<caf::actor_id, Error> ends_;
  MessageTrace trace_;
};

/// A request that a scripted actor has taken, to be answered when the test says so.
template <class T>
struct Asked {
  Ref<T> what;
  caf::strong_actor_ptr by;
  caf::message_id id;
  const T* operator->() const { return what.get(); }
};

/// An actor that is the test itself: what it is sent waits until the test takes it.
/// Threads: the test's alone
class ScriptedActor {
 public:
  ScriptedActor(ScriptedSystem& system, const std::string& name) : name_(name) {
    caf::actor_config config;
    auto& actors = *system;
    peer_ = caf::make_actor<Peer, caf::actor>(actors.next_actor_id(), actors.node(), &actors,
                                              config, &system);
    system.name(peer_, name);
  }

  const caf::actor& handle() const { return peer_; }
  const std::string& name() const { return name_; }

  /// \returns the number of the request, for answer_to()
  template <class T>
  std::uint64_t request(const caf::actor& to, const Ref<T>& message) {
    const auto number = ++last_request_;
    caf::actor_cast<caf::abstract_actor*>(to)->enqueue(sender(), caf::make_message_id(number),
                                                       caf::make_message(message), nullptr);
    return number;
  }
  template <class T>
  std::uint64_t request(const caf::actor& to, T message) {
    return request(to, Ref<T>(std::move(message)));
  }
  /// Whether a request was answered.
  bool is_answered(std::uint64_t number) const { return answers(number) > 0; }
  /// How often a request was answered.
  std::size_t answers(std::uint64_t number) const { return peer().answers.count(number); }
  /// The first answer to a request.
  template <class T>
  Result<Ref<T>> answer_to(std::uint64_t number) const {
    const auto found = peer().answers.find(number);
    ScriptedSystem::require(found != peer().answers.end(), name_ + ": it was not answered");
    const auto& content = found->second;
    if (content.template match_elements<caf::error>()) {
      return from_caf(content.template get_as<caf::error>(0));
    }
    ScriptedSystem::require(content.template match_elements<Ref<T>>(),
                            name_ + ": it was answered with " + message_text(content));
    return content.template get_as<Ref<T>>(0);
  }

  /// Messages that wait.
  std::size_t waiting() const { return peer().inbox.size(); }
  /// Takes the oldest message, which is to be a T.
  template <class T>
  Asked<T> take() {
    auto& inbox = peer().inbox;
    ScriptedSystem::require(!inbox.empty(), name_ + ": nothing was sent to it");
    auto first = std::move(inbox.front());
    inbox.pop_front();
    ScriptedSystem::require(first.content.template match_elements<Ref<T>>(),
                            name_ + ": it was sent " + message_text(first.content));
    return {first.content.template get_as<Ref<T>>(0), std::move(first.sender), first.id};
  }

  template <class T, class Reply>
  void answer(const Asked<T>& asked, Reply reply) {
    respond(asked.by, asked.id, caf::make_message(Ref<Reply>(std::move(reply))));
  }
  template <class T, class Reply>
  void answer(const Asked<T>& asked, const Ref<Reply>& reply) {
    respond(asked.by, asked.id, caf::make_message(reply));
  }
  template <class T>
  void fail(const Asked<T>& asked, const Error& why) {
    respond(asked.by, asked.id, caf::make_message(to_caf(why)));
  }

  /// Kills the actor: its monitors get a down message, open requests no answer.
  void end() { peer().end(caf::exit_reason::kill); }
  bool has_ended() const { return peer().ended; }

 private:
  struct Delivery {
    caf::strong_actor_ptr sender;
    caf::message_id id;
    caf::message content;
  };

  /// Has no mailbox: a message is there as soon as it is sent.
  class Peer final : public caf::monitorable_actor {
   public:
    Peer(caf::actor_config& config, ScriptedSystem* system)
        : caf::monitorable_actor(config), system_(system) {}
    const char* name() const override { return "troupe.scripted"; }

    using caf::abstract_actor::enqueue;
    void enqueue(caf::mailbox_element_ptr what, caf::execution_unit* /*context*/) override {
      system_->note(*what, id());
      const auto& content = what->content();
      if (content.match_elements<caf::exit_msg>()) {
        const auto& why = content.get_as<caf::exit_msg>(0).reason;
        return why == caf::exit_reason::normal ? void() : end(why);
      }
      if (what->mid.is_response()) {
        answers.emplace(what->mid.request_id().integer_value(), what->move_content_to_message());
        return;
      }
      if (ended) {
        return bounce(*what);
      }
      inbox.push_back({what->sender, what->mid, what->move_content_to_message()});
    }
    void end(caf::error why) {
      ended = true;
      cleanup(std::move(why), nullptr);
    }

    std::deque<Delivery> inbox;
    std::multimap<std::uint64_t, caf::message> answers;
    bool ended = false;

   private:
    /// As CAF does for a dead actor.
    void bounce(const caf::mailbox_element& what) {
      if (what.sender && what.mid.is_request()) {
        what.sender->enqueue(ctrl(), what.mid.response_id(),
                             caf::make_message(caf::make_error(caf::sec::request_receiver_down)),
                             nullptr);
      }
    }

    ScriptedSystem* system_;
  };

  Peer& peer() const { return *static_cast<Peer*>(caf::actor_cast<caf::abstract_actor*>(peer_)); }
  caf::strong_actor_ptr sender() const { return caf::actor_cast<caf::strong_actor_ptr>(peer_); }
  void respond(const caf::strong_actor_ptr& to, caf::message_id id, caf::message content) const {
    to->enqueue(sender(), id.response_id(), std::move(content), nullptr);
  }

  std::string name_;
  caf::actor peer_;
  std::uint64_t last_request_ = 0;
};

}  // namespace troupe::testing
