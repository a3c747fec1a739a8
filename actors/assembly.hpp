#pragma once
/// \file assembly.hpp
/// Drives many batches at once that are put together from answers of parts: sampled or collected.
/// Steps run on the compute pool, requests go to the holders of parts elsewhere.
#include "actors/error.hpp"
#include "actors/host_context.hpp"
#include "actors/offload.hpp"
#include "actors/replica_client.hpp"

#include <caf/all.hpp>

#include <chrono>
#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

namespace troupe {

/// \tparam Work   has Question, ReplyTo, Step, Arrived, step() and key(): SamplingWork, CollectingWork;
///   its questions hold one kind of request, or a variant of several
/// \tparam About  what its actor wants to know of a batch when it is done
/// Lifecycle: a member of its actor's state
/// Threads:   its actor's
template <class Work, class About>
class Assemblies {
 public:
  using Step = typename Work::Step;
  /// One batch. `work` is used by one step at a time: `busy` says that one is under way.
  struct Item {
    caf::response_promise promise;
    std::shared_ptr<Work> work;
    About about;
    std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
    std::vector<typename Work::Arrived> arrived = {};
    std::uint64_t steps = 0;
    bool busy = false;

    std::uint64_t nanoseconds() const {
      return static_cast<std::uint64_t>((std::chrono::steady_clock::now() - began).count());
    }
  };
  struct Hooks {
    const char* doing = "";  ///< For messages: "sampling"
    std::function<void(Item)> finish;
    std::function<void(const Step&)> after_first_step = {};
    /// Takes a batch that failed; returns whether it has dealt with the failure, so that nobody is told.
    std::function<bool(Item&)> keeps_failure = {};
  };

  Assemblies(caf::event_based_actor* self, std::shared_ptr<const HostContext> host, Hooks hooks)
      : self_(self), host_(std::move(host)), hooks_(std::move(hooks)), holders_(self) {}

  bool full() const { return items_.size() == max_batches_in_progress; }

  void begin(caf::response_promise promise, Work work, About about) {
    if (full()) {
      promise.deliver(to_caf(
          Error(Errc::overloaded, fmt::format("{}: {} batches in progress, the most it takes",
                                              hooks_.doing, max_batches_in_progress))));
      return;
    }
    const auto id = next_id_++;
    items_.emplace(id, Item{.promise = std::move(promise),
                            .work = std::make_shared<Work>(std::move(work)),
                            .about = std::move(about)});
    step(id);
  }

  /// For the actor's down handler.
  void on_down(const caf::down_msg& down) { holders_.on_down(down); }

  void fail_all(const Error& why) {
    while (!items_.empty()) {
      fail(items_.begin()->first, why);
    }
  }

 private:
  Item* find(std::uint64_t id) {
    const auto found = items_.find(id);
    return found == items_.end() ? nullptr : &found->second;
  }

  void fail(std::uint64_t id, const Error& why) {
    auto node = items_.extract(id);
    if (!node.empty() && !(hooks_.keeps_failure && hooks_.keeps_failure(node.mapped()))) {
      const auto key = node.mapped().work->key();
      node.mapped().promise.deliver(to_caf(Error(why).with(
          fmt::format("{} batch {} of epoch {}", hooks_.doing, key.number, key.epoch + 1))));
    }
  }

  void step(std::uint64_t id) {
    auto& item = items_.at(id);
    item.busy = true;
    ++item.steps;
    offload(
        self_, *host_->executor,
        [work = item.work, arrived = std::exchange(item.arrived, {})] {
          return work->step(arrived);
        },
        [this, id](Result<Step> made) { after(id, std::move(made)); });
  }

  void after(std::uint64_t id, Result<Step> made) {
    auto* item = find(id);
    if (item == nullptr) {
      return;
    }
    if (!made) {
      return fail(id, made.error());
    }
    if (item->steps == 1 && hooks_.after_first_step) {
      hooks_.after_first_step(*made);
    }
    for (auto& question : made->ask) {
      ask(id, std::move(question));
    }
    if (made->done) {
      return hooks_.finish(std::move(items_.extract(id).mapped()));
    }
    item->busy = false;
    if (made->more || !item->arrived.empty()) {
      step(id);
    }
  }

  void ask(std::uint64_t id, typename Work::Question question) {
    const auto send = [&](auto& request) {
      send_to_holder(id, question.part, question.id, std::move(request));
    };
    if constexpr (requires { std::variant_size<decltype(question.request)>::value; }) {
      std::visit(send, question.request);
    } else {
      send(question.request);
    }
  }

  template <class Request>
  void send_to_holder(std::uint64_t id, PartId part, std::uint32_t number, Request request) {
    using Reply = typename Work::template ReplyTo<Request>;
    holders_.request<Reply>(
        host_->holders[raw(part)], Ref<Request>(std::move(request)),
        [this, id, part, number](Result<Ref<Reply>> reply) {
          auto* item = find(id);
          if (item == nullptr) {
            return;
          }
          if (!reply) {
            return fail(id, Error(reply.error()).with(fmt::format("holder of part {}", raw(part))));
          }
          item->arrived.push_back({number, std::shared_ptr<const Reply>(*std::move(reply))});
          if (!item->busy) {
            step(id);
          }
        });
  }

  caf::event_based_actor* self_;
  std::shared_ptr<const HostContext> host_;
  Hooks hooks_;
  ReplicaClient holders_;
  std::map<std::uint64_t, Item> items_;
  std::uint64_t next_id_ = 0;
};

}  // namespace troupe
