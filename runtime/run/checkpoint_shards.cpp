#include "runtime/run/checkpoint_shards.hpp"

#include "runtime/base/digest.hpp"
#include "runtime/base/files.hpp"
#include "runtime/base/mapped_file.hpp"
#include "runtime/nn/model_file.hpp"
#include "runtime/run/checkpoint_manifest.hpp"
#include "runtime/run/piece_file.hpp"
#include "runtime/run/state_pieces.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {
namespace {

namespace fs = std::filesystem;
namespace layout = checkpoint_layout;
using Bytes = std::span<const std::byte>;

/// Writes the files of one checkpoint into a staged directory.
class ShardWriter {
 public:
  ShardWriter(const CheckpointFolderOptions& options, fs::path dir)
      : options_(options), dir_(std::move(dir)) {}

  Status write(const Checkpoint& checkpoint) {
    const auto& training = checkpoint.training;
    if (!options_.layout.empty()) {
      TROUPE_RETURN_IF_ERROR(write_parameters(layout::parameters, training.parameters));
    }
    if (!training.optimizer.arrays.empty()) {
      TROUPE_RETURN_IF_ERROR(write_optimizer(training.optimizer));
    }
    if (!training.best.empty()) {
      TROUPE_RETURN_IF_ERROR(write_parameters(layout::best, training.best));
    }
    if (!training.blobs.empty()) {
      std::vector<Bytes> pieces;
      for (const auto& blob : training.blobs) {
        pieces.emplace_back(blob.second);
      }
      TROUPE_RETURN_IF_ERROR(write_listed(layout::blobs, pieces));
    }
    if (checkpoint.tables) {
      TROUPE_RETURN_IF_ERROR(write_parts(*checkpoint.tables, table_file_name));
    }
    if (checkpoint.tensors) {
      TROUPE_RETURN_IF_ERROR(write_parts(*checkpoint.tensors, tensor_file_name));
    }
    TROUPE_ASSIGN_OR_RETURN(const auto manifest,
                            manifest_to_json(checkpoint, options_.origin, files_));
    const auto bytes = std::as_bytes(std::span(manifest));
    return write_file(layout::manifest, std::span(&bytes, 1));
  }

 private:
  Status write_file(std::string_view name, std::span<const Bytes> pieces) {
    const auto path = dir_ / name;
    if (options_.before_write) {
      TROUPE_RETURN_IF_ERROR(options_.before_write(path));
    }
    return write_new_file(path, pieces);
  }
  Status write_listed(std::string_view name, std::span<const Bytes> pieces) {
    DigestBuilder digest;
    std::uint64_t bytes = 0;
    for (const auto& piece : pieces) {
      digest.add_bytes(piece);
      bytes += piece.size();
    }
    files_.push_back({std::string(name), bytes, to_string(digest.digest())});
    return write_file(name, pieces);
  }
  template <class Piece>
  Status write_parts(const PieceSource<Piece>& rows, std::string (*name)(std::uint32_t)) {
    for (std::uint32_t part = 0; part < rows.parts(); ++part) {
      const auto path = dir_ / name(part);
      if (options_.before_write) {
        TROUPE_RETURN_IF_ERROR(options_.before_write(path));
      }
      TROUPE_ASSIGN_OR_RETURN(auto file, write_pieces(rows, part, path));
      files_.push_back(std::move(file));
    }
    return ok_status();
  }
  Status write_tensors(std::string_view name, std::vector<nn::NamedTensor> tensors) {
    const auto bytes = nn::encode_tensors({.tensors = std::move(tensors), .metadata = {}});
    const Bytes piece(bytes);
    return write_listed(name, std::span(&piece, 1));
  }
  Status write_parameters(std::string_view name, const std::vector<float>& values) {
    return write_tensors(name, nn::split_parameters(options_.layout, values));
  }
  Status write_optimizer(const net::OptimizerArrays& optimizer) {
    std::vector<nn::NamedTensor> tensors;
    for (const auto& [name, values] : optimizer.arrays) {
      tensors.push_back({name, {values.size()}, values});
    }
    return write_tensors(layout::optimizer, std::move(tensors));
  }

