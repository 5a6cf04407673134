// SPDX-License-Identifier: Apache-2.0
//
// counts: a plugin for QEMU's user-mode emulation. It counts the instructions that a process executes between its marks
// (testbed/counters/mark.h), those of them that lock memory, and the locked compare-and-exchanges and which of these failed.
//
//     qemu-x86_64 -plugin counts.so PROGRAM          stderr, at the end: "counts: marks 1 instructions 12 locked 3 exchanges 2
//                                                    failed 1 untold 0"
//
// All threads count while the marks are open, each in its own row; the marks themselves do not count. How exact each is:
//
// instructions  Exact. A string instruction with a `rep` prefix counts once for each repetition, as the emulator executes it. For
//               a process of one thread the number is the same at each run, unless the program itself looks at time or addresses.
// locked        Exact: instructions with a LOCK prefix, and XCHG with memory, which locks without one.
// exchanges     Exact: CMPXCHG, CMPXCHG8B and CMPXCHG16B with a LOCK prefix, whatever their outcome.
// failed        QEMU 7.2 shows a plugin no registers, so the outcome is told from the way that the program takes: the conditional
//               jump (JE or JNE) that follows an exchange, with nothing between but moves, which leave the flags alone, goes to one
//               address if it succeeded and to another if it failed. This is exact. An exchange that nothing of the kind follows is
//               `untold`: if there are any, `failed` is only a lower bound, and the caller must not take it for the number.
//
// Threads that run at once are interleaved by the emulator, whose instructions take times of their own. Which exchanges fail then
// is true of that interleaving only, and says nothing about how many would fail on hardware.
//
// Threads: each virtual CPU, which is a thread of the program, calls from that thread. The thread at a mark adds up all rows; other
// threads' rows are then exact if these threads wait, as workers do between laps but for the instructions of their waiting.
//
// The interface of QEMU 7.2, version 1, declared here as in accesses.c. Later versions kept what is used here; Debian links the
// user-mode emulator of its later releases statically, without plugins.
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/counters/mark.h"

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_info_t;

enum { CB_NO_REGS = 0 };

typedef void vcpu_udata_cb(unsigned cpu, void *user);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, void (*call)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, vcpu_udata_cb *call, int flags, void *user);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*call)(qemu_plugin_id_t, void *), void *user);

EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t *info, int argc, char **argv);

#define CPUS_MAX 256 // threads of the program, over its whole life
#define MOVES_MAX 8  // between an exchange and its jump: more than any compiler has put there

enum { INSTRUCTIONS, LOCKED, EXCHANGES, FAILED, UNTOLD, COUNTS };

// An exchange and the jump that tells its outcome; without one, both are 0.
struct exchange {
    uint64_t succeeded, failed; // addresses at which the program goes on
};

static struct row {
    _Alignas(64) uint64_t count[COUNTS];
    const struct exchange *open; // executed, with the outcome not yet known
} rows[CPUS_MAX];

static uint64_t at_begin[COUNTS], counted[COUNTS], marks;
static bool overflowed; // more threads than rows

// --- at run time ---------------------------------------------------------------------------------------------------------------

static struct row *row_of(unsigned cpu)
{
    overflowed |= cpu >= CPUS_MAX;
    return &rows[cpu < CPUS_MAX ? cpu : CPUS_MAX - 1];
}

// `user` is the instruction's address. Those between an exchange and where its jump leads are neither address.
static void on_instruction(unsigned cpu, void *user)
{
    struct row *row = row_of(cpu);
    uint64_t address = (uint64_t)(uintptr_t)user;
    row->count[INSTRUCTIONS]++;
    if (!row->open || (address != row->open->succeeded && address != row->open->failed))
        return;
    row->count[FAILED] += address == row->open->failed;
    row->open = NULL;
}

static void on_locked(unsigned cpu, void *user)
{
    (void)user;
    row_of(cpu)->count[LOCKED]++;
}

static void on_exchange(unsigned cpu, void *user)
{
    struct row *row = row_of(cpu);
    const struct exchange *exchange = user;
    row->count[EXCHANGES]++;
    row->count[UNTOLD] += exchange->failed == 0 || row->open; // a jump that never came tells nothing
    row->open = exchange->failed ? exchange : NULL;
}

static uint64_t sum_of(int count)
{
    uint64_t sum = 0;
    for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++)
        sum += rows[cpu].count[count];
    return sum;
}

static void on_begin(unsigned cpu, void *user)
{
    (void)cpu;
    (void)user;
    for (int count = 0; count < COUNTS; count++)
        at_begin[count] = sum_of(count);
}

static void on_end(unsigned cpu, void *user)
{
    (void)cpu;
    (void)user;
    for (int count = 0; count < COUNTS; count++)
        counted[count] += sum_of(count) - at_begin[count];
    marks++;
}

// --- what an instruction is ----------------------------------------------------------------------------------------------------

struct decoded {
    const uint8_t *opcode; // after the prefixes, and `left` bytes from there on
    size_t left;
    bool lock;
};

static bool is_prefix(uint8_t byte)
{
    static const uint8_t prefixes[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3};
    return memchr(prefixes, byte, sizeof prefixes) != NULL;
}

