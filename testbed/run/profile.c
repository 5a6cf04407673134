// SPDX-License-Identifier: Apache-2.0
//
// profile: see profile.h.
//
// perf starts the measured process itself (tb_rounds_run_under), so it follows that process and its threads from their first
// instruction, and neither this program nor the other arms. A host that counts no cycles, as a virtual machine mostly does, can
// still be sampled by its clock: then perf record gets that event, and the report says so. c2c and mem have no such substitute.

#include "testbed/run/profile.h"

#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "testbed/base/child.h"
#include "testbed/base/share.h"

#define WORDS_MAX 48
#define WORDS_FIXED 16 // more than the longest line without options: perf record -N -o FILE -e cpu-clock -- env LD_PRELOAD=... LAP

struct profile {
    const struct tb_profile_config *config;
    const struct tb_plan *plan;
    FILE *out, *index;
    char folder[PATH_MAX - 128];
    char lap[PATH_MAX];
    char *options; // cut into words
    const char *option[WORDS_MAX];
    const char *no_cycles; // why this host counts none, or NULL
};

struct target { // one process
    const struct profile *profile;
    enum tb_profile_tool tool;
    uint32_t cell, arm;
    char data[PATH_MAX], text[PATH_MAX];
    char preload[PATH_MAX + 16];
};

static const char *const tools[] = {"record", "c2c", "mem"};

// --- what is there -------------------------------------------------------------------------------------------------------------

static uint32_t options_cut(char *text, const char *words[WORDS_MAX])
{
    uint32_t count = 0;
    for (char *rest = NULL, *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        if (count++ < WORDS_MAX - 1)
            words[count - 1] = word;
    return count;
}

static int options_check(const char *options)
{
    const char *words[WORDS_MAX];
    char *text = strdup(options ? options : "");
    int error = !text ? -ENOMEM : options_cut(text, words) > WORDS_MAX - WORDS_FIXED ? -EINVAL : 0;
    free(text);
    return error;
}

int tb_profile_check(const struct tb_profile_config *config, const struct tb_plan *plan, char *why, size_t why_bytes)
{
    const char *const version[] = {"perf", "--version", NULL};
    bool known = !config->arm;
    for (uint32_t a = 0; a < plan->rounds.arms_count; a++)
        known |= config->arm && strcmp(plan->postulate->arms[a].key, config->arm) == 0;
    if (!known) {
        snprintf(why, why_bytes, "--profile-arm: experiment %s has no arm '%s' (see its arms in %s)", plan->postulate->id,
                 config->arm, plan->postulate->path);
        return -EINVAL;
    }
    int error = options_check(config->options);
    if (error) {
        snprintf(why, why_bytes, "--perf-record: more than %d words", WORDS_MAX - WORDS_FIXED);
        return error;
    }
    if (tb_child(&(struct tb_child){.argv = version, .in = -1, .out = -1}) == -ENOENT) {
        snprintf(why, why_bytes,
                 "--perf-record, --c2c and --mem need perf, and there is none in PATH: install linux-perf (Debian) or "
                 "linux-tools-generic (Ubuntu), or leave them away");
        return -ENOENT;
    }
    return 0;
}

// Why the clock must do, or NULL. Where counting is forbidden perf itself has the better words.
static const char *cycles_missing(void)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE, .size = sizeof attr, .config = PERF_COUNT_HW_CPU_CYCLES};
    attr.exclude_kernel = 1;
    int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0 || errno == EACCES || errno == EPERM ? NULL : "this host counts no cycles";
}

// --- one process ---------------------------------------------------------------------------------------------------------------

static bool event_chosen(const struct profile *profile)
{
    bool chosen = false;
    for (const char *const *word = profile->option; *word; word++)
        chosen |= strncmp(*word, "-e", 2) == 0 || strncmp(*word, "--event", 7) == 0;
    return chosen;
}