  const CheckpointFolderOptions& options_;
  fs::path dir_;
  std::vector<FileInfo> files_;
};

/// Reads one checkpoint.
class ShardReader {
 public:
  ShardReader(const CheckpointFolderOptions& options, fs::path dir)
      : options_(options), dir_(std::move(dir)) {}

  Result<Checkpoint> read(std::uint64_t step) {
    const auto path = dir_ / layout::manifest;
    TROUPE_ASSIGN_OR_RETURN(const auto text, read_text_file(path, layout::largest_manifest));
    TROUPE_ASSIGN_OR_RETURN(manifest_, manifest_from_json(text, path.string()));
    auto& training = manifest_.checkpoint.training;
    if (training.global_step != step) {
      return Error(Errc::data_corruption, fmt::format("{}: expected step {}, found {}",
                                                      path.string(), step, training.global_step));
    }
    TROUPE_ASSIGN_OR_RETURN(training.parameters, read_parameters(layout::parameters));
    if (lists(layout::best)) {
      TROUPE_ASSIGN_OR_RETURN(training.best, read_parameters(layout::best));
    }
    TROUPE_ASSIGN_OR_RETURN(auto arrays, read_tensors(layout::optimizer));
    for (auto& array : arrays) {
      training.optimizer.arrays.emplace_back(std::move(array.name), std::move(array.values));
    }
    TROUPE_RETURN_IF_ERROR(find_parts(table_file_name, manifest_.checkpoint.tables));
    TROUPE_RETURN_IF_ERROR(find_parts(tensor_file_name, manifest_.checkpoint.tensors));
    TROUPE_RETURN_IF_ERROR(check_tensors());
    TROUPE_RETURN_IF_ERROR(read_blobs(training.blobs));
    return std::move(manifest_.checkpoint);
  }

 private:
  bool lists(std::string_view name) const { return manifest_.files.contains(std::string(name)); }
  std::string place(std::string_view name) const { return (dir_ / name).string(); }

