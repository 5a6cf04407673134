#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
#
# manual.pl FOLDER HEADER...: the manual pages of the library, into FOLDER/man3 and FOLDER/man7. Each public header is a page, as
# its comments are the manual: what stands above a declaration explains it. Each function's page is a link to its header's. The
# example of a page is the program of that name in placement/examples. liblocus(7) is made of overview.txt.
use strict;
use warnings;
use File::Basename;
use File::Path 'make_path';
require './placement/include/roff.pl';

my ($folder, @headers) = @ARGV;
my %text = map { basename($_, '.h') => slurp($_) } grep { !/ggml\.h$/ } @headers; # which is not the library's
my ($version) = $text{version} =~ /LOCUS_VERSION "(.*)"/;

sub slurp {
    my $file = shift;
    open my $in, '<', $file or die "manual.pl: $file: $!\n";
    local $/;
    return scalar <$in>;
}

sub spit {
    my ($name, $section, $body) = @_;
    make_path("$folder/man$section");
    open my $out, '>', "$folder/man$section/$name.$section" or die "manual.pl: $folder: $!\n";
    print $out $body;
    close $out or die "manual.pl: $folder: $!\n";
}

sub head { return sprintf ".TH %s %d \"\" \"LOCUS %s\" \"%s\"\n.nh\n.ad l\n", uc $_[0], $_[1], $version, $_[2] }

