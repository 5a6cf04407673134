// SPDX-License-Identifier: Apache-2.0
//
// log_rows: logs of version 1 written anew in version 2, to compare them.
//
//   rows FOLDER FILE...    FOLDER/N.v1.jsonl and FOLDER/N.v2.jsonl for each: all lines again, a flush after each round. The samples
//                          of the second must be equal to those of the file. Prints how many there were.
//   long BYTES PATH FILE   PATH in version 2: the samples of FILE again and again, until there are so many bytes.
//   load SECONDS FILE      loads the file several times: the median must be under SECONDS. Prints it, with the bytes.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "testbed/base/json.h"
#include "testbed/record/log.h"

#define LOADS 5

static void must(int error, const char *path, const char *why)
{
    if (error)
        fprintf(stderr, "log_rows: %s: %s\n", path, error == -EINVAL ? why : strerror(-error));
    if (error)
        exit(1);
}

static void add(struct tb_log *log, const char *path, const json_t *line)
{
    if (line)
        must(tb_log_add(log, line), path, "a line that cannot be added");
}

static size_t bytes_of(const char *path)
{
    struct stat about;
    must(stat(path, &about) ? -errno : 0, path, "");
    return (size_t)about.st_size;
}

// The samples again and again, until there are at least so many bytes.
static void write_again(const struct tb_log_view *view, const char *path, int version, size_t bytes)
{
    struct tb_log *log;
    struct tb_hash head;
    size_t lines;
    json_t *header = json_copy((json_t *)view->header);
    json_object_set_new(header, "v", json_integer(version));
    must(tb_log_create(&log, path, header), path, "no log");
    double round = 0;
    for (size_t i = 0; view->samples_count && (i < view->samples_count || bytes_of(path) < bytes); i++) {
        const json_t *sample = view->samples[i % view->samples_count].line;
        double now = tb_member_number(sample, "round");
        if (now != round)
            must(tb_log_flush(log), path, "no flush");
        round = now;
        add(log, path, sample);
    }
    add(log, path, view->after);
    add(log, path, view->summary);
    must(tb_log_seal(log, "complete", NULL, &head, &lines), path, "no seal");
    json_decref(header);
}

static int rows(const char *folder, char **files)
{
    size_t samples = 0;
    for (int number = 0; files[number]; number++) {
        struct tb_log_view old, now;
        char path[4096], why[1024] = "";
        must(tb_log_load(files[number], &old, why, sizeof why), files[number], why);
        for (int version = 1; version <= 2; version++) {
            snprintf(path, sizeof path, "%s/%d.v%d.jsonl", folder, number, version);
            write_again(&old, path, version, 0);
        }
        must(tb_log_load(path, &now, why, sizeof why), path, why);
        bool equal = !now.chain.broken_line && now.samples_count == old.samples_count && now.seal;
        for (size_t i = 0; i < old.samples_count && equal; i++) {
            char *texts[] = {json_dumps(old.samples[i].line, JSON_COMPACT), json_dumps(now.samples[i].line, JSON_COMPACT)};
            equal = texts[0] && texts[1] && strcmp(texts[0], texts[1]) == 0 && old.samples[i].cell == now.samples[i].cell &&
                    strcmp(old.samples[i].arm, now.samples[i].arm) == 0;
            free(texts[0]);
            free(texts[1]);
        }
        must(equal ? 0 : -EINVAL, files[number], "its samples are others in version 2");
        samples += old.samples_count;
        tb_log_view_close(&old);
        tb_log_view_close(&now);
    }
    printf("samples %zu\n", samples);
    return samples ? 0 : 1;
}

static int long_log(size_t bytes, const char *path, const char *file)
{
    struct tb_log_view view;
    char why[1024] = "";
    must(tb_log_load(file, &view, why, sizeof why), file, why);
    must(view.samples_count ? 0 : -EINVAL, file, "no samples");
    write_again(&view, path, 2, bytes);
    tb_log_view_close(&view);
    return 0;
}

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static int load(double most, const char *path)
{
    double seconds[LOADS];
    for (int i = 0; i < LOADS; i++) {
        struct timespec begin, end;
        struct tb_log_view view;
        char why[1024] = "";
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin); // other processes may keep the CPU busy
        must(tb_log_load(path, &view, why, sizeof why), path, why);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
        must(view.chain.broken_line || !view.seal ? -EINVAL : 0, path, "no whole log");
        tb_log_view_close(&view);
        seconds[i] = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
    }
    qsort(seconds, LOADS, sizeof *seconds, by_value);
    printf("bytes %zu seconds %.3f\n", bytes_of(path), seconds[LOADS / 2]);
    return seconds[LOADS / 2] < most ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc > 3 && strcmp(argv[1], "rows") == 0)
        return rows(argv[2], argv + 3);
    if (argc == 5 && strcmp(argv[1], "long") == 0)
        return long_log(strtoul(argv[2], NULL, 10), argv[3], argv[4]);
    if (argc == 4 && strcmp(argv[1], "load") == 0)
        return load(strtod(argv[2], NULL), argv[3]);
    fputs("log_rows: rows FOLDER FILE... | long BYTES PATH FILE | load SECONDS FILE\n", stderr);
    return 2;
}
