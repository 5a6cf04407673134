// SPDX-License-Identifier: Apache-2.0
//
// gnuplot: it reads its script from one anonymous file and writes the drawing to another. So no path of a person's ever has to be
// quoted into the script, nothing is left behind when it dies, and the drawing is only put in place once it is known to be whole.
#include "testbed/base/draw/gnuplot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testbed/base/child.h"
#include "testbed/base/file.h"
#include "testbed/base/words.h"

// In single quotes only the quote itself is special.
void tb_gnuplot_quoted(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text; text++)
        fprintf(out, *text == '\'' ? "''" : "%c", *text);
    fputc('\'', out);
}

// An anonymous file with the script, to be read from its beginning.
static int open_script(tb_gnuplot_script *put, const void *what, int *fd)
{
    struct tb_text script;
    int rc = tb_text_open(&script);
    if (rc < 0)
        return rc;
    *fd = memfd_create("plot", MFD_CLOEXEC);
    FILE *file = *fd < 0 ? NULL : fdopen(dup(*fd), "w");
    rc = file ? 0 : -errno;
    rc = rc < 0 ? rc : put(script.stream, what);
    rc = tb_text_close(&script, file, rc);
    if (file)
        fclose(file);
    if (rc == 0 && lseek(*fd, 0, SEEK_SET) < 0)
        rc = -errno;
    return rc;
}

static int run_gnuplot(int script, int drawing)
{
    const char *const argv[] = {"gnuplot", "-d", "-", NULL}; // -d: without the person's own start-up files
    int rc = tb_child(&(struct tb_child){.argv = argv, .in = script, .out = drawing});
    return rc == -ECHILD ? -EIO : rc;
}

// The drawing as memory (munmap it). -EIO unless it is whole.
static int map_drawing(int fd, char **bytes, size_t *count)
{
    static const char end[] = "</svg>";
    struct stat about;
    if (fstat(fd, &about) < 0)
        return -errno;
    *count = (size_t)about.st_size;
    if (*count < sizeof end)
        return -EIO;
    *bytes = mmap(NULL, *count, PROT_READ, MAP_PRIVATE, fd, 0);
    if (*bytes == MAP_FAILED)
        return -errno;
    size_t tail = *count < 64 ? *count : 64;
    if (memmem(*bytes + *count - tail, tail, end, strlen(end)))
        return 0;
    munmap(*bytes, *count);
    return -EIO;
}

int tb_gnuplot(const char *svg_path, tb_gnuplot_script *put, const void *what)
{
    int script = -1, drawing = -1;
    char *bytes = NULL;
    size_t count = 0;
    int rc = open_script(put, what, &script);
    if (rc < 0)
        goto out;
    drawing = memfd_create("drawing", MFD_CLOEXEC);
    if (drawing < 0) {
        rc = -errno;
        goto out;
    }
    rc = run_gnuplot(script, drawing);
    if (rc == 0)
        rc = map_drawing(drawing, &bytes, &count);
    if (rc == 0) {
        rc = tb_output_replace(svg_path, bytes, count);
        munmap(bytes, count);
    }
out:
    if (drawing >= 0)
        close(drawing);
    if (script >= 0)
        close(script);
    return rc;
}
