#include "runtime/data/ogb_folder.hpp"

#include "runtime/data/edge_rows.hpp"
#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace troupe {
namespace {

namespace fs = std::filesystem;
using namespace graph_source;
using npy_source::bad_input;

/// Names of files and roles.
constexpr std::array<std::array<const char*, 2>, 3> ogb_roles{
    {{"train", "train"}, {"valid", "val"}, {"test", "test"}}};

/// How users write a split's ids, and a data set's links, from files of torch.
constexpr const char* export_seeds =
    "in that folder: python3 -c \"import numpy, torch; [numpy.save(k + '.npy', v) for k, v in "
    "torch.load('split_dict.pt', weights_only=False).items()]\"";
constexpr const char* export_links =
    "in that folder: python3 -c \"import numpy, torch; [numpy.save(r + '_links.npy', "
    "torch.load(r + '.pt', weights_only=False)['edge']) for r in ('train', 'valid', 'test')]\", or "
    "--edge-split";

std::vector<std::string> names_in(const fs::path& folder, bool folders) {
  std::vector<std::string> names;
  std::error_code error;
  for (auto at = fs::directory_iterator(folder, error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    std::error_code ignored;
    if (at->is_directory(ignored) == folders) {
      names.push_back(at->path().filename().string());
    }
  }
  std::ranges::sort(names);
  return names;
}

std::uint64_t end_of(const Nodes& nodes) {
  return nodes.count.value_or(store_layout::largest_count);
}

}  // namespace

std::vector<std::string> OgbFolder::files(const std::string& folder) const {
  return names_in(source_.dir / folder, false);
}

std::vector<std::string> OgbFolder::folders(const std::string& folder) const {
  return names_in(source_.dir / folder, true);
}

std::string OgbFolder::find_text(const std::string& name) {
  for (const auto* end : {".csv.gz", ".csv"}) {
    if (has(name + end)) {
      take(name + end);
      return name + end;
    }
  }
  return {};
}

void OgbFolder::report_others(const std::vector<std::string>& folders,
                              const std::function<void(const std::string&)>& to) {
  auto others = std::exchange(left_out_, {});
  if (!to) {
    return;
  }
  for (const auto& folder : folders) {
    std::error_code error;
    for (auto at = fs::recursive_directory_iterator(source_.dir / folder, error);
         !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
      auto path = fs::relative(at->path(), source_.dir, error).generic_string();
      const bool listed = path.find("nodetype-has-") != std::string::npos;
      if (at->is_regular_file(error) && !listed && !taken_.contains(path)) {
        others.push_back(std::move(path));
      }
    }
  }
  std::ranges::sort(others);
  std::ranges::for_each(others, to);
}

Status OgbFolder::read_splits(Graph& graph, bool by_type, bool split_needed, Executor& executor) {
  const auto names = folders("split");
  for (const auto& name : names) {
    const auto split = names.size() == 1 ? "" : name;
    const auto folder = fmt::format("split/{}", name);
    const auto before = graph.seeds.size() + graph.links.size();
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      TROUPE_RETURN_IF_ERROR(read_seeds(
          graph, split, by_type ? folder + "/" + graph.nodes[i].name : folder, i, executor));
    }
    if (graph.edges.size() == 1) {
      TROUPE_RETURN_IF_ERROR(read_links(graph, split, folder));
    }
    if (split_needed && graph.seeds.size() + graph.links.size() == before) {
      TROUPE_RETURN_IF_ERROR(refuse_torch(folder));
    }
  }
  return ok_status();
}

Status OgbFolder::read_seeds(Graph& graph, const std::string& split, const std::string& folder,
                             std::size_t nodes, Executor& executor) {
  for (const auto& [file_name, role] : ogb_roles) {
    TROUPE_ASSIGN_OR_RETURN(const auto table, open_seeds(fmt::format("{}/{}", folder, file_name)));
    if (!table) {
      continue;
    }
    TROUPE_ASSIGN_OR_RETURN(auto ids, ids_of(*table, end_of(graph.nodes[nodes]), executor));
    if (!graph.seeds.try_emplace({split, role}, Seeds{nodes, std::move(ids)}).second) {
      return bad_input(table->file(),
                       fmt::format("expected {} seeds of one node type, got a second", role));
    }
  }
  return ok_status();
}

