#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
#
# figures.pl [--check] [PAGE...]: writes every figure that has an address into the pages, from the sealed logs. Without pages, into
# all README.md and experiments/corrections.md. --check writes nothing, and says which figures differ: then the status is 1.
# LOCUS=path/to/locus, which is asked by `locus report figure`; it runs at the top of a clone.
#
# A person writes the address, and this the figure. In a text that is 1.34 [1.29, 1.37] (0013/P3), in the forms of
# testbed/judge/address.h; with as many decimals as stand there, and with an interval if one stands there.
#
# In a table between <!-- figures --> and <!-- end of figures --> the first column and the record are the address. The head of the
# first column says what the others are:
#
#   | times as fast as `X` | record | WORKLOAD ...                   X's time over that of the row's contender
#   | blocks held at most, over the peak | record | WORKLOAD ...     the most that any arm of that name held
#   | blocks found by | record | CELL ...                            the part of all that a policy of retention found
#   | writes on the wrong node, of blocks of | record | least, % | most, %         of all contenders that the row names
#
# A row's contender and cell are its words: `dpdk-stack`, one byte, four workers on futexes; a cell is one of 4 KiB blocks, with a
# spinning worker unless the row says otherwise. After the record's number comes its verdict. "-" is what the record does not have.
# A new cell is 0.00, or 0.00 [0.00, 0.00]: so it will look.
#
# A picture's title is its address: ![text](FILE.svg "0093 */full/futex/4w"). It is what `locus report figure --mallocs` draws.
use strict;
use warnings;

my $locus = $ENV{LOCUS} // 'build/gcc/locus';
my $check = @ARGV && $ARGV[0] eq '--check' && shift;
my @pages = @ARGV ? @ARGV : (split(/\n/, `git ls-files README.md '*/README.md'`), 'experiments/corrections.md');

my $number = qr/\d+(?:\.\d+)?/;
my $record = qr/\d{4}(?:\.add\d+)?/;
my $cell = qr{[A-Za-z0-9.-]+(?:/[A-Za-z0-9.-]+)+};
my $address = qr{$record(?:/[PS]\d+(?:\s+$cell)?|\s+$cell\s+[A-Z]/[A-Z])};
my $figure = qr/(?<estimate>$number)(?:(?<open>\s+\[)(?<low>$number)(?<comma>,\s+)(?<high>$number)\])?(?<before>\s+\()(?<at>$address)\)/;

my $picture = qr/!\[[^\]]*\]\(([^\s)]+\.svg) "([^"]+)"\)/;

my (%asked, %known, %refused); # by address: wanted; {estimate, low, high, verdict}; why there is none
my ($failures, %complained) = (0);

# Once of each thing, and only when the figures are known: until then the pages are gone through for their addresses.
sub complain {
    print STDERR "figures: @_\n" if %known && !$complained{"@_"}++;
    $failures++;
    return;
}

# --- what the program says -----------------------------------------------------------------------------------------------------

# First the pages are gone through to collect the addresses, then the program is asked once, then the pages are written.
sub of {
    my $at = join ' ', split ' ', shift;
    $asked{$at} = 1;
    return $known{$at};
}

sub ask_all {
    open(my $ask, '>', "$ENV{SCRATCH}/addresses") or die "$ENV{SCRATCH}: $!\n";
    print $ask map { "$_\n" } sort keys %asked;
    close $ask;
    system("'$locus' report figure --csv - <$ENV{SCRATCH}/addresses >$ENV{SCRATCH}/figures 2>$ENV{SCRATCH}/refused");
    open(my $said, '<', "$ENV{SCRATCH}/figures") or die "$!\n";
    while (<$said>) {
        chomp;
        my ($at, @values) = /^"?(.*?)"?,([^,]*),([^,]*),([^,]*),"?(.*?)"?$/ or next;
        @{$known{$at}}{qw(estimate low high verdict)} = @values;
    }
    open(my $refused, '<', "$ENV{SCRATCH}/refused") or die "$!\n";
    while (<$refused>) {
        chomp;
        my ($at, $why) = /^locus: (.*?): (.*)$/;
        $refused{$at} = $why if defined $at;
    }
    die "figures: $locus says nothing of the record\n" unless %known;
}

