#pragma once
/// \file hardware.hpp
/// Where and how a result came to be, so that unlike results are not compared.
#include <nlohmann/json_fwd.hpp>

namespace troupe::bench {

/// Processor, cores, memory, kernel.
nlohmann::ordered_json hardware_json();
/// Program version, compiler and build type.
nlohmann::ordered_json build_json();

}  // namespace troupe::bench
