// SPDX-License-Identifier: Apache-2.0
//
// The server of metrics: what it answers, in which form, where it listens, and what it refuses.
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "testbed/pool/http.h"

static struct tb_metrics_server *server;
static unsigned audits;
static char answer[1 << 16], why[400];

static void audit_make(void *context, struct tb_pool_audit *out)
{
    (void)context;
    *out = (struct tb_pool_audit){.stats = {.pages = 8, .pages_free = 2}, .page_bytes = 1 << 20};
    out->stats.ranges_allocated = ++audits;
}

static void serve(const char *listen)
{
    cr_assert_eq(tb_metrics_serve(&server, listen, audit_make, NULL, why, sizeof why), 0, "%s", why);
}

static const char *ask(const char *request)
{
    const char *colon = strrchr(tb_metrics_address(server), ':');
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(colon + 1))};
    size_t used = 0;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    cr_assert_eq(write(fd, request, strlen(request)), (ssize_t)strlen(request));
    for (ssize_t got; (got = read(fd, answer + used, sizeof answer - 1 - used)) > 0;)
        used += (size_t)got;
    answer[used] = '\0';
    close(fd);
    return answer;
}

#define GET(path, more) "GET " path " HTTP/1.1\r\nHost: x\r\n" more "Connection: close\r\n\r\n"

static void says(const char *request, const char *status, const char *part)
{
    ask(request);
    cr_assert_eq(strncmp(answer, status, strlen(status)), 0, "not %s: %.60s", status, answer);
    cr_assert_not_null(strstr(answer, part), "no '%s' in: %s", part, answer);
}

Test(http, each_get_has_an_audit_of_its_own_in_the_form_that_was_asked_for, .timeout = 60)
{
    serve("0");
    says(GET("/metrics", ""), "HTTP/1.1 200", "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n");
    cr_assert_not_null(strstr(answer, "\nlocus_pool_ranges_allocated_total 1\n"));
    cr_assert_null(strstr(answer, "# EOF"));
    says(GET("/metrics", "Accept: application/openmetrics-text; version=1.0.0\r\n"), "HTTP/1.1 200",
         "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n");
    cr_assert_not_null(strstr(answer, "\nlocus_pool_ranges_allocated_total 2\n"));
    cr_assert_not_null(strstr(answer, "\n# EOF\n"));
    says("HEAD /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "HTTP/1.1 200", "Content-Length: ");
    cr_assert_null(strstr(answer, "locus_pool_pages"));
    tb_metrics_stop(server);
}

Test(http, other_places_and_methods_are_refused, .timeout = 60)
{
    serve("127.0.0.1:0");
    says(GET("/", ""), "HTTP/1.1 200", "The metrics are at /metrics\n");
    says(GET("/metrics/more", ""), "HTTP/1.1 404", "The metrics are at /metrics\n");
    says("POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc", "HTTP/1.1 405",
         "Allow: GET, HEAD\r\n");
    ask("nonsense\r\n\r\n"); // whatever it answers, it goes on
    says(GET("/", ""), "HTTP/1.1 200", "metrics");
    cr_assert_eq(audits, 0);
    tb_metrics_stop(server);
}

Test(http, without_an_address_it_is_loopback, .timeout = 60)
{
    serve("0");
    cr_assert_eq(strncmp(tb_metrics_address(server), "127.0.0.1:", 10), 0, "%s", tb_metrics_address(server));
    tb_metrics_stop(server);
    serve("0.0.0.0:0");
    cr_assert_eq(strncmp(tb_metrics_address(server), "0.0.0.0:", 8), 0, "%s", tb_metrics_address(server));
    says(GET("/", ""), "HTTP/1.1 200", "metrics");
    tb_metrics_stop(server);
}

Test(http, what_is_no_place_to_listen_is_refused_in_words)
{
    static const struct {
        const char *listen, *says;
    } wrong[] = {
        {"", "'' is not a port from 0 to 65535: write PORT or ADDRESS:PORT"},
        {"65536", "'65536' is not a port"},
        {"127.0.0.1:", "'' is not a port"},
        {"localhost:9", "'localhost' is not an address: write numbers"},
        {"1.2.3:4:5", "'1.2.3:4' is not an address"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cr_assert_eq(tb_metrics_serve(&server, wrong[i].listen, audit_make, NULL, why, sizeof why), -EINVAL, "%s", wrong[i].listen);
        cr_assert(strstr(why, wrong[i].says), "not '%s': %s", wrong[i].says, why);
    }
}

Test(http, a_port_that_is_taken_is_refused_in_words, .timeout = 60)
{
    struct tb_metrics_server *second;
    serve("0");
    cr_assert_eq(tb_metrics_serve(&second, tb_metrics_address(server), audit_make, NULL, why, sizeof why), -EADDRINUSE);
    cr_assert(strstr(why, "(take another port, or 0 for a free one)"), "%s", why);
    tb_metrics_stop(server);
    tb_metrics_stop(NULL);
}
