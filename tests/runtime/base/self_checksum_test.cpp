#include "runtime/base/self_checksum.hpp"

#include "tests/support/expect.hpp"

namespace troupe {
namespace {

std::string sealed() {
  return seal_text("{\n \"self_checksum\": \"" + std::string(unsealed) + "\",\n \"n\": 1\n}\n");
}

TEST(SelfChecksum, FitsTheTextThatItWasMadeFor) {
  EXPECT_OK(check_seal(sealed(), "m"));
  EXPECT_EQ(sealed(), sealed());
}

TEST(SelfChecksum, AnyChangeIsFound) {
  const auto text = sealed();
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_ERROR(check_seal(changed, "m"), Errc::data_corruption, "m: expected");
    EXPECT_ERROR(check_seal(text.substr(0, i), "m"), Errc::data_corruption, "m: expected");
  }
}

}  // namespace
}  // namespace troupe
