// SPDX-License-Identifier: Apache-2.0
//
// engine_contexts LIBRARIES WHAT MODEL layer|tensor DEVICES: what a program may do with contexts on our devices, besides decoding
// in one. The scripts here compile and call it; GGML_BACKEND_PATH names the backend.
//
//     two        two contexts decode in two threads at the same time, each as if it were alone
//     many       1,000 contexts are opened and closed, and nothing is left of them. MALLOC_ARENA_MAX=1 and a tcache_count of 0
//                make the heap's size exact
//     few        the same with 100, for the mutants
//     gone       a device's thread ends during a decode: an error, and closing does not hang
//     idle-gone  it ends between two decodes
//     affinity   the caller's affinity is the same afterwards
//     pinned     while a context decodes by tensor, each device has a CPU of its own, the last one the caller's
//     cleared    a cache that is cleared is all zeros, and says the same again
//     mixed      a group of one of our devices and another's is none of ours
//     fault      one call fails while a context is opened (fault_inject.c, which is preloaded): it is refused, and the next is not
//
// It prints one line. Exit status: 0 so it is; 1 it is not; 2 it could not be tried; 3 no call was left to fail.
#include <llama.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "locus/ggml.h"

enum { STEPS = 40, TOKENS = 512, CONTEXTS = 1000, CONTEXTS_FEW = 100, STRETCHES = 5, DEVICES_MAX = 16 };

// For each context. malloc gives out no less than 24 bytes, and the kernel no less than a page: so one of either that is lost with
// every other context is seen.
#define HEAP_BYTES_MAX 8
#define MAPPED_BYTES_MAX 1024

// Waits end well below a second on an idle machine. Arbitrary, but longer than any machine is busy.
#define HANG_S 50

// glibc leaves two signals out when a thread blocks all of them; this is one.
#define UNBLOCKED 32

static _Noreturn void give_up(int status, const char *what)
{
    puts(what);
    fflush(stdout);
    _Exit(status);
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

// --- the engine ----------------------------------------------------------------------------------------------------------------

static void log_errors(enum ggml_log_level level, const char *text, void *context)
{
    (void)context;
    if (level == GGML_LOG_LEVEL_ERROR)
        fputs(text, stderr);
}

static struct llama_model *open_model(const char *path, bool tensor, int count)
{
    ggml_backend_dev_t devices[DEVICES_MAX + 1] = {NULL};
    for (int i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof name, "LOCUS%d", i);
        devices[i] = ggml_backend_dev_by_name(name);
        if (!devices[i])
            give_up(2, "no such device");
    }
    struct llama_model_params params = llama_model_default_params();
    params.devices = devices;
    params.split_mode = tensor ? LLAMA_SPLIT_MODE_TENSOR : LLAMA_SPLIT_MODE_LAYER;
    struct llama_model *model = llama_model_load_from_file(path, params);
    if (!model)
        give_up(2, "no model");
    return model;
}

static struct llama_context *try_context(struct llama_model *model)
{
    struct llama_context_params params = llama_context_default_params();
    params.n_ctx = TOKENS;
    params.n_threads = params.n_threads_batch = 1;
    params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED;
    return llama_init_from_model(model, params);
}

static struct llama_context *open_context(struct llama_model *model)
{
    struct llama_context *context = try_context(model);
    if (!context)
        give_up(1, "no context");
    return context;
}

static int vocabulary(const struct llama_model *model)
{
    return llama_vocab_n_tokens(llama_model_get_vocab(model));
}

static int decode(struct llama_context *context, int seed, int step)
{
    llama_token token = (seed * 1009 + step * 37 + 5) % vocabulary(llama_get_model(context));
    return llama_decode(context, llama_batch_get_one(&token, 1));
}

// --- two -----------------------------------------------------------------------------------------------------------------------

struct speaker {
    struct llama_context *context;
    int seed;
    float *said;                // [STEPS][vocabulary]
    pthread_barrier_t *start;   // NULL: alone
};

