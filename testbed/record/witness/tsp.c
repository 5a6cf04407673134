// SPDX-License-Identifier: Apache-2.0
//
// tsp: see tsp.h. All of the protocol is libcrypto's. Its checks are taken as they are: that the response grants a stamp, that its
// signature holds, that the signer's certificate is for time stamps and nothing else, that its chain ends in a given certificate,
// and that the stamped hash is that of the data. Of a nonce nothing is asked: it keeps an old stamp from being taken for a new one,
// and here the stamp's time is what counts.
//
// The setters of TS_VERIFY_CTX have other names since OpenSSL 3.4, and Debian 12 has 3.0.
#define OPENSSL_API_COMPAT 30000
#include "testbed/record/witness/tsp.h"

#include <errno.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/ts.h>
#include <openssl/x509.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "testbed/base/sha256.h"
#include "testbed/base/stamp.h"

// --- the request ---------------------------------------------------------------------------------------------------------------

static bool imprint_set(TS_REQ *request, const void *data, size_t bytes)
{
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned int length = 0;
    TS_MSG_IMPRINT *imprint = TS_MSG_IMPRINT_new();
    X509_ALGOR *algorithm = X509_ALGOR_new();
    bool set = imprint && algorithm && EVP_Digest(data, bytes, hash, &length, EVP_sha256(), NULL) &&
               X509_ALGOR_set0(algorithm, OBJ_nid2obj(NID_sha256), V_ASN1_NULL, NULL) &&
               TS_MSG_IMPRINT_set_algo(imprint, algorithm) && TS_MSG_IMPRINT_set_msg(imprint, hash, (int)length) &&
               TS_REQ_set_msg_imprint(request, imprint);
    X509_ALGOR_free(algorithm);
    TS_MSG_IMPRINT_free(imprint);
    return set;
}

static bool nonce_set(TS_REQ *request)
{
    uint64_t number;
    ASN1_INTEGER *nonce = ASN1_INTEGER_new();
    bool set = nonce && RAND_bytes((unsigned char *)&number, sizeof number) == 1 && ASN1_INTEGER_set_uint64(nonce, number) &&
               TS_REQ_set_nonce(request, nonce);
    ASN1_INTEGER_free(nonce);
    return set;
}

int tb_tsp_request(const void *data, size_t bytes, unsigned char **request, size_t *request_bytes)
{
    TS_REQ *made = TS_REQ_new();
    unsigned char *der = NULL;
    int length = -1;
    *request = NULL;
    if (made && TS_REQ_set_version(made, 1) && imprint_set(made, data, bytes) && nonce_set(made) && TS_REQ_set_cert_req(made, 1))
        length = i2d_TS_REQ(made, &der);
    TS_REQ_free(made);
    if (length > 0 && (*request = malloc((size_t)length))) {
        memcpy(*request, der, (size_t)length);
        *request_bytes = (size_t)length;
    }
    OPENSSL_free(der);
    return *request ? 0 : -ENOMEM;
}

// --- the response --------------------------------------------------------------------------------------------------------------

// The last reason that libcrypto gave, with its details: "certificate verify error: Verify error:self-signed certificate".
static void reason(char *why, size_t bytes)
{
    const char *details = NULL, *text = NULL;
    int flags = 0;
    unsigned long error = ERR_peek_last_error_all(NULL, NULL, NULL, &details, &flags);
    text = ERR_reason_error_string(error);
    bool told = (flags & ERR_TXT_STRING) && details && *details;
    snprintf(why, bytes, "%s%s%s", text ? text : "not a time stamp", told ? ": " : "", told ? details : "");
}

static TS_RESP *response_load(const char *path)
{
    BIO *file = BIO_new_file(path, "rb");
    TS_RESP *response = file ? d2i_TS_RESP_bio(file, NULL) : NULL;
    BIO_free(file);
    return response;
}

