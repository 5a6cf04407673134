// SPDX-License-Identifier: Apache-2.0
//
// locus pool: opens an arena of pages, storms it if asked, and shows its page table, what left it and why, and its figures.
//
// What is shown, the file of metrics and each scrape are audits of one arena (pool/audit.h). The first interrupt ends the storm, as
// its time does; with --stay a second one ends the command. Until then nothing changes any more, so that numbers can be compared.
#include "testbed/cli/command.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "testbed/base/cli.h"
#include "testbed/base/file.h"
#include "testbed/base/terminal.h"
#include "testbed/cli/forms.h"
#include "testbed/host/head.h"
#include "testbed/pool/config.h"
#include "testbed/pool/http.h"
#include "testbed/pool/metrics.h"
#include "testbed/pool/storm.h"
#include "testbed/pool/view.h"
#include "topo/pin.h"

enum {
    KEY_CONFIG = 'c',
    KEY_SEED = 's',
    KEY_QUIET = 'q',
    KEY_LISTEN = 'l',
    KEY_METRICS = 'm',
    KEY_PAGES = 3000,
    KEY_STORM,
    KEY_FOR,
    KEY_THREADS,
    KEY_STAY
};

#define PAGES_DEFAULT 128u      // 256 MiB of 2 MiB pages, of which a storm touches an eighth where pages are not huge
#define FOR_DEFAULT_NS UINT64_C(60000000000)
#define METRICS_NS UINT64_C(1000000000) // how often the file is written

struct arguments {
    struct tb_pool_config config;
    struct tb_storm_config storm;
    struct tb_forms forms;
    const char *config_path, *metrics_path, *listen;
    uint64_t pages;             // 0: not given
    bool stormy, stay, quiet, for_given;
};

static const struct argp_option options[] = {
    {"config", KEY_CONFIG, "FILE", 0, "The arena, as a YAML file says (keys below)", 1},
    {"pages", KEY_PAGES, "N", 0, "Its pages, whatever the file says (128 without a file)", 1},
    {"storm", KEY_STORM, NULL, 0, "Let threads want 1.5 times its pages, and check what they find", 2},
    {"for", KEY_FOR, "TIME", 0, "Of virtual time: 500ms, 90s, 1h (1m); or 'ever': until an interrupt", 2},
    {"threads", KEY_THREADS, "N", 0, "1 to 64 (the CPUs that it may use, 4 at most)", 2},
    {"seed", KEY_SEED, "N", 0, "Of the storm (7)", 2},
    {"metrics", KEY_METRICS, "FILE", 0, "Metrics to a file, every second and at the end; FILE.prom in the older text format", 3},
    {"listen", KEY_LISTEN, "[ADDR:]PORT", 0, "Metrics over HTTP, at /metrics; on loopback without an address; port 0: a free one",
     3},
    {"stay", KEY_STAY, NULL, 0, "Go on after that with the arena at rest, until an interrupt", 3},
    {"quiet", KEY_QUIET, NULL, 0, "No progress line", 3},
    {0},
};