static struct decoded decode(const struct qemu_plugin_insn *insn)
{
    struct decoded out = {.opcode = qemu_plugin_insn_data(insn), .left = qemu_plugin_insn_size(insn)};
    for (; out.left > 1 && is_prefix(*out.opcode); out.opcode++, out.left--)
        out.lock |= *out.opcode == 0xf0;
    if (out.left > 1 && (*out.opcode & 0xf0) == 0x40) { // REX
        out.opcode++;
        out.left--;
    }
    return out;
}

static bool is_locked(const struct decoded *insn)
{
    bool exchange = insn->left > 1 && (insn->opcode[0] == 0x86 || insn->opcode[0] == 0x87);
    return insn->lock || (exchange && insn->opcode[1] < 0xc0); // 0xc0: the operand is a register
}

static bool is_exchange(const struct decoded *insn)
{
    if (!insn->lock || insn->left < 3 || insn->opcode[0] != 0x0f)
        return false;
    bool wide = insn->opcode[1] == 0xc7 && (insn->opcode[2] & 0x38) == 0x08;
    return wide || insn->opcode[1] == 0xb0 || insn->opcode[1] == 0xb1;
}

// MOV, LEA, PUSH, POP: they leave the flags alone.
static bool is_move(const struct decoded *insn)
{
    uint8_t opcode = insn->opcode[0];
    return (opcode >= 0x88 && opcode <= 0x8b) || opcode == 0x8d || (opcode >= 0xb8 && opcode <= 0xbf) || opcode == 0xc6 ||
           opcode == 0xc7 || (opcode & 0xf0) == 0x50;
}

// JE and JNE with a distance of 8 or 32 bits. `after` is the address of the next instruction.
static bool jump_of(const struct decoded *insn, uint64_t after, struct exchange *out)
{
    bool near = insn->left == 6 && insn->opcode[0] == 0x0f;
    uint8_t kind = near ? insn->opcode[1] - 0x10 : insn->opcode[0];
    int32_t distance = (int8_t)insn->opcode[1];
    if ((!near && insn->left != 2) || (kind != 0x74 && kind != 0x75))
        return false;
    if (near)
        memcpy(&distance, insn->opcode + 2, sizeof distance);
    uint64_t target = after + (uint64_t)(int64_t)distance;
    out->succeeded = kind == 0x74 ? target : after;
    out->failed = kind == 0x74 ? after : target;
    return target != after;
}

// The jump after the exchange `at`, if it is in the same block of translation, which ends with a jump. Never freed: QEMU may keep
// the translation as long as the process lives.
static struct exchange *exchange_of(const struct qemu_plugin_tb *tb, size_t at)
{
    struct exchange *out = calloc(1, sizeof *out);
    for (size_t i = at + 1; out && i < qemu_plugin_tb_n_insns(tb) && i <= at + 1 + MOVES_MAX; i++) {
        const struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        struct decoded decoded = decode(insn);
        if (jump_of(&decoded, qemu_plugin_insn_vaddr(insn) + qemu_plugin_insn_size(insn), out))
            return out;
        if (!is_move(&decoded))
            break;
    }
    if (out)
        *out = (struct exchange){0};
    return out;
}

static bool is_mark(const struct qemu_plugin_insn *insn, const uint8_t bytes[7])
{
    return qemu_plugin_insn_size(insn) == 7 && memcmp(qemu_plugin_insn_data(insn), bytes, 7) == 0;
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    static const uint8_t begin[] = {TB_MARK_BEGIN_BYTES}, end[] = {TB_MARK_END_BYTES};
    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        struct decoded decoded = decode(insn);
        if (is_mark(insn, begin) || is_mark(insn, end)) {
            qemu_plugin_register_vcpu_insn_exec_cb(insn, is_mark(insn, begin) ? on_begin : on_end, CB_NO_REGS, NULL);
            continue;
        }
        void *address = (void *)(uintptr_t)qemu_plugin_insn_vaddr(insn);
        qemu_plugin_register_vcpu_insn_exec_cb(insn, on_instruction, CB_NO_REGS, address);
        if (is_locked(&decoded))
            qemu_plugin_register_vcpu_insn_exec_cb(insn, on_locked, CB_NO_REGS, NULL);
        if (is_exchange(&decoded)) {
            struct exchange *exchange = exchange_of(tb, i);
            if (!exchange)
                abort(); // without memory nothing here would be true
            qemu_plugin_register_vcpu_insn_exec_cb(insn, on_exchange, CB_NO_REGS, exchange);
        }
    }
}

static void on_exit_write(qemu_plugin_id_t id, void *user)
{
    (void)id;
    (void)user;
    if (overflowed)
        fprintf(stderr, "counts: more than %d threads\n", CPUS_MAX);
    else
        fprintf(stderr,
                "counts: marks %" PRIu64 " instructions %" PRIu64 " locked %" PRIu64 " exchanges %" PRIu64 " failed %" PRIu64
                " untold %" PRIu64 "\n",
                marks, counted[INSTRUCTIONS], counted[LOCKED], counted[EXCHANGES], counted[FAILED], counted[UNTOLD]);
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t *info, int argc, char **argv)
{
    (void)info;
    if (argc > 0) {
        fprintf(stderr, "counts: '%s' is not an argument of this plugin\n", argv[0]);
        return 1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
    qemu_plugin_register_atexit_cb(id, on_exit_write, NULL);
    return 0;
}
