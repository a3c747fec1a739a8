#include "tests/support/folded_cora.hpp"

#include "runtime/base/files.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/npy_reader.hpp"
#include "tests/support/npy_writer.hpp"
#include "tests/support/scratch_folder.hpp"

#include <array>
#include <cstdint>
#include <fmt/format.h>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace troupe::testing {

namespace {

constexpr std::int64_t folded_columns = 64;

/// Puts the words of `source` into `target`, folded.
void write_folded_words(const std::filesystem::path& source, const std::filesystem::path& target) {
  const auto starts = read_npy(source / "x_indptr.npy").as<std::int64_t>();
  const auto words = read_npy(source / "x_indices.npy").as<std::int64_t>();
  std::vector<std::int64_t> folded_starts{0};
  std::vector<std::int64_t> folded;
  for (std::size_t node = 0; node + 1 < starts.size(); ++node) {
    std::set<std::int64_t> columns;
    for (auto i = starts[node]; i < starts[node + 1]; ++i) {
      columns.insert(words[static_cast<std::size_t>(i)] % folded_columns);
    }
    folded.insert(folded.end(), columns.begin(), columns.end());
    folded_starts.push_back(static_cast<std::int64_t>(folded.size()));
  }
  write_column(target / "x_indptr.npy", folded_starts);
  write_column(target / "x_indices.npy", folded);
  const auto text = fmt::format(R"({{"name": "cora", "num_nodes": {}, "num_features": {}}})",
                                folded_starts.size() - 1, folded_columns);
  const std::array pieces{std::as_bytes(std::span(text))};
  ASSERT_OK(write_new_file(target / "meta.json", pieces));
}

}  // namespace

const std::filesystem::path& folded_cora() {
  static const ScratchFolder folder;
  static const std::filesystem::path made = [] {
    const auto source = std::filesystem::path(TROUPE_SOURCE_DIR) / "examples" / "data" / "cora";
    const auto target = folder.path() / "cora";
    std::filesystem::create_directory(target);
    for (const char* name :
         {"edge_index.npy", "y.npy", "train_idx.npy", "val_idx.npy", "test_idx.npy"}) {
      std::filesystem::copy(source / name, target);
    }
    write_folded_words(source, target);
    return target;
  }();
  return made;
}

const std::filesystem::path& quick_job() {
  static const std::filesystem::path job = [] {
    auto text = file_text(std::filesystem::path(TROUPE_SOURCE_DIR) / "examples/quickstart.json");
    const std::string path = R"("data/cora")";
    text.replace(text.find(path), path.size(), fmt::format(R"("{}")", folded_cora().string()));
    const auto written = folded_cora().parent_path() / "quickstart.json";
    const std::array pieces{std::as_bytes(std::span(text))};
    EXPECT_OK(write_new_file(written, pieces));
    return written;
  }();
  return job;
}

}  // namespace troupe::testing
