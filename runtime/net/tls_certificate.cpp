// The job's own authority and certificate: EC P-256, signed with SHA-256.
#include "runtime/base/files.hpp"
#include "runtime/net/tls.hpp"
#include "runtime/net/tls_context.hpp"

#include <ctime>
#include <fmt/format.h>
#include <memory>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <span>
#include <string>

namespace troupe::net {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

constexpr long an_hour = 3600;
constexpr unsigned longest_days = 3650;

Error openssl_failed(const char* what) {
  return {Errc::internal, fmt::format("cannot make {}: {}", what, openssl_reason())};
}

Key make_key() {
  return {EVP_EC_gen("P-256"), &EVP_PKEY_free};
}

bool set_serial(X509* certificate) {
  const std::unique_ptr<BIGNUM, decltype(&BN_free)> number(BN_new(), &BN_free);
  return number && BN_rand(number.get(), 127, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool add_extension(X509* certificate, X509* issuer, int id, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, decltype(&X509_EXTENSION_free)> extension(
      X509V3_EXT_conf_nid(nullptr, &context, id, value), &X509_EXTENSION_free);
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool set_names(X509* certificate, X509* issuer, const char* name) {
  X509_NAME* subject = X509_get_subject_name(certificate);
  return X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                                    reinterpret_cast<const unsigned char*>(name), -1, -1, 0) == 1 &&
         X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1;
}

/// \param issuer  null: signs itself and may sign others
Certificate make_certificate(EVP_PKEY* key, X509* issuer, EVP_PKEY* issuer_key, unsigned days) {
  Certificate made(X509_new(), &X509_free);
  X509* c = made.get();
  const bool authority = issuer == nullptr;
  X509* by = authority ? c : issuer;
  const bool good =
      c != nullptr && X509_set_version(c, X509_VERSION_3) == 1 && set_serial(c) &&
      // Both ways: clocks of hosts differ, and one that is wrong may be put right in the middle of a run.
      X509_time_adj_ex(X509_getm_notBefore(c), -static_cast<int>(days), 0, nullptr) != nullptr &&
      X509_time_adj_ex(X509_getm_notAfter(c), static_cast<int>(days), 0, nullptr) != nullptr &&
      X509_set_pubkey(c, key) == 1 &&
      set_names(c, by, authority ? "troupe job authority" : "troupe job") &&
      add_extension(c, by, NID_basic_constraints, authority ? "critical,CA:TRUE" : "CA:FALSE") &&
      add_extension(c, by, NID_key_usage,
                    authority ? "critical,keyCertSign" : "critical,digitalSignature") &&
      add_extension(c, by, NID_subject_key_identifier, "hash") &&
      add_extension(c, by, NID_authority_key_identifier, "keyid:always") &&
      X509_sign(c, authority ? key : issuer_key, EVP_sha256()) > 0;
  return good ? std::move(made) : Certificate(nullptr, &X509_free);
}

/// What `write` puts into a memory file.
template <class Write>
Result<std::string> pem_text(const char* what, Write write) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), &BIO_free);
  if (!out || write(out.get()) != 1) {
    return openssl_failed(what);
  }
  char* text = nullptr;
  const auto bytes = BIO_get_mem_data(out.get(), &text);
  return std::string(text, static_cast<std::size_t>(bytes));
}

Result<std::string> pem_text(X509* certificate) {
  return pem_text("a certificate", [&](BIO* out) { return PEM_write_bio_X509(out, certificate); });
}

Certificate read_certificate(const std::string& pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> in(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
  return {PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr), &X509_free};
}

}  // namespace

Status check_valid_for(const TlsPem& pem, unsigned hours) {
  std::time_t until = std::time(nullptr) + std::time_t{an_hour} * hours;
  for (const auto* text : {&pem.certificate, &pem.authority}) {
    const auto certificate = read_certificate(*text);
    if (!certificate) {
      ERR_clear_error();
      return Error(Errc::invalid_argument, "certificate: expected PEM, found something else");
    }
    if (X509_cmp_time(X509_get0_notBefore(certificate.get()), nullptr) >= 0 ||
        X509_cmp_time(X509_get0_notAfter(certificate.get()), &until) <= 0) {
      return Error(
          Errc::failed_precondition,
          fmt::format("expected a certificate that is valid now and for {} hours, found one "
                      "that is not; try: remove it, a new one is made",
                      hours));
    }
  }
  return ok_status();
}

Result<TlsPem> make_job_certificate(unsigned days) {
  if (days == 0 || days > longest_days) {
    return Error(Errc::invalid_argument,
                 fmt::format("certificate: expected 1..{} days, got {}", longest_days, days));
  }
  ERR_clear_error();
  const Key authority_key = make_key();
  const Key key = make_key();
  if (!authority_key || !key) {
    return openssl_failed("a key");
  }
  const auto authority = make_certificate(authority_key.get(), nullptr, nullptr, days);
  if (!authority) {
    return openssl_failed("the job's authority");
  }
  const auto certificate = make_certificate(key.get(), authority.get(), authority_key.get(), days);
  if (!certificate) {
    return openssl_failed("the job's certificate");
  }
  TlsPem pem;
  TROUPE_ASSIGN_OR_RETURN(pem.certificate, pem_text(certificate.get()));
  TROUPE_ASSIGN_OR_RETURN(pem.authority, pem_text(authority.get()));
  TROUPE_ASSIGN_OR_RETURN(pem.key, pem_text("a key", [&](BIO* out) {
                            return PEM_write_bio_PKCS8PrivateKey(out, key.get(), nullptr, nullptr,
                                                                 0, nullptr, nullptr);
                          }));
  return pem;
}

Result<TlsFiles> write_tls(const TlsPem& pem, const std::filesystem::path& folder) {
  const auto files = tls_files_in(folder);
  TROUPE_RETURN_IF_ERROR(write_new_text_file(files.certificate, pem.certificate, Readers::owner));
  TROUPE_RETURN_IF_ERROR(write_new_text_file(files.authority, pem.authority, Readers::owner));
  TROUPE_RETURN_IF_ERROR(write_new_text_file(files.key, pem.key, Readers::owner));
  return files;
}

}  // namespace troupe::net
