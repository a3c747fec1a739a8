#pragma once
/// \file system_config.hpp
/// How actor systems are set up: names of our errors, and the threads that run handlers.
#include <caf/actor_system_config.hpp>

#include <cstddef>

namespace troupe {

/// Our errors have their code's name and sentence in CAF's own text.
struct SystemConfig : caf::actor_system_config {
  SystemConfig();
};

/// Threads that run handlers beside one compute thread per core. With few cores it is one: with two, each message
/// would wake the other thread, on a core that computes.
std::size_t handler_threads(std::size_t cores);

/// Actors on real threads. Handlers are short and none blocks: long work is offloaded (offload.hpp).
struct ThreadedConfig : SystemConfig {
  ThreadedConfig();
};

}  // namespace troupe
