#!/bin/sh
# The recording in docs/guides/vault.md: run it again when what the commands print has changed.
set -e
HOME=$(mktemp -d)
export HOME COLUMNS=100 ENGRAMS_USER=alice ENGRAMS_VAULT__ENABLED=true GIT_CONFIG_NOSYSTEM=1
unset ENGRAMS_HOME XDG_CONFIG_HOME
trap 'rm -rf "$HOME"' EXIT

run() {
    printf '$'
    for word in "$@"; do
        case $word in *[\ \']*) printf ' "%s"' "$word" ;; *) printf ' %s' "$word" ;; esac
    done
    printf '\n'
    "$@" 2>&1
}

newest() {
    engrams log --limit 1 --json | sed 's/.*"id": *"\([0-9a-f]\{10\}\).*/\1/'
}

run engrams add "I live in Paris."
run engrams search "Where do I live?"
run cd "$HOME/.engrams/vault/entries/user/alice/facts" | sed "s|$HOME|~|"
cd "$HOME/.engrams/vault/entries/user/alice/facts"
run ls
fact=$(grep -l "^kind: fact" -- *)
run cat "$fact"
run sed -i "s/live in Paris/live in Rome/" "$fact"
run engrams search "Where do I live?"
run engrams log
commit=$(newest)
run engrams diff "$commit"
run engrams revert "$commit"
run engrams search "Where do I live?"
