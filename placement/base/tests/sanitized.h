// SPDX-License-Identifier: Apache-2.0
//
// sanitized: SANITIZED is defined in a build with a sanitizer whose own memory does not fit below a limit of the address space.
#ifndef LOCUS_TESTS_SANITIZED_H
#define LOCUS_TESTS_SANITIZED_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#endif

#endif