# As `value`, with as many decimals as `like`; rounded once.
sub like {
    my ($like, $value) = @_;
    my $decimals = $like =~ /\.(\d+)/ ? length $1 : 0;
    return sprintf '%.*f', $decimals, $value;
}

# --- texts ---------------------------------------------------------------------------------------------------------------------

sub text_figure {
    my ($page, %was) = @_;
    my $is = of($was{at});
    my $why = $refused{join ' ', split ' ', $was{at}};
    complain("$page: ($was{at}): $why") if $why;
    my $old = $was{estimate} . (defined $was{low} ? "$was{open}$was{low}$was{comma}$was{high}]" : '') . "$was{before}$was{at})";
    return $old unless $is;
    my $new = like($was{estimate}, $is->{estimate});
    if (defined $was{low}) {
        $new .= $was{open} . like($was{low}, $is->{low}) . $was{comma} . like($was{high}, $is->{high}) . ']';
    } elsif ($is->{low} ne $is->{estimate} || $is->{high} ne $is->{estimate}) {
        complain("$page: ($was{at}) is an estimate: write its interval as well");
    }
    return "$new$was{before}$was{at})";
}

# --- tables --------------------------------------------------------------------------------------------------------------------

sub row_cell { # of words: TOUCH/DISPATCH/WORKERS/SIZE
    my $words = shift;
    my $touch = $words =~ /full touch/ ? 'full' : $words =~ /one byte/ ? 'byte' : 'none';
    return "$touch/futex/4w/4KiB" if $words =~ /four workers on futexes/;
    return $words =~ /no second thread/ ? "$touch/inline/4KiB" : "$touch/spin/1w/4KiB";
}

