#include "actors/batch_client.hpp"

#include "actors/error.hpp"
#include "actors/local_messages.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace troupe {

BatchClient::BatchClient(caf::event_based_actor* self, SpawnDataPath spawn)
    : self_(self), spawn_(std::move(spawn)), servers_(self) {
  start();
}

BatchClient::~BatchClient() {
  end_all();
}

std::vector<caf::actor> BatchClient::actors() const {
  auto all = path_.samplers;
  all.insert(all.end(), path_.behind.begin(), path_.behind.end());
  for (const auto& actor : {path_.own, path_.collector}) {
    if (actor) {
      all.push_back(actor);
    }
  }
  return all;
}

bool BatchClient::owns(const caf::actor_addr& source) const {
  return std::ranges::any_of(actors(),
                             [&](const auto& actor) { return actor.address() == source; });
}

void BatchClient::end_all() {
  for (const auto& actor : actors()) {
    caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  }
  path_ = {};
}

void BatchClient::start() {
  path_ = spawn_();
  ++incarnation_;
  for (const auto& actor : actors()) {
    self_->monitor(actor);
  }
}

void BatchClient::ask(std::uint64_t slot, const Ref<SampleBatch>& request, Answer then) {
  const auto id = next_id_++;
  open_.emplace(id, Open{slot, request, std::move(then)});
  send(id);
}

void BatchClient::hint(std::uint64_t slot, std::shared_ptr<const SampleBatch> request) {
  if (path_.servers.empty() && !path_.samplers.empty()) {
    self_->send(path_.samplers[slot % path_.samplers.size()],
                Ref<SampleAhead>(SampleAhead{std::move(request)}));
  }
}

void BatchClient::send(std::uint64_t id) {
  const auto slot = open_.at(id).slot;
  const auto& request = open_.at(id).request;
  const auto is_current = [this, id, incarnation = incarnation_] {
    return incarnation_ == incarnation && open_.contains(id);
  };
  const bool travels = request->options == BatchOptions::job;
  if (!path_.servers.empty() && (travels || !path_.own)) {
    servers_.request<ReadyBatch>(path_.servers[slot % path_.servers.size()], request,
                                 [this, id, is_current](Result<Ref<ReadyBatch>> ready) {
                                   if (is_current()) {
                                     answer(id, std::move(ready));
                                   }
                                 });
    return;
  }
  const auto& sampler =
      !travels && path_.own ? path_.own : path_.samplers[slot % path_.samplers.size()];
  self_->request(sampler, caf::infinite, request)
      .then(
          [this, id, is_current](const Ref<ReadyBatch>& ready) {
            if (is_current()) {
              answer(id, ready);
            }
          },
          [this, id, is_current](const caf::error& error) {
            auto why = from_caf(error);
            // on_down() sees to a lost sampler or collector.
            if (is_current() && why.code() != Errc::peer_lost) {
              answer(id, std::move(why));
            }
          });
}

void BatchClient::answer(std::uint64_t id, Result<Ref<ReadyBatch>> with) {
  const auto node = open_.extract(id);
  const auto& open = node.mapped();
  if (with) {
    restarts_ = 0;
    if (const auto fits = check_answer(*open.request, **with); !fits) {
      with = fits.error();
    }
  }
  open.then(std::move(with));
}

void BatchClient::forget() {
  open_.clear();
  servers_.forget_all();
}

void BatchClient::fail_all(const Error& why) {
  servers_.forget_all();
  for (const auto& [id, open] : std::exchange(open_, {})) {
    open.then(why);
  }
}

Status BatchClient::on_down(const caf::down_msg& down) {
  servers_.on_down(down);
  if (!owns(down.source)) {
    return ok_status();
  }
  for (const auto& actor : actors()) {
    self_->demonitor(actor);
  }
  end_all();
  servers_.forget_all();
  if (++restarts_ > max_restarts) {
    const Error why(
        Errc::peer_lost,
        fmt::format("a sampler or the collector ended {} times in a row without a batch: {}",
                    restarts_, from_caf(down.reason).what()));
    fail_all(why);
    return why;
  }
  start();
  std::vector<std::uint64_t> again;
  again.reserve(open_.size());
  for (const auto& [id, open] : open_) {
    again.push_back(id);
  }
  for (const auto id : again) {
    send(id);
  }
  return ok_status();
}

}  // namespace troupe
