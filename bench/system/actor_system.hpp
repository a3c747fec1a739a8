#pragma once
/// \file actor_system.hpp
/// An actor system as the simulated cluster has it, that ends its actors.
#include "actors/error.hpp"

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
  struct Config : caf::actor_system_config {
    Config() {  // as launcher/simulated_cluster.cpp
      set("scheduler.policy", caf::atom("sharing"));
      set("scheduler.max-threads", std::size_t{2});
      set("scheduler.max-throughput", std::size_t{50});
      add_error_category(
          error_category, [](std::uint8_t code, caf::atom_value, const caf::message& context) {
            return std::string(to_string(static_cast<Errc>(code))) + caf::to_string(context);
          });
    }
  };
  Config config_;
  caf::actor_system system_;
  std::vector<caf::actor> kept_;
};

}  // namespace troupe::bench
