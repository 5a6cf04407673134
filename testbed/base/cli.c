// SPDX-License-Identifier: Apache-2.0
//
// cli: argp with one-line errors. argp's own messages take two lines and name only the program. With ARGP_NO_ERRS it stays
// silent, and we find the option where it stopped in argv.

#include "testbed/base/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "locus/version.h"
#include "testbed/base/file.h"
#include "testbed/base/nearest.h"
#include "testbed/base/words.h"

enum { OPTIONS_MAX = 128, WORDS_MAX = 1024, KEY_VERSION = 0x10000 };

static int bad_status;                // of what was reported; 0: nothing was
static const char *words[WORDS_MAX];  // arguments and options' values: the files that are read are among them
static size_t words_count;

void tb_error(const char *format, ...)
{
    va_list arguments;
    char text[2048], clean[2048]; // text from files may contain terminal control sequences
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    tb_text_clean(text, false, clean, sizeof clean);
    fprintf(stderr, "locus: %s\n", clean);
}

int tb_cli_output_failed(int error)
{
    static bool reported;
    if (!reported)
        tb_error("standard output: %s", error ? tb_output_why(error) : "some of it could not be written; is the disk full?");
    reported = true;
    return TB_EXIT_FAILED;
}

int tb_cli_flush(void)
{
    int error = fflush(stdout) ? -errno : 0;
    if (!error && !ferror(stdout)) // after a failed write there may be nothing left to flush
        return TB_EXIT_OK;
    return tb_cli_output_failed(error);
}

// The output itself is one of the words, unless it is a default.
static bool is_named_twice(const char *path)
{
    struct stat about, other;
    size_t named = 0;
    if (stat(path, &about) || !S_ISREG(about.st_mode))
        return false;
    for (size_t i = 0; i < words_count; i++)
        named += stat(words[i], &other) == 0 && about.st_dev == other.st_dev && about.st_ino == other.st_ino;
    return named > 1;
}

// NULL: nothing.
static const char *output_fault(const char *const paths[], size_t at)
{
    int error = tb_output_check(paths[at]);
    if (error)
        return tb_output_why(error);
    if (strcmp(paths[at], "-") == 0)
        return "this goes to a file alone: name one";
    for (size_t i = 0; i < at; i++)
        if (paths[i] && strcmp(paths[i], paths[at]) == 0)
            return "two outputs have this name: give each a file of its own";
    return is_named_twice(paths[at]) ? "is read as well, and would be overwritten: name another file" : NULL;
}

int tb_cli_outputs_check(const char *const paths[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *fault = paths[i] ? output_fault(paths, i) : NULL;
        if (fault) {
            tb_error("%s: %s", paths[i], fault);
            return TB_EXIT_FAILED;
        }
    }
    return TB_EXIT_OK;
}

error_t tb_cli_outputs(const char *const paths[], size_t count)
{
    bad_status = tb_cli_outputs_check(paths, count);
    return bad_status ? EIO : 0;
}

int tb_cli_clone(const char *command)
{
    if (access("postulates", R_OK | X_OK) == 0)
        return TB_EXIT_OK;
    tb_error("%s: no postulates/ here: run it at the top of a clone of the project's repository, where the record is", command);
    return TB_EXIT_USAGE;
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
    bad_status = TB_EXIT_USAGE;
    return EINVAL;
}

// --- values that are empty -----------------------------------------------------------------------------------------------------

// All options of a command in one table, and the first option that was given an empty value.
struct values {
    struct argp_option options[OPTIONS_MAX + 1];
    size_t count;
    const char *empty;
};

static void options_collect(struct values *values, const struct argp *argp)
{
    const struct argp_option *option = argp->options;
    for (; option && (option->name || option->key || option->doc || option->group); option++)
        if (values->count < OPTIONS_MAX)
            values->options[values->count++] = *option;
    for (const struct argp_child *child = argp->children; child && child->argp; child++)
        options_collect(values, child->argp);
}

static error_t value_look(int key, char *argument, struct argp_state *state)
{
    struct values *values = state->input;
    if (argument && words_count < WORDS_MAX)
        words[words_count++] = argument;
    for (size_t i = 0; argument && !*argument && !values->empty && i < values->count; i++)
        if (values->options[i].key == key)
            values->empty = values->options[i].name;
    return 0;
}

// No option takes an empty value: it comes from an unset variable in a script. A separate parse checks this for all options,
// because each parser function sees only its own. It also keeps all words.
static bool value_empty(const struct argp *argp, int argc, char **argv, const char *name)
{
    struct values values = {.count = 0};
    const struct argp look = {values.options, value_look, NULL, NULL, NULL, NULL, NULL};
    char **copy = calloc((size_t)argc + 1, sizeof *copy); // argp reorders the words
    if (!copy)
        return false;
    memcpy(copy, argv, (size_t)argc * sizeof *copy);
    options_collect(&values, argp);
    argp_parse(&look, argc, copy, ARGP_NO_ERRS | ARGP_NO_HELP | ARGP_NO_EXIT, NULL, &values);
    free(copy);
    if (values.empty)
        tb_error("--%s: the value is empty (see: %s --help)", values.empty, name);
    return values.empty;
}

