#pragma once
/// \file link_files.hpp
/// Files of links of Cora for jobs that learn links.
#include "tests/support/npy_reader.hpp"
#include "tests/support/npy_writer.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <span>
#include <string>
#include <vector>

namespace troupe::testing {

/// Every eighteenth edge as a link to train on, 120 others to validate and to test.
/// \returns keys of a job that uses them
inline std::vector<std::string> write_cora_links(const std::filesystem::path& folder) {
  const auto source = std::filesystem::path(TROUPE_SOURCE_DIR) / "examples" / "data" / "cora";
  const auto ends = read_npy(source / "edge_index.npy").as<std::int64_t>();
  const auto edges = ends.size() / 2;
  struct Role {
    const char* name;
    std::size_t first;
    std::size_t step;
    std::size_t count;
  };
  std::vector<std::string> keys{"task.kind=link"};
  for (const auto& [name, first, step, count] :
       {Role{"train", 0, 18, 500}, Role{"val", 5, 80, 120}, Role{"test", 11, 80, 120}}) {
    std::vector<std::int64_t> links;
    for (std::size_t i = 0; i < count; ++i) {
      const auto edge = (first + i * step) % edges;
      links.push_back(ends[edge]);
      links.push_back(ends[edges + edge]);
    }
    const auto file = folder / fmt::format("{}_links.npy", name);
    write_numbers(file, 2, links);
    keys.push_back(fmt::format("dataset.seeds.{}={}", name, file.string()));
  }
  return keys;
}

/// Four candidates for each of the 120 links of a role, and 90 false links.
/// \returns keys of a job that uses them
inline std::vector<std::string> write_candidates(const std::filesystem::path& folder) {
  std::vector<std::string> keys;
  for (const char* role : {"val", "test"}) {
    std::vector<std::int64_t> candidates;
    for (std::int64_t i = 0; i < 480; ++i) {
      candidates.push_back((i * 131 + (role[0] == 'v' ? 5 : 70)) % 2708);
    }
    std::vector<std::int64_t> negatives;
    for (std::int64_t i = 0; i < 180; ++i) {
      negatives.push_back((i * 977 + role[0]) % 2708);
    }
    const auto ranked = folder / fmt::format("{}_candidates.npy", role);
    const auto false_links = folder / fmt::format("{}_negatives.npy", role);
    write_numbers(ranked, 4, candidates);
    write_numbers(false_links, 2, negatives);
    keys.push_back(fmt::format("eval.candidates.{}={}", role, ranked.string()));
    keys.push_back(fmt::format("eval.negatives.{}={}", role, false_links.string()));
  }
  return keys;
}

}  // namespace troupe::testing
