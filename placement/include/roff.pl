# SPDX-License-Identifier: Apache-2.0
#
# roff.pl: plain text, as in the headers' comments and in the program's --help, as roff for man(1). Both generators of pages require
# it: placement/include/manual.pl and testbed/cli/manual.pl.
use strict;
use warnings;

our $linked = sub { return $_[0] }; # what names of files become
my ($columns, $wide) = (69, 77); # of a page 80 wide, less its margins; and of code, which may begin further left

# Text in which roff must see neither commands nor escapes.
sub escaped {
    my $text = shift;
    $text =~ s/\\/\\e/g;
    $text =~ s/-/\\-/g;
    $text =~ s/^([.'])/\\&$1/mg;
    return $text;
}

# The same, with `code` and function() in bold and *words* in italics.
sub marked {
    my $text = escaped($linked->(shift));
    $text =~ s/`([^`]+)`/\\fB$1\\fR/g;
    $text =~ s/\b(locus_\w+)(?=\(\))/\\fB$1\\fR/g;
    $text =~ s/(?<![\w*])\*([A-Za-z][a-z ]*)\*(?![\w*])/\\fI$1\\fR/g;
    return $text;
}

# Lines as they stand, further left if they are long.
sub verbatim {
    my $in = grep({ length > $columns } @_) ? '3n' : '+4n';
    return ".PP\n.in $in\n.nf\n" . escaped(join '', map { s/\s*$/\n/r } @_) . ".fi\n.in\n";
}

# C, in lines that fit: one that is too long is broken between its parts.
sub code {
    my @lines;
    for (map { s/\s+$//r } @_) {
        my ($margin) = /^(\s*)/;
        for my $between (' \|\|', ',', '[({=]') {
            while (length > $wide && /^(.{20,$wide}$between) ?(.+)/) {
                push @lines, $1;
                $_ = "$margin        $2";
            }
        }
        push @lines, $_;
    }
    return verbatim(@lines);
}

# Terms and explanations in two columns, as a list; nothing if they are something else, such as a table of more columns.
sub as_list {
    my @lines = @_;
    for (grep /^\S/, @lines) { return () unless s/^(\d\.) +(.*)/  $1  $2/ || s/^(\S+(?: \S+)*)  +((?!.*\S {3,}\S).*)/  $1  $2/ }
    return @lines;
}

# One block of lines without an empty one among them: running text, then what is indented.
sub block {
    my ($listed, @lines) = (shift, map { split /;  (?=-E[A-Z0-9]+(?:, -E[A-Z0-9]+)*  )/ } @_);
    my ($roff, $in) = ('', '');
    while (defined(my $line = shift @lines)) {
        if ($line =~ /^ {4}((?:\w+\.h(?:, )?)+)  +(\S.*)/
            || $line =~ /^((?:0|-E[A-Z0-9]+)(?:,? +(?:-E[A-Z0-9]+|\.\.\.))*)  +(\S.*)/
            || $listed && $line =~ /^  (\S+(?: \S+)*)  +(\S.*)/
            || $listed && @lines && $lines[0] =~ /^ {6,}\S/ && $line =~ /^  (\S+(?: \S+)*)$/) {
            my ($term, @rest) = ($1, defined $2 ? $2 : ());
            my $deeper = $line =~ /^ {4}/ ? 5 : 3;
            push @rest, shift @lines while @lines && $lines[0] =~ /^ {$deeper,}\S/;
            $term = escaped($linked->($term)) =~ s/"/\\(dq/gr;
            $roff .= ".TP\n.B \"$term\"\n" . marked(join "\n", map { s/^ +//r } @rest) . "\n";
            $in = 'list';
        } elsif ($line =~ /^ /) {
            my @indented = $line;
            push @indented, shift @lines while @lines && $lines[0] =~ /^ /;
            my ($least) = sort { $a <=> $b } map { length((/^( *)/)[0]) } @indented;
            @indented = map { substr $_, $least } @indented;
            my @listed = grep({ length > $columns } @indented) ? as_list(@indented) : ();
            $roff .= @listed ? block(1, @listed) : grep(/^locus_\w+\(.*\)$|;$/, @indented) ? code(@indented) : verbatim(@indented);
            $in = '';
        } else {
            $roff .= ".PP\n" if $in ne 'text';
            $roff .= marked($line) . "\n";
            $in = 'text';
        }
    }
    return $roff;
}

# Paragraphs. $listed: what is indented by two blanks is a list of terms, else it stands as it is.
sub paragraphs {
    my ($text, $listed) = @_;
    return join '', map { block($listed, split /\n/) } split /\n\s*\n/, $text;
}

# Sections, each with its title; those without text are left out.
sub sections {
    my $roff = '';
    while (my ($title, $text) = splice @_, 0, 2) {
        $roff .= ".SH $title\n$text" if defined $text && $text =~ /\S/;
    }
    return $roff =~ s/^(\.S[HS] .*\n)\.PP\n/$1/mgr;
}

1;