sub names { my @names = $_[0] =~ /`([^`]*)`/g; return $_[0] =~ /^the floor/ ? ('oracle') : @names; }

# The addresses of one cell of a table: the most of them counts, or the least.
sub addresses {
    my ($kind, $row, $column, $from) = @_;
    my @names = names($row);
    return ("$from $column/" . row_cell($row) . " $1/$names[0]") if $kind =~ /^times as fast as `([^`]*)`/;
    return ("$from $column/" . row_cell($row) . " max($names[0]) of outstanding_ratio") if $kind =~ /^blocks held at most/;
    return ("$from $column max($names[0]) of hit_ratio") if $kind =~ /^blocks found by/;
    my $most = $column =~ /^most/ ? 'max' : 'min';
    return map { "$from * $most($_) of remote_touch_ratio" } @names;
}

sub table_value {
    my ($page, $kind, $row, $column, $from, $old) = @_;
    my @at = addresses($kind, $row, $column, $from);
    my @known = grep { defined } map { of($_) } @at;
    for (grep { $refused{$_} } @at) {
        return '-' if $refused{$_} =~ /the cell .* was not run/;
        complain("$page: $row: $refused{$_}");
    }
    return $old unless @known == @at;
    my ($best) = sort { $column =~ /^least/ ? $a->{estimate} <=> $b->{estimate} : $b->{estimate} <=> $a->{estimate} } @known;
    my $scale = $column =~ /%/ ? 100 : 1;
    my @old = $old =~ /($number)/g;
    @old = ('0.00') if !@old;
    my @new = map { like($old[0], $scale * $_) } @old > 1 ? @{$best}{qw(estimate low high)} : $best->{estimate};
    return @new > 1 ? "$new[0] [$new[1], $new[2]]" : $new[0];
}

sub table_row {
    my ($page, $head, $line) = @_;
    my ($kind, undef, @columns) = @$head;
    my ($row, $from, @old) = map { s/^\s+|\s+$//gr } (split /\|/, $line =~ s/^\|//r);
    my ($number) = ($from // '') =~ /^($record)/;
    if (!$number) {
        complain("$page: $row: it names no record");
        return $line;
    }
    my $verdict = of($number) ? $known{$number}{verdict} : $from =~ s/^\S+ ?//r;
    my @new = map { table_value($page, $kind, $row, $columns[$_], $number, $old[$_] // '0.00') } 0 .. $#columns;
    complain("$page: $row: $refused{$number}") if $refused{$number};
    complain("$page: $row: $number has nothing of it") unless grep { $_ ne '-' } @new;
    return '| ' . join(' | ', $row, "$number " . ($verdict =~ s/ \(.*//r), @new) . " |\n";
}

sub table {
    my ($page, $lines) = @_;
    my ($head, $out) = (undef, '');
    for (split /^/, $lines) {
        if (/^\|---/ || !/^\|/) {
            complain("$page: '$1' between the marks is in no table") if !/^\|/ && /(\S.*)/;
            $out .= $_;
        } elsif (!$head) {
            $head = [map { s/^\s+|\s+$//gr } (split /\|/, s/^\|//r)];
            pop @$head while @$head && $head->[-1] eq '';
            my $known = $head->[0] =~ /^(times as fast as `[^`]+`|blocks held at most|blocks found by|writes on the wrong node)/;
            complain("$page: '$head->[0]' is no kind of table") unless $known && ($head->[1] // '') eq 'record';
            $out .= $_;
        } else {
            $out .= table_row($page, $head, $_);
        }
    }
    return $out;
}

# --- pictures ------------------------------------------------------------------------------------------------------------------

sub content {
    open(my $in, '<', shift) or return '';
    local $/;
    return <$in>;
}

# Those of a page that differ from what the program draws: [FILE, what it draws].
sub pictures {
    my ($page, $text) = @_;
    my ($folder, @stale) = ($page =~ s,[^/]*$,,r);
    while ($text =~ /$picture/g) {
        my ($file, $at, $drawn) = ("$folder$1", $2, "$ENV{SCRATCH}/drawn.svg");
        local $ENV{AT} = $at;
        if (system("'$locus' report figure --mallocs \"\$AT\" --plot='$drawn' >/dev/null")) {
            complain("$page: ($at): nothing is drawn");
        } elsif (content($drawn) ne content($file)) {
            push @stale, [$file, content($drawn)];
        }
    }
    return @stale;
}

# --- pages ---------------------------------------------------------------------------------------------------------------------

sub rewrite {
    my ($page, $text) = @_;
    $text =~ s/$figure/text_figure($page, %+)/ge;
    $text =~ s/(<!-- figures -->\n)(.*?)(<!-- end of figures -->)/$1 . table($page, $2) . $3/gse;
    return $text;
}

sub write_file {
    my ($file, $text) = @_;
    open(my $out, '>', $file) or die "figures: $file: $!\n";
    print $out $text;
    close $out or die "figures: $file: $!\n";
    return;
}

sub differences { # line by line: a figure does not change how many there are
    my ($page, $old, $new) = @_;
    my @old = split /\n/, $old;
    my @new = split /\n/, $new;
    for (0 .. $#old) {
        print "$page:", $_ + 1, ":\n  written  $old[$_]\n  the logs $new[$_]\n" if $old[$_] ne $new[$_];
    }
}

chomp($ENV{SCRATCH} = `mktemp -d`);
END {
    my $status = $?; # which system() changes
    system('rm', '-rf', $ENV{SCRATCH}) if $ENV{SCRATCH};
    $? = $status;
}
my %text;
for my $page (@pages) {
    open(my $in, '<', $page) or die "figures: $page: $!\n";
    local $/;
    $text{$page} = <$in>;
    rewrite($page, $text{$page});
}
ask_all();
$failures = 0;
my $stale = 0;
for my $page (@pages) {
    my $new = rewrite($page, $text{$page});
    for (pictures($page, $text{$page})) {
        my ($file, $drawn) = @$_;
        $stale++;
        print "$page: $file is not what the logs draw\n" if $check;
        write_file($file, $drawn) if !$check;
    }
    next if $new eq $text{$page};
    $stale++;
    if ($check) {
        differences($page, $text{$page}, $new);
    } else {
        write_file($page, $new);
    }
}
printf "figures: %d addresses, %d of %d pages and their pictures %s\n", scalar keys %asked, $stale, scalar @pages, $check ? 'differ' : 'written';
exit($failures || ($check && $stale) ? 1 : 0);
