#pragma once
/// \file tls.hpp
/// Keys and certificates for encrypted links.
#include "runtime/base/result.hpp"

#include <filesystem>
#include <memory>

namespace troupe::net {

/// PEM files. Both ends show a certificate and check the peer's against `authority`; TLS 1.3 only.
struct TlsFiles {
  std::filesystem::path certificate;
  std::filesystem::path key;
  std::filesystem::path authority;  ///< that must have signed the peer's certificate
};

/// Threads: immutable, shared by all links of a process.
class TlsContext {
 public:
  /// \errors not_found; invalid_argument: which file is wrong and why; failed_precondition: the key
  ///   does not belong to the certificate, or others than its owner may read it
  static Result<std::shared_ptr<const TlsContext>> load(const TlsFiles& files);
  virtual ~TlsContext() = default;
};

/// Makes an authority that signs one certificate for this job and forgets its key: every process of
/// the job shows the same certificate. Valid from an hour ago for `days`. Writes certificate.pem,
/// key.pem (mode 0600) and authority.pem into `folder`.
Result<TlsFiles> make_job_certificate(const std::filesystem::path& folder, unsigned days);

}  // namespace troupe::net