static void *speak(void *argument)
{
    struct speaker *speaker = argument;
    size_t count = (size_t)vocabulary(llama_get_model(speaker->context));
    if (speaker->start)
        pthread_barrier_wait(speaker->start);
    for (int step = 0; step < STEPS; step++) {
        if (decode(speaker->context, speaker->seed, step) != 0)
            give_up(1, "a decode failed");
        memcpy(speaker->said + (size_t)step * count, llama_get_logits_ith(speaker->context, -1), count * sizeof(float));
    }
    return NULL;
}

static struct speaker speaker_of(struct llama_model *model, int seed, pthread_barrier_t *start)
{
    return (struct speaker){.context = open_context(model),
                            .seed = seed,
                            .said = calloc(STEPS * (size_t)vocabulary(model), sizeof(float)),
                            .start = start};
}

static void speaker_close(struct speaker *speaker)
{
    llama_free(speaker->context);
    free(speaker->said);
}

// `other` is the second context's model. By tensor it is a model of its own: llama.cpp v0.5.0 keeps a cache without a lock beside
// each model (split_state_cache in ggml-backend-meta.cpp), which two contexts in two threads damage.
static void try_two(struct llama_model *model, struct llama_model *other)
{
    struct llama_model *models[] = {model, other};
    size_t bytes = STEPS * (size_t)vocabulary(model) * sizeof(float);
    pthread_barrier_t start;
    pthread_t threads[2];
    struct speaker both[2];
    pthread_barrier_init(&start, NULL, 2);
    for (int i = 0; i < 2; i++)
        both[i] = speaker_of(models[i], i + 1, &start);
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, speak, &both[i]) != 0)
            give_up(2, "no thread");
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 2; i++) {
        struct speaker alone = speaker_of(models[i], i + 1, NULL);
        speak(&alone);
        if (memcmp(alone.said, both[i].said, bytes) != 0)
            give_up(1, "beside another, a context has other logits than alone");
        speaker_close(&alone);
    }
    if (memcmp(both[0].said, both[1].said, bytes) == 0)
        give_up(2, "both were asked the same");
    for (int i = 0; i < 2; i++)
        speaker_close(&both[i]);
    pthread_barrier_destroy(&start);
}

// --- many ----------------------------------------------------------------------------------------------------------------------

static long status_of(const char *key) // of /proc/self/status
{
    char line[256];
    long value = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && value < 0 && fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0)
            value = atol(line + strlen(key));
    if (file)
        fclose(file);
    return value;
}

static long files_count(void)
{
    long count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count;
}

struct held {
    long heap_bytes;            // of malloc, that nobody has freed
    long mapped_bytes;          // but for malloc's heap, which grows and breaks into pieces as luck will have it
};

static struct held held_now(void)
{
    struct mallinfo2 heap = mallinfo2();
    return (struct held){.heap_bytes = (long)(heap.uordblks + heap.hblkhd),
                         .mapped_bytes = status_of("VmSize:") * 1024 - (long)heap.arena};
}

static long lesser(long a, long b)
{
    return a < b ? a : b;
}

// A thread that was joined is among the kernel's for a moment still.
static long threads_settled(long wanted)
{
    for (double end_s = now_s() + HANG_S; status_of("Threads:") != wanted && now_s() < end_s;)
        pause_ms(1);
    return status_of("Threads:");
}

// What is lost with each context is lost in every stretch of them, and what the engine and the C library keep for good is not: so
// the stretch that grew least is judged. Resident memory is not looked at, since free pieces of the heap are part of it.
static void try_many(struct llama_model *model, int contexts)
{
    long threads = status_of("Threads:"), files = files_count(), heap = LONG_MAX, mapped = LONG_MAX;
    int stretch = contexts / STRETCHES;
    struct held before = {0};
    for (int i = 1; i <= contexts; i++) {
        struct llama_context *context = open_context(model);
        if (decode(context, i, 0) != 0)
            give_up(1, "a decode failed");
        llama_free(context);
        if (i % stretch != 0)
            continue;
        struct held now = held_now();
        if (i > stretch) { // in the first one everything is new
            heap = lesser(heap, now.heap_bytes - before.heap_bytes);
            mapped = lesser(mapped, now.mapped_bytes - before.mapped_bytes);
        }
        before = now;
    }
    threads = threads_settled(threads) - threads;
    files = files_count() - files;
    printf("in %d stretches of %d contexts the heap grew by at least %ld bytes and other memory by at least %ld; "
           "%ld threads and %ld files more; ",
           STRETCHES - 1, stretch, heap, mapped, threads, files);
    if (heap > HEAP_BYTES_MAX * stretch || mapped > MAPPED_BYTES_MAX * stretch || threads != 0 || files != 0)
        give_up(1, "something is left");
}

