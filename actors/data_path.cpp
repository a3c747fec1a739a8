#include "actors/data_path.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace troupe {

DataPathKeeper::~DataPathKeeper() {
  end_all();
}

void DataPathKeeper::end_all() {
  for (const auto& sampler : path_.samplers) {
    caf::anon_send_exit(sampler, caf::exit_reason::user_shutdown);
  }
  for (const auto& actor : {path_.own, path_.collector}) {
    if (actor) {
      caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
    }
  }
  path_ = {};
}

void DataPathKeeper::start(caf::event_based_actor* self) {
  path_ = spawn_();
  ++incarnation_;
  for (const auto& sampler : path_.samplers) {
    self->monitor(sampler);
  }
  for (const auto& actor : {path_.own, path_.collector}) {
    if (actor) {
      self->monitor(actor);
    }
  }
}

bool DataPathKeeper::owns(const caf::actor_addr& source) const {
  const auto is_lost = [&](const caf::actor& actor) { return actor && actor.address() == source; };
  return is_lost(path_.collector) || is_lost(path_.own) ||
         std::ranges::any_of(path_.samplers,
                             [&](const auto& sampler) { return sampler.address() == source; });
}

Status DataPathKeeper::restart(caf::event_based_actor* self, const Error& why) {
  for (const auto& sampler : path_.samplers) {
    self->demonitor(sampler);
  }
  for (const auto& actor : {path_.own, path_.collector}) {
    if (actor) {
      self->demonitor(actor);
    }
  }
  end_all();
  if (++restarts_ > max_restarts) {
    return Error(Errc::peer_lost,
                 fmt::format("a sampler or the collector ended {} times in a row without a batch: "
                             "{}",
                             restarts_, why.what()));
  }
  start(self);
  return ok_status();
}

}  // namespace troupe
