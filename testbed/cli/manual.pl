#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
#
# manual.pl FOLDER LOCUS: locus(1) and a page for each command, locus-eval(1), into FOLDER/man1. They are made of what the program
# says of itself, by `--help`, which argp prints from the parsers' own tables: there is no second list of options.
use strict;
use warnings;
use File::Path 'make_path';
require './placement/include/roff.pl';

my ($folder, $program) = @ARGV;
my ($version) = said('--version') =~ /^locus (\S+)/;
my $all = said('--help');
my %summary = $all =~ /^  ([a-z]+(?: [a-z]+)?)  +(.*)/mg;
die "manual.pl: $program names no commands\n" unless %summary;

sub said {
    my $command = join ' ', "'$program'", @_, '</dev/null';
    my $text = `ARGP_HELP_FMT= $command`;
    die "manual.pl: $command failed\n" if $?;
    return $text;
}

sub page {
    my ($name, @sections) = @_;
    make_path("$folder/man1");
    open my $out, '>', "$folder/man1/$name.1" or die "manual.pl: $folder: $!\n";
    print $out sprintf(".TH %s 1 \"\" \"LOCUS %s\" \"User Commands\"\n.nh\n.ad l\n", uc $name, $version), sections(@sections);
    close $out or die "manual.pl: $folder: $!\n";
}

my $clone = "works on the postulates and logs in a clone of the project's repository. Run it at the top of the clone.";
sub page_of { return 'locus-' . $_[0] =~ tr/ /-/r }
sub see { return 'SEE ALSO', join(', ', map { "\\fB$_\\fR(" . (/^lib/ ? 7 : 1) . ')' } @_) . "\n" }

# What --help says is usage, a summary, options and paragraphs, some of which have a title.
sub command {
    my $name = shift;
    my $help = said($name, '--help') =~ s/\nMandatory or optional arguments to long options .*?\n\n/\n/sr;
    my ($usage, $summary, $rest) = $help =~ /^Usage: (.*?)\n(?=\S)(.*?)\n\n(.*)/s or die "manual.pl: what is the usage of $name?\n";
    $usage =~ s/^ {2}or: {2}|^ {12}/    /mg;
    my ($options) = $rest =~ s/^((?: {2}-| {6}--).*?)\n\n(?=\S|\z)//ms ? $1 : '';
    $options =~ s/^ {6}(--.*)/  $1/mg;
    $options =~ s/\n\n/\n/g;
    my (@texts, $status, $examples);
    for (split /\n\n/, $rest =~ s/\s+$//r =~ s/\n\s*\n/\n\n/gr) {
        if (s/^Exit status: //) { $status = ucfirst }
        elsif (s/^Examples?:\n//) { $examples = $_ }
        else { push @texts, $_ }
    }
    page(page_of($name),
        NAME => page_of($name) . ' \\- ' . escaped($summary{$name} =~ s/ \*$//r) . "\n",
        SYNOPSIS => ".nf\n" . escaped("$usage\n") . ".fi\n",
        DESCRIPTION => paragraphs($summary) . ($summary{$name} =~ /\*$/ ? paragraphs("It $clone") : '')
            . paragraphs(join("\n\n", @texts), 1),
        OPTIONS => paragraphs($options, 1),
        'EXIT STATUS' => paragraphs($status // ''),
        EXAMPLES => $examples && verbatim(map { s/^  //r } split /\n/, $examples),
        see('locus', map { page_of($_) } grep { $_ ne $name && /^\Q@{[$name =~ s{ .*}{}r]}\E\b/ } sort keys %summary));
}

sub listed {
    return join '', map { ".TP\n.BR " . escaped(page_of($_)) . " (1)\n" . marked($summary{$_} =~ s/ \*$//r) . "\n" } @_;
}

command($_) for keys %summary;
my ($about) = $all =~ /\n(.*?)\n\n/s;
my ($status) = $all =~ /^Exit status: (.*)/m;
my @starred = grep { $summary{$_} =~ /\*$/ } sort keys %summary;
page('locus',
    NAME => "locus \\- KV\\-cache memory on NUMA nodes: what a machine is, and what a placement is worth\n",
    SYNOPSIS => ".B locus\n.I COMMAND\n.RI [ OPTION... ]\n",
    DESCRIPTION => paragraphs("$about

It shows a machine's nodes, says whether the machine is fit to measure, and compares allocators and placements of a KV cache on
it. Each comparison ends with a sentence that answers the question.

Sizes are in bytes, with KiB, MiB and GiB; times are in the unit that stands beside them. Nodes and CPUs have the numbers that
Linux gives them."),
    COMMANDS => listed(grep { $summary{$_} !~ /\*$/ } sort keys %summary),
    'COMMANDS FOR THE RECORD' => paragraphs("Each $clone") . listed(@starred),
    'EXIT STATUS' => paragraphs(ucfirst $status),
    ENVIRONMENT => ".TP\n.B LOCUS_CPUS\nThe CPUs to measure on, such as 2\\-7, where no option names them.\n"
        . ".TP\n.B LOCUS_LAP\nThe program locus\\-lap, in which contenders run, if it is not where it was installed.\n"
        . ".TP\n.B LOCUS_SHARE\nThe folder share/locus of an installation, if the program does not find it.\n",
    EXAMPLES => verbatim('locus topo', 'locus doctor', 'locus eval -c locus,mimalloc', 'locus advise --pid $$', 'locus help eval'),
    see('liblocus', 'numactl', 'lstopo'));
