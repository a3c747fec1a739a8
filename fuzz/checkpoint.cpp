// A checkpoint from the files of one input: the list of files and the checksums in the manifest are
// made right first. What is read can be written and read again.
#include "runtime/run/checkpoint.hpp"

#include "runtime/graph/store_layout.hpp"

#include "fuzz/file_set.hpp"
#include "fuzz/listed_files.hpp"
#include "fuzz/small_model.hpp"
#include "fuzz/targets.hpp"

namespace troupe::fuzz {
namespace {

CheckpointFolderOptions options_for(const std::filesystem::path& dir) {
  CheckpointFolderOptions options;
  options.dir = dir;
  options.layout = small_layout();
  options.flush = Flush::no;
  return options;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return std::ranges::equal(std::as_bytes(std::span(a)), std::as_bytes(std::span(b)));
}

}  // namespace

void run_checkpoint(Input input) {
  static const ScratchFiles source;
  static const ScratchFiles target;
  auto files = unpack_files(input);
  std::erase_if(files, [](const File& file) { return !store_layout::is_valid_name(file.name); });
  for (auto& file : files) {
    if (file.name == "manifest.json") {
      list_files(file, files, [](const File&) { return true; });
    }
  }
  for (auto& file : files) {
    file.name = "step-7/" + file.name;
  }
  source.fill(files);
  std::vector<SkippedCheckpoint> skipped;
  const auto loaded = CheckpointFolder(options_for(source.path())).latest(skipped);
  if (!loaded.ok()) {
    require(files.empty() || (skipped.size() == 1 && skipped[0].name == "step-7"),
            "a checkpoint that cannot be read is named");
    return;
  }
  if (const auto& tensors = loaded->checkpoint.tensors) {  // files are read when they are used
    for (std::uint32_t part = 0; part < tensors->parts(); ++part) {
      const auto read = tensors->read(part, [](const TensorPiece& piece) {
        require(check_tensor_piece("piece", piece).ok(), "pieces that are given fit");
        return ok_status();
      });
      if (!read) {
        return require(!read.error().what().empty(), "an error has a sentence");
      }
    }
  }
  target.fill({});
  CheckpointFolder folder(options_for(target.path()));
  require(folder.write(loaded->checkpoint).ok(), "what was read can be written");
  const auto again = folder.latest(skipped);
  require(again.ok() && skipped.empty(), "and read again");
  const auto& a = loaded->checkpoint.training;
  const auto& b = again->checkpoint.training;
  require(same_bits(a.parameters, b.parameters) && same_bits(a.best, b.best) &&
              a.global_step == b.global_step && a.batches == b.batches && a.blobs == b.blobs &&
              a.optimizer.steps == b.optimizer.steps,
          "as the same state");
}

}  // namespace troupe::fuzz

TROUPE_FUZZ_TARGET(troupe::fuzz::run_checkpoint)
TROUPE_FUZZ_FILE_SET_MUTATOR()
