// SPDX-License-Identifier: Apache-2.0
//
// progress: on a terminal a line that wipes itself, in a pipe nothing.
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "testbed/base/terminal.h"
#include "testbed/measure/tests/rounds_fixture.h"

static struct fixture f;
static const struct fixture_arm one[] = {{"locus", 1000}};

// A terminal of so many columns: its other end, from which the test reads what a person would see.
static FILE *open_terminal(int *other, unsigned short columns)
{
    *other = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
    if (*other < 0 || grantpt(*other) != 0 || unlockpt(*other) != 0)
        cr_skip_test("needs a pseudo-terminal");
    int fd = open(ptsname(*other), O_RDWR | O_NOCTTY);
    struct winsize window = {.ws_col = columns, .ws_row = 24};
    cr_assert(fd >= 0 && ioctl(fd, TIOCSWINSZ, &window) == 0);
    return fdopen(fd, "w");
}

static size_t seen(int other, char *out, size_t size)
{
    ssize_t bytes = read(other, out, size - 1);
    out[bytes > 0 ? bytes : 0] = '\0';
    return bytes > 0 ? (size_t)bytes : 0;
}

Test(progress, in_a_pipe_there_is_nothing)
{
    struct tb_rounds *rounds = FIXTURE(f, one, 5);
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    struct tb_progress *progress = NULL;
    cr_assert_eq(tb_progress_open(&progress, out), 0);
    tb_progress_step(progress, rounds, 0, 1, 5);
    tb_progress_close(progress);
    fclose(out);
    cr_assert_eq(bytes, 0);
    free(text);
}

Test(progress, on_a_terminal_it_shows_a_bar_and_wipes_it)
{
    struct tb_rounds *rounds = FIXTURE(f, one, 5);
    int other;
    char text[512];
    FILE *out = open_terminal(&other, 80);
    struct tb_progress *progress = NULL;
    cr_assert_eq(tb_progress_open(&progress, out), 0);
    tb_progress_step(progress, rounds, 0, 74, 100);
    seen(other, text, sizeof text);
    cr_assert_str_eq(text, "\r[#######---]  74 %  0 s left  steady-decode, full touch");
    tb_progress_close(progress);
    size_t wiped = seen(other, text, sizeof text);
    cr_assert_eq(wiped, strlen("\r[#######---]  74 %  0 s left  steady-decode, full touch\r"));
    cr_assert_eq(strspn(text, "\r "), wiped);
    fclose(out);
    close(other);
}

Test(progress, it_is_redrawn_ten_times_a_second_at_most)
{
    struct tb_rounds *rounds = FIXTURE(f, one, 5);
    int other;
    char text[512];
    FILE *out = open_terminal(&other, 80);
    struct tb_progress *progress = NULL;
    cr_assert_eq(tb_progress_open(&progress, out), 0);
    for (uint64_t done = 1; done <= 50; done++)
        tb_progress_step(progress, rounds, 0, done, 1000000);
    seen(other, text, sizeof text);
    size_t drawn = 0;
    for (const char *c = text; *c; c++)
        drawn += *c == '\r';
    cr_assert(drawn >= 1 && drawn <= 3, "%zu times", drawn); // a slow machine may pass a tenth of a second on the way
    tb_progress_close(progress);
    fclose(out);
    close(other);
}

Test(progress, it_never_wraps_on_a_narrow_terminal)
{
    struct tb_rounds *rounds = FIXTURE(f, one, 5);
    int other;
    char text[512];
    FILE *out = open_terminal(&other, 20);
    struct tb_progress *progress = NULL;
    cr_assert_eq(tb_progress_open(&progress, out), 0);
    tb_progress_step(progress, rounds, 0, 0, 100);
    cr_assert_eq(seen(other, text, sizeof text), 1 + 19);
    tb_progress_close(progress);
    fclose(out);
    close(other);
}

Test(progress, style_of_a_terminal_has_its_width_and_heeds_no_color)
{
    int other;
    FILE *out = open_terminal(&other, 132);
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    cr_assert(tb_report_style(out).colour);
    cr_assert_eq(tb_report_style(out).columns, 132);
    setenv("NO_COLOR", "1", 1);
    cr_assert(!tb_report_style(out).colour);
    setenv("NO_COLOR", "", 1);
    setenv("TERM", "dumb", 1);
    cr_assert(!tb_report_style(out).colour);
    fclose(out);
    close(other);
}
