// SPDX-License-Identifier: Apache-2.0
//
// http: metrics (metrics.h) for who asks by HTTP, by libmicrohttpd: GET and HEAD of /metrics, each with an audit of its own.
//
// Without an address it listens on loopback: the numbers say who uses how much, and nobody is asked for a password. Another
// address has to be named. There is no TLS; who wants the numbers on a network has a proxy for that.
//
// Threads: the answers are given by a thread of the server's, which calls `audit`. Start and stop belong to one thread.
#ifndef TB_POOL_HTTP_H
#define TB_POOL_HTTP_H

#include <stddef.h>
#include <stdint.h>

#include "testbed/pool/audit.h"

struct tb_metrics_server;
typedef void tb_audit_fn(void *context, struct tb_pool_audit *out);

#define TB_METRICS_ADDRESS 64   // bytes that an address with its port needs

// `listen`: "9400", "127.0.0.1:9400", "[::1]:9400", "0.0.0.0:9400". Port 0: a free one. 0; -EINVAL, -EADDRINUSE or another
// -errno: `why` says it.
int tb_metrics_serve(struct tb_metrics_server **out, const char *listen, tb_audit_fn *audit, void *context, char *why,
                     size_t why_bytes);

const char *tb_metrics_address(const struct tb_metrics_server *server); // "127.0.0.1:9400", where it listens
void tb_metrics_stop(struct tb_metrics_server *server); // waits for answers that are being given. NULL is allowed

#endif
