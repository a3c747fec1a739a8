#include "runtime/data/edgelist_import.hpp"

#include "runtime/data/edge_text.hpp"
#include "runtime/data/text_blocks.hpp"
#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

namespace troupe {
namespace {

namespace fs = std::filesystem;
using edge_text::Format;

constexpr std::size_t chunk_bytes = std::size_t{1} << 20;

/// Names of nodes, numbered in order of first appearance.
class Dictionary {
 public:
  std::uint64_t number_of(std::string_view name) {
    const auto found = numbers_.find(name);
    if (found != numbers_.end()) {
      return found->second;
    }
    const auto number = numbers_.size();
    numbers_.emplace(keep(name), number);
    return number;
  }
  std::uint64_t size() const { return numbers_.size(); }
  /// The names in order, each with a line's end.
  const std::vector<std::string>& pieces() const { return pieces_; }

 private:
  std::string_view keep(std::string_view name) {
    if (pieces_.empty() || pieces_.back().capacity() - pieces_.back().size() <= name.size()) {
      pieces_.emplace_back().reserve(std::max(chunk_bytes, name.size() + 1));
    }
    auto& piece = pieces_.back();  // never grows past its capacity, so views stay
    const auto begin = piece.size();
    piece.append(name);
    piece.push_back('\n');
    return std::string_view(piece).substr(begin, name.size());
  }

  std::unordered_map<std::string_view, std::uint64_t> numbers_;  ///< looked up, never walked
  std::vector<std::string> pieces_;
};

class EdgelistImport {
 public:
  EdgelistImport(const EdgelistOptions& options, Executor& executor, StoreWriter& writer)
      : options_(options), executor_(executor), writer_(writer) {
    format_.source_column = options.source_column;
    format_.destination_column = options.destination_column;
    format_.first_id = options.first_id;
    format_.end_id = options.nodes.value_or(std::uint64_t{1} << 32) + options.first_id;
  }

  Result<GraphInfo> run(std::span<const fs::path> files) {
    TROUPE_ASSIGN_OR_RETURN(
        const auto node,
        writer_.add_node_type(
            {"node", options_.text_ids ? std::optional<std::uint64_t>() : options_.nodes, {}, {}}));
    TROUPE_ASSIGN_OR_RETURN(edge_,
                            writer_.add_edge_type({"edge", node, node, options_.import.edges}));
    for (const auto& file : files) {
      file_ = file.string();
      lines_ = 0;
      begun_ = false;
      TROUPE_RETURN_IF_ERROR(
          for_each_line_block(file, chunk_bytes * executor_.concurrency(),
                              [this](std::string_view text) { return take(text); }));
    }
    if (options_.text_ids) {
      TROUPE_RETURN_IF_ERROR(writer_.add_file("nodes-node/names.txt", dictionary_.pieces()));
    }
    return writer_.finish();
  }

 private:
  /// One chunk per thread, each of whole lines.
  std::vector<std::string_view> cut(std::string_view text) const {
    std::vector<std::string_view> chunks;
    while (!text.empty()) {
      const auto end = text.find('\n', std::min(chunk_bytes, text.size()) - 1);
      const auto size = end == std::string_view::npos ? text.size() : end + 1;
      chunks.push_back(text.substr(0, size));
      text.remove_prefix(size);
    }
    return chunks;
  }

  /// Passes comments at a file's begin, then its header.
  void begin_file(std::string_view& text) {
    while (!text.empty()) {
      auto rest = text;
      const auto line = edge_text::take_line(rest);
      if (edge_text::is_comment(line)) {
        text = rest;
        ++lines_;
        continue;
      }
      begun_ = true;
      if (options_.header || (!options_.text_ids && edge_text::is_header(line, format_))) {
        text = rest;
        ++lines_;
      }
      return;
    }
  }

  Status take(std::string_view text) {
    if (!begun_) {
      begin_file(text);
    }
    const auto chunks = cut(text);
    return options_.text_ids ? take_names(chunks) : take_numbers(chunks);
  }

