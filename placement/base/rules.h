// SPDX-License-Identifier: Apache-2.0
//
// rules: what a caller must not do, said where it would be done. Not installed.
//
// Most misuse is answered: -EPERM without the role, -EINVAL for a home that there is not. But an answer can go unread, and some
// calls cannot give one, or not at a cost that a hot path would bear. liblocus-checked (make CHECKED=1) is the same library with
// the rules compiled in: it says in one line on stderr which call broke which rule, and aborts. In liblocus a rule is nothing.
#ifndef LOCUS_RULES_H
#define LOCUS_RULES_H

#ifdef LOCUS_CHECKED
#define RULE_OF(call, holds, ...) (__builtin_expect(!!(holds), 1) ? (void)0 : rule_broken(call, __VA_ARGS__))
#else
#define RULE_OF(call, holds, ...) ((void)0)
#endif
#define RULE(holds, ...) RULE_OF(__func__, holds, __VA_ARGS__)

void rule_broken(const char *call, const char *format, ...) __attribute__((cold, noreturn, format(printf, 2, 3)));

#define RULE_ROLE "the calling thread does not hold the owner's role (owner.h: adopt it first)"

#endif
