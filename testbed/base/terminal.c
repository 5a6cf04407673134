// SPDX-License-Identifier: Apache-2.0
//
// terminal: the progress is one line that redraws itself on a terminal.
//
// The time left assumes that the remaining processes take as long as those so far: the arms of a round differ, but whole rounds
// do not. It overwrites itself with blanks instead of an escape sequence, so a carriage return is all it needs of the terminal.
// Failed writes are ignored: a progress bar must not end a measurement.
#include "testbed/base/terminal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

struct tb_report_style tb_report_style(FILE *stream)
{
    struct tb_report_style style = {.colour = false, .columns = 80};
    int fd = fileno(stream);
    if (fd < 0 || !isatty(fd))
        return style;
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    style.colour = !(no_color && *no_color) && !(term && strcmp(term, "dumb") == 0);
    struct winsize window;
    if (ioctl(fd, TIOCGWINSZ, &window) == 0 && window.ws_col > 0)
        style.columns = window.ws_col;
    return style;
}

enum { BAR = 10 };
static const uint64_t redraw_ns = 100000000; // ten times a second: nobody reads faster, and each update wakes the terminal

struct tb_progress {
    FILE *stream; // NULL: not a terminal
    int columns;
    uint64_t begun_ns, drawn_ns;
    int length;   // of the line on the terminal
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int tb_progress_open(struct tb_progress **out, FILE *stream)
{
    struct tb_progress *progress = calloc(1, sizeof *progress);
    if (!progress)
        return -ENOMEM;
    int fd = fileno(stream);
    progress->stream = fd >= 0 && isatty(fd) ? stream : NULL;
    progress->columns = tb_report_style(stream).columns;
    progress->begun_ns = now_ns();
    *out = progress;
    return 0;
}

static void left_text(char *out, size_t size, uint64_t elapsed_ns, uint64_t done, uint64_t total)
{
    if (done == 0) {
        snprintf(out, size, "starting");
        return;
    }
    double left = (double)elapsed_ns / 1e9 / (double)done * (double)(total - done);
    uint64_t seconds = (uint64_t)(left + 0.5);
    if (seconds < 120)
        snprintf(out, size, "%" PRIu64 " s left", seconds);
    else
        snprintf(out, size, "%" PRIu64 " min %02" PRIu64 " s left", seconds / 60, seconds % 60);
}

static void draw(struct tb_progress *progress, const char *where, uint64_t done, uint64_t total)
{
    char bar[BAR + 1], left[48], line[256];
    int filled = (int)(done * BAR / total);
    for (int i = 0; i < BAR; i++)
        bar[i] = i < filled ? '#' : '-';
    bar[BAR] = '\0';
    left_text(left, sizeof left, progress->drawn_ns - progress->begun_ns, done, total);
    int length = snprintf(line, sizeof line, "[%s] %3" PRIu64 " %%  %s  %s", bar, done * 100 / total, left, where);
    length = length < (int)sizeof line ? length : (int)sizeof line - 1;
    // One column stays free: a line that fills the last column wraps on some terminals and could not be erased.
    if (length >= progress->columns)
        length = progress->columns - 1;
    int blanks = progress->length > length ? progress->length - length : 0;
    fprintf(progress->stream, "\r%.*s%*s", length, line, blanks, "");
    fflush(progress->stream);
    progress->length = length;
}

void tb_progress_show(struct tb_progress *progress, const char *where, uint64_t done, uint64_t total)
{
    uint64_t now = now_ns();
    if (!progress->stream || total == 0 || done > total)
        return;
    if (progress->drawn_ns != 0 && now - progress->drawn_ns < redraw_ns)
        return;
    progress->drawn_ns = now;
    draw(progress, where, done, total);
}

void tb_progress_close(struct tb_progress *progress)
{
    if (!progress)
        return;
    if (progress->stream && progress->length > 0) {
        fprintf(progress->stream, "\r%*s\r", progress->length, "");
        fflush(progress->stream);
    }
    free(progress);
}
