// SPDX-License-Identifier: Apache-2.0
//
// http: one resource, one thread, few connections; see http.h. The server polls in a thread of its own, so that a storm's threads
// and the one that waits for them have nothing to do with it.
#include "testbed/pool/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testbed/base/cli.h"
#include "testbed/pool/metrics.h"

enum { CONNECTIONS_MAX = 16, IDLE_S = 10 }; // arbitrary: a scraper or two, and somebody with a browser

struct tb_metrics_server {
    struct MHD_Daemon *daemon;
    tb_audit_fn *audit;
    void *context;
    char address[TB_METRICS_ADDRESS];
};

// --- answers -------------------------------------------------------------------------------------------------------------------

// Takes over `text`, malloc'd.
static enum MHD_Result answer(struct MHD_Connection *connection, unsigned status, const char *type, char *text, size_t bytes)
{
    struct MHD_Response *response = text ? MHD_create_response_from_buffer(bytes, text, MHD_RESPMEM_MUST_FREE) : NULL;
    if (!response) {
        free(text);
        return MHD_NO; // the connection is closed: there is no memory for more
    }
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result say(struct MHD_Connection *connection, unsigned status, const char *text)
{
    return answer(connection, status, "text/plain; charset=utf-8", strdup(text), strlen(text));
}

// A struct tb_pool_audit is too large for the stack of a thread that the server made.
static enum MHD_Result metrics(const struct tb_metrics_server *server, struct MHD_Connection *connection)
{
    const char *accept = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
    enum tb_metrics_form form = tb_metrics_accepted(accept);
    struct tb_pool_audit *audit = malloc(sizeof *audit);
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = audit ? open_memstream(&text, &bytes) : NULL;
    int error = stream ? 0 : -ENOMEM;
    if (stream) {
        server->audit(server->context, audit);
        error = tb_metrics_write(stream, audit, form);
        if (fclose(stream) && !error)
            error = -errno;
    }
    free(audit);
    if (!error)
        return answer(connection, MHD_HTTP_OK, tb_metrics_type(form), text, bytes);
    free(text);
    return say(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n");
}

static enum MHD_Result asked(void *context, struct MHD_Connection *connection, const char *url, const char *method,
                             const char *version, const char *upload, size_t *upload_bytes, void **state)
{
    static char begun; // the first call of a request has its head only
    (void)version;
    (void)upload;
    if (!*state) {
        *state = &begun;
        return MHD_YES;
    }
    if (*upload_bytes > 0) { // a body is read, and ignored
        *upload_bytes = 0;
        return MHD_YES;
    }
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return say(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET /metrics\n");
    if (strcmp(url, "/metrics") == 0)
        return metrics(context, connection);
    return say(connection, strcmp(url, "/") == 0 ? MHD_HTTP_OK : MHD_HTTP_NOT_FOUND, "The metrics are at /metrics\n");
}

// --- where ---------------------------------------------------------------------------------------------------------------------

static int address_read(const char *listen, struct sockaddr_storage *out, char *why, size_t why_bytes)
{
    const char *colon = strrchr(listen, ':'), *port = colon ? colon + 1 : listen;
    char host[TB_METRICS_ADDRESS] = "127.0.0.1";
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_PASSIVE, .ai_socktype = SOCK_STREAM}, *found = NULL;
    size_t length = colon ? (size_t)(colon - listen) : 0;
    bool brackets = length >= 2 && listen[0] == '[' && colon[-1] == ']';
    uint64_t number;
    if (colon)
        snprintf(host, sizeof host, "%.*s", (int)(length - (brackets ? 2 : 0)), listen + brackets);
    if (!tb_cli_u64(port, 0, 65535, &number)) {
        snprintf(why, why_bytes, "'%s' is not a port from 0 to 65535: write PORT or ADDRESS:PORT, as in 9400 or 0.0.0.0:9400",
                 port);
        return -EINVAL;
    }
    if (getaddrinfo(host, port, &hints, &found)) {
        snprintf(why, why_bytes, "'%s' is not an address: write numbers, as in 127.0.0.1:9400 or [::1]:9400", host);
        return -EINVAL;
    }
    memcpy(out, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return 0;
}

static void address_write(struct tb_metrics_server *server, const struct sockaddr_storage *address)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT);
    char host[INET6_ADDRSTRLEN] = "";
    bool six = address->ss_family == AF_INET6;
    const void *bytes = six ? (const void *)&((const struct sockaddr_in6 *)address)->sin6_addr
                            : (const void *)&((const struct sockaddr_in *)address)->sin_addr;
    inet_ntop(address->ss_family, bytes, host, sizeof host);
    snprintf(server->address, sizeof server->address, six ? "[%s]:%u" : "%s:%u", host, info ? (unsigned)info->port : 0);
}

// A socket of our own, so that a refusal has its errno: the server would only say that it did not start.
static int socket_open(const struct sockaddr_storage *address, int *out)
{
    const int yes = 1;
    bool six = address->ss_family == AF_INET6;
    int fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    socklen_t bytes = six ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    if (bind(fd, (const struct sockaddr *)address, bytes) || listen(fd, CONNECTIONS_MAX)) {
        int error = -errno;
        close(fd);
        return error;
    }
    *out = fd;
    return 0;
}

int tb_metrics_serve(struct tb_metrics_server **out, const char *listen, tb_audit_fn *audit, void *context, char *why,
                     size_t why_bytes)
{
    struct sockaddr_storage address = {0};
    int fd = -1, error = address_read(listen, &address, why, why_bytes);
    if (error)
        return error;
    struct tb_metrics_server *server = calloc(1, sizeof *server);
    error = server ? socket_open(&address, &fd) : -ENOMEM;
    if (!error) {
        server->audit = audit;
        server->context = context;
        server->daemon = MHD_start_daemon(MHD_USE_AUTO_INTERNAL_THREAD, 0, NULL, NULL, asked, server, MHD_OPTION_LISTEN_SOCKET, fd,
                                          MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
                                          (unsigned)IDLE_S, MHD_OPTION_END);
        error = server->daemon ? 0 : -EAGAIN;
    }
    if (error) {
        snprintf(why, why_bytes, "cannot listen on %s: %s%s", listen, strerror(-error),
                 error == -EADDRINUSE ? " (take another port, or 0 for a free one)" : "");
        if (fd >= 0)
            close(fd);
        free(server);
        return error;
    }
    address_write(server, &address);
    *out = server;
    return 0;
}

const char *tb_metrics_address(const struct tb_metrics_server *server)
{
    return server->address;
}

void tb_metrics_stop(struct tb_metrics_server *server)
{
    if (!server)
        return;
    MHD_stop_daemon(server->daemon); // closes the socket
    free(server);
}
