#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# manual.sh man|completion LOCUS: the page locus(1), or the completion of bash. Both are made of what the program says of itself, by
# `--help` of each command, which argp prints from the parsers' own tables: there is no second list of options.
set -eu
form=${1-} locus=${2:?which program?}
commands=$("$locus" --help | sed -nE 's/^  ([a-z]+( [a-z]+)?)  .*/\1/p') # one a line, of one word or two
[ -n "$commands" ] || { echo "manual.sh: $locus names no commands" >&2; exit 1; }

# Text as it stands: roff must see neither commands nor escapes in it.
verbatim() {
    printf '.nf\n'
    sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/^\\([.']\\)/\\\\\\&\\1/"
    printf '.fi\n'
}

man() {
    printf '.TH LOCUS 1 "" "%s" "User Commands"\n.SH NAME\n' "$("$locus" --version)"
    printf 'locus \\- placement and recycling of KV\\-cache blocks on NUMA hosts, measured\n'
    printf '.SH SYNOPSIS\n.B locus\n.I COMMAND\n.RI [ OPTION... ]\n.SH COMMANDS\n'
    "$locus" --help | sed 1,3d | verbatim
    echo "$commands" | while read -r command; do
        printf '.SH "LOCUS %s"\n' "$(printf %s "$command" | tr '[:lower:]' '[:upper:]')"
        # shellcheck disable=SC2086 # words of a name
        "$locus" $command --help </dev/null | verbatim
    done
}

# The options of a command, and the second words of those whose name begins with it.
words_of() {
    # shellcheck disable=SC2086 # words of a name
    "$locus" $1 --help </dev/null | sed -nE 's/^  (-., |    )(-\?, )?(--[a-z][a-z0-9-]*).*/\3/p' | sort -u
    echo "$commands" | sed -n "s/^$1 //p"
}

# "report compare" comes before "report", whose pattern would match it.
completion() {
    printf '# Completion of locus(1) for bash, made by its build.\n_locus() {\n'
    printf '    local word=${COMP_WORDS[COMP_CWORD]} words\n    case "${COMP_CWORD}:${COMP_WORDS[1]} ${COMP_WORDS[2]}" in\n'
    printf '    1:*) words="%s" ;;\n' "$(echo "$commands" | cut -d ' ' -f 1 | uniq | paste -sd ' ' -)"
    { echo "$commands" | grep ' '; echo "$commands" | grep -v ' '; } | while read -r command; do
        case $command in
        *\ *) pattern="*:\"$command\"" ;;
        *) pattern="*:\"$command \"*" ;;
        esac
        printf '    %s) words="%s" ;;\n' "$pattern" "$(words_of "$command" | paste -sd ' ' -)"
    done
    printf '    *) words= ;;\n    esac\n'
    printf '    COMPREPLY=($(compgen -W "$words" -- "$word"))\n}\ncomplete -o bashdefault -o default -F _locus locus\n'
}

case $form in
man | completion) $form ;;
*) echo "usage: manual.sh man|completion LOCUS" >&2; exit 2 ;;
esac
