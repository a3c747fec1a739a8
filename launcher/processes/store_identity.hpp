#pragma once
/// \file store_identity.hpp
/// Whether two processes have the same store.
#include "runtime/base/result.hpp"
#include "runtime/wire/membership.hpp"

#include <cstdint>
#include <filesystem>

namespace troupe {

/// Checksum of a partitioned store's descriptions, which name every file with its size and checksum.
/// \errors not_found
Result<std::uint64_t> store_identity(const std::filesystem::path& store);

/// Whether this host has the director's store.
/// \errors failed_precondition: another one; those of store_identity()
Status check_store(const net::Welcome& welcome);

}  // namespace troupe