# Names of headers are names of pages.
our $linked = sub { return $_[0] =~ s{(?<![/\w])(\w+)\.h\b}{$1 eq 'locus' ? 'liblocus(7)' : $text{$1} ? "locus_$1(3)" : $&}ger };
sub opened { return paragraphs($_[0] =~ s/^(?:[a-z_0-9]+: )?(.)/\U$1/r) }
sub uncomment { return join "\n", map { s{^// ?}{}r } @_ }
sub bare { return $_[0] =~ s/\s*__attribute__\s*(\((?:[^()]|(?1))*\))//gr =~ s{\s*//.*}{}mgr =~ s/\s+/ /gr =~ s/^ | ?;? ?$//gr }

sub whole { # Does a declaration end here?
    my $code = $_[0] =~ s{//.*}{}gr;
    return $code =~ /;\s*$/ && $code =~ tr/{// == $code =~ tr/}//;
}

# The comment above a header's guard, and what follows: groups of a comment and the declarations under it.
sub parsed {
    my @lines = split /\n/, shift;
    my (@opening, @groups, @comment, @declared);
    push @opening, shift @lines while $lines[0] =~ m{^//};
    my $flush = sub {
        push @groups, {comment => uncomment(@comment), declared => [@declared]} if @comment || @declared;
        @comment = @declared = ();
    };
    while (defined(my $line = shift @lines)) {
        if ($line =~ m{^//}) { $flush->() if @declared; push @comment, $line }
        elsif ($line =~ /^#if/ && $line !~ /_H$/) { 1 while shift(@lines) !~ /^#endif/ }
        elsif ($line =~ /^#define \w+\(?/ && $line !~ /_H$/) {
            while ($line =~ s/\s*\\$//) { $line .= ' ' . shift(@lines) =~ s/^ +//r }
            push @declared, $line;
        }
        elsif ($line =~ /^#/) { }
        elsif ($line !~ /\S/) { $flush->() }
        else {
            my $inline = $line =~ /^(static )?inline /;
            $line .= "\n" . shift @lines until $inline ? $line =~ /^\}/m : whole($line);
            push @declared, $inline ? $line =~ s/\n\{.*//sr : $line;
        }
    }
    $flush->();
    return (uncomment(@opening[2 .. $#opening]), @groups);
}

# The members of a struct or an enum, each with its comment. Those of a struct without a name have the names of both.
sub members {
    my (@all, @open, @before, $part);
    for (@_) {
        my ($declared, $comment) = m{^\s*(.*?)\s*(?://\s?(.*))?$};
        if ($declared eq '' && defined $comment) {
            if (m{^\s{16,}//} && @all) { $all[-1][1] .= "\n$comment" } else { push @before, $comment }
            next;
        }
        next if $declared eq '' || $declared =~ /^#/;
        if ($declared =~ /^struct \{/) { push @open, scalar @all; next }
        if ($declared =~ /^\} (\w+(?:\[.*\])?);/) {
            my $outer = $1;
            $_->[0] =~ s/([\w.]+(?:\[[^]]*\][\w.]*)*)$/$outer.$1/ for @all[pop(@open) .. $#all];
            next;
        }
        $part = defined $part ? "$part $declared" : $declared;
        push @all, [bare($part =~ s/,$//r), join "\n", @before, defined $comment ? $comment : ()] and $part = undef, @before = ()
            if $part =~ /[;,]$/ && ($part =~ tr/(//) == ($part =~ tr/)//) || $part =~ /^LOCUS_\w+$/;
    }
    return @all;
}

sub type {
    my ($comment, @declared) = @_;
    my $roff = '';
    for (@declared) {
        next if /^(struct|enum) \w+;/;
        if (/^((?:struct|enum) \w+) \{([^\n]*)\n(.*)\n\};(?:\s*\/\/ (.*))?$/s) {
            my ($name, $note, $body, $last) = ($1, $2, $3, $4);
            my @members = members(split /\n/, $body);
            $members[-1][1] .= "\n$last" if defined $last;
            $note =~ s{^\s*//\s*}{};
            $roff .= ".SS $name\n" . paragraphs($note) . paragraphs($comment);
            $roff .= ".TP\n.B \"" . escaped($_->[0]) . "\"\n" . (marked($_->[1]) || '\&') . "\n" for @members;
        } else {
            my ($note) = m{//\s*(.*)$};
            my $name = /^#define (\w+)/ ? $1 : /^(enum \w+)/ ? $1 : /^typedef .*?(\w+)(?:\(.*)?;/s ? $1 : /^extern/ ? 'Tables' : $_;
            my $shown = s{\s*//.*}{}r =~ s/^(#define \w+\([^)]*\)).*/$1/r; # of a macro with arguments not what it becomes
            $roff .= ".SS $name\n" . paragraphs($comment) . paragraphs($note // '') . code(split /\n/, $shown);
        }
        $comment = '';
    }
    return $roff;
}

sub functions { return grep { !/^(?:#|typedef|extern|struct \w+[; ]\{?(?!\*)|enum \w+ \{)/ || /^struct \w+ \*?\w+\(/ } @_ }
sub name_of { return $_[0] =~ /(locus_\w+)\(/ ? $1 : die "manual.pl: what is $_[0]?\n" }

# A prototype, in lines that fit.
sub synopsis {
    my $text = bare(shift) =~ s/^(?:static )?inline //r . ';';
    my ($line, @lines) = '';
    for (split /(?<=,) /, $text) {
        if ($line ne '' && length "$line $_" > 72) { push @lines, $line; $line = "        $_" }
        else { $line = $line eq '' ? $_ : "$line $_" }
    }
    return join '', map { '.B "' . escaped($_) . "\"\n" } map { length > 72 ? split(/(?<=\()(.*)/, s/\((.*)/(        $1/r) : $_ }
        @lines, $line;
}

sub example {
    my $file = "placement/examples/$_[0].c";
    return '' unless -e $file;
    my @lines = split /\n/, slurp($file);
    shift @lines while $lines[0] =~ m{^//( SPDX.*)?$};
    my @comment;
    push @comment, shift @lines while $lines[0] =~ m{^//};
    return paragraphs(uncomment(@comment)) . code(@lines);
}

my %led;
for my $header (sort grep { $_ ne 'locus' } keys %text) {
    my ($opening, @groups) = parsed($text{$header});
    my @threads = grep { /^Threads[:.] / } my @paragraphs = split /\n\n|\n(?=[A-Z][a-z]+: )/, $opening;
    my ($summary) = $paragraphs[0] =~ /^(?:[a-z_0-9]+: )?(.+?)(?:\.(?:\s|$)|:\n|$)/s;
    my (@functions, $functions, $types);
    for my $group (@groups) {
        my @own = functions(@{$group->{declared}});
        push @functions, @own;
        if (!@own && @{$group->{declared}}) { $types .= type($group->{comment}, @{$group->{declared}}); next }
        my @others = grep { my $it = $_; !grep { $_ eq $it } @own } @{$group->{declared}};
        $functions .= '.SS ' . join(', ', map { name_of($_) . '()' } @own) . "\n" if @own;
        $types .= type('For `' . name_of($own[0]) . '()`.', @others) if @own;
        $functions .= paragraphs($group->{comment});
        for (@own) { $functions .= paragraphs((@own > 1 ? '`' . name_of($_) . '`: ' : '') . $1) if m{;\s*// ?(.*)} }
    }
    my @names = map { name_of($_) } @functions;
    my %see = map { $_ => 1 } grep { $text{$_} && $_ ne $header && $_ ne 'locus' } $text{$header} =~ /\b(\w+)\.h\b/g;
    spit("locus_$header", 3, head("locus_$header", 3, 'Library Functions Manual') . sections(
        NAME => join(', ', "locus_$header", grep { $_ ne "locus_$header" } @names)
            . ' \\- ' . escaped($summary =~ s/\n/ /gr) . "\n",
        LIBRARY => "LOCUS (liblocus), by pkg\\-config locus; see \\fBliblocus\\fR(7)\n",
        SYNOPSIS => ".nf\n.B #include <locus/$header.h>\n.PP\n" . join('', map { synopsis($_) } @functions) . ".fi\n",
        DESCRIPTION => opened(join "\n\n", grep { !/^Threads[:.] / } @paragraphs),
        FUNCTIONS => $functions,
        TYPES => $types,
        ERRORS => @names ? "What can fail returns 0, or a negative errno value such as \\-EINVAL;\n"
            . "each function above says which, and when. errno itself says nothing.\n" : '',
        THREADS => paragraphs(join "\n\n", map { s/^Threads[:.] (.)/\U$1/r } @threads),
        EXAMPLE => example($header),
        'SEE ALSO' => join(', ', '\fBliblocus\fR(7)', map { "\\fBlocus_$_\\fR(3)" } sort keys %see) . "\n",
    ));
    $led{$_} = $header for grep { !exists $text{s/^locus_//r} } @names;
}
for (keys %led) { symlink "locus_$led{$_}.3", "$folder/man3/$_.3" or die "manual.pl: $folder/man3/$_.3: $!\n" }

my %part = (example => sub { example($_[0]) }, opening => sub { opened((parsed($text{$_[0]}))[0]) });
my ($series) = $version =~ /^(\d+\.\d+)/;
my $overview = slurp('placement/include/overview.txt') =~ s/^#.*\n//mgr =~ s/\@SERIES\@/$series/gr;
my (undef, @overview) = split /^([A-Z][A-Z ]+)$/m, $overview;
spit('liblocus', 7, head('liblocus', 7, 'LOCUS') . sections(map {
    /^[A-Z ]+$/ ? $_ : join '', map { /^\@(\w+) (\w+)\s*$/ ? $part{$1}->($2) : paragraphs($_) } split /\n\n+/, s/^\n+//r
} @overview));
