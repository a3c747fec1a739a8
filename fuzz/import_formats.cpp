// A folder in one of the other formats that are imported, told apart by the file that marks each.
#include "runtime/data/formats.hpp"
#include "runtime/graph/store_layout.hpp"
#include "tests/support/zip_writer.hpp"

#include "fuzz/file_set.hpp"
#include "fuzz/targets.hpp"
#include "fuzz/use_import.hpp"

#include <array>
#include <utility>

namespace troupe::fuzz {
namespace {

namespace fs = std::filesystem;

/// The first two bytes of the file "options": what a user may ask for, symmetrize before reverse_edges.
enum Asked : unsigned {
  symmetrize = 1,
  dedup = 2,
  drop_self_loops = 4,
  reverse_edges = 8,
  text_ids = 16,
  one_type = 32,
  edge_values = 64,  // weights and times
  edge_split = 128,
  named_columns = 256,
};

unsigned asked_for(const std::vector<File>& files) {
  const auto found = std::ranges::find(files, "options", &File::name);
  if (found == files.end() || found->bytes.empty()) {
    return 0;
  }
  const auto& bytes = found->bytes;
  return bytes[0] + (bytes.size() > 1 ? 256U * bytes[1] : 0U);
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

/// Formats of single files, by the names of those in the corpus.
constexpr std::array<std::pair<const char*, const char*>, 3> files_of_formats = {
    {{"graph.json", "npy"}, {"lists.json", "edgelist"}, {"edges.txt", "edgelist"}}};

/// The format of a folder and its source; without any marker it is OGB's.
std::pair<const ImportFormat*, fs::path> format_of(const fs::path& dir) {
  for (const auto& format : import_formats()) {
    if (!format.marker.empty() && fs::exists(dir / format.marker)) {
      return {&format, dir};
    }
  }
  for (const auto& [file, format] : files_of_formats) {
    if (fs::exists(dir / file)) {
      return {find_kind(import_formats(), format), dir / file};
    }
  }
  return {find_kind(import_formats(), "ogb"), dir};
}

/// Makes archives of files in folders named so, raw/data.npz/x.npy, with checksums that are right, so
/// that mutated arrays reach the checks of what they hold. Every other member is deflated. Files that
/// are archives stay as they are.
std::vector<File> with_archives(const std::vector<File>& files) {
  constexpr std::string_view inside = ".npz/";
  std::vector<File> out;
  std::map<std::string, testing::ZipWriter> archives;
  std::size_t number = 0;
  for (const auto& file : files) {
    const auto at = file.name.find(inside);
    if (at == std::string::npos) {
      out.push_back(file);
      continue;
    }
    const auto end = at + inside.size() - 1;
    archives[file.name.substr(0, end)].add({.name = file.name.substr(end + 1),
                                            .bytes = {file.bytes.begin(), file.bytes.end()},
                                            .deflate = number++ % 2 == 1});
  }
  for (auto& [name, archive] : archives) {
    const auto text = archive.finish().text();
    out.push_back({name, {text.begin(), text.end()}});
  }
  return out;
}

Result<GraphInfo> import(const fs::path& dir, const fs::path& out, unsigned asked) {
  InlineExecutor executor;
  const auto [format, source] = format_of(dir);
  ImportRequest request{.sources = {source}, .store = out, .import = import_options(asked)};
  if (source.filename() == "lists.json") {  // It says itself what options say of one list
    return format->make(request, executor);
  }
  request.more.ids = (asked & text_ids) != 0 ? "text" : "number";
  request.more.relations = (asked & one_type) != 0 ? "one" : "types";
  if ((asked & edge_values) != 0) {
    request.more.weight_column = 2;
    if ((asked & dedup) == 0) {  // options that cannot go together are no matter of a source
      request.more.time_column = 3;
    }
    request.more.weights = "edge_w";
    request.more.times = "edge_t";
  }
  if ((asked & named_columns) != 0) {
    request.more.named_columns = {"edge_t:i64", "node_c"};
    request.more.edge_columns = {"rate=2:f64", "when=3:i64"};
  }
  if ((asked & edge_split) != 0 && format->name != "triples") {  // these have links of their own
    request.import.writer.edge_split = EdgeSplit{0.5, 0.25, 0.25};
  }
  return format->make(request, executor);
}

}  // namespace

void run_import_formats(Input input) {
  static const ScratchFiles source;
  static const ScratchFiles target;
  auto files = unpack_files(input);
  std::erase_if(files, [](const File& file) { return !store_layout::is_safe_path(file.name); });
  source.fill(with_archives(files));
  target.fill({});
  const auto store_dir = target.path() / "store";
  check_import(import(source.path(), store_dir, asked_for(files)), source.path().string(),
               target.path(), store_dir);
}

}  // namespace troupe::fuzz

TROUPE_FUZZ_TARGET(troupe::fuzz::run_import_formats)
TROUPE_FUZZ_FILE_SET_MUTATOR()
