// SPDX-License-Identifier: Apache-2.0
//
// contender: the list of contenders, which the linker makes, and the names of arms on the command line.

#include "testbed/measure/contender.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testbed/base/nearest.h"
#include "testbed/base/cli.h"
#include "testbed/decode/act.h"
#include "testbed/engine/arm.h"
#include "testbed/measure/engine.h"
#include "testbed/measure/peers/peer.h"
#include "testbed/measure/pins/way.h"
#include "testbed/serving/keep.h"

// The name of the multiarch folder in Debian and its derivatives.
#if defined(__x86_64__)
#define MULTIARCH "x86_64-linux-gnu"
#elif defined(__aarch64__)
#define MULTIARCH "aarch64-linux-gnu"
#else
#define MULTIARCH "."
#endif

static const char *const library_folders[] = {
    "/usr/local/lib", "/usr/local/lib64", "/usr/lib/" MULTIARCH, "/lib/" MULTIARCH, "/usr/lib64", "/usr/lib", "/lib64", "/lib",
};

const struct tb_contender *tb_contender_find(const char *name)
{
    for (const struct tb_contender *const *entry = __start_tb_contenders; entry < __stop_tb_contenders; entry++)
        if (strcmp((*entry)->name, name) == 0)
            return *entry;
    return NULL;
}

const struct tb_optional tb_optionals[] = {
    {"dpdk-ring", "libdpdk-dev"},     {"dpdk-stack", "libdpdk-dev"},     {"locus-ckstack", "libck-dev"},
    {"locus-lfstack", "liburcu-dev"}, {"locus-wfcqueue", "liburcu-dev"}, {NULL, NULL},
};

static const struct tb_optional *optional_find(const char *name)
{
    for (const struct tb_optional *optional = tb_optionals; optional->name; optional++)
        if (strcmp(optional->name, name) == 0)
            return optional;
    return NULL;
}

static int name_unknown(const char *name, char *why, size_t why_bytes)
{
    const struct tb_optional *optional = optional_find(name);
    if (optional) {
        snprintf(why, why_bytes, "contender %s is not built in: install %s, then run make again", name, optional->package);
        return -ENODEV;
    }
    if (tb_peer_name(name)) {
        snprintf(why, why_bytes, "contender %s is missing: make peers fetches those of Debian's later releases", name);
        return -ENODEV;
    }
    if (strcmp(name, "malloc") == 0) {
        snprintf(
            why, why_bytes,
            "contender malloc needs a library's path, such as malloc:/usr/lib/libmimalloc.so (the C library's is called glibc)");
        return -ENOENT;
    }
    char meant[128];
    struct tb_nearest nearest = {.word = name};
    for (const struct tb_contender *const *entry = __start_tb_contenders; entry < __stop_tb_contenders; entry++)
        tb_nearest_try(&nearest, (*entry)->name);
    snprintf(why, why_bytes, "unknown contender '%s'%s (`locus eval --help` lists them)", name,
             tb_nearest_say(&nearest, "", meant, sizeof meant));
    return -ENOENT;
}

static int library_find(const struct tb_contender *contender, struct tb_arm *arm, char *why, size_t why_bytes)
{
    for (const char *const *name = contender->libraries; *name; name++) {
        for (size_t i = 0; i < sizeof library_folders / sizeof *library_folders; i++) {
            snprintf(arm->library, sizeof arm->library, "%s/%s", library_folders[i], *name);
            if (access(arm->library, R_OK) == 0)
                return 0;
        }
    }
    arm->library[0] = '\0';
    snprintf(why, why_bytes, "contender %s: %s is not installed (make deps installs it; or give its path: malloc:/path/%s)",
             contender->name, contender->libraries[0], contender->libraries[0]);
    return -ENODEV;
}

