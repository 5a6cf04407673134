#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# completion.sh bash|zsh|fish LOCUS: the completion of that shell. It is made of what the program says of itself, by `--help` of
# each command, which argp prints from the parsers' own tables: there is no second list of options.
set -eu
shell=${1-} locus=${2:?which program?}
commands=$("$locus" --help | sed -nE 's/^  ([a-z]+( [a-z]+)?)  .*/\1/p') # one a line, of one word or two
[ -n "$commands" ] || { echo "completion.sh: $locus names no commands" >&2; exit 1; }

# The options of a command, and the second words of those whose name begins with it.
words_of() {
    # shellcheck disable=SC2086 # words of a name
    "$locus" $1 --help </dev/null | sed -nE 's/^  (-., |    )(-\?, )?(--[a-z][a-z0-9-]*).*/\3/p' | sort -u
    echo "$commands" | sed -n "s/^$1 //p"
}

# Patterns of "how many words are before this one:the first two words", and what may come then. "report compare" is before "report",
# whose pattern would match it.
cases() {
    printf '    1:*) candidates="%s" ;;\n' "$(echo "$commands" | cut -d ' ' -f 1 | uniq | paste -sd ' ' -)"
    { echo "$commands" | grep ' '; echo "$commands" | grep -v ' '; } | while read -r command; do
        case $command in
        *\ *) pattern="*:\"$command\"" ;;
        *) pattern="*:\"$command \"*" ;;
        esac
        printf '    %s) candidates="%s" ;;\n' "$pattern" "$(words_of "$command" | paste -sd ' ' -)"
    done
}

bash() {
    printf '# Completion of locus(1) for bash, made by its build.\n_locus() {\n    local candidates=\n'
    printf '    case "${COMP_CWORD}:${COMP_WORDS[1]} ${COMP_WORDS[2]}" in\n%s\n    esac\n' "$(cases)"
    printf '    COMPREPLY=($(compgen -W "$candidates" -- "${COMP_WORDS[COMP_CWORD]}"))\n}\n'
    printf 'complete -o bashdefault -o default -F _locus locus\n'
}

zsh() {
    printf '#compdef locus\n# Completion of locus(1) for zsh, made by its build.\nlocal candidates=\n'
    printf 'case "$((CURRENT - 1)):$words[2] $words[3]" in\n%s\nesac\ncompadd -- ${=candidates} || _files\n' "$(cases)"
}

fish() {
    printf '# Completion of locus(1) for fish, made by its build.\n'
    "$locus" --help | sed -nE "s/'/\\\\\\\\'/g; s/^  ([a-z]+)  +(.*)/complete -c locus -f -n __fish_use_subcommand -a \1 -d '\2'/p"
    echo "$commands" | while read -r command; do
        seen="__fish_seen_subcommand_from $(echo "$command" | sed 's/ /; and __fish_seen_subcommand_from /')"
        words_of "$command" | sed -E "s/^--(.*)/-l \1/; t done; s/^/-a /; :done; s/^/complete -c locus -n '$seen' /"
    done
}

case $shell in
bash | zsh | fish) $shell ;;
*) echo "usage: completion.sh bash|zsh|fish LOCUS" >&2; exit 2 ;;
esac
