#pragma once
/// \file upload.hpp
/// Arrays with values of the host: in a device's memory, or in pinned memory of the host.
#include "gpu/base/array.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace troupe::gpu {

/// Borrows: the values, until the work is done
template <class T, class Stream>
Array<T> uploaded_array(Stream& on, std::span<const T> values) {
  return values.empty() ? on.template array<T>(0) : on.uploaded(values);
}

/// A copy that the kernels of every device read. It is complete at once.
template <class T, class Stream>
Array<T> pinned_array(Stream& on, std::span<const T> values) {
  auto result = on.template host_array<T>(values.size());
  if (!values.empty() && !on.failed()) {
    std::memcpy(result.data(), values.data(), values.size_bytes());
  }
  return result;
}

/// The same of pieces, one after the other.
/// \param bytes  of all of them
template <class Stream>
Array<std::byte> pinned_pieces(Stream& on, std::span<const std::span<const std::byte>> pieces,
                               std::uint64_t bytes) {
  auto result = on.template host_array<std::byte>(bytes);
  auto* at = result.data();
  for (const auto& piece : pieces) {
    if (!piece.empty() && !on.failed()) {
      std::memcpy(at, piece.data(), piece.size_bytes());
      at += piece.size_bytes();
    }
  }
  return result;
}

}  // namespace troupe::gpu
