#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
#
# declarations.pl COMMAND...: all that locus.h declares, in one file without preprocessor, attributes and bodies, for languages that
# read no C header. cffi takes it as it is, `ffi.cdef(open(file).read())`, and so does bindgen. COMMAND is a C compiler with its
# flags.
#
# Two things are left out. A struct with a member that is aligned to a cache line has a name and no members: cffi cannot align, so
# what it allocated would lie wrong. And the library has no symbol for what is `static inline`.
use strict;
use warnings;

my ($ours, $text, @names, %body) = (0, '');
my $keeps_bool = '-D_STDBOOL_H -D__STDBOOL_H'; # as if stdbool.h had been read, so the word is no macro
open my $headers, '-|', "echo '#include <locus/locus.h>' | @ARGV $keeps_bool -x c -E -dD -" or die "declarations.pl: $!\n";
while (<$headers>) {
    if (/^# \d+ "([^"]*)"/) { $ours = $1 =~ m{^(placement/include/locus|topo)/} }
    elsif (/^#define (\w+) (.+)/) {
        $body{$1} = $2;
        push @names, /^#define (LOCUS_\w+)/ if $ours;
    }
    elsif ($ours && !/^#/) { $text .= $_ }
}
close $headers and @names or die "declarations.pl: there is no locus.h for @ARGV\n";

# The number that a constant stands for; undef for a string, or for what is no constant.
sub number {
    my $value = shift;
    1 while $value =~ s/\b([A-Z]\w+)\b(?!\()/exists $body{$1} ? "($body{$1})" : '?'/ge;
    $value =~ s/\bUINT(?:32|64)_C\((\w+)\)/$1/g;
    $value =~ s/\bsizeof ?\(unsigned long\)/8/g;
    $value =~ s/\((?:unsigned|uintptr_t|locus_block)\)//g;
    $value =~ s/\b(\d\w*?)[uUlL]+\b/$1/g;
    return $value =~ m{^[-\d\s()+*/<>|&]+$} ? eval $value : undef;
}

my $braces = qr/(\{(?:[^{}]|(?-1))*\})/;
$text =~ s/^static inline [^;{]*$braces//mg;
$text =~ s/^inline ([^;{]*\))\s*$braces/$1;/mg;
$text =~ s/^(struct \w+) $braces;/my ($name, $all) = ($1, $&); $all =~ m{\baligned\(} ? "$name;" : $all/mge;
$text =~ s/\[([^]]*\d[^]]*)\]/'[' . number($1) . ']'/ge;
$text =~ s/\bbool\b/_Bool/g;
$text =~ s/^extern const /extern /mg; # cffi reads no constant of a library unless it is a number
$text =~ s/\s*\n\s*\n/\n/g;

print <<"END";
// SPDX-License-Identifier: Apache-2.0
//
// What liblocus declares, made of its headers for cffi, bindgen and the like. What it means: liblocus(7).
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t, size_t, uintptr_t;
END
for (@names) {
    my $value = number($body{$_});
    print "#define $_ $value\n" if defined $value;
}
print $text;