static bool stamp_time(TS_RESP *response, struct tm *out)
{
    TS_TST_INFO *info = TS_RESP_get_tst_info(response);
    const ASN1_GENERALIZEDTIME *time = info ? TS_TST_INFO_get_time(info) : NULL;
    return time && ASN1_TIME_to_tm(time, out);
}

static X509_STORE *roots_load(const char *ca, struct tm as_of)
{
    X509_STORE *store = X509_STORE_new();
    if (store && X509_STORE_load_file(store, ca)) {
        X509_VERIFY_PARAM_set_time(X509_STORE_get0_param(store), timegm(&as_of));
        return store;
    }
    X509_STORE_free(store);
    return NULL;
}

// The store and the data are taken over.
static bool holds(TS_RESP *response, X509_STORE *roots, BIO *data)
{
    TS_VERIFY_CTX *context = TS_VERIFY_CTX_new();
    if (!context) {
        X509_STORE_free(roots);
        BIO_free(data);
        return false;
    }
    TS_VERIFY_CTX_set_flags(context, TS_VFY_VERSION | TS_VFY_SIGNATURE | TS_VFY_DATA);
    TS_VERIFY_CTX_set_store(context, roots);
    TS_VERIFY_CTX_set_data(context, data);
    bool verified = TS_RESP_verify_response(context, response) == 1;
    TS_VERIFY_CTX_free(context);
    return verified;
}

static void authority_name(TS_RESP *response, char *out, size_t bytes)
{
    STACK_OF(X509) *signers = PKCS7_get0_signers(TS_RESP_get_token(response), NULL, 0);
    char *name = NULL;
    BIO *memory = BIO_new(BIO_s_mem());
    long length = 0;
    if (signers && sk_X509_num(signers) > 0 && memory &&
        X509_NAME_print_ex(memory, X509_get_subject_name(sk_X509_value(signers, 0)), 0, XN_FLAG_ONELINE & ~ASN1_STRFLGS_ESC_MSB) >=
            0)
        length = BIO_get_mem_data(memory, &name);
    snprintf(out, bytes, "%.*s", (int)length, name ? name : "");
    BIO_free(memory);
    sk_X509_free(signers);
}

static int unreadable(const char *path, char *why, size_t why_bytes)
{
    snprintf(why, why_bytes, "%s: %s", path, strerror(errno));
    return -EINVAL;
}

int tb_tsp_check(const char *response, const char *ca, const void *data, size_t bytes, struct tb_tsp_stamp *out, char *why,
                 size_t why_bytes)
{
    struct tm time = {0};
    *out = (struct tb_tsp_stamp){.time = ""};
    if (access(response, R_OK))
        return unreadable(response, why, why_bytes);
    if (access(ca, R_OK))
        return unreadable(ca, why, why_bytes);
    ERR_clear_error();
    TS_RESP *stamp = response_load(response);
    BIO *stamped = BIO_new_mem_buf(data, (int)bytes);
    bool timed = stamp && stamp_time(stamp, &time);
    X509_STORE *roots = roots_load(ca, time);
    int rc = !stamped ? -ENOMEM : !roots ? -EINVAL : -EKEYREJECTED;
    if (rc == -EINVAL)
        snprintf(why, why_bytes, "%s: no certificates in it (PEM)", ca);
    if (rc != -EKEYREJECTED || !timed) {
        if (rc == -EKEYREJECTED)
            snprintf(why, why_bytes, stamp ? "the authority granted no stamp" : "not a time stamp (RFC 3161)");
        X509_STORE_free(roots);
        BIO_free(stamped);
    } else if (holds(stamp, roots, stamped)) {
        strftime(out->time, sizeof out->time, TB_TIME_FORMAT, &time);
        authority_name(stamp, out->authority, sizeof out->authority);
        rc = 0;
    } else {
        reason(why, why_bytes);
    }
    TS_RESP_free(stamp);
    return rc;
}