// --- the command line ----------------------------------------------------------------------------------------------------------

struct wrapped {
    const struct argp *argp;
    void *input;
    const char *stopped_at;
};

// Passes everything to the command's parser and remembers the word where argp gave up.
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
    {"help", 'h', NULL, 0, "Give this help", -1},
    {NULL, '?', NULL, OPTION_ALIAS, NULL, 0},
    {"version", KEY_VERSION, NULL, 0, "Print the program's version", -1},
    {0},
};

// Anywhere before "--".
static bool wants(int argc, char **argv, const char *word)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
        if (strcmp(argv[i], word) == 0)
            return true;
    return false;
}

static int help(const struct argp *argp, char *name)
{
    unsetenv("ARGP_HELP_FMT"); // with a margin narrower than a word argp prints blanks for ever
    argp_help(argp, stdout, ARGP_HELP_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, name);
    return tb_cli_flush();
}

void tb_cli_listed(FILE *out, const char *name, const char *summary, const char *remark)
{
    enum { INDENT = 23, COLUMNS = 78 };
    char text[256];
    fprintf(out, "  %-*s", INDENT - 2, name);
    snprintf(text, sizeof text, "%s%s", summary, remark);
    tb_text_wrap(out, COLUMNS, INDENT, INDENT, text);
}

int tb_cli_version(void)
{
    printf("locus %s\n", LOCUS_VERSION);
    return tb_cli_flush();
}

static void unknown(const struct argp *argp, const char *word, const char *name)
{
    char typed[64] = "", meant[128] = "";
    struct values values = {.count = 0};
    struct tb_nearest nearest = {.word = typed};
    bool option = word && word[0] == '-';
    options_collect(&values, argp);
    if (option)
        snprintf(typed, sizeof typed, "%.*s", (int)strcspn(word + strspn(word, "-"), "="), word + strspn(word, "-"));
    for (size_t i = 0; word && strncmp(word, "--", 2) == 0 && i < values.count; i++)
        if (values.options[i].name)
            tb_nearest_try(&nearest, values.options[i].name);
    tb_error("%s '%s'%s (see: %s --help)", option ? "unknown or incomplete option" : "unexpected argument", word ? word : "",
             tb_nearest_say(&nearest, "--", meant, sizeof meant), name);
}

int tb_cli_parse(const struct argp *argp, const char *command, int argc, char **argv, void *input)
{
    struct wrapped wrapped = {.argp = argp, .input = input};
    struct argp_child children[] = {{argp, 0, NULL, 0}, {0}};
    struct argp whole = {help_options, wrap, NULL, NULL, children, NULL, NULL}; // argp also prints the child's texts
    char name[64];
    snprintf(name, sizeof name, "locus%s%s", command[0] == '-' ? "" : " ", command);
    if (wants(argc, argv, "--help") || wants(argc, argv, "-h") || wants(argc, argv, "-?"))
        return help(&whole, name);
    if (wants(argc, argv, "--version"))
        return tb_cli_version();
    if (value_empty(argp, argc, argv, name))
        return TB_EXIT_USAGE;
    bad_status = 0;
    error_t error = argp_parse(&whole, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP | ARGP_NO_EXIT, NULL, &wrapped);
    if (!error)
        return TB_CLI_RUN;
    if (error == ENOMEM)
        tb_error("out of memory");
    else if (!bad_status)
        unknown(argp, wrapped.stopped_at, name);
    return bad_status ? bad_status : TB_EXIT_USAGE;
}

// --- whole numbers and sizes ---------------------------------------------------------------------------------------------------

bool tb_number_take(const char **at, uint64_t most, uint64_t *out)
{
    const char *digit = *at;
    uint64_t value = 0;
    if (most > INT64_MAX)
        most = INT64_MAX;
    for (; *digit >= '0' && *digit <= '9'; digit++) {
        uint64_t more = (uint64_t)(*digit - '0');
        if (more > most || value > (most - more) / 10)
            return false;
        value = value * 10 + more;
    }
    if (digit == *at)
        return false;
    *at = digit;
    *out = value;
    return true;
}

bool tb_number_word(const char *text, const char *before, const char *after, uint64_t least, uint64_t most, uint64_t *out)
{
    size_t length = strlen(before);
    const char *at = text + length;
    uint64_t value;
    if (strncmp(text, before, length) || !tb_number_take(&at, most, &value) || strcmp(at, after) || value < least)
        return false;
    *out = value;
    return true;
}

bool tb_cli_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
    return tb_number_word(text, "", "", min, max, out);
}

bool tb_cli_bytes(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
    static const char units[] = "KMGT";
    uint64_t value;
    if (!tb_number_take(&text, INT64_MAX, &value))
        return false;
    const char *unit = *text ? strchr(units, *text) : NULL;
    unsigned shift = unit ? (unsigned)(unit - units + 1) * 10 : 0;
    text += unit != NULL;
    if (*text && strcmp(text, "B") && (!unit || strcmp(text, "iB")))
        return false;
    if (value > (uint64_t)INT64_MAX >> shift || value << shift < min || value << shift > max)
        return false;
    *out = value << shift;
    return true;
}
