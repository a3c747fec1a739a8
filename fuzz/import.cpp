// A folder of NumPy files. What is imported opens as a store, cuts into parts, and gives batches.
#include "runtime/data/npy_import.hpp"
#include "runtime/graph/store_layout.hpp"

#include "fuzz/file_set.hpp"
#include "fuzz/targets.hpp"
#include "fuzz/use_import.hpp"

namespace troupe::fuzz {

void run_import(Input input) {
  static const ScratchFiles source;
  static const ScratchFiles target;
  auto files = unpack_files(input);
  std::erase_if(files, [](const File& file) { return !store_layout::is_valid_name(file.name); });
  source.fill(files);
  target.fill({});
  const auto store_dir = target.path() / "store";
  const auto info = import_npy(source.path(), store_dir);
  check_import(info, source.path().string(), target.path(), store_dir);
}

}  // namespace troupe::fuzz

TROUPE_FUZZ_TARGET(troupe::fuzz::run_import)
TROUPE_FUZZ_FILE_SET_MUTATOR()
