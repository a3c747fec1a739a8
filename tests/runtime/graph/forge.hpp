#pragma once
/// \file forge.hpp
/// Stores whose checksums are right and whose contents are not.
#include "runtime/base/digest.hpp"
#include "runtime/base/self_checksum.hpp"
#include "tests/runtime/graph/store_fixture.hpp"
#include "tests/support/file_text.hpp"

#include <fmt/format.h>

namespace troupe::testing {

/// Rewrites graph.json (or partition.json) with a correct checksum after replacing `from` by `to`:
/// what a hostile writer could do.
inline void forge(const std::filesystem::path& path, const std::string& from,
                  const std::string& to) {
  auto text = testing::file_text(path);
  const auto at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  const std::string key = "\"self_checksum\": \"";
  const auto digits = text.find(key) + key.size();
  write_all(path, seal_text(text.replace(digits, unsealed.size(), unsealed)));
}

/// Replaces an array and its entry in graph.json (or partition.json), so that only the contents are
/// wrong.
template <class T>
void forge_array(const std::filesystem::path& dir, const std::string& path,
                 std::vector<std::uint64_t> shape, const std::vector<T>& values,
                 const std::string& listing = "graph.json") {
  const auto entry = [&] {
    const auto text = testing::file_text(dir / path);
    return fmt::format("\"bytes\": {},\n   \"checksum\": \"{}\"", text.size(),
                       to_string(digest_of(std::as_bytes(std::span(text)))));
  };
  const auto before = entry();
  save_npy(dir / path, std::move(shape), values);
  forge(dir / listing, before, entry());
}

}  // namespace troupe::testing