static int library_by_path(const char *path, struct tb_arm *arm, char *why, size_t why_bytes)
{
    char magic[4] = {0};
    char *resolved = realpath(path, NULL);
    int file = resolved ? open(resolved, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t got = file >= 0 ? read(file, magic, sizeof magic) : -1;
    int error = 0;
    if (file < 0)
        error = snprintf(why, why_bytes, "malloc:%s: %s", path, strerror(errno));
    else if (got != sizeof magic || memcmp(magic, "\177ELF", sizeof magic))
        error = snprintf(why, why_bytes, "malloc:%s: not a shared library", path);
    else if (strlen(resolved) >= sizeof arm->library)
        error = snprintf(why, why_bytes, "malloc:%s: the path is too long", path);
    else
        strcpy(arm->library, resolved);
    if (file >= 0)
        close(file);
    free(resolved);
    return error ? -ENODEV : 0;
}

static int fault_parse(const char *text, struct tb_arm *arm)
{
    static const char *const names[] = {
        [TB_FAULT_SKIP_TOUCH] = "skip-touch",
        [TB_FAULT_DROP_CHUNK] = "drop-chunk",
        [TB_FAULT_DOUBLE_FREE] = "double-free",
        [TB_FAULT_MISPLACE] = "misplace",
    };
    for (int fault = TB_FAULT_SKIP_TOUCH; fault <= TB_FAULT_MISPLACE; fault++) {
        if (names[fault] && strcmp(text, names[fault]) == 0) {
            arm->fault = (enum tb_fault)fault;
            return 0;
        }
    }
    const struct tb_act *act = tb_act_find(text);
    if (act) {
        arm->fault = TB_FAULT_ACT;
        snprintf(arm->act, sizeof arm->act, "%s", act->name);
        return 0;
    }
    char *end;
    if (strncmp(text, "delay:", 6))
        return -EINVAL;
    arm->fault = TB_FAULT_DELAY;
    arm->fault_percent = strtod(text + 6, &end);
    return end != text + 6 && *end == '\0' && arm->fault_percent > 0 && arm->fault_percent <= 1000 ? 0 : -EINVAL;
}

bool tb_act_possible(const struct tb_contender *contender, const struct tb_act *act, char *why, size_t why_bytes)
{
    const char *name = contender->name;
    bool only_drains = act->drains_late && !act->frees_late;
    if (only_drains && contender->frees_on_worker)
        snprintf(why, why_bytes, "'%s@%s': %s frees where a request ends, and drains nothing: leave it out", name, act->name, name);
    else if (only_drains && contender->batch_blocks_max)
        snprintf(why, why_bytes, "'%s@%s': the way home of %s is full after %u blocks, and needs drains: leave it out", name,
                 act->name, name, contender->batch_blocks_max);
    else if (act->touches_first && contender->driver && !contender->driver->ops->give_back)
        snprintf(why, why_bytes, "'%s@%s': only a pool of locus can give its pages back: leave it out", name, act->name);
    else
        return true;
    return false;
}

// Takes "%50" off "NAME%50". A path may have a % of its own.
static int share_parse(char *name, struct tb_arm *arm)
{
    char *sign = strrchr(name, '%');
    uint64_t share;
    if (!sign)
        return 0;
    if (!tb_number_word(sign + 1, "", "", 0, 100, &share))
        return strncmp(name, "malloc:", 7) == 0 ? 0 : -EINVAL;
    arm->cross_percent = (uint32_t)share;
    *sign = '\0';
    return 0;
}

// Takes "+4w" off "NAME+4w".
static int workers_parse(char *name, struct tb_arm *arm)
{
    char *sign = strncmp(name, "malloc:", 7) ? strrchr(name, '+') : NULL;
    if (!sign)
        return 0;
    arm->workers = tb_workers_parse(sign + 1);
    *sign = '\0';
    return arm->workers ? 0 : -EINVAL;
}

// Takes fault, share and workers off the name.
static int suffixes_parse(char *name, const char *text, struct tb_arm *arm, char *why, size_t why_bytes)
{
    char *at = strrchr(name, '@');
    if (at && fault_parse(at + 1, arm)) {
        int length = snprintf(why, why_bytes,
                              "unknown fault or act '%s' (skip-touch, drop-chunk, double-free, delay:PERCENT, misplace", at + 1);
        for (size_t i = 0; tb_act_at(i) && length > 0 && (size_t)length < why_bytes; i++)
            length += snprintf(why + length, why_bytes - (size_t)length, tb_act_at(i + 1) ? ", %s" : ", %s)", tb_act_at(i)->name);
        return -EINVAL;
    }
    if (at)
        *at = '\0';
    if (share_parse(name, arm)) {
        snprintf(why, why_bytes, "'%s': the share after %% must be a whole number from 0 to 100", text);
        return -EINVAL;
    }
    if (workers_parse(name, arm)) {
        snprintf(why, why_bytes, "'%s': after + comes a whole number of workers from 1 to %u, and a w", text, TB_WORKERS_MAX);
        return -EINVAL;
    }
    return 0;
}

// A path may also have a '#', so only digits at the very end count.
size_t tb_twin_mark(const char *label)
{
    size_t length = strlen(label), at = length;
    while (at > 0 && isdigit((unsigned char)label[at - 1]))
        at--;
    return at > 1 && at < length && label[at - 1] == '#' ? at - 1 : length;
}

static int twin_number(const struct tb_arm arms[], uint32_t count, struct tb_arm *arm)
{
    char label[sizeof arm->label];
    unsigned same = 1;
    strcpy(label, arm->label);
    for (uint32_t i = 0; i < count; i++)
        same += strlen(label) == tb_twin_mark(arms[i].label) && strncmp(arms[i].label, label, strlen(label)) == 0;
    if (same > 1 && snprintf(arm->label, sizeof arm->label, "%s#%u", label, same) >= (int)sizeof arm->label)
        return -EINVAL;
    return 0;
}

int tb_arm_read(const char *text, const struct tb_arm arms[], uint32_t count, struct tb_arm *out, char name[sizeof out->label])
{
    char why[256];
    snprintf(out->label, sizeof out->label, "%.*s", (int)strcspn(text, "="), text);
    strcpy(name, out->label);
    int error = suffixes_parse(name, text, out, why, sizeof why);
    return error ? error : twin_number(arms, count, out);
}

// --- libraries with a name -----------------------------------------------------------------------------------------------------

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// The arm that gave this name to a library, or NULL.
static const struct tb_arm *named_find(const char *name, const struct tb_arm arms[], uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (arms[i].library[0] && strcspn(arms[i].label, "+%@#") == strlen(name) && strncmp(arms[i].label, name, strlen(name)) == 0)
            return &arms[i];
    return NULL;
}

// Does the name already mean something? Two things in one row would be taken for one.
static bool name_is_taken(const char *name)
{
    char library[sizeof(struct tb_arm){0}.library], why[512];
    return tb_contender_find(name) || optional_find(name) ||
           tb_peer_find(name, library, sizeof library, why, sizeof why) != -ENOENT;
}

static int name_check(const char *name, const struct tb_arm *arm, const struct tb_arm *known, char *why, size_t why_bytes)
{
    if (!name[0] || !strchr(LETTERS, name[0]) || name[strspn(name, LETTERS "._-")])
        snprintf(why, why_bytes, "'%s' is not a name: use letters, digits, dots, dashes and underscores; a letter or digit first",
                 name);
    else if (name_is_taken(name))
        snprintf(why, why_bytes, "'%s' is already a contender: give %s another name", name, arm->library);
    else if (known && strcmp(known->library, arm->library))
        snprintf(why, why_bytes, "'%s' is %s already: call %s otherwise", name, known->library, arm->library);
    else
        return 0;
    return -EINVAL;
}

// Finds the library, and the contender whose settings it has: of "malloc:/path/lib.so", a contender, a name given before (a peer's
// too, when it occurs again), or a peer.
static int library_choose(const char *name, const struct tb_arm *known, struct tb_arm *arm, char *why, size_t why_bytes)
{
    bool by_path = strncmp(name, "malloc:", 7) == 0;
    const struct tb_contender *by_name = strcmp(name, "malloc") ? tb_contender_find(name) : NULL;
    arm->contender = by_name ? by_name : tb_contender_find(known ? known->contender->name : tb_peer_contender(name));
    if (by_path)
        return library_by_path(name + 7, arm, why, why_bytes);
    if (by_name)
        return by_name->libraries ? library_find(by_name, arm, why, why_bytes) : 0;
    if (known) {
        strcpy(arm->library, known->library);
        return 0;
    }
    int error = tb_peer_find(name, arm->library, sizeof arm->library, why, why_bytes);
    return error == -ENOENT ? name_unknown(name, why, why_bytes) : error;
}

// The first `count` arms exist: a name that one of them gave to a library may be used again.
static int arm_parse(const char *text, const struct tb_arm arms[], uint32_t count, struct tb_arm *out, char *why, size_t why_bytes)
{
    char name[sizeof out->label];
    const char *sign = strncmp(text, "malloc:", 7) ? strchr(text, '=') : NULL;
    size_t length = sign ? (size_t)(sign - text) : strlen(text);
    *out = (struct tb_arm){0};
    if (length >= sizeof name) {
        snprintf(why, why_bytes, "contender name %.32s... is too long (%zu characters at most)", text, sizeof name - 1);
        return -ENOENT;
    }
    if (sign && strncmp(sign, "=malloc:", 8)) {
        snprintf(why, why_bytes, "'%s': after = comes the library, malloc:/path/lib.so", text);
        return -EINVAL;
    }
    memcpy(out->label, text, length);
    strcpy(name, out->label);
    int error = suffixes_parse(name, text, out, why, why_bytes);
    const struct tb_arm *known = named_find(name, arms, count);
    if (!error)
        error = library_choose(sign ? sign + 1 : name, known, out, why, why_bytes);
    if (!error && strpbrk(out->library, " :")) {
        snprintf(why, why_bytes, "%s: a path with a blank or a colon cannot be preloaded: copy it elsewhere", out->library);
        return -ENODEV;
    }
    if (!error && out->act[0] && !tb_act_possible(out->contender, tb_act_find(out->act), why, why_bytes))
        return -EINVAL;
    return !error && sign ? name_check(name, out, known, why, why_bytes) : error;
}

int tb_arm_parse(const char *text, struct tb_arm *out, char *why, size_t why_bytes)
{
    return arm_parse(text, NULL, 0, out, why, why_bytes);
}

int tb_arms_add(struct tb_arm arms[], uint32_t *count, const char *text, char *why, size_t why_bytes)
{
    if (*count == TB_ARMS_MAX) {
        snprintf(why, why_bytes, "at most %u contenders", TB_ARMS_MAX);
        return -E2BIG;
    }
    struct tb_arm *arm = &arms[*count];
    int error = arm_parse(text, arms, *count, arm, why, why_bytes);
    if (error)
        return error;
    if (twin_number(arms, *count, arm)) {
        snprintf(why, why_bytes, "'%s' is too long to be used twice", arm->label);
        return -EINVAL;
    }
    (*count)++;
    return 0;
}

// What such an arm is called, and which command lists them. `at` ends with NULL.
static int unknown(const char *what, const char *name, const char *(*at)(size_t i), const char *command, char *why,
                   size_t why_bytes)
{
    char meant[128];
    struct tb_nearest nearest = {.word = name};
    for (size_t i = 0; at(i); i++)
        tb_nearest_try(&nearest, at(i));
    snprintf(why, why_bytes, "unknown %s '%s'%s (`locus %s --help` lists them)", what, name,
             tb_nearest_say(&nearest, "", meant, sizeof meant), command);
    return -ENOENT;
}

static int known(struct tb_arm *arm, const char *name, const struct tb_contender *kind)
{
    arm->contender = kind;
    snprintf(arm->label, sizeof arm->label, "%s", name);
    return 0;
}

static const char *strategy_name(size_t i)
{
    return tb_strategy_at(i) ? tb_strategy_at(i)->name : NULL;
}

static int strategy_find(const char *name, struct tb_arm *arm, char *why, size_t why_bytes)
{
    static const struct tb_contender kind = {.name = "strategy"}, trap = {.name = "strategy", .harness = true};
    *arm = (struct tb_arm){.strategy = tb_strategy_find(name)};
    return arm->strategy ? known(arm, name, arm->strategy->trap ? &trap : &kind)
                         : unknown("strategy", name, strategy_name, "serve", why, why_bytes);
}

static const char *policy_name(size_t i)
{
    return tb_policy_at((uint32_t)i) ? tb_policy_at((uint32_t)i)->name : NULL;
}

// The bound that clairvoyant is measures the others; nobody can have it.
static int policy_find(const char *name, struct tb_arm *arm, char *why, size_t why_bytes)
{
    static const struct tb_contender kind = {.name = "policy"}, bound = {.name = "policy", .harness = true};
    *arm = (struct tb_arm){.policy = tb_policy_find(name)};
    return arm->policy ? known(arm, name, arm->policy == &tb_clairvoyant ? &bound : &kind)
                       : unknown("policy", name, policy_name, "serve", why, why_bytes);
}

static const char *batcher_name(size_t i)
{
    return tb_batcher_at((uint32_t)i) ? tb_batcher_at((uint32_t)i)->name : NULL;
}

static int batcher_find(const char *name, struct tb_arm *arm, char *why, size_t why_bytes)
{
    static const struct tb_contender kind = {.name = "batcher"};
    *arm = (struct tb_arm){.batcher = tb_batcher_find(name)};
    return arm->batcher ? known(arm, name, &kind) : unknown("batcher", name, batcher_name, "serve", why, why_bytes);
}

static const char *resident_name(size_t i)
{
    return tb_resident_at((uint32_t)i) ? tb_resident_at((uint32_t)i)->name : NULL;
}

static int resident_find(const char *name, struct tb_arm *arm, char *why, size_t why_bytes)
{
    static const struct tb_contender kind = {.name = "policy"}, bound = {.name = "policy", .harness = true};
    *arm = (struct tb_arm){.resident = tb_resident_find(name)};
    return arm->resident ? known(arm, name, arm->resident == &tb_resident_clairvoyant ? &bound : &kind)
                         : unknown("policy of residency", name, resident_name, "serve", why, why_bytes);
}

static const char *score_name(size_t i)
{
    return locus_score_at((uint32_t)i) ? locus_score_at((uint32_t)i)->name : NULL;
}

static int score_find(const char *name, struct tb_arm *arm, char *why, size_t why_bytes)
{
    static const struct tb_contender kind = {.name = "score"};
    *arm = (struct tb_arm){.score = locus_score_find(name)};
    return arm->score ? known(arm, name, &kind) : unknown("score", name, score_name, "serve", why, why_bytes);
}

static const char *way_name(size_t i)
{
    return tb_pins_way_at(i) ? tb_pins_way_at(i)->name : NULL;
}

static int way_find(const char *name, struct tb_arm *arm, char *why, size_t why_bytes)
{
    static const struct tb_contender kind = {.name = "way"};
    *arm = (struct tb_arm){.way = tb_pins_way_find(name)};
    return arm->way ? known(arm, name, &kind) : unknown("way to hold ranges", name, way_name, "postulate", why, why_bytes);
}

static const char *engine_name(size_t i)
{
    return tb_engine_arm_at(i) ? tb_engine_arm_at(i)->name : NULL;
}

static int engine_find(const char *name, struct tb_arm *arm, char *why, size_t why_bytes)
{
    static const struct tb_contender kind = {.name = "engine"};
    *arm = (struct tb_arm){.engine = tb_engine_arm_find(name)};
    return arm->engine ? known(arm, name, &kind) : unknown("way to run the engine", name, engine_name, "engine", why, why_bytes);
}

typedef int find_fn(const char *name, struct tb_arm *arm, char *why, size_t why_bytes);

static int found_add(struct tb_arm arms[], uint32_t *count, const char *text, find_fn *find, char *why, size_t why_bytes)
{
    if (*count == TB_ARMS_MAX) {
        snprintf(why, why_bytes, "'%s' is one too many: at most %u", text, TB_ARMS_MAX);
        return -E2BIG;
    }
    int error = find(text, &arms[*count], why, why_bytes);
    if (!error)
        error = twin_number(arms, *count, &arms[*count]);
    *count += !error;
    return error;
}

int tb_strategies_add(struct tb_arm arms[], uint32_t *count, const char *text, char *why, size_t why_bytes)
{
    return found_add(arms, count, text, strategy_find, why, why_bytes);
}

int tb_policies_add(struct tb_arm arms[], uint32_t *count, const char *text, char *why, size_t why_bytes)
{
    return found_add(arms, count, text, policy_find, why, why_bytes);
}

int tb_batchers_add(struct tb_arm arms[], uint32_t *count, const char *text, char *why, size_t why_bytes)
{
    return found_add(arms, count, text, batcher_find, why, why_bytes);
}

int tb_residents_add(struct tb_arm arms[], uint32_t *count, const char *text, char *why, size_t why_bytes)
{
    return found_add(arms, count, text, resident_find, why, why_bytes);
}

int tb_scores_add(struct tb_arm arms[], uint32_t *count, const char *text, char *why, size_t why_bytes)
{
    return found_add(arms, count, text, score_find, why, why_bytes);
}

int tb_ways_add(struct tb_arm arms[], uint32_t *count, const char *text, char *why, size_t why_bytes)
{
    return found_add(arms, count, text, way_find, why, why_bytes);
}

int tb_engine_arms_add(struct tb_arm arms[], uint32_t *count, const char *text, char *why, size_t why_bytes)
{
    return found_add(arms, count, text, engine_find, why, why_bytes);
}

int tb_arms_add_for(enum tb_touch touch, struct tb_arm arms[], uint32_t *count, const char *text, char *why, size_t why_bytes)
{
    return (touch == TB_TOUCH_SERVE       ? tb_strategies_add
            : touch == TB_TOUCH_KEEP      ? tb_policies_add
            : touch == TB_TOUCH_ADAPTERS  ? tb_batchers_add
            : touch == TB_TOUCH_RESIDENCY ? tb_residents_add
            : touch == TB_TOUCH_PAGES     ? tb_scores_add
            : touch == TB_TOUCH_PINS      ? tb_ways_add
            : touch == TB_TOUCH_ENGINE    ? tb_engine_arms_add
                                          : tb_arms_add)(arms, count, text, why, why_bytes);
}

bool tb_arm_on_one_node(const struct tb_arm *arm)
{
    return arm->contender->driver && arm->cross_percent == 0 && arm->fault != TB_FAULT_MISPLACE;
}

const char *tb_blocks_why(int error)
{
    switch (error) {
    case -ETIMEDOUT: return "blocks on their way home did not arrive in time";
    case -ENOMEM: return "the pool has no free block, and none is on its way home";
    case -ENOSPC: return "the request's table is full";
    case -EINVAL: return "the request's table is not in use, or was pushed twice";
    case -EXDEV: return "a block is of another home";
    case -ESTALE: return "a block is not live: it was freed, or never handed out";
    case -ERANGE: return "a block is none of this pool";
    case -EPERM: return "somebody else holds the block";
    default: return strerror(-error);
    }
}
