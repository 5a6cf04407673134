// SPDX-License-Identifier: Apache-2.0
//
// exam (private to the doctor): one look at a host, and the words in which its checks write down what they found.
//
// A check adds a finding, reads, and sets its state. Reading ends in one of three ways: a value; ENOENT where the folder that would
// have the file is there, so that the kernel has no such thing; anything else, which is UNKNOWN with its reason.
#ifndef TB_DOCTOR_EXAM_H
#define TB_DOCTOR_EXAM_H

#include "testbed/host/doctor/doctor.h"
#include "testbed/host/host.h"

#define TB_CPU "/sys/devices/system/cpu"
#define TB_VALUE_BYTES 512

struct tb_exam {
    struct tb_host host;
    bool here;                  // the root is the real one: this process lives there
    char *mounts;               // /proc/self/mounts, "" when it cannot be read
    struct tb_doctor *out;
    bool failed;                // no memory
};

// What there is to find out. `look` is NULL where the look of the one before has it: its finding is the next of that.
struct tb_check {
    const char *id;
    bool decides;
    const char *wanted, *why;
    void (*look)(struct tb_exam *exam, struct tb_finding *finding);
};
#define TB_TEXT_OF(number) #number
#define TB_TEXT(number) TB_TEXT_OF(number) // of a #define

// Adds the findings, which are FIT until a look says otherwise, and looks.
void tb_exam_run(struct tb_exam *exam, const struct tb_check checks[], size_t count);
struct tb_finding *tb_exam_add(struct tb_exam *exam, const struct tb_check *check);

void tb_finding_set(struct tb_finding *finding, enum tb_finding_state state, const char *now, ...)
    __attribute__((format(printf, 3, 4)));
void tb_finding_unknown(struct tb_finding *finding, const char *path, int error);
void tb_finding_remedy(struct tb_finding *finding, const char *format, ...) __attribute__((format(printf, 2, 3)));

// `path` is not there. Where `folder` is, the kernel has no such thing: `state`, and "ABSENT: meaning". Otherwise UNKNOWN.
void tb_finding_absent(struct tb_exam *exam, struct tb_finding *finding, const char *folder, enum tb_finding_state state,
                       const char *meaning);

// The same, or UNKNOWN, for whatever `error` reading `path` ended with; false where there was none.
bool tb_finding_missing(struct tb_exam *exam, struct tb_finding *finding, const char *path, int error, const char *folder,
                        enum tb_finding_state state, const char *meaning);

// A small file's text without the blanks around it. Where one of several words is in brackets, as in "always [madvise] never",
// `choice` takes that word. 0 or -errno.
int tb_exam_read(struct tb_exam *exam, const char *path, char out[TB_VALUE_BYTES]);
void tb_exam_choice(const char *text, char *out, size_t bytes);

// Reads the value of a finding. False: there is none, and the finding says so, ABSENT as above or UNKNOWN.
bool tb_exam_value(struct tb_exam *exam, struct tb_finding *finding, const char *path, const char *folder,
                   enum tb_finding_state absent, const char *meaning, char out[TB_VALUE_BYTES]);

bool tb_exam_has_folder(struct tb_exam *exam, const char *path);

// Capabilities by their number (linux/capability.h). Is this process a root without one, as in a container?
enum { TB_CAP_SYS_ADMIN = 21, TB_CAP_SYS_NICE = 23, TB_CAP_PERFMON = 38 };
bool tb_exam_root_lacks(struct tb_exam *exam, unsigned capability);

// The CPUs that are offered and measured on (tb_cpus_here), of this process, or of the one whose /proc/self/status is in the root.
// 0 or -errno.
int tb_exam_cpus(struct tb_exam *exam, char offered[TB_VALUE_BYTES], char measured[TB_VALUE_BYTES]);

// Is `word` one of those in `list`, which has blanks between them?
bool tb_words_have(const char *list, const char *word);

// --- knobs.c ---

void tb_knob_add(struct tb_exam *exam, struct tb_finding *finding, const char *pattern, unsigned number, const char *now,
                 const char *wanted);
void tb_knob_path(const struct tb_knob *knob, char *out, size_t bytes);

// "powersave", or "performance on 2 and powersave on 6": the values of all knobs of this pattern.
void tb_knobs_tell(const struct tb_finding *finding, const char *pattern, char *out, size_t bytes);

// Commands from the knobs of a finding whose state is set, if they can be written here; otherwise the remedy says why not. What is
// fit is wanted as it is.
void tb_knobs_commands(struct tb_exam *exam, struct tb_finding *finding);

// The only knob of a finding, with its commands.
void tb_knob_alone(struct tb_exam *exam, struct tb_finding *finding, const char *path, const char *now, const char *wanted);

// Commands that are no knobs. Both or none; takes over the texts, and NULL is no memory.
void tb_finding_commands(struct tb_exam *exam, struct tb_finding *finding, char *change, char *restore);

// A word as a shell takes it: as it is, or in single quotes.
void tb_shell_word(FILE *out, const char *word);

// --- the checks, in the order of the findings ---

void tb_check_machine(struct tb_exam *exam);    // check_machine.c: what it is, clock, isolation, mitigations
void tb_check_settings(struct tb_exam *exam);   // knobs.c: files with one value
void tb_check_memory(struct tb_exam *exam);     // check_memory.c: swap, nodes, huge pages
void tb_check_neighbours(struct tb_exam *exam); // check_neighbours.c: load, steal, pressure, throttling, daemons
void tb_check_process(struct tb_exam *exam);    // check_process.c: what this process may do
void tb_check_cpus(struct tb_exam *exam);       // check_cpus.c: frequency, boost, idle states, SMT

#endif
