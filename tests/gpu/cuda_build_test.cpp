// Whether GPU code was compiled, and what a program with it needs to start.
#include "gpu/run/devices.hpp"

#include <gtest/gtest.h>

#include <link.h>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::gpu {
namespace {

TEST(CudaBuild, HasCodeForGpus) {
  constexpr std::string_view skipped = TROUPE_CUDA_SKIPPED;
  if (!skipped.empty()) {
    GTEST_SKIP() << "nvcc: " << skipped;
  }
  const auto devices = open_cuda_devices({});
  EXPECT_TRUE(devices || devices.error().code() != Errc::unimplemented) << devices.error().what();
}

/// Libraries without which this program does not start.
std::vector<std::string> needed_libraries() {
  std::vector<std::string> names;
  const auto of_program = [](dl_phdr_info* info, std::size_t /*size*/, void* out) {
    const ElfW(Dyn)* entries = nullptr;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) {
        entries = reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
      }
    }
    const char* texts = nullptr;
    for (const auto* entry = entries; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
      texts = entry->d_tag == DT_STRTAB ? reinterpret_cast<const char*>(entry->d_un.d_ptr) : texts;
    }
    for (const auto* entry = entries; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_NEEDED) {
        static_cast<std::vector<std::string>*>(out)->emplace_back(texts + entry->d_un.d_val);
      }
    }
    return 1;  // the program comes first; no other is looked at
  };
  dl_iterate_phdr(of_program, &names);
  return names;
}

TEST(CudaBuild, StartsWithoutADriverAndLibraries) {
  const auto names = needed_libraries();

  ASSERT_FALSE(names.empty());
  for (const std::string& name : names) {
    for (const char* const optional : {"libcuda", "libcublas", "libnccl", "libnvidia"}) {
      EXPECT_FALSE(name.starts_with(optional)) << name;
    }
  }
}

}  // namespace
}  // namespace troupe::gpu
