// SPDX-License-Identifier: Apache-2.0
//
// cli: argp with one-line errors. argp's own messages take two lines and name only the program; with ARGP_NO_ERRS it stays
// silent, and the option it stopped at is still in argv.

#include "testbed/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/report_text.h"

static bool bad_reported;

void tb_error(const char *format, ...)
{
    va_list arguments;
    char text[2048], clean[2048]; // names and words out of files may hold what a terminal would obey
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    tb_text_clean(text, false, clean, sizeof clean);
    fprintf(stderr, "locus: %s\n", clean);
}

int tb_cli_flush(void)
{
    int error = fflush(stdout) ? errno : 0;
    if (!error && !ferror(stdout)) // after a write that failed there may be nothing left to flush
        return TB_EXIT_OK;
    tb_error("standard output: %s", error ? strerror(error) : "not all of it could be written; is the disk full?");
    return TB_EXIT_FAILED;
}

error_t tb_cli_bad(struct argp_state *state, const char *format, ...)
{
    va_list arguments;
    char text[2048];
    (void)state;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    tb_error("%s", text);
    bad_reported = true;
    return EINVAL;
}

struct wrapped {
    const struct argp *argp;
    void *input;
    const char *stopped_at;
};

// Hands everything to the command's parser; remembers the word at which argp gave up.
static error_t wrap(int key, char *argument, struct argp_state *state)
{
    struct wrapped *wrapped = state->input;
    if (key == ARGP_KEY_INIT) {
        state->child_inputs[0] = wrapped->input;
        return 0;
    }
    if (key == ARGP_KEY_ERROR)
        wrapped->stopped_at = state->next > 0 ? state->argv[state->next - 1] : NULL;
    (void)argument;
    return ARGP_ERR_UNKNOWN;
}

static const struct argp_option help_options[] = {
    {"help", '?', NULL, 0, "Give this help", -1},
    {0},
};

static bool wants_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-?") == 0)
            return true;
    return false;
}

int tb_cli_parse(const struct argp *argp, const char *command, int argc, char **argv, void *input)
{
    struct wrapped wrapped = {.argp = argp, .input = input};
    struct argp_child children[] = {{argp, 0, NULL, 0}, {0}};
    struct argp whole = {help_options, wrap, NULL, NULL, children, NULL, NULL}; // the child's texts are printed as well
    char name[64];
    snprintf(name, sizeof name, "locus %s", command);
    if (wants_help(argc, argv)) {
        argp_help(&whole, stdout, ARGP_HELP_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, name);
        return tb_cli_flush();
    }
    bad_reported = false;
    error_t error = argp_parse(&whole, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP | ARGP_NO_EXIT, NULL, &wrapped);
    if (!error)
        return TB_CLI_RUN;
    if (error == ENOMEM)
        tb_error("out of memory");
    else if (!bad_reported)
        tb_error("%s '%s' (see: %s --help)",
                 wrapped.stopped_at && wrapped.stopped_at[0] == '-' ? "unknown or incomplete option" : "unexpected argument",
                 wrapped.stopped_at ? wrapped.stopped_at : "", name);
    return TB_EXIT_USAGE;
}

bool tb_cli_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || end == text || *end || text[0] == '-' || value < min || value > max)
        return false;
    *out = value;
    return true;
}

bool tb_cli_bytes(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
    static const char units[] = "KMGT";
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || end == text || text[0] == '-')
        return false;
    const char *unit = *end ? strchr(units, *end) : NULL;
    unsigned shift = unit ? (unsigned)(unit - units + 1) * 10 : 0;
    end += unit != NULL;
    if (*end && strcmp(end, "B") && (!unit || strcmp(end, "iB")))
        return false;
    if (value > UINT64_MAX >> shift || value << shift < min || value << shift > max)
        return false;
    *out = value << shift;
    return true;
}
