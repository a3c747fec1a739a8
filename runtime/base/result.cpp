#include "runtime/base/result.hpp"

#include <array>

namespace troupe {

std::string_view to_string(Errc code) noexcept {
  static constexpr std::array<std::string_view, 15> names = {"ok",
                                                             "invalid_argument",
                                                             "failed_precondition",
                                                             "not_found",
                                                             "out_of_memory",
                                                             "overloaded",
                                                             "peer_lost",
                                                             "deadline_exceeded",
                                                             "data_corruption",
                                                             "cuda_failure",
                                                             "cancelled",
                                                             "unimplemented",
                                                             "internal",
                                                             "fenced",
                                                             "unauthenticated"};
  const auto index = static_cast<std::size_t>(code);
  return index < names.size() ? names[index] : "unknown";
}

}  // namespace troupe
