#pragma once
/// \file tls_test_support.hpp
/// Certificates with any dates.
#include "runtime/net/tls.hpp"

#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <string>
#include <sys/stat.h>

namespace troupe::net {

/// A certificate that vouches for itself, valid between two days from now.
class SelfSigned {
 public:
  SelfSigned(long from_days, long to_days) : key_(EVP_EC_gen("P-256")), certificate_(X509_new()) {
    constexpr long day = 24 * 3600;
    X509_set_version(certificate_, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate_), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate_), from_days * day);
    X509_gmtime_adj(X509_getm_notAfter(certificate_), to_days * day);
    X509_set_pubkey(certificate_, key_);
    X509_NAME* name = X509_get_subject_name(certificate_);
    const auto text = "test " + std::to_string(from_days);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(text.c_str()), -1, -1, 0);
    X509_set_issuer_name(certificate_, name);
    X509_sign(certificate_, key_, EVP_sha256());
  }
  ~SelfSigned() {
    X509_free(certificate_);
    EVP_PKEY_free(key_);
  }
  SelfSigned(const SelfSigned&) = delete;
  SelfSigned& operator=(const SelfSigned&) = delete;

  /// \param trusted  go into the file of authorities
  TlsFiles write(const std::filesystem::path& folder,
                 std::initializer_list<const SelfSigned*> trusted) const {
    TlsFiles files{folder / "certificate.pem", folder / "key.pem", folder / "authority.pem"};
    write(files.certificate, [&](std::FILE* out) { PEM_write_X509(out, certificate_); });
    write(files.authority, [&](std::FILE* out) {
      for (const auto* each : trusted) {
        PEM_write_X509(out, each->certificate_);
      }
    });
    write(files.key, [&](std::FILE* out) {
      PEM_write_PrivateKey(out, key_, nullptr, nullptr, 0, nullptr, nullptr);
    });
    return files;
  }

 private:
  template <class F>
  static void write(const std::filesystem::path& file, F f) {
    std::FILE* out = std::fopen(file.c_str(), "w");
    f(out);
    std::fclose(out);
    ::chmod(file.c_str(), 0600);
  }
  EVP_PKEY* key_;
  X509* certificate_;
};

}  // namespace troupe::net
