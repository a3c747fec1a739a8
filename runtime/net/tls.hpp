#pragma once
/// \file tls.hpp
/// Keys and certificates for encrypted links.
#include "runtime/base/result.hpp"

#include <filesystem>
#include <memory>
#include <string>

namespace troupe::net {

/// PEM files. Both ends show a certificate and check the peer's against `authority`; TLS 1.3 only.
struct TlsFiles {
  std::filesystem::path certificate;
  std::filesystem::path key;
  std::filesystem::path authority;  ///< that must have signed the peer's certificate
};

/// The files of that name in `folder`: certificate.pem, key.pem, authority.pem.
TlsFiles tls_files_in(const std::filesystem::path& folder);

/// The same as text, for a pipe to another process of the job. Holds the private key.
struct TlsPem {
  std::string certificate;
  std::string key;
  std::string authority;
};

/// Threads: immutable, shared by all links of a process.
class TlsContext {
 public:
  /// \errors invalid_argument: which is no PEM; failed_precondition: the key does not belong to the
  ///   certificate
  static Result<std::shared_ptr<const TlsContext>> load(const TlsPem& pem);
  /// \errors those of read_tls() and of the other one
  static Result<std::shared_ptr<const TlsContext>> load(const TlsFiles& files);
  virtual ~TlsContext() = default;
};

/// \errors not_found; invalid_argument: no regular file, or over 64 KiB; failed_precondition: others
///   than its owner may read the key
Result<TlsPem> read_tls(const TlsFiles& files);

/// \errors failed_precondition: the certificate or its authority is not valid now, or ends within `hours`
Status check_valid_for(const TlsPem& pem, unsigned hours);

/// Makes an authority that signs one certificate for this job and forgets its key: every process of
/// the job shows the same certificate. Valid for `days`, and where clocks are behind by as much.
Result<TlsPem> make_job_certificate(unsigned days);
/// Writes the three files, each with mode 0600.
/// \errors not_found: no such folder; failed_precondition: one exists, or cannot be written
Result<TlsFiles> write_tls(const TlsPem& pem, const std::filesystem::path& folder);

}  // namespace troupe::net
