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
  if (path_.collector) {
    caf::anon_send_exit(path_.collector, caf::exit_reason::user_shutdown);
  }
  path_ = {};
}

void DataPathKeeper::start(caf::event_based_actor* self) {
  path_ = spawn_();
  ++incarnation_;
  for (const auto& sampler : path_.samplers) {
    self->monitor(sampler);
  }
  if (path_.collector) {
    self->monitor(path_.collector);
  }
}

bool DataPathKeeper::owns(const caf::actor_addr& source) const {
  return (path_.collector && path_.collector.address() == source) ||
         std::ranges::any_of(path_.samplers,
                             [&](const auto& sampler) { return sampler.address() == source; });
}

Status DataPathKeeper::restart(caf::event_based_actor* self, const Error& why) {
  for (const auto& sampler : path_.samplers) {
    self->demonitor(sampler);
  }
  if (path_.collector) {
    self->demonitor(path_.collector);
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
