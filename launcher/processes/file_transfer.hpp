#pragma once
/// \file file_transfer.hpp
/// Files that another host is to have: both ends of one stream. The sender lists them all with sizes and checksums, the
/// receiver says which it lacks, the sender sends those.
///
///     sender:    troupe-files 1 COUNT \n   and for each: MODE BYTES CHECKSUM PATH \n
///     receiver:  busy \n  (any number of times)   need COUNT INDEX... \n
///     sender:    the bytes of those files, one after the other
///     receiver:  done \n     instead of any answer: error TEXT \n
#include "runtime/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

namespace troupe {

/// Bytes of a file that are read, sent and written at a time.
inline constexpr std::size_t transfer_block_bytes = std::size_t{1} << 20;

struct FileToSend {
  std::filesystem::path from;  ///< here
  std::string to;              ///< there; absolute, or relative to the receiver's working folder
  std::uint64_t bytes = 0;
  std::string checksum;  ///< XXH3-128, 32 hexadecimal digits
  bool program = false;  ///< may be executed
  friend bool operator==(const FileToSend&, const FileToSend&) = default;
};

/// A file as it is now.
/// \errors not_found; failed_precondition: unreadable
Result<FileToSend> describe_file(const std::filesystem::path& from, std::string to,
                                 bool program = false);

struct TransferTotals {
  std::size_t files = 0;  ///< that were missing or different there
  std::uint64_t bytes = 0;
};

/// \param peer  a socket to a receiver
/// \param stop  asked now and then
/// \errors those of the receiver; peer_lost: it is gone, or silent for a minute; failed_precondition: a file is not as
///   described any more; cancelled
Result<TransferTotals> send_files(int peer, std::span<const FileToSend> files,
                                  const std::function<bool()>& stop);

/// Answers one sender. A file appears under its name when it is whole and has its checksum; what cannot be taken in is
/// told to the sender.
/// \errors what the sender was told; peer_lost: it is gone
/// \requires SIGPIPE is ignored
Status receive_files(int in, int out);

}  // namespace troupe
