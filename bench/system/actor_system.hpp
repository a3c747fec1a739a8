#pragma once
/// \file actor_system.hpp
/// An actor system as the simulated cluster has it, that ends its actors.
#include "actors/system_config.hpp"

#include <caf/all.hpp>

#include <vector>

namespace troupe::bench {

/// Lifecycle: the destructor ends the actors that it keeps and waits for all
class ActorSystem {
 public:
  ActorSystem() : system_(config_) {}
  ~ActorSystem() {
    for (const auto& actor : kept_) {
      caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
    }
    kept_.clear();
    system_.await_all_actors_done();
  }
  ActorSystem(const ActorSystem&) = delete;
  ActorSystem& operator=(const ActorSystem&) = delete;

  caf::actor_system& system() { return system_; }
  caf::actor keep(caf::actor actor) {
    kept_.push_back(actor);
    return actor;
  }

 private:
  ThreadedConfig config_;
  caf::actor_system system_;
  std::vector<caf::actor> kept_;
};

}  // namespace troupe::bench
