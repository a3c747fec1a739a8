#pragma once
/// \file pieces.hpp
/// Arrays of a batch, cut from one block of a device's memory: an allocation costs the host as much as
/// a launch.
#include "gpu/base/array.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace troupe::gpu {

class EmulatedStream;

enum class Memory : std::uint8_t {
  one_block,
  separate,  ///< Each array is an allocation of its own, so that what leaves it is noticed
};

/// How a stream's arrays lie unless a caller says otherwise.
template <class Stream>
inline constexpr Memory memory_of =
    std::is_same_v<Stream, EmulatedStream> ? Memory::separate : Memory::one_block;

/// Gives memory to arrays; those without elements get none.
/// \param list  calls its argument with each array and its size, in the same order each time
template <class Stream, class List>
void make_arrays(Stream& on, Memory memory, const List& list) {
  if (memory == Memory::separate) {
    list([&on]<class T>(Array<T>& array, std::size_t size) {
      array = size > 0 ? on.template array<T>(size) : Array<T>();
    });
    return;
  }
  constexpr std::size_t alignment = 256;
  std::size_t end = 0;
  const auto place = [&end](std::size_t bytes) {
    const std::size_t at = end;
    end += (bytes + alignment - 1) / alignment * alignment;
    return at;
  };
  list([&place]<class T>(Array<T>& /*array*/, std::size_t size) { place(size * sizeof(T)); });
  if (end == 0) {
    return;
  }
  const auto block = on.template array<std::byte>(end);
  if (on.failed()) {
    return;
  }
  end = 0;
  list([&]<class T>(Array<T>& array, std::size_t size) {
    const std::size_t at = place(size * sizeof(T));
    array = size > 0 ? block.template piece<T>(at, size) : Array<T>();
  });
}

}  // namespace troupe::gpu