  Status take_numbers(const std::vector<std::string_view>& chunks) {
    numbers_.resize(std::max(numbers_.size(), chunks.size()));
    executor_.parallel_for(chunks.size(), [&](std::size_t i) {
      edge_text::parse_numbers(chunks[i], format_, numbers_[i]);
    });
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      TROUPE_RETURN_IF_ERROR(check(numbers_[i].bad));
      TROUPE_RETURN_IF_ERROR(deliver(numbers_[i].sources, numbers_[i].destinations));
      lines_ += numbers_[i].lines;
    }
    return ok_status();
  }

  Status take_names(const std::vector<std::string_view>& chunks) {
    names_.resize(std::max(names_.size(), chunks.size()));
    executor_.parallel_for(chunks.size(), [&](std::size_t i) {
      edge_text::parse_names(chunks[i], format_, names_[i]);
    });
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      const auto& names = names_[i];
      TROUPE_RETURN_IF_ERROR(check(names.bad));
      sources_.clear();
      destinations_.clear();
      for (std::size_t edge = 0; edge < names.sources.size(); ++edge) {
        sources_.push_back(dictionary_.number_of(names.sources[edge]));
        destinations_.push_back(dictionary_.number_of(names.destinations[edge]));
      }
      TROUPE_RETURN_IF_ERROR(deliver(sources_, destinations_));
      lines_ += names.lines;
    }
    return ok_status();
  }

  Status check(const std::vector<edge_text::BadLine>& bad) const {
    if (bad.empty()) {
      return ok_status();
    }
    return Error(Errc::invalid_argument,
                 fmt::format("{}: line {}: {}, in \"{}\"{}", file_, lines_ + bad[0].line + 1,
                             bad[0].what, bad[0].text, hint()));
  }

  std::string hint() const {
    return options_.text_ids ? ""
                             : "\ntry: --ids text for ids that are no numbers, --columns, "
                               "--first-id or --nodes";
  }

  Status deliver(std::span<const std::uint64_t> sources,
                 std::span<const std::uint64_t> destinations) {
    edges_ += sources.size();
    if (options_.import.writer.progress) {
      options_.import.writer.progress({"reading edges", edges_, 0, "edges"});
    }
    return writer_.add_edges(edge_, sources, destinations);
  }

  const EdgelistOptions& options_;
  Executor& executor_;
  StoreWriter& writer_;
  Format format_;
  EdgeTypeId edge_{};
  std::string file_;
  std::uint64_t lines_ = 0;  ///< of the file before the text at hand
  bool begun_ = false;       ///< the file's first line with data was seen
  std::uint64_t edges_ = 0;
  std::vector<edge_text::Numbers> numbers_;
  std::vector<edge_text::Names> names_;
  std::vector<std::uint64_t> sources_;
  std::vector<std::uint64_t> destinations_;
  Dictionary dictionary_;
};

Status check_options(const EdgelistOptions& options) {
  if (options.source_column == options.destination_column) {
    return Error(Errc::invalid_argument,
                 fmt::format("columns: expected two columns, got {} twice", options.source_column));
  }
  if (options.text_ids && (options.nodes || options.first_id != 0)) {
    return Error(Errc::invalid_argument,
                 "ids as text: expected neither a number of nodes nor a first id, got one");
  }
  const auto most = store_layout::largest_count;
  if (options.nodes.value_or(0) > most || options.first_id > most) {
    return Error(
        Errc::invalid_argument,
        fmt::format("expected a number of nodes and a first id of at most {}, got {} and {}", most,
                    options.nodes.value_or(0), options.first_id));
  }
  return ok_status();
}

}  // namespace

Result<GraphInfo> import_edgelist(std::span<const fs::path> files, const fs::path& out,
                                  const EdgelistOptions& options, Executor& executor) {
  TROUPE_RETURN_IF_ERROR(check_options(options));
  try {
    TROUPE_ASSIGN_OR_RETURN(auto writer, StoreWriter::create(out, options.import.writer, executor));
    return EdgelistImport(options, executor, writer).run(files);
  } catch (const std::bad_alloc&) {
    return Error(Errc::out_of_memory, fmt::format("{}: no memory to import", out.string()));
  }
}

}  // namespace troupe
