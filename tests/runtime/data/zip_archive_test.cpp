#include "runtime/data/zip_archive.hpp"

#include "tests/runtime/graph/store_fixture.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/zip_writer.hpp"

#include <sys/stat.h>

namespace troupe {
namespace {

using namespace testing;

/// Bytes that deflate makes smaller, but not to nothing.
std::string some_bytes(std::size_t count) {
  std::string bytes;
  for (std::uint32_t i = 0; bytes.size() < count; ++i) {
    bytes.push_back(static_cast<char>((i * 2654435761U) >> 28));
  }
  return bytes;
}

class Zip : public ::testing::Test {
 protected:
  Result<std::shared_ptr<const ZipArchive>> open(const std::string& text) {
    write_all(path_, text);
    return ZipArchive::open(path_, "a.npz");
  }
  Result<std::shared_ptr<const ZipArchive>> open(const ZipPart& part, const ZipEnd& end = {}) {
    return open(ZipWriter().add(part).finish(end).text());
  }
  /// A member in pieces of some size.
  static Result<std::string> read(const std::shared_ptr<const ZipArchive>& archive,
                                  const std::string& name, std::size_t piece = 1000) {
    TROUPE_ASSIGN_OR_RETURN(auto reader, ZipReader::open(archive, *archive->find(name)));
    std::string all;
    for (auto left = archive->find(name)->bytes; left > 0;) {
      std::string part(std::min<std::uint64_t>(left, piece), '\0');
      TROUPE_RETURN_IF_ERROR(reader.read(std::as_writable_bytes(std::span(part))));
      left -= part.size();
      all += part;
    }
    TROUPE_RETURN_IF_ERROR(reader.finish());
    return all;
  }
  Result<std::string> read(const ZipPart& part) {
    TROUPE_ASSIGN_OR_RETURN(const auto archive, open(part));
    return read(archive, part.name);
  }