// --- gone ----------------------------------------------------------------------------------------------------------------------

static pid_t thread_named(const char *name)
{
    pid_t found = 0;
    DIR *folder = opendir("/proc/self/task");
    for (struct dirent *entry; folder && !found && (entry = readdir(folder));) {
        char path[300], said[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        FILE *file = fopen(path, "r");
        if (file && fgets(said, sizeof said, file) && strncmp(said, name, strlen(name)) == 0 && said[strlen(name)] == '\n')
            found = atoi(entry->d_name);
        if (file)
            fclose(file);
    }
    if (folder)
        closedir(folder);
    return found;
}

static void end_thread(int number)
{
    (void)number;
    syscall(SYS_exit, 0);
}

// The kernel's call, because glibc keeps this signal to itself. The handler never returns, so it needs no restorer.
static void catch_it(void)
{
    struct {
        void (*handler)(int);
        unsigned long flags;
        void (*restorer)(void);
        unsigned long mask;
    } action = {.handler = end_thread, .flags = 0x04000000 /* SA_RESTORER */};
    if (syscall(SYS_rt_sigaction, UNBLOCKED, &action, NULL, sizeof action.mask) != 0)
        give_up(2, "the signal cannot be caught");
}

static double killed_s;

static void kill_leader(void)
{
    pid_t leader = thread_named("LOCUS0");
    if (!leader || syscall(SYS_tgkill, getpid(), leader, UNBLOCKED) != 0)
        give_up(2, "there is no thread LOCUS0");
    killed_s = now_s();
}

static void *kill_later(void *unused)
{
    pause_ms(300);
    kill_leader();
    return unused;
}

static void try_gone(struct llama_model *model, bool idle)
{
    pthread_t killer;
    struct llama_context *context = open_context(model);
    catch_it();
    if (idle && decode(context, 1, 0) == 0) {
        llama_synchronize(context);
        kill_leader();
        pause_ms(100);
    } else if (idle || pthread_create(&killer, NULL, kill_later, NULL) != 0)
        give_up(2, "it could not be tried");
    int err = 0;
    for (int step = 0; !err; step++) {
        llama_memory_seq_rm(llama_get_memory(context), 0, TOKENS / 2, -1);
        err = decode(context, 1, step % (TOKENS / 2));
        if (now_s() - killed_s > HANG_S && killed_s > 0)
            give_up(1, "the decode goes on without the thread");
    }
    double noticed_s = now_s() - killed_s;
    if (!idle)
        pthread_join(killer, NULL);
    if (decode(context, 1, 0) == 0)
        give_up(1, "the next decode succeeds");
    llama_free(context);
    printf("llama_decode said %d after %.1f s, closed after %.1f s; ", err, noticed_s, now_s() - killed_s);
}

// --- affinity ------------------------------------------------------------------------------------------------------------------

static void same_affinity(const cpu_set_t *before, const char *when)
{
    cpu_set_t now;
    if (sched_getaffinity(0, sizeof now, &now) != 0 || !CPU_EQUAL(&now, before))
        give_up(1, when);
}

// Of the whole machine, and of one CPU that the caller has chosen for itself.
static void try_affinity(struct llama_model *model)
{
    cpu_set_t all, one;
    int last = CPU_SETSIZE - 1;
    sched_getaffinity(0, sizeof all, &all);
    while (!CPU_ISSET(last, &all))
        last--;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    for (int turn = 0; turn < 2; turn++) {
        const cpu_set_t *mine = turn ? &one : &all;
        sched_setaffinity(0, sizeof *mine, mine);
        struct llama_context *context = open_context(model);
        same_affinity(mine, "another affinity after opening a context");
        for (int step = 0; step < STEPS; step++) {
            if (decode(context, 1, step) != 0)
                give_up(1, "a decode failed");
            llama_synchronize(context);
            same_affinity(mine, "another affinity after a decode");
        }
        if (decode(context, 1, 0) != 0)
            give_up(1, "a decode failed");
        llama_free(context);
        same_affinity(mine, "another affinity after closing in the middle");
    }
}

// --- pinned --------------------------------------------------------------------------------------------------------------------

// The one CPU that a thread may run on; -1: there are several.
static int only_cpu(pid_t thread)
{
    cpu_set_t cpus;
    int cpu = 0;
    if (sched_getaffinity(thread, sizeof cpus, &cpus) != 0 || CPU_COUNT(&cpus) != 1)
        return -1;
    while (!CPU_ISSET(cpu, &cpus))
        cpu++;
    return cpu;
}

static struct {
    pid_t caller;
    _Atomic int seen;           // the CPU that the caller was pinned to; -1: it was not
    _Atomic bool enough;
} watched = {.seen = -1};

static void *watch_caller(void *unused)
{
    while (!watched.enough) {
        int cpu = only_cpu(watched.caller);
        if (cpu >= 0)
            watched.seen = cpu;
        pause_ms(1);
    }
    return unused;
}

static void try_pinned(struct llama_model *model, int devices)
{
    pthread_t watcher;
    bool taken[CPU_SETSIZE] = {false};
    struct llama_context *context = open_context(model);
    watched.caller = getpid();
    if (only_cpu(watched.caller) >= 0 || pthread_create(&watcher, NULL, watch_caller, NULL) != 0)
        give_up(2, "it could not be tried");
    // The watcher looks a thousand times a second, and on a busy machine a hundredth as often.
    for (double end_s = now_s() + 15; watched.seen < 0 && now_s() < end_s;) {
        llama_memory_seq_rm(llama_get_memory(context), 0, TOKENS / 2, -1);
        if (decode(context, 1, 0) != 0)
            give_up(1, "a decode failed");
    }
    watched.enough = true;
    pthread_join(watcher, NULL);
    if (watched.seen < 0)
        give_up(1, "the caller is not pinned while it computes");
    for (int i = 0; i < devices; i++) {
        char name[24];
        snprintf(name, sizeof name, "LOCUS%d", i);
        int cpu = only_cpu(thread_named(name));
        printf("%s on CPU %d, ", name, cpu);
        if (cpu < 0 || taken[cpu])
            give_up(1, "which is no CPU of its own");
        taken[cpu] = true;
        if (i == devices - 1 && cpu != watched.seen)
            give_up(1, "and the caller computed elsewhere");
    }
    llama_free(context);
}

// --- cleared -------------------------------------------------------------------------------------------------------------------

static int count_bytes(const struct locus_ggml_buffer *buffer, void *context)
{
    size_t *others_than_zero = context;
    const unsigned char *bytes = buffer->base;
    for (size_t i = 0; buffer->memory_class == LOCUS_CLASS_KV_CACHE && i < buffer->bytes; i++)
        *others_than_zero += bytes[i] != 0;
    return 0;
}

static size_t written_bytes(void)
{
    size_t written = 0;
    locus_ggml_buffers_fn visit = NULL;
    void *symbol = ggml_backend_reg_get_proc_address(ggml_backend_reg_by_name("LOCUS"), "locus_ggml_buffers");
    memcpy(&visit, &symbol, sizeof symbol);
    if (!visit || visit(count_bytes, &written) != 0)
        give_up(2, "the buffers are not to be seen");
    return written;
}

static void try_cleared(struct llama_model *model)
{
    size_t bytes = STEPS * (size_t)vocabulary(model) * sizeof(float);
    struct speaker speaker = speaker_of(model, 1, NULL);
    if (written_bytes() != 0)
        give_up(1, "a new cache is not all zeros");
    speak(&speaker);
    float *before = malloc(bytes);
    memcpy(before, speaker.said, bytes);
    if (written_bytes() == 0)
        give_up(1, "nothing was written to the cache");
    llama_memory_clear(llama_get_memory(speaker.context), true);
    if (written_bytes() != 0)
        give_up(1, "a cleared cache is not all zeros");
    speak(&speaker);
    if (memcmp(before, speaker.said, bytes) != 0)
        give_up(1, "after it was cleared, a context has other logits");
    free(before);
    speaker_close(&speaker);
}

// --- fault ---------------------------------------------------------------------------------------------------------------------

static void call_named(const char *name)
{
    void (*function)(void) = NULL;
    void *symbol = dlsym(RTLD_DEFAULT, name);
    if (!symbol)
        give_up(2, "fault_inject.so is not preloaded");
    memcpy(&function, &symbol, sizeof function);
    function();
}

static void try_fault(struct llama_model *model)
{
    call_named("fault_arm");
    struct llama_context *context = try_context(model);
    call_named("fault_disarm");
    bool opened = context;
    llama_free(context);
    context = open_context(model);
    if (decode(context, 1, 0) != 0)
        give_up(1, "the next context does not decode");
    llama_free(context);
    if (opened)
        give_up(3, "opened");
}

// The engine asks the first device's registry for a group, whatever the others are.
static void try_mixed(void)
{
    ggml_backend_comm_init_t open_group = NULL;
    ggml_backend_comm_free_t close_group = NULL;
    void *opens = ggml_backend_reg_get_proc_address(ggml_backend_reg_by_name("LOCUS"), "ggml_backend_comm_init");
    void *closes = ggml_backend_reg_get_proc_address(ggml_backend_reg_by_name("LOCUS"), "ggml_backend_comm_free");
    ggml_backend_t ours = ggml_backend_init_by_name("LOCUS0", NULL), next = ggml_backend_init_by_name("LOCUS1", NULL);
    ggml_backend_t other = ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, NULL);
    if (!opens || !closes || !ours || !next || !other)
        give_up(2, "no backends");
    memcpy(&open_group, &opens, sizeof opens);
    memcpy(&close_group, &closes, sizeof closes);
    if (open_group((ggml_backend_t[]){ours, other}, 2) || open_group((ggml_backend_t[]){ours, next, other}, 3))
        give_up(1, "a group with a stranger in it");
    void *group = open_group((ggml_backend_t[]){ours, next}, 2);
    if (!group)
        give_up(1, "no group of our own");
    close_group(group);
    ggml_backend_free(ours);
    ggml_backend_free(next);
    ggml_backend_free(other);
}

