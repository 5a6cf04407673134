// SPDX-License-Identifier: Apache-2.0
//
// rules: what a caller must not do, checked in the call itself. Not installed.
//
// Most misuse returns an error: -EPERM without the role, -EINVAL for a home that does not exist. But a caller may ignore an
// error, and some calls cannot return one, or only at a cost that a hot path cannot bear. liblocus-checked (make CHECKED=1) is
// the same library with the rules compiled in: it prints one line on stderr that names the call and the rule it broke, and
// aborts. In liblocus a rule compiles to nothing.
#ifndef LOCUS_RULES_H
#define LOCUS_RULES_H

#ifdef LOCUS_CHECKED
#define RULE_OF(call, holds, ...) (__builtin_expect(!!(holds), 1) ? (void)0 : rule_broken(call, __VA_ARGS__))
#define CALLS_UNCHECKED 0
#else
#define RULE_OF(call, holds, ...) ((void)0)
#define CALLS_UNCHECKED 1
#endif
#define RULE(holds, ...) RULE_OF(__func__, holds, __VA_ARGS__)

void rule_broken(const char *call, const char *format, ...) __attribute__((cold, noreturn, format(printf, 2, 3)));

#define RULE_ROLE "the calling thread does not hold the owner's role (owner.h: adopt it first)"

#endif