// Options of perf record come after "--" for the other two, which pass them on.
static void words_make(const struct target *target, const char *words[WORDS_MAX])
{
    const struct profile *profile = target->profile;
    // -N: nothing into the home directory's cache
    const char *const record[] = {"perf", "record", "-N", "-o", target->data, NULL};
    const char *const other[] = {"perf", tools[target->tool], "record", "--", "-N", "-o", target->data, NULL};
    const char *const clock[] = {"-e", "cpu-clock", NULL}, *const end[] = {"--", NULL}, *const none[] = {NULL};
    const char *const env[] = {"env", target->preload, NULL}, *const lap[] = {profile->lap, NULL};
    bool recorded = target->tool == TB_PROFILE_RECORD;
    const char *const *const parts[] = {recorded ? record : other,
                                        recorded && profile->no_cycles && !event_chosen(profile) ? clock : none,
                                        recorded ? profile->option : none,
                                        recorded ? end : none,
                                        target->preload[0] ? env : none,
                                        lap};
    size_t count = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (const char *const *word = parts[i]; *word; word++)
            words[count++] = *word;
    words[count] = NULL;
}

// The first line in which perf says what is wrong: not its heading, nor how much it has written.
static const char *reason(char *said)
{
    static const char *const noise[] = {"Error:", "[ perf record", "WARNING:", "Warning:"};
    for (char *rest = NULL, *line = strtok_r(said, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        bool says = line[strspn(line, " \t")] != '\0';
        for (size_t i = 0; i < sizeof noise / sizeof *noise; i++)
            says &= strncmp(line, noise[i], strlen(noise[i])) != 0;
        if (says)
            return strncmp(line, "failed: ", 8) == 0 ? line + 8 : line;
    }
    return "perf recorded nothing, and does not say why";
}

// The setting that forbids it, if that may be why.
static void paranoid(char *out, size_t bytes)
{
    FILE *file = geteuid() == 0 ? NULL : fopen("/proc/sys/kernel/perf_event_paranoid", "re");
    int level;
    out[0] = '\0';
    if (file && fscanf(file, "%d", &level) == 1 && level > 1)
        snprintf(out, bytes, " (kernel.perf_event_paranoid is %d here; sudo sysctl kernel.perf_event_paranoid=1)", level);
    if (file)
        fclose(file);
}

static int report_write(const struct target *target)
{
    const char *const record[] = {"perf", "report", "-i", target->data, "--stdio", NULL};
    const char *const other[] = {"perf", tools[target->tool], "report", "-i", target->data, "--stdio", NULL};
    return tb_child_run(".", target->tool == TB_PROFILE_RECORD ? record : other, target->text, false);
}

static void say(const struct profile *profile, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(const struct profile *profile, const char *format, ...)
{
    FILE *const to[] = {profile->out, profile->index};
    for (int i = 0; i < 2; i++) {
        va_list arguments;
        va_start(arguments, format);
        vfprintf(to[i], format, arguments);
        va_end(arguments);
    }
}

static void tell(const struct target *target, const struct tb_sample *sample, char *said)
{
    const struct profile *profile = target->profile;
    const char *name = strrchr(target->text, '/') + 1;
    struct stat status;
    char hint[120];
    bool recorded = stat(target->data, &status) == 0 && status.st_size > 0;
    say(profile, "  %s %s %s/%s: ", profile->plan->postulate->arms[target->arm].key, profile->plan->arms[target->arm].label,
        profile->plan->workloads[target->cell], tb_touch_name(profile->plan->cells[target->cell].touch));
    paranoid(hint, sizeof hint);
    if (!recorded || !sample->ran) { // a file may be there all the same, and of no use
        unlink(target->data);
        say(profile, "%s %s: %s%s\n", tools[target->tool],
            target->tool == TB_PROFILE_RECORD || recorded ? "not recorded" : "not supported",
            recorded ? sample->invalid : reason(said), recorded ? "" : hint);
    } else if (report_write(target)) {
        say(profile, "%s recorded, but perf cannot report it: see %.*s.data\n", tools[target->tool], (int)strlen(name) - 4, name);
        unlink(target->text);
    } else {
        bool clock = target->tool == TB_PROFILE_RECORD && profile->no_cycles && !event_chosen(profile);
        say(profile, "%s%s%s%s\n", name, clock ? ", by cpu-clock: " : "", clock ? profile->no_cycles : "",
            sample->valid ? "" : " (of an invalid process)");
    }
}

static int target_run(const struct profile *profile, enum tb_profile_tool tool, uint32_t cell, uint32_t arm)
{
    const struct tb_plan *plan = profile->plan;
    const char *words[WORDS_MAX], *key = plan->postulate->arms[arm].key;
    struct target target = {.profile = profile, .tool = tool, .cell = cell, .arm = arm};
    struct tb_sample sample = {0};
    char said[2048];
    snprintf(target.data, sizeof target.data, "%s/%s.%u.%s.data", profile->folder, key, cell, tools[tool]);
    snprintf(target.text, sizeof target.text, "%s/%s.%u.%s.txt", profile->folder, key, cell, tools[tool]);
    if (plan->arms[arm].library[0])
        snprintf(target.preload, sizeof target.preload, "LD_PRELOAD=%s", plan->arms[arm].library);
    words_make(&target, words);
    int error = tb_rounds_run_under(&plan->rounds, cell, arm, words, &sample, said, sizeof said);
    if (!error)
        tell(&target, &sample, said);
    return error;
}

// --- all of them ---------------------------------------------------------------------------------------------------------------

static int profile_open(struct profile *profile, const char *log, char *why, size_t why_bytes)
{
    char path[PATH_MAX];
    size_t length = strlen(log), end = sizeof ".jsonl" - 1;
    int error = tb_share_lap(profile->lap, why, why_bytes);
    if (error)
        return error;
    if (length < end ||
        snprintf(profile->folder, sizeof profile->folder, "%.*s.perf", (int)(length - end), log) >= (int)sizeof profile->folder)
        return -ENAMETOOLONG;
    profile->options = strdup(profile->config->options ? profile->config->options : "");
    if (!profile->options)
        return -ENOMEM;
    options_cut(profile->options, profile->option);
    profile->no_cycles = cycles_missing();
    snprintf(path, sizeof path, "%s/profile.txt", profile->folder);
    profile->index = mkdir(profile->folder, 0777) ? NULL : fopen(path, "we");
    return profile->index ? 0 : -errno;
}

int tb_profile(const struct tb_profile_config *config, const struct tb_plan *plan, const char *log, FILE *out, char *why,
               size_t why_bytes)
{
    struct profile profile = {.config = config, .plan = plan, .out = out};
    why[0] = '\0';
    int error = profile_open(&profile, log, why, why_bytes);
    if (!error)
        say(&profile, "profile %s, of processes after the sealed run, which are no samples:\n", strrchr(profile.folder, '/') + 1);
    for (uint32_t cell = 0; cell < plan->rounds.cells_count; cell++)
        for (uint32_t arm = 0; arm < plan->rounds.arms_count; arm++)
            for (int tool = 0; tool < TB_PROFILE_TOOLS && !error; tool++)
                if (config->wanted[tool] && (!config->arm || strcmp(plan->postulate->arms[arm].key, config->arm) == 0))
                    error = target_run(&profile, (enum tb_profile_tool)tool, cell, arm);
    if (error && !why[0])
        snprintf(why, why_bytes, "%s: %s", profile.folder[0] ? profile.folder : log, strerror(-error));
    if (profile.index && fclose(profile.index) && !error) {
        error = -errno;
        snprintf(why, why_bytes, "%s/profile.txt: %s", profile.folder, strerror(-error));
    }
    free(profile.options);
    return error;
}