int main(int argc, char **argv)
{
    if (argc != 6)
        return 2;
    const char *what = argv[2], *path = argv[3];
    bool tensor = strcmp(argv[4], "tensor") == 0;
    int devices = atoi(argv[5]);
    llama_log_set(log_errors, NULL);
    ggml_backend_load_all_from_path(argv[1]);
    llama_backend_init();
    struct llama_model *model = open_model(path, tensor, devices);
    if (strcmp(what, "two") == 0) {
        struct llama_model *other = tensor ? open_model(path, tensor, devices) : model;
        try_two(model, other);
        if (other != model)
            llama_model_free(other);
    } else if (strcmp(what, "many") == 0 || strcmp(what, "few") == 0)
        try_many(model, strcmp(what, "few") == 0 ? CONTEXTS_FEW : CONTEXTS);
    else if (strcmp(what, "affinity") == 0)
        try_affinity(model);
    else if (strcmp(what, "pinned") == 0)
        try_pinned(model, devices);
    else if (strcmp(what, "cleared") == 0)
        try_cleared(model);
    else if (strcmp(what, "mixed") == 0)
        try_mixed();
    else if (strcmp(what, "fault") == 0)
        try_fault(model);
    else
        try_gone(model, strcmp(what, "idle-gone") == 0);
    llama_model_free(model);
    llama_backend_free();
    puts("so it is");
    return 0;
}
