#pragma once
/// \file sizes.hpp
/// Sizes of segments and windows in the tests of this folder.
#include <cstddef>

namespace troupe::net {

constexpr std::size_t kib = std::size_t{1} << 10;
constexpr std::size_t mib = std::size_t{1} << 20;

}  // namespace troupe::net
