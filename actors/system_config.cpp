#include "actors/system_config.hpp"

#include "actors/error.hpp"

#include <caf/all.hpp>

#include <fmt/format.h>
#include <thread>

namespace troupe {

SystemConfig::SystemConfig() {
  add_error_category(error_category, [](std::uint8_t code, caf::atom_value,
                                        const caf::message& context) {
    return fmt::format("troupe.{}{}", to_string(static_cast<Errc>(code)), caf::to_string(context));
  });
}

std::size_t handler_threads(std::size_t cores) {
  constexpr std::size_t few = 3;
  return cores <= few ? 1 : 2;
}

ThreadedConfig::ThreadedConfig() {
  set("scheduler.policy", caf::atom("sharing"));  // work stealing polls with sleeps
  set("scheduler.max-threads", handler_threads(std::thread::hardware_concurrency()));
  set("scheduler.max-throughput", std::size_t{50});
}

}  // namespace troupe