Result<std::optional<Table>> OgbFolder::open_seeds(const std::string& name) {
  auto file = find_text(name);
  auto format = TableFormat::text;
  if (file.empty() && has(name + ".npy")) {
    file = name + ".npy";
    format = TableFormat::npy;
    take(file);
  }
  if (file.empty()) {
    return std::optional<Table>();
  }
  TROUPE_ASSIGN_OR_RETURN(auto table, Table::open(source_, {std::move(file)}, format));
  return std::optional(std::move(table));
}

Status OgbFolder::read_links(Graph& graph, const std::string& split, const std::string& folder) {
  const auto& edges = graph.edges.front();
  const EdgeEnds ends{end_of(graph.nodes[edges.source]), end_of(graph.nodes[edges.destination])};
  for (const auto& [file_name, role] : ogb_roles) {
    const auto begin = fmt::format("{}/{}_links", folder, file_name);
    const auto found = [&](std::string_view what) {
      auto file = fmt::format("{}{}.npy", begin, what);
      return has(file) ? file : std::string();
    };
    PairFiles files{{found("")}, PairLayout::either_rows_first};
    if (files.pairs.front().empty()) {
      continue;  // times or labels alone are reported as not taken
    }
    files.each = "link";
    files.times = found("_times");
    files.weights = found("_labels");
    auto& links = graph.links[{split, role}];
    TROUPE_ASSIGN_OR_RETURN(links.rows, open_pairs(source_, files, ends));
    for (const auto& file : {files.pairs.front(), files.times, files.weights}) {
      take(file);
    }
  }
  return ok_status();
}

Status OgbFolder::refuse_torch(const std::string& folder) const {
  constexpr const char* all_seeds = "split_dict.pt";
  const auto names = files(folder);
  const bool seeds = std::ranges::find(names, all_seeds) != names.end();
  const auto found = std::ranges::find_if(names, [&](const std::string& name) {
    return seeds ? name == all_seeds : name.ends_with(".pt");
  });
  if (found == names.end()) {
    return ok_status();
  }
  return Error(Errc::unimplemented,
               fmt::format("{}: expected {}, found a pickled file of torch, which is never read\n"
                           "try: {}",
                           folder.empty() ? *found : fmt::format("{}/{}", folder, *found),
                           seeds ? "train, valid and test as .csv.gz, .csv or .npy"
                                 : "train_links.npy, valid_links.npy and test_links.npy",
                           seeds ? export_seeds : export_links));
}

Status check_ogb_name(const std::string& name, const std::string& file) {
  return store_layout::is_valid_name(name)
             ? ok_status()
             : Status(bad_input(file, fmt::format("expected a name of 1 to 100 of a-z A-Z 0-9 _ - "
                                                  ". , got \"{}\"",
                                                  name.substr(0, 60))));
}

Result<std::unique_ptr<LabelRows>> ogb_labels_of(Table table, Executor& executor) {
  const bool targets = table.matrix() && table.cols() != 1;
  return targets ? labels_of(std::move(table), {}, executor)
                 : classes_of(std::move(table), executor);
}

Result<TypeTriple> parse_ogb_triple(const std::string& text, const std::string& file) {
  constexpr auto between = ogb_triple_separator;
  const auto first = text.find(between);
  const auto second =
      first == std::string::npos ? first : text.find(between, first + between.size());
  if (second == std::string::npos ||
      text.find(between, second + between.size()) != std::string::npos) {
    return bad_input(file, fmt::format("expected source___relation___destination, got \"{}\"",
                                       text.substr(0, 60)));
  }
  const auto relation = first + between.size();
  TypeTriple triple{text.substr(0, first), text.substr(relation, second - relation),
                    text.substr(second + between.size())};
  for (const auto& name : {triple.source, triple.relation, triple.destination}) {
    TROUPE_RETURN_IF_ERROR(check_ogb_name(name, file));
  }
  return triple;
}

}  // namespace troupe