  /// Of a file that is listed.
  Result<Segment> load(std::string_view name) const {
    const auto& file = manifest_.files.at(std::string(name));
    std::error_code error;
    const auto size = fs::file_size(dir_ / name, error);
    if (error) {
      return file_error(dir_ / name, "cannot read", error.value());
    }
    if (size != file.bytes) {
      return Error(Errc::data_corruption,
                   fmt::format("{}: expected {} bytes, found {}", place(name), file.bytes, size));
    }
    TROUPE_ASSIGN_OR_RETURN(auto segment, load_file(dir_ / name));
    if (const auto found = to_string(digest_of(segment.bytes)); found != file.checksum) {
      return Error(Errc::data_corruption, fmt::format("{}: expected checksum {}, found {}",
                                                      place(name), file.checksum, found));
    }
    return segment;
  }
  /// Reads a listed file to its end, whatever its size, in little memory.
  Status check(const FileInfo& file) const {
    PieceReader in(dir_ / file.path, file.bytes);
    if (!in.open()) {
      return file_error(dir_ / file.path, "cannot read", errno);
    }
    constexpr std::uint64_t at_once = std::uint64_t{1} << 20;
    std::vector<std::byte> bytes(std::min(at_once, file.bytes));
    while (in.left() > 0) {
      TROUPE_RETURN_IF_ERROR(in.read(std::span(bytes).first(std::min(at_once, in.left()))));
    }
    return in.check(file);
  }
  /// Their pieces are read by holders, once it is known that they are as they were written.
  template <class Piece>
  Status find_parts(std::string (*name)(std::uint32_t),
                    std::shared_ptr<const PieceSource<Piece>>& rows) {
    std::vector<FileInfo> files;
    for (std::uint32_t part = 0; lists(name(part)); ++part) {
      const auto& file = manifest_.files.at(name(part));
      TROUPE_RETURN_IF_ERROR(check(file));
      files.push_back(file);
    }
    if (!files.empty()) {
      rows = std::make_shared<const PieceFiles<Piece>>(dir_, std::move(files));
    }
    return ok_status();
  }
  /// Blobs name the tensors whose rows are in the files of parts.
  Status check_tensors() const {
    bool named = false;
    for (const auto& [name, bytes] : manifest_.blobs) {
      named = named || is_tensor_blob(name);
      if (is_tensor_blob(name) && bytes > 0) {
        return Error(Errc::unimplemented,
                     fmt::format("{}: expected {} in files of parts, found all of its {} bytes, as "
                                 "earlier versions wrote them; try: resume with the version that "
                                 "wrote it, and export the tensor",
                                 place(layout::blobs), name, bytes));
      }
    }
    if (named != (manifest_.checkpoint.tensors != nullptr)) {
      return Error(
          Errc::data_corruption,
          fmt::format("{}: expected {} where tensors are named, found {}", place(layout::manifest),
                      tensor_file_name(0), named ? "none" : "it without a name"));
    }
    return ok_status();
  }
  Result<std::vector<nn::NamedTensor>> read_tensors(std::string_view name) const {
    if (!lists(name)) {
      return std::vector<nn::NamedTensor>();
    }
    TROUPE_ASSIGN_OR_RETURN(const auto segment, load(name));
    auto file = nn::decode_tensors(segment.bytes);
    if (!file) {
      return std::move(file).error().with(place(name));
    }
    return std::move(file->tensors);
  }
  Result<std::vector<float>> read_parameters(std::string_view name) const {
    TROUPE_ASSIGN_OR_RETURN(const auto tensors, read_tensors(name));
    auto parameters = nn::join_parameters(options_.layout, tensors);
    return parameters.ok() ? parameters : std::move(parameters).error().with(place(name));
  }
  Status read_blobs(std::map<std::string, std::vector<std::byte>>& blobs) const {
    if (manifest_.blobs.empty() && !lists(layout::blobs)) {
      return ok_status();
    }
    if (manifest_.blobs.empty() || !lists(layout::blobs)) {
      return Error(Errc::data_corruption,
                   fmt::format("{}: expected the file where there are blobs, found {} blobs",
                               place(layout::blobs), manifest_.blobs.size()));
    }
    TROUPE_ASSIGN_OR_RETURN(const auto segment, load(layout::blobs));
    auto rest = segment.bytes;
    for (const auto& [name, size] : manifest_.blobs) {
      if (size > rest.size()) {
        return Error(Errc::data_corruption,
                     fmt::format("{}: expected {} bytes of blob \"{}\", found {}",
                                 place(layout::blobs), size, name, rest.size()));
      }
      const auto blob = rest.first(size);
      blobs[name].assign(blob.begin(), blob.end());
      rest = rest.subspan(size);
    }
    return rest.empty() ? ok_status()
                        : Status(Error(Errc::data_corruption,
                                       fmt::format("{}: expected its end, found {} more bytes",
                                                   place(layout::blobs), rest.size())));
  }

  const CheckpointFolderOptions& options_;
  fs::path dir_;
  CheckpointManifest manifest_;
};

}  // namespace

Status write_shards(const CheckpointFolderOptions& options, const fs::path& dir,
                    const Checkpoint& checkpoint) {
  return ShardWriter(options, dir).write(checkpoint);
}

Result<Checkpoint> read_shards(const CheckpointFolderOptions& options, const fs::path& dir,
                               std::uint64_t step) {
  return ShardReader(options, dir).read(step);
}

Result<std::string> read_job(const fs::path& dir) {
  const auto path = dir / checkpoint_layout::manifest;
  TROUPE_ASSIGN_OR_RETURN(const auto text,
                          read_text_file(path, checkpoint_layout::largest_manifest));
  TROUPE_ASSIGN_OR_RETURN(auto manifest, manifest_from_json(text, path.string()));
  return std::move(manifest.checkpoint.job);
}

}  // namespace troupe