  TempDir temp_;
  std::filesystem::path path_ = temp_ / "a.npz";
};

TEST_F(Zip, MembersComeBackHoweverTheyArePacked) {
  for (const std::size_t size : {0U, 1U, 999U, 1000U, 1001U, 700'000U}) {
    const auto bytes = some_bytes(size);
    for (const bool deflate : {false, true}) {
      for (const bool wide : {false, true}) {
        for (const bool descriptor : {false, true}) {
          ZipPart part{.name = "b.npy", .bytes = bytes, .deflate = deflate, .wide = wide};
          part.descriptor = descriptor;
          const auto text =
              ZipWriter().add({"first", "x"}).add(part).finish({"about it", wide}).text();
          ASSERT_OK_AND_ASSIGN(const auto archive, open(text));

          ASSERT_EQ(archive->members().size(), 2U);
          EXPECT_EQ(archive->members()[1].name, "b.npy");
          EXPECT_EQ(archive->find("c"), nullptr);
          ASSERT_OK_AND_ASSIGN(const auto back, read(archive, "b.npy"));
          EXPECT_TRUE(back == bytes) << size << deflate << wide;
        }
      }
    }
  }
}

TEST_F(Zip, ReadersOfAMemberAreApart) {
  const auto bytes = some_bytes(600'000);
  ASSERT_OK_AND_ASSIGN(const auto archive, open({.name = "b", .bytes = bytes, .deflate = true}));
  ASSERT_OK_AND_ASSIGN(auto early, ZipReader::open(archive, archive->members()[0]));
  ASSERT_OK_AND_ASSIGN(auto late, ZipReader::open(archive, archive->members()[0]));
  ASSERT_OK(late.skip(300'001));

  for (std::size_t at = 0; at < 200'000; at += 50'000) {
    std::string piece(50'000, '\0');
    ASSERT_OK(early.read(std::as_writable_bytes(std::span(piece))));
    EXPECT_TRUE(piece == bytes.substr(at, piece.size()));
    ASSERT_OK(late.read(std::as_writable_bytes(std::span(piece))));
    EXPECT_TRUE(piece == bytes.substr(300'001 + at, piece.size()));
  }
  EXPECT_OK(early.finish());
  EXPECT_OK(late.finish());
}

TEST_F(Zip, PlacesAndSizesPastFourGigabytesAreRight) {
  const std::uint64_t hole = (std::uint64_t{1} << 32) + 5000;
  ZipWriter writer;
  writer.add({.name = "big", .bytes = some_bytes(100), .wide = true, .hole = hole})
      .add({.name = "behind", .bytes = "behind it", .deflate = true, .wide = true})
      .finish({.wide = true});
  writer.write(path_);
  ASSERT_OK_AND_ASSIGN(const auto archive, ZipArchive::open(path_, "a.npz"));

  EXPECT_EQ(archive->find("big")->bytes, hole + 100);
  EXPECT_GT(archive->find("behind")->packed_begin, hole);
  ASSERT_OK_AND_ASSIGN(const auto behind, read(archive, "behind"));
  EXPECT_EQ(behind, "behind it");
  ASSERT_OK_AND_ASSIGN(auto reader, ZipReader::open(archive, *archive->find("big")));
  std::string start(200, 'x');
  ASSERT_OK(reader.read(std::as_writable_bytes(std::span(start))));
  EXPECT_EQ(start, some_bytes(100) + std::string(100, '\0'));
}

TEST_F(Zip, ANumberThatIsAllOnesIsItselfWithoutAField) {
  ASSERT_OK_AND_ASSIGN(const auto archive, open({.name = "a", .bytes = "x", .size = 0xFFFF'FFFF}));
  EXPECT_EQ(archive->members()[0].bytes, 0xFFFF'FFFFU);
}

TEST_F(Zip, EveryCutIsAnError) {
  const auto text = ZipWriter()
                        .add({"a", some_bytes(50), true})
                        .add({.name = "b", .bytes = "xyz", .wide = true})
                        .finish({.wide = true})
                        .text();
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_ERROR(open(text.substr(0, size)), Errc::data_corruption, "a.npz");
  }
  EXPECT_OK(open(text));
}

TEST_F(Zip, EveryChangedByteIsAnErrorOrChangesNothing) {
  const auto bytes = some_bytes(90);
  const auto text = ZipWriter()
                        .add({"a", bytes, true})
                        .add({.name = "b", .bytes = bytes, .wide = true})
                        .finish({.wide = true})
                        .text();
  std::size_t found = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    auto changed = text;
    changed[at] = static_cast<char>(changed[at] ^ 0x41);
    const auto archive = open(changed);
    if (!archive) {
      ++found;
      continue;
    }
    for (const auto& member : (*archive)->members()) {
      const auto back = member.bytes > 1000 ? Result<std::string>(Error(Errc::internal, "large"))
                                            : read(*archive, member.name);
      if (!back) {
        ++found;
      } else {
        EXPECT_TRUE(*back == bytes) << at;
      }
    }
  }
  EXPECT_GT(found, text.size() / 2);
}

TEST_F(Zip, DirectoriesThatLieAreErrors) {
  const ZipPart part{"a", "bytes"};
  const auto corrupt = Errc::data_corruption;
  EXPECT_ERROR(open("PK"), corrupt, "a.npz: expected a ZIP archive (.npz), found no directory");
  EXPECT_ERROR(open(std::string(100'000, 'P')), corrupt, "found no directory at its end");
  EXPECT_ERROR(open(part, {.members = 2}), corrupt, "expected a directory of 92 to");
  EXPECT_ERROR(open(part, {.members = 0}), corrupt,
               "expected the directory to end after 0 members");
  EXPECT_ERROR(open(part, {.directory_begin = 1000}), corrupt,
               "expected the directory before byte");
  EXPECT_ERROR(open(part, {.directory_begin = 3}), corrupt, "expected an entry of the directory");
  EXPECT_ERROR(open(part, {.directory_bytes = 4000}), corrupt, "expected the directory before");
  EXPECT_ERROR(open(part, {.wide = true, .members = 70'000}), Errc::unimplemented,
               "expected at most 65536 members, the archive says 70000");
  EXPECT_ERROR(open(part, {.wide = true, .members = ~std::uint64_t{0}}), Errc::unimplemented, "");
  EXPECT_ERROR(open(part, {.wide = true, .directory_begin = ~std::uint64_t{0}}), corrupt,
               "expected the directory before byte");
  EXPECT_ERROR(open(part, {.wide = true, .directory_bytes = ~std::uint64_t{7}}), corrupt,
               "expected the directory before byte");
  EXPECT_ERROR(open(part, {.wide = true, .record_begin = ~std::uint64_t{0}}), corrupt,
               "expected the zip64 record before byte");
  EXPECT_ERROR(open(part, {.wide = true, .record_begin = 1}), corrupt,
               "expected the zip64 record at byte 1, found none");
  EXPECT_ERROR(open(part, {.disk = 1}), Errc::unimplemented, "expected an archive in one file");
  EXPECT_ERROR(open(part, {.wide = true, .disk = 1}), Errc::unimplemented, "in one file");
}

TEST_F(Zip, MembersOutOfBoundsOrOverEachOtherAreErrors) {
  const auto corrupt = Errc::data_corruption;
  EXPECT_ERROR(open({.name = "a", .bytes = "x", .header_begin = 500}), corrupt,
               "a.npz: a: expected it before byte 32, found it at 500");
  EXPECT_ERROR(open({.name = "a", .bytes = "x", .wide = true, .header_begin = ~std::uint64_t{0}}),
               corrupt, "a: expected it before byte");
  EXPECT_ERROR(open({.name = "a", .bytes = "xyz", .header_begin = 1}), corrupt,
               "a: expected its header at byte 1, found something else");
  EXPECT_ERROR(open({.name = "a", .bytes = "x", .size = 9, .packed_size = 9}), corrupt,
               "a: expected its 9 bytes before byte 32, found them from 31 on");
  EXPECT_ERROR(open({.name = "a", .bytes = "x", .wide = true, .packed_size = ~std::uint64_t{0}}),
               corrupt, "a: expected its");
  EXPECT_ERROR(open({.name = "a", .bytes = "x", .local_name = "b"}), corrupt,
               "a: expected its header at byte 0");

  ZipWriter over;
  over.add({.name = "a", .bytes = some_bytes(60), .size = 90, .packed_size = 90});
  over.add({.name = "b", .bytes = some_bytes(60)}).finish();
  EXPECT_ERROR(open(over.text()), corrupt,
               "expected members that lie apart, found b at byte 91, within a");
  EXPECT_ERROR(open(ZipWriter().add({"a", "x"}).add({"a", "y"}).finish().text()), corrupt,
               "expected members of different names, found a twice");
  EXPECT_ERROR(open(ZipWriter().add({"a\x01", "x"}).add({"a\xFF", "y"}).finish().text()), corrupt,
               "found a? twice");
}

TEST_F(Zip, MembersThatCannotBeReadAreErrorsOnlyWhenTheyAreRead) {
  EXPECT_ERROR(read({.name = "a", .bytes = "x", .flags = 1}), Errc::unimplemented,
               "a.npz: a: expected plain data, found it encrypted");
  EXPECT_ERROR(read({.name = "a", .bytes = "x", .method = 93}), Errc::unimplemented,
               "a: expected it stored or deflated, found method 93\ntry: numpy.savez");
  EXPECT_OK(open({.name = "a", .bytes = "x", .flags = 1}));
}

TEST_F(Zip, DamagedMembersAreErrors) {
  const auto corrupt = Errc::data_corruption;
  const auto bytes = some_bytes(300);
  EXPECT_ERROR(read({.name = "a", .bytes = "x", .checksum = 1}), corrupt,
               "a: expected checksum 00000001, found 8cdc1683: damaged");
  EXPECT_ERROR(read({.name = "a", .bytes = bytes, .deflate = true, .checksum = 1}), corrupt,
               "expected checksum 00000001");
  EXPECT_ERROR(read({.name = "a", .bytes = "xyz", .size = 2}), corrupt,
               "a: expected 2 bytes stored, found 3");
  EXPECT_ERROR(read({.name = "a", .bytes = bytes, .deflate = true, .size = 301}), corrupt,
               "a: expected 301 bytes, its data end before");
  EXPECT_ERROR(read({.name = "a", .bytes = bytes, .deflate = true, .size = 299}), corrupt,
               "a: expected 299 bytes, its data go on");
  EXPECT_ERROR(read({.name = "a", .bytes = some_bytes(40), .method = 8}), corrupt,
               "expected compressed data, found damage");
  const auto packed = ZipWriter::deflated(bytes);
  EXPECT_ERROR(
      read({.name = "a", .bytes = packed.substr(0, packed.size() - 20), .method = 8, .size = 300}),
      corrupt, "a: expected more compressed data, found them cut off");
  EXPECT_ERROR(read({.name = "a", .bytes = packed + "more", .method = 8, .size = 300}), corrupt,
               "they end 4 bytes before");
  EXPECT_ERROR(read({.name = "a", .bytes = "", .method = 8, .size = 0}), corrupt, "cut off");
}

TEST_F(Zip, ReadingPastTheEndIsAnError) {
  ASSERT_OK_AND_ASSIGN(const auto archive, open(ZipPart{"a", "xyz"}));
  ASSERT_OK_AND_ASSIGN(auto reader, ZipReader::open(archive, archive->members()[0]));
  std::string piece(2, '\0');
  ASSERT_OK(reader.read(std::as_writable_bytes(std::span(piece))));
  EXPECT_ERROR(reader.read(std::as_writable_bytes(std::span(piece))), Errc::data_corruption,
               "a.npz: a: expected 2 bytes from 2 on, it has 3");
}

TEST_F(Zip, FoldersPipesAndMissingFilesAreErrors) {
  EXPECT_ERROR(ZipArchive::open(temp_ / "none", "none"), Errc::not_found, "none");
  EXPECT_ERROR(ZipArchive::open(temp_ / "", "it"), Errc::failed_precondition, "cannot open");
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_ERROR(ZipArchive::open(path_, "a.npz"), Errc::failed_precondition, "cannot open");
}

}  // namespace
}  // namespace troupe
