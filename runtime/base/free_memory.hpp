#pragma once
/// \file free_memory.hpp
/// Memory that programs of this machine can still take.
#include <cstdint>
#include <filesystem>

namespace troupe {

/// Bytes that are free or hold nothing but files, at most what control groups leave to this process;
/// 0: not known.
/// \param root  of the files of the system; for tests
std::uint64_t free_memory_bytes(const std::filesystem::path& root = "/");

}  // namespace troupe
