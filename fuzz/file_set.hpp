#pragma once
/// \file file_set.hpp
/// A folder of small files as one input: for each its name's length (1 byte), name, size (2 bytes),
/// bytes. In a program, TROUPE_FUZZ_FILE_SET_MUTATOR mutates one file at a time, so that the
/// borders survive.
#include "fuzz/target.hpp"

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace troupe::fuzz {

struct File {
  std::string name;
  std::vector<std::uint8_t> bytes;
};

inline std::vector<File> unpack_files(Input input) {
  constexpr std::size_t most_files = 64;
  std::vector<File> files;
  Bytes bytes(input);
  while (!bytes.empty() && files.size() < most_files) {
    File file;
    file.name = text_of(bytes.take(bytes.number<std::uint8_t>()));
    const auto data = bytes.take(bytes.number<std::uint16_t>());
    file.bytes.assign(data.begin(), data.end());
    files.push_back(std::move(file));
  }
  return files;
}

inline std::vector<std::uint8_t> pack_files(const std::vector<File>& files) {
  std::vector<std::uint8_t> out;
  for (const auto& file : files) {
    const auto name_size = std::min<std::size_t>(file.name.size(), 0xFF);
    const auto size = std::min<std::size_t>(file.bytes.size(), 0xFFFF);
    out.push_back(static_cast<std::uint8_t>(name_size));
    out.insert(out.end(), file.name.begin(),
               file.name.begin() + static_cast<std::ptrdiff_t>(name_size));
    out.push_back(static_cast<std::uint8_t>(size & 0xFF));
    out.push_back(static_cast<std::uint8_t>(size >> 8));
    out.insert(out.end(), file.bytes.begin(),
               file.bytes.begin() + static_cast<std::ptrdiff_t>(size));
  }
  return out;
}

/// All files below `dir`, by name.
inline std::vector<File> read_files_below(const std::filesystem::path& dir) {
  std::map<std::string, File> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir)) {
    if (entry.is_regular_file()) {
      const auto name = std::filesystem::relative(entry.path(), dir).string();
      std::ifstream in(entry.path(), std::ios::binary);
      files[name] = {name, {std::istreambuf_iterator<char>(in), {}}};
    }
  }
  std::vector<File> list;
  for (auto& [name, file] : files) {
    list.push_back(std::move(file));
  }
  return list;
}

/// A folder of the process's own, emptied by each `fill`.
class ScratchFiles {
 public:
  ScratchFiles() {
    auto pattern = (std::filesystem::temp_directory_path() / "troupe-fuzz-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~ScratchFiles() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFiles(const ScratchFiles&) = delete;
  ScratchFiles& operator=(const ScratchFiles&) = delete;
  std::filesystem::path path() const { return path_; }

  void fill(const std::vector<File>& files) const {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      std::filesystem::remove_all(entry.path(), ignored);
    }
    for (const auto& file : files) {
      const auto path = path_ / file.name;
      std::filesystem::create_directories(path.parent_path(), ignored);
      std::ofstream(path, std::ios::binary | std::ios::trunc)
          .write(reinterpret_cast<const char*>(file.bytes.data()),
                 static_cast<std::streamsize>(file.bytes.size()));
    }
  }

 private:
  std::filesystem::path path_;
};

}  // namespace troupe::fuzz

#ifdef TROUPE_FUZZ_PROGRAM
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace troupe::fuzz {
/// Mutates the bytes of one file; now and then drops a file or swaps the bytes of two.
inline std::size_t mutate_file_set(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                   unsigned seed) {
  auto files = unpack_files({data, size});
  if (files.empty()) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  auto& file = files[seed % files.size()];
  const auto choice = seed / files.size() % 32;
  if (choice == 0) {
    files.erase(files.begin() + static_cast<std::ptrdiff_t>(seed % files.size()));
  } else if (choice == 1) {
    std::swap(file.bytes, files[seed / 7 % files.size()].bytes);
  } else {
    const auto old_size = file.bytes.size();
    // an array's data are as interesting as its header
    const std::size_t begin = choice % 2 == 0 && old_size > 128 ? 128 : 0;
    const std::size_t room = choice < 8 || old_size == 0 ? 64 : 0;
    file.bytes.resize(old_size + room);
    file.bytes.resize(begin + LLVMFuzzerMutate(file.bytes.data() + begin, old_size - begin,
                                               file.bytes.size() - begin));
  }
  const auto packed = pack_files(files);
  if (packed.size() > max_size) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  std::ranges::copy(packed, data);
  return packed.size();
}
}  // namespace troupe::fuzz

#define TROUPE_FUZZ_FILE_SET_MUTATOR()                                                  \
  extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,  \
                                                 std::size_t max_size, unsigned seed);  \
  extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,  \
                                                 std::size_t max_size, unsigned seed) { \
    return ::troupe::fuzz::mutate_file_set(data, size, max_size, seed);                 \
  }
#else
#define TROUPE_FUZZ_FILE_SET_MUTATOR()
#endif
