// A folder in one of the other formats that are imported, told apart by the file that marks each.
#include "runtime/data/dgl_import.hpp"
#include "runtime/data/edgelist_import.hpp"
#include "runtime/data/graphbolt_import.hpp"
#include "runtime/data/npy_graph.hpp"
#include "runtime/data/ogb_import.hpp"
#include "runtime/data/triples_import.hpp"
#include "runtime/graph/store_layout.hpp"

#include "fuzz/file_set.hpp"
#include "fuzz/targets.hpp"
#include "fuzz/use_import.hpp"

#include <array>

namespace troupe::fuzz {
namespace {

namespace fs = std::filesystem;

/// The first byte of the file "options": what a user may ask for, symmetrize before reverse_edges.
enum Asked : unsigned {
  symmetrize = 1,
  dedup = 2,
  drop_self_loops = 4,
  reverse_edges = 8,
  text_ids = 16,
  one_type = 32,
};

unsigned asked_for(const std::vector<File>& files) {
  const auto found = std::ranges::find(files, "options", &File::name);
  return found == files.end() || found->bytes.empty() ? 0U : found->bytes.front();
}

ImportOptions import_options(unsigned asked) {
  ImportOptions options;
  options.writer.memory_bytes = 16'000'000;
  options.edges = {.symmetrize = (asked & symmetrize) != 0,
                   .dedup = (asked & dedup) != 0,
                   .drop_self_loops = (asked & drop_self_loops) != 0,
                   .reverse_edges = (asked & (reverse_edges | symmetrize)) == reverse_edges};
  options.left_out = [](const std::string& what) { require(!what.empty(), "it has a name"); };
  return options;
}

Result<GraphInfo> import(const fs::path& dir, const fs::path& out, unsigned asked) {
  InlineExecutor executor;
  const auto options = import_options(asked);
  if (fs::exists(dir / "metadata.json")) {
    return import_dgl(dir, out, {options, {}, {}}, executor);
  }
  if (fs::exists(dir / "metadata.yaml")) {
    return import_graphbolt(dir, out, {options, {}}, executor);
  }
  if (fs::exists(dir / "graph.json")) {
    return import_npy_graph(dir / "graph.json", out, options, executor);
  }
  if (fs::exists(dir / "train.txt")) {
    return import_triples(std::array{dir}, out,
                          {.import = options, .one_type = (asked & one_type) != 0}, executor);
  }
  if (fs::exists(dir / "edges.txt")) {
    EdgelistOptions of_lines;
    of_lines.import = options;
    of_lines.text_ids = (asked & text_ids) != 0;
    return import_edgelist(std::array{dir / "edges.txt"}, out, of_lines, executor);
  }
  return import_ogb(dir, out, options, executor);
}

}  // namespace

void run_import_formats(Input input) {
  static const ScratchFiles source;
  static const ScratchFiles target;
  auto files = unpack_files(input);
  std::erase_if(files, [](const File& file) { return !store_layout::is_safe_path(file.name); });
  source.fill(files);
  target.fill({});
  const auto store_dir = target.path() / "store";
  check_import(import(source.path(), store_dir, asked_for(files)), source.path().string(),
               target.path(), store_dir);
}

}  // namespace troupe::fuzz

TROUPE_FUZZ_TARGET(troupe::fuzz::run_import_formats)
TROUPE_FUZZ_FILE_SET_MUTATOR()
