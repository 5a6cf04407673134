// SPDX-License-Identifier: Apache-2.0
//
// tsp: time stamps of RFC 3161. An authority signs the hash of a file together with the time of its own clock.
//
// The request is made here, without a network; whoever has one sends it (curl) and keeps the response. That is checked here, again
// without a network, against the certificates of the authority's root.
//
// A certificate lives a few years and a record is read for longer. So the authority's certificates are judged as of the time that
// the stamp claims. That trusts an authority to have kept its key after it expired, too; nobody asks whether it was revoked.
#ifndef TB_TSP_H
#define TB_TSP_H

#include <stddef.h>

// The request for a stamp of these bytes: DER, malloc'd, with their SHA-256, a nonce, and the wish for the authority's
// certificate.
// 0, -ENOMEM.
int tb_tsp_request(const void *data, size_t bytes, unsigned char **request, size_t *request_bytes);

struct tb_tsp_stamp {
    char time[32];              // ISO 8601, UTC
    char authority[256];        // the subject of its certificate
};

// Is the file `response` a stamp of these bytes, signed by an authority whose chain ends in a certificate of the file `ca` (PEM,
// one or several)? 0; -EKEYREJECTED: it is not, and why says what is wrong; -EINVAL: a file cannot be read, or `ca` has no
// certificate, and why names it; -ENOMEM.
int tb_tsp_check(const char *response, const char *ca, const void *data, size_t bytes, struct tb_tsp_stamp *out, char *why,
                 size_t why_bytes);

#endif