static const char documentation[] =
    "One arena of pages for KV, adapters, scratch and activations: its page table, what left it and why, and its figures.\v"
    "Without --storm the arena is empty: the command checks a configuration. With it, threads use objects of all kinds, whose "
    "pages are 1.5 times those of the arena, so that something has to leave all the time. Each range has a pattern of its owner, "
    "which is checked while it is pinned and before it leaves.\n\n"
    "Keys of a configuration, all optional, with their defaults:\n"
    "  memory_pool:\n"
    "    page_size: \"2MB\"          512KB, 1MB, 2MB, 4MB (of 1,024 bytes)\n"
    "    total_pages: 4096\n"
    "    alignment: 256            up to 4096, which pages have anyway\n"
    "    allocation_strategy: best_fit   or first_fit\n"
    "    thread_cache_size: 16     pages in each thread's magazine\n"
    "    eviction:\n"
    "      policy: lru_size_aware  the weighted score; or lru, lru-size, cost\n"
    "      hysteresis: 0.1         high_watermark - low_watermark: it must\n"
    "                              agree with them, or be left out\n"
    "      high_watermark: 0.90    0 and 0: only for want of room\n"
    "      low_watermark: 0.80\n"
    "    pinning:\n"
    "      max_pin_duration: \"30s\" an older pin is reported. It is not\n"
    "                              ended, because somebody reads that memory\n"
    "      pin_timeout: \"100ms\"    how long the engine tries again; a pin\n"
    "                              itself never waits\n"
    "    adapters:                 checked; of no effect on the arena\n"
    "      hot_tier_budget: 100\n"
    "      warm_tier_budget: 1000\n"
    "      compression_threshold: \"60s\"\n"
    "      promotion_threshold: 10\n\n"
    "How to read it: in the map, capitals are pinned. 'why' is room (an allocation found none), watermark, or asked. "
    "Fragmentation is the longest free stretch as a share of what is free: 1 is whole. The last line says whether the pool "
    "held.\n\n"
    "Metrics are OpenMetrics 1.0. Prometheus rules and a Grafana dashboard for them are installed in share/locus/pool "
    "(testbed/pool in a checkout).\n\n"
    "Examples:\n"
    "  locus pool --config pool.yaml --pages 16     is the file right?\n"
    "  locus pool --storm                           a minute of virtual time\n"
    "  locus pool --storm --for 1h --metrics pool.prom\n"
    "  locus pool --storm --for ever --listen 9400 --stay\n"
    "  locus pool --storm --json | jq '.audit.kinds'\n\n"
    "Exit status: 0 the pool held, 1 it did not or the run failed, 2 bad input.";

// --- options -------------------------------------------------------------------------------------------------------------------

static error_t number(struct argp_state *state, const char *option, const char *argument, uint64_t min, uint64_t max, uint64_t *out)
{
    if (tb_cli_u64(argument, min, max, out))
        return 0;
    return tb_cli_bad(state, "%s: '%s' is not a number from %llu to %llu", option, argument, (unsigned long long)min,
                      (unsigned long long)max);
}

static error_t parse_for(struct argp_state *state, struct arguments *arguments, const char *argument)
{
    arguments->for_given = true;
    arguments->storm.for_ns = 0;
    if (strcmp(argument, "ever") == 0 || tb_pool_duration(argument, &arguments->storm.for_ns))
        return 0;
    return tb_cli_bad(state, "--for: '%s' is not a duration: write a number and its unit, as in 500ms, 90s or 1h, or 'ever'",
                      argument);
}

static error_t check_together(struct argp_state *state, const struct arguments *arguments)
{
    if (arguments->for_given && !arguments->stormy)
        return tb_cli_bad(state, "--for: it is the storm's time: add --storm");
    if (arguments->listen && !arguments->stormy && !arguments->stay)
        return tb_cli_bad(state, "--listen: the arena would be gone at once: add --storm, or --stay");
    if (arguments->stay && !arguments->listen)
        return tb_cli_bad(state, "--stay: nobody could look at the arena: add --listen PORT");
    return 0;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    uint64_t count = 0;
    error_t error;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &arguments->forms; return 0;
    case KEY_CONFIG: arguments->config_path = argument; return 0;
    case KEY_PAGES: return number(state, "--pages", argument, 1, LOCUS_PAGES_MAX, &arguments->pages);
    case KEY_STORM: arguments->stormy = true; return 0;
    case KEY_FOR: return parse_for(state, arguments, argument);
    case KEY_THREADS:
        error = number(state, "--threads", argument, 1, TB_STORM_THREADS_MAX, &count);
        arguments->storm.threads = (uint32_t)count;
        return error;
    case KEY_SEED: return number(state, "--seed", argument, 0, INT64_MAX, &arguments->storm.seed);
    case KEY_METRICS: arguments->metrics_path = argument; return 0;
    case KEY_LISTEN: arguments->listen = argument; return 0;
    case KEY_STAY: arguments->stay = true; return 0;
    case KEY_QUIET: arguments->quiet = true; return 0;
    case ARGP_KEY_ARG: return tb_cli_bad(state, "unexpected argument '%s': a configuration is --config %s", argument, argument);
    case ARGP_KEY_END: return check_together(state, arguments);
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&tb_forms_tables_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {options, parse, NULL, documentation, children, NULL, NULL};

// --- while it runs -------------------------------------------------------------------------------------------------------------

static volatile sig_atomic_t interrupts;

static void on_interrupt(int signal)
{
    (void)signal;
    interrupts++;
}

struct running {
    const struct arguments *arguments;
    struct tb_storm *storm;
    struct tb_progress *progress;
    uint64_t written_ns;        // when the file of metrics was, by the real clock
    int metrics_error;          // the first one
    json_t *head;               // of before the storm; NULL: no JSON is wanted
};

static void metrics_put(struct running *running, const struct tb_pool_audit *audit)
{
    if (running->arguments->metrics_path && !running->metrics_error)
        running->metrics_error = tb_metrics_file(running->arguments->metrics_path, audit);
}

// Progress is by virtual time; of a storm without an end there is none.
static void tick(void *context, uint64_t now_ns)
{
    struct running *running = context;
    uint64_t total_ns = running->arguments->storm.for_ns, real_ns = tb_latency_now_ns();
    char where[64];
    snprintf(where, sizeof where, "%.0f s of virtual time", (double)now_ns / 1e9);
    if (running->progress && total_ns > 0)
        tb_progress_show(running->progress, where, now_ns < total_ns ? now_ns : total_ns, total_ns);
    if (interrupts > 0)
        tb_storm_stop(running->storm);
    if (!running->arguments->metrics_path || real_ns - running->written_ns < METRICS_NS)
        return;
    struct tb_pool_audit *audit = malloc(sizeof *audit);
    if (!audit)
        return;
    tb_storm_audit(running->storm, audit);
    metrics_put(running, audit);
    free(audit);
    running->written_ns = real_ns;
}

// 0 or an exit status. A storm that stands still cannot be cleared away, so the process ends here.
static int storm_run(struct running *running)
{
    int error = running->arguments->quiet ? 0 : tb_progress_open(&running->progress, stderr);
    if (!error)
        error = tb_storm_run(running->storm);
    tb_progress_close(running->progress);
    running->progress = NULL;
    if (error == -EDEADLK) {
        tb_error("the storm stands still: no thread took a step for a minute (seed %llu)",
                 (unsigned long long)running->arguments->storm.seed);
        _exit(TB_EXIT_FAILED);
    }
    if (error)
        tb_error("cannot storm: %s", strerror(-error));
    return error ? TB_EXIT_FAILED : 0;
}

// Until there are more interrupts than when the storm had ended.
static void stay(const struct arguments *arguments, sig_atomic_t before)
{
    if (!arguments->quiet)
        fprintf(stderr, "locus: the arena is at rest; an interrupt ends it\n");
    const struct timespec a_while = {.tv_nsec = 50000000};
    while (interrupts == before)
        nanosleep(&a_while, NULL);
}

static int show(struct running *running)
{
    const struct arguments *arguments = running->arguments;
    static struct tb_pool_look look; // too large for a stack
    struct tb_storm_report report;
    tb_storm_audit(running->storm, &look.audit);
    tb_storm_report(running->storm, &report);
    if (tb_pool_look(tb_storm_pages(running->storm), &look)) {
        tb_error("out of memory");
        return TB_EXIT_FAILED;
    }
    const struct tb_pool_shown shown = {
        .config = &arguments->config,
        .config_path = arguments->config_path,
        .look = &look,
        .storm = arguments->stormy ? &report : NULL,
        .threads = arguments->storm.threads,
        .seed = arguments->storm.seed,
        .rested = arguments->stormy && arguments->stay,
    };
    metrics_put(running, &look.audit);
    if (running->metrics_error)
        tb_error("%s: %s", arguments->metrics_path, tb_output_why(running->metrics_error));
    int status = tb_forms_write(&arguments->forms, tb_pool_doc(json_incref(running->head), &shown));
    tb_pool_look_close(&look);
    return status || running->metrics_error || !tb_storm_held(&report) ? TB_EXIT_FAILED : TB_EXIT_OK;
}

static int run(struct running *running)
{
    const struct arguments *arguments = running->arguments;
    running->head = arguments->forms.json.wanted ? tb_head("pool") : NULL;
    int status = arguments->stormy ? storm_run(running) : 0;
    sig_atomic_t before = interrupts;
    if (!status && arguments->stay)
        tb_storm_rest(running->storm);
    if (!status)
        status = show(running);
    if (arguments->stay && !status && !tb_cli_flush())
        stay(arguments, before);
    return status;
}

// --- the command ---------------------------------------------------------------------------------------------------------------

static uint32_t threads_default(void)
{
    unsigned cpus = 1;
    if (locus_pin_allowed(NULL, 0, &cpus) || cpus == 0)
        cpus = 1;
    return cpus < 4 ? cpus : 4;
}

// A kernel without transparent huge pages refuses to be asked for them.
static enum locus_page page_default(void)
{
    return access("/sys/kernel/mm/transparent_hugepage", F_OK) == 0 ? LOCUS_PAGE_THP : LOCUS_PAGE_4K;
}

// 0 or an exit status.
static int arguments_fill(struct arguments *arguments)
{
    char why[1024];
    arguments->config = tb_pool_config_defaults;
    arguments->config.pages.pages = PAGES_DEFAULT;
    if (arguments->config_path && tb_pool_config_load(arguments->config_path, &arguments->config, why, sizeof why)) {
        tb_error("%s", why);
        return TB_EXIT_USAGE;
    }
    arguments->config.pages.page = page_default();
    if (arguments->pages > 0)
        arguments->config.pages.pages = (uint32_t)arguments->pages;
    if (arguments->storm.threads == 0)
        arguments->storm.threads = threads_default();
    if (!arguments->for_given)
        arguments->storm.for_ns = FOR_DEFAULT_NS;
    if (tb_cli_outputs_check(&arguments->metrics_path, 1))
        return TB_EXIT_FAILED;
    return 0;
}

static int command(int argc, char **argv)
{
    struct arguments arguments = {.storm = {.seed = 7}, .forms = {.csv_table = "ranges"}};
    int status = tb_cli_parse(&argp, "pool", argc, argv, &arguments);
    if (status != TB_CLI_RUN)
        return status;
    status = arguments_fill(&arguments);
    if (status)
        return status;
    char why[1024];
    struct running running = {.arguments = &arguments};
    struct tb_metrics_server *server = NULL;
    arguments.storm.tick = tick;
    arguments.storm.context = &running;
    if (tb_storm_open(&running.storm, &arguments.config, &arguments.storm, why, sizeof why)) {
        tb_error("%s", why);
        return TB_EXIT_FAILED;
    }
    if (arguments.listen) {
        int error = tb_metrics_serve(&server, arguments.listen, tb_storm_audit, running.storm, why, sizeof why);
        status = error ? (error == -EINVAL ? TB_EXIT_USAGE : TB_EXIT_FAILED) : 0;
        if (error)
            tb_error("--listen: %s", why);
        else if (!arguments.quiet)
            fprintf(stderr, "locus: metrics at http://%s/metrics\n", tb_metrics_address(server));
    }
    if (!status) {
        const struct sigaction action = {.sa_handler = on_interrupt}, ignored = {.sa_handler = SIG_DFL};
        sigaction(SIGINT, &action, NULL);
        sigaction(SIGTERM, &action, NULL);
        status = run(&running);
        sigaction(SIGINT, &ignored, NULL);
        sigaction(SIGTERM, &ignored, NULL);
    }
    json_decref(running.head);
    tb_metrics_stop(server);
    tb_storm_close(running.storm);
    return status;
}

TB_COMMAND(67, "pool", "an arena of pages: what is in it, what left and why, and its metrics", command);
